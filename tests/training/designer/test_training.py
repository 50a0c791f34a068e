"""The whole chain on a tiny Qwen2 and on the bundled model: SFT, then GRPO, with histories, stopping and resuming."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.tiny_model import tiny_qwen, write_tiny_model

from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.language_model import LanguageModel
from edgeworth.config import AuctionConfig
from edgeworth.errors import InvalidOption, ModelUnavailable, UnknownKey, UnknownName
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.auction.market_view import StepHistory
from edgeworth.llm.local.folders import ADAPTER, find
from edgeworth.runlog import read_history
from edgeworth.training.designer import stage
from edgeworth.training.designer.constrained import Rollouts, Student
from edgeworth.training.designer.grpo import train_grpo
from edgeworth.training.designer.merge import merge
from edgeworth.training.designer.models import base_of, load_student, parameter_counts, with_new_adapters
from edgeworth.training.designer.settings import TuningSettings, load_settings, settings_of
from edgeworth.training.designer.sft import train_sft
from edgeworth.training.designer.validation import PLAYED_FROM

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
MARKETS = {"players": ["adaptive"], "n_agents": [4], "episode_lengths": [3]}
VALIDATION = {"every": 2, "episodes": 2, "populations": ["stages"]}
STEPS = {"batch": 4, "log_every": 1, "save_every": 1, "learning_rate": 0.001}


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def sft(model: object, **changes: Any) -> Any:
    given = {
        "trainer": "sft",
        "model": str(model),
        "markets": MARKETS,
        "states": 12,
        "validation_states": 4,
        "validation": {"episodes": 0},
        "targets": {"legal": 1.0},
        "optimization": {"steps": 2, **STEPS},
    }
    return settings_of({**given, **changes}, "sft")


def grpo(model: object, **changes: Any) -> Any:
    given = {
        "trainer": "grpo",
        "model": str(model),
        "markets": MARKETS,
        "states": 12,
        "generations": 2,
        "beta": 0.01,
        "validation": {"episodes": 0},
        "reward": {"draws": 2, "horizon": 2, "continued_by": "best_constant"},
        "optimization": {"steps": 2, **STEPS},
    }
    return settings_of({**given, **changes}, "grpo")


def test_adapters_of_a_tiny_qwen_go_through_sft_and_grpo(qwen: Path, tmp_path: Path) -> None:
    card = train_sft(sft(qwen), tmp_path / "sft", "a command", device="cpu")
    assert 0 < card["trainable"] < card["parameters"] and (tmp_path / "sft/model" / ADAPTER).is_file()
    assert {"loss", "eval_loss", "grad_norm", "learning_rate", "seconds"} <= set().union(*read_history(tmp_path / "sft"))
    card = train_grpo(grpo(tmp_path / "sft"), tmp_path / "grpo", "a command", device="cpu")
    assert card["trained_on"]["mechanism"]["n_agents"] == [4, 4]
    wanted = {"reward", "reward_std", "reward_composite", "reward_format", "grad_norm", "entropy", "kl", "completion_length", "invalid"}
    lines = read_history(tmp_path / "grpo")
    assert [line["steps"] for line in lines] == [1, 2] and wanted | {"tokens", "seconds", "mechanism_share"} <= set(lines[0])
    assert 0.0 < lines[0]["reward_std"] < lines[0]["reward_std_overall"], "within groups, and of all"
    assert lines[0]["reward_format"] == 1.0 and lines[0]["invalid"] == 0.0
    assert (tmp_path / "grpo/metrics.csv").read_text().count("\n") == 3
    assert len(designs(tmp_path / "grpo")) == len(designs(merged(tmp_path))) == 6, "how near the two are is in test_merge.py"


def merged(folder: Path) -> Path:
    """The model of the run `grpo` in a folder, merged."""
    merge([find(str(folder / "grpo"))], folder / "merged", "a command")
    return folder / "merged"


def designs(model: Path) -> list[Any]:
    """What a model posts in three markets, in the first two steps."""
    designer = LanguageModel(model=str(model))
    batch = MarketBatch(AuctionConfig(stage="stages", n_agents=4, episode_length=2), 3)
    batch.seed(0)
    batch.reset()
    history, posted = StepHistory(batch), []
    designer.begin(batch.config, batch.size, 0)
    for _ in range(2):
        rows = designer.design(history.view())
        batch.step(rows)
        history.add(rows)
        posted += rows.tolist()
    assert designer.counters["posted"]["reply"] == 6, "all six mechanisms are the model's"
    return posted


def test_the_bundled_model_goes_through_sft_grpo_and_merging_whole(tmp_path: Path) -> None:
    steps = {"steps": 1, **STEPS, "batch": 2, "warmup": 0.0}
    train_sft(sft("pocket", tuning={"method": "full"}, optimization=steps), tmp_path / "sft", "a command", device="cpu")
    card = train_grpo(grpo(tmp_path / "sft", tuning={"method": "full"}, optimization=steps), tmp_path / "grpo", "a command", device="cpu")
    assert card["trainable"] == card["parameters"]
    before, after = (load_student(find(name), TuningSettings(method="full"), "cpu")[0] for name in ("pocket", str(tmp_path / "grpo")))
    assert any(not torch.equal(one, other) for one, other in zip(before.parameters(), after.parameters(), strict=True))
    assert len(designs(merged(tmp_path))) == 6


def test_what_is_kept_is_the_model_that_played_best_on_validation_markets(qwen: Path, tmp_path: Path) -> None:
    settings = sft(qwen, validation=VALIDATION, optimization={"steps": 4, **STEPS}, markets={**MARKETS, "players": ["student"]}, bare=0.5)
    card = train_sft(settings, tmp_path / "run", "a command", device="cpu")
    scores = {int(line["steps"]): float(line["validation"]) for line in read_history(tmp_path / "run") if "validation" in line}
    assert list(scores) == [0, 2, 4] and card["kept_step"] == max(scores, key=lambda step: scores[step])
    model, tokenizer = load_student(find(str(tmp_path / "run")), TuningSettings(), "cpu")
    student = Student(Rollouts.of(base_of(model), tokenizer, 1.0, 256, 8))
    found = play(student, AuctionConfig(stage="stages"), 2, PLAYED_FROM).mean()
    assert found == pytest.approx(max(scores.values()), abs=1e-6)


def test_free_completions_are_generated_by_trl_and_paid_for_their_form(qwen: Path, tmp_path: Path) -> None:
    settings = grpo(qwen, constrained=False, max_tokens=12, beta=0.0, optimization={"steps": 1, **STEPS})
    train_grpo(settings, tmp_path / "run", "a command", device="cpu")
    line = read_history(tmp_path / "run")[0]
    assert line["invalid"] == 1.0 and line["reward_composite"] == 0.0 and line["completion_length"] == 12


def test_ctrl_c_saves_and_the_run_continues(qwen: Path, tmp_path: Path) -> None:
    settings = sft(qwen, optimization={"steps": 4, **STEPS})

    def interrupting(what: str, done: int, total: int) -> None:
        if total == 4 and done == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train_sft(settings, tmp_path / "run", "a command", progress=interrupting, device="cpu")
    assert not (tmp_path / "run/model").exists()
    train_sft(settings, tmp_path / "run", "a command", resume=True, device="cpu")
    steps = [line["steps"] for line in read_history(tmp_path / "run") if "loss" in line]
    assert steps == [1, 2, 3, 4] and (tmp_path / "run/model").is_dir()


def test_a_long_step_that_is_interrupted_costs_no_step_before_it(qwen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "UNSAVED", 0.0)
    settings = sft(qwen, optimization={"steps": 3, **STEPS, "save_every": 100})

    def interrupting(what: str, done: int, total: int) -> None:
        if total == 3 and done == 2:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train_sft(settings, tmp_path / "run", "a command", progress=interrupting, device="cpu")
    assert stage.last_checkpoint(tmp_path / "run").name == "checkpoint-1"
    train_sft(settings, tmp_path / "run", "a command", resume=True, device="cpu")
    assert [line["steps"] for line in read_history(tmp_path / "run") if "loss" in line] == [1, 2, 3]


def test_the_published_model_has_the_published_numbers_of_parameters() -> None:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=151_936,
        hidden_size=1_536,
        intermediate_size=8_960,
        num_hidden_layers=28,
        num_attention_heads=12,
        num_key_value_heads=2,
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        model = with_new_adapters(Qwen2ForCausalLM(config), load_settings(CONFIGS / "grpo_qwen.yaml", "grpo").tuning)
    assert parameter_counts(model) == {"parameters": 1_562_179_072, "trainable": 18_464_768}


def test_the_published_settings_are_those_of_the_file() -> None:
    found = load_settings(CONFIGS / "grpo_qwen.yaml", "grpo")
    use = found.optimization
    assert (found.generations, use.learning_rate, use.batch, use.accumulation, use.steps) == (4, 5e-6, 4, 2, 50)
    assert found.tuning.four_bit and found.tuning.method == "lora" and not found.constrained
    for name in ("sft_pocket", "sft_qwen"):
        assert load_settings(CONFIGS / f"{name}.yaml", "sft").optimization.steps >= 300
    assert load_settings(CONFIGS / "grpo_pocket.yaml", "grpo", {"optimization": {"steps": 3}}).optimization.steps == 3


# Bad input


def test_settings_for_another_trainer_are_refused() -> None:
    with pytest.raises(InvalidOption, match="is for the trainer 'sft'; expected `trainer: grpo`"):
        load_settings(CONFIGS / "sft_qwen.yaml", "grpo")
    with pytest.raises(InvalidOption, match="names no trainer"):
        load_settings(CONFIGS / "ppo_config.yaml", "sft")


def test_typos_get_a_suggestion() -> None:
    with pytest.raises(UnknownKey, match=r"Did you mean 'learning_rate'\?"):
        sft("pocket", optimization={"learning_rat": 1.0})
    with pytest.raises(UnknownName, match=r"Did you mean 'searched'\?"):
        sft("pocket", targets={"search": 1.0})


def test_groups_must_fill_a_step() -> None:
    with pytest.raises(InvalidOption, match="whole number of groups"):
        grpo("pocket", generations=3)


@pytest.mark.parametrize(("processes", "wanted"), [("1", "takes 16: batch 8 x accumulation 4 x 1 process "), ("2", "x 2 processes ")])
def test_a_step_that_takes_more_states_than_there_are_is_refused_before_anything_is_written(
    processes: str, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", processes)
    with pytest.raises(InvalidOption, match=wanted):
        train_grpo(grpo("pocket", optimization={"steps": 1, "batch": 8, "accumulation": 4}), tmp_path / "run", "a test")
    assert not (tmp_path / "run").exists()


def test_four_bits_need_a_gpu(qwen: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(ModelUnavailable, match=r"set tuning\.four_bit to false"):
        load_student(find(str(qwen)), TuningSettings(four_bit=True), "cpu")


def test_a_model_without_chat_template_is_refused(tmp_path: Path) -> None:
    def spoil(tokenizer: Any) -> None:
        tokenizer.chat_template = None

    folder = write_tiny_model(tmp_path / "mute", change=spoil, make=tiny_qwen)
    with pytest.raises(ModelUnavailable, match="no chat template"):
        load_student(find(str(folder)), TuningSettings(), "cpu")


def test_an_adapter_of_another_base_is_refused(qwen: Path, tmp_path: Path) -> None:
    other = write_tiny_model(tmp_path / "wider", make=tiny_qwen, hidden_size=32)
    model, _ = load_student(find(str(qwen)), TuningSettings(), "cpu")
    model.save_pretrained(tmp_path / "adapter")
    named = json.loads((tmp_path / "adapter" / ADAPTER).read_text())
    (tmp_path / "adapter" / ADAPTER).write_text(json.dumps({**named, "base_model_name_or_path": str(other)}))
    with pytest.raises(ModelUnavailable, match="load the base that it was trained on"):
        load_student(find(str(tmp_path / "adapter")), TuningSettings(), "cpu")


def test_a_run_is_not_begun_twice_and_not_continued_before_it_began(qwen: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/note.txt").write_text("mine")
    with pytest.raises(InvalidOption, match="exists already"):
        train_sft(sft(qwen), tmp_path / "run", "a command", device="cpu")
    with pytest.raises(InvalidOption, match="no checkpoint to continue from"):
        train_sft(sft(qwen), tmp_path / "run", "a command", resume=True, device="cpu")


FULL_DISK = """
import resource, sys
from pathlib import Path
from edgeworth.training.designer.sft import train_sft
from tests.training.designer.test_training import sft

most = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
train_sft(sft(sys.argv[1]), Path(sys.argv[3]), "a command", device="cpu")
"""


@pytest.mark.parametrize("most", [30_000, 200_000], ids=["the weights do not fit", "the optimizer does not fit"])
def test_a_full_disk_is_one_sentence(most: int, qwen: Path, tmp_path: Path) -> None:
    root = str(Path(__file__).resolve().parents[3])
    words = [sys.executable, "-c", FULL_DISK, str(qwen), str(most), str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=root, env={**os.environ, "OMP_NUM_THREADS": "1"})
    last = done.stderr.strip().splitlines()[-1]
    assert "RunStopped" in last and "cannot be written" in last and "Make room" in last, done.stderr[-2_000:]
