"""`train`, `evaluate`, `compare` and `curves`, as a user calls them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeworth.runlog import read_checkpoint, read_history
from edgeworth.training.fused import rehearsal
from edgeworth.training.run import Run

ROOT = Path(__file__).resolve().parents[2]
TINY = [
    *("--set", "ppo.num_envs=8", "--set", "ppo.rollout=16", "--set", "ppo.hidden=16"),
    *("--set", "reinforce.num_envs=8", "--set", "reinforce.rollout=16", "--set", "reinforce.hidden=16"),
    *("--set", "logging.tensorboard=false"),
]
Called = Callable[..., Any]


def test_a_run_is_trained_evaluated_and_compared(called: Called, tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    run = called("train", "--steps", "512", "--out", folder, "--json", *TINY)
    summary = json.loads(run.out)
    assert run.status == 0 and summary["folder"] == folder and summary["steps"] == 512 and summary["backend"] == "fused"
    few = ("--episodes", "50", "--yardstick-episodes", "20", "--scenario", "lewis")
    found = json.loads(called("evaluate", "--agent", folder, "--agent", "agree_first", *few, "--json").out)
    assert [row["agent"] for row in found["agents"]] == [folder, "agree_first"] and found["seeds"] == "0 to 49"
    assert {"low", "value", "high", "n"} == found["agents"][0]["normalised_score"].keys()
    table = called("evaluate", "--agent", folder, "--sampled", *few).out
    assert "share of maximum" in table and "regret to Bayes" in table
    difference = json.loads(called("compare", "agree_first", folder, *few, "--json").out)
    assert difference["reward"]["value"] == pytest.approx(difference["first"]["reward"]["value"] - difference["second"]["reward"]["value"])
    assert "earned more in" in called("compare", folder, "random", *few).out


def test_a_run_is_measured_in_the_game_it_was_trained_in_unless_another_is_named(called: Called, tmp_path: Path) -> None:
    lewis, boulware = str(tmp_path / "lewis"), str(tmp_path / "boulware")
    called("train", "--steps", "256", "--out", lewis, *TINY, "--set", "env.contexts=lewis")
    called("train", "--steps", "256", "--out", boulware, *TINY, "--set", "env.partner=boulware", "--set", "env.discount=0.8")
    few = ("--episodes", "20", "--yardstick-episodes", "10", "--json")

    def played(*words: str) -> tuple[str, str]:
        found = json.loads(called(*words, *few).out)
        return found["scenario"], found["partner"]

    assert played("evaluate", "--agent", lewis, "--agent", "agree_first") == ("lewis", "heuristic")
    assert played("compare", "agree_first", lewis) == ("lewis", "heuristic")
    assert played("evaluate", "--agent", lewis, "--scenario", "classic") == ("classic", "heuristic")
    assert played("evaluate", "--agent", lewis, "--partner", "conceder") == ("lewis", "conceder")
    assert played("evaluate", "--agent", "agree_first") == ("classic", "heuristic")
    told = called("evaluate", "--agent", boulware, *few)
    assert "no named scenario, partner boulware" in told.err and json.loads(told.out)["scenario"] == f"the game of {boulware}"
    assert json.loads(told.out)["partner"] == "boulware"
    both = called("evaluate", "--agent", lewis, "--agent", boulware, *few)
    assert both.status == 2 and "different games; name the one to play with --scenario" in both.err


def test_the_table_speaks_of_blind_bayes_only_where_it_played(called: Called) -> None:
    few = ("--episodes", "20", "--yardstick-episodes", "10")
    assert "which blind Bayes played too" in called("evaluate", "--agent", "agree_first", *few).out
    without = called("evaluate", "--agent", "agree_first", "--partner", "boulware", *few).out
    assert "95 % interval" in without and "blind Bayes" not in without


def test_what_train_says_to_people(called: Called, tmp_path: Path) -> None:
    run = called("train", "--steps", "256", "--out", str(tmp_path / "run"), *TINY)
    assert re.search(r"The best checkpoint: 0\.\d{3} of the maximum, the mean since", run.out)
    assert "share of the maximum" in run.out and f"edgeworth evaluate --agent {tmp_path / 'run'}" in run.out
    assert "Training in" in run.err


def test_train_py_is_the_same_command(tmp_path: Path) -> None:
    words = [sys.executable, "train.py", "--algo", "ppo", "--hint", "random", "--config", "configs/ppo_config.yaml"]
    words += ["--steps", "256", "--out", str(tmp_path / "run"), *TINY]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    assert "ppo (fused)" in done.stdout and read_checkpoint(tmp_path / "run").facts["hints"]["mode"] == "random"


@pytest.mark.parametrize("algo", ["ppo", "reinforce"])
@pytest.mark.parametrize("hint", ["none", "random", "expert", "bayes"])
def test_both_algorithms_run_with_every_hint(called: Called, tmp_path: Path, algo: str, hint: str) -> None:
    words = ("--algo", algo, "--hint", hint, "--scenario", "one_shot", "--steps", "256", "--out", str(tmp_path / "run"), *TINY)
    run = called("train", *words)
    assert run.status == 0, run.err
    last, facts = read_history(tmp_path / "run")[-1], read_checkpoint(tmp_path / "run" / "checkpoints" / "last").facts
    assert hint == "none" or int(last["hint_asked"]) > 100
    assert facts["hints"]["mode"] == hint and facts["shape"]["features"] == (18 if hint == "none" else 28)


@pytest.mark.parametrize("algo", ["ppo", "reinforce"])
def test_training_with_the_hints_of_a_language_model_needs_no_network(called: Called, tmp_path: Path, algo: str) -> None:
    words = ("--algo", algo, "--hint", "llm", "--scenario", "one_shot", "--steps", "32", "--out", str(tmp_path / "run"), *TINY)
    sizes = (f"{algo}.num_envs=4", f"{algo}.rollout=4", f"{algo}.minibatch=8", f"logging.output_dir={tmp_path}")
    run = called("train", *words, *(word for size in sizes for word in ("--set", size)))
    assert run.status == 0, run.err
    assert (tmp_path / "hint_replies.sqlite").is_file()
    last = read_history(tmp_path / "run")[-1]
    assert int(last["hint_given"]) > 0 and "pocket" in str(last["hint_model"])


def test_a_run_shorter_than_an_iteration_says_how_many_moves_it_makes(called: Called, tmp_path: Path) -> None:
    run = called("train", "--steps", "500", "--out", str(tmp_path / "run"))
    assert "so that it makes 8,192 instead of 500; set ppo.rollout" in " ".join(run.err.split())


def test_a_run_is_continued_with_its_own_settings(called: Called, tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    called("train", "--steps", "256", "--out", folder, *TINY)
    assert "Continuing in" in called("train", "--out", folder, "--resume", "--steps", "512").err
    assert read_checkpoint(Path(folder) / "checkpoints" / "last").facts["steps"] == 512
    again = called("train", "--out", folder, "--resume", "--steps", "640", *TINY)
    assert again.status == 0, again.err
    other = called("train", "--out", folder, "--resume", "--set", "ppo.clip=0.3", *TINY)
    assert other.status == 2 and "ppo.clip is 0.3, and the run was begun with 0.2" in other.err


def test_a_run_that_was_extended_is_continued_as_far_as_it_was_to_go(
    called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    called("train", "--steps", "128", "--out", str(folder), *TINY)
    with monkeypatch.context() as impatient:
        impatient.setattr(Run, "train", interrupted)
        stopped = called("train", "--out", str(folder), "--resume", "--steps", "512").err
        assert "holds the run up to step 256; continue with" in " ".join(stopped.split())
    assert "Continuing in" in called("train", "--out", str(folder), "--resume").err
    assert read_checkpoint(folder / "checkpoints" / "last").facts["steps"] == 512
    again = called("train", "--out", str(folder), "--resume")
    assert again.status == 0 and "Nothing left to do" in again.err and "go on with a larger --steps" in again.err


def test_a_rehearsal_is_announced_and_one_that_is_stopped_leaves_nothing(
    called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("train", "--config", "foresight", "--partner", "linear", "--set", "rehearsal.negotiations=400", "--set", "ppo.hidden=16")
    with monkeypatch.context() as impatient:
        impatient.setattr(rehearsal, "rehearse_minibatches", unfinished)
        stopped = called(*words, "--out", str(tmp_path / "stopped"))
        assert stopped.status != 0 and "Stopped in the rehearsal; nothing is saved." in stopped.err
    assert not (tmp_path / "stopped").exists()
    run = called(*words, "--out", str(tmp_path / "run"))
    assert run.status == 0 and "Rehearsing 400 negotiations" in run.err


def unfinished(*_: Any) -> None:
    raise KeyboardInterrupt


def interrupted(run: Run, report: Any) -> None:
    report(run.iterate())
    run.save("last")
    raise KeyboardInterrupt


def test_a_setting_that_a_run_was_begun_with_may_be_said_again(called: Called, tmp_path: Path) -> None:
    begun = ("--out", str(tmp_path / "run"), "--seed", "3", "--scenario", "lewis", "--set", "ppo.gradient_norm=.inf")
    called("train", "--steps", "128", *begun, *TINY)
    again = called("train", "--steps", "256", *begun, "--resume")
    assert again.status == 0, again.err
    other = called("train", "--out", str(tmp_path / "run"), "--resume", "--seed", "4")
    assert other.status == 2 and "seed is 4, and the run was begun with 3" in other.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--algo", "pp"), "Did you mean 'ppo'"),
        (("--hint", "lm"), "Unknown hint provider 'lm'. Known: bayes, expert, llm, none, random. Did you mean 'llm'?"),
        (("--scenario", "clasic"), "Did you mean 'classic'"),
        (("--partner", "heuristc"), "Did you mean 'heuristic'"),
        (("--set", "ppo.learning_rat=1"), "Did you mean 'learning_rate'"),
        (("--set", "ppo.learning_rate"), "expected NAME=VALUE"),
        (("--steps", "0"), "num_train_steps is 0; expected more than 0"),
        (("--device", "cuda"), "the fused backend runs on the CPU; use --backend torch"),
        (("--resume",), "holds no run that could be continued"),
        (("--config", "nowhere.yaml"), "nowhere.yaml: cannot be read"),
        (("--scenario", "configs/ppo_fast.yaml"), "name it with --config configs/ppo_fast.yaml instead"),
        (("--config", "configs/scenarios/one_shot.yaml"), "name it with --scenario configs/scenarios/one_shot.yaml instead"),
        (("--config", "configs/scenarios/classic.yaml"), "name it with --scenario configs/scenarios/classic.yaml instead"),
    ],
)
def test_a_wrong_call_is_an_error_and_leaves_nothing(called: Called, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    folder = tmp_path / "run"
    run = called("train", "--out", str(folder), "--steps", "256", *words)
    assert run.status in (1, 2) and message in run.err
    assert not folder.exists()


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("evaluate", "--agent", "baies"), 2, "self_play, or the path of a run or checkpoint. Did you mean 'bayes'?"),
        (("evaluate", "--agent", "runs/nowhere"), 1, "there is no checkpoint here; expected a run folder"),
        (("compare", "random", "agre_first"), 2, "Did you mean 'agree_first'"),
        (("curves", "nowhere"), 2, "holds no run"),
        (("curves", "nowhere"), 2, "nowhere holds no run; expected a folder that `edgeworth train` has written."),
        (("evaluate", "--agent", "random", "--sampled"), 2, "--sampled is for learned negotiators; random plays by a rule"),
        (("evaluate", "--agent", "bayes", "--agent", "random", "--hint", "llm"), 2, "--hint is for learned negotiators"),
        (("compare", "bayes", "random", "--sampled"), 2, "--sampled is for learned negotiators"),
    ],
)
def test_a_missing_agent_is_an_error(called: Called, words: tuple[str, ...], status: int, message: str) -> None:
    run = called(*words)
    assert run.status == status and message in run.err


def test_a_network_for_smaller_pools_is_refused(called: Called) -> None:
    run = called("evaluate", "--agent", "learned", "--set", "max_count=7", "--episodes", "10")
    assert run.status == 2 and "No bundled expert knows pools with up to 7 units of a type, only 4" in run.err


def test_curves_of_a_designer_are_everything_that_was_logged(called: Called, tmp_path: Path) -> None:
    folder = tmp_path / "grpo"
    folder.mkdir()
    (folder / "config.yaml").write_text("trainer: grpo\n", encoding="utf-8")
    lines = [{"steps": step, "seconds": step, "reward": step / 10, "kl": 0.1} for step in (1, 2, 3)]
    (folder / "training_history.json").write_text(json.dumps(lines), encoding="utf-8")
    run = called("curves", str(folder), "--figure", str(tmp_path / "curves.png"), "--json")
    assert json.loads(run.out)["histories"][0]["lines"] == lines and (tmp_path / "curves.png").is_file()
    page = called("curves", str(folder)).out
    assert "grpo: 3 steps, 3 seconds" in page and "reward" in page and "kl" in page
    refused = called("curves", str(folder), "--yardstick-episodes", "5")
    assert refused.status == 2 and "runs of bargaining" in refused.err


def test_curves_are_drawn_from_runs(called: Called, tmp_path: Path) -> None:
    folders = [str(tmp_path / f"a_seed{seed}") for seed in range(2)]
    for seed, folder in enumerate(folders):
        called("train", "--steps", "512", "--seed", str(seed), "--out", folder, *TINY)
    run = called("curves", *folders, "--figure", str(tmp_path / "curves.png"), "--json")
    assert json.loads(run.out)["curves"][0]["seeds"] == [0, 1] and (tmp_path / "curves.png").is_file()
    called("train", "--steps", "512", "--scenario", "one_shot", "--out", str(tmp_path / "b"), *TINY)
    found = json.loads(called("curves", str(tmp_path / "b"), "--yardstick-episodes", "20", "--json").out)["yardsticks"]
    assert 0.0 < found["random"] < found["bayes"] < 1.0
    mixed = called("curves", *folders, str(tmp_path / "b"), "--yardstick-episodes", "20")
    assert mixed.status == 2 and "The runs play different games" in mixed.err
