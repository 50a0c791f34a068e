"""`edgeworth clone`: train a negotiator to imitate people, from their dialogues, and measure how well it predicts other dialogues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from edgeworth.cli.console import command_line, deliver, progress, say, shown, table
from edgeworth.cli.options import AsJson, changed
from edgeworth.config import config_folder
from edgeworth.dialogues.deal_or_no_dialog import read_dialogues
from edgeworth.dialogues.lines import Dialogue
from edgeworth.dialogues.moves import DialogueMoves, dialogue_moves
from edgeworth.errors import DataError
from edgeworth.evaluation.parsing import distinct
from edgeworth.runlog import BEST, CHECKPOINTS, LAST, RunLog, refuse_existing, write_checkpoint
from edgeworth.training.learner import torch_device

if TYPE_CHECKING:
    from edgeworth.training.behaviour_cloning import Clone, CloningSettings

SOURCE = (
    "expected the folder of the released Deal or No Dialog files (data.txt, val.txt, test.txt; Lewis et al. 2017, CC BY-NC 4.0), which"
    " https://github.com/facebookresearch/end-to-end-negotiator publishes under src/data/negotiate"
)
LICENCE = (
    "Learnt from data under CC BY-NC 4.0 (Creative Commons Attribution-NonCommercial), which are not part of this package: use this network"
    " under the same terms, for non-commercial purposes and naming Lewis et al. 2017, not under the licence of the code."
)
WHAT_IT_IS_NOT = (
    "It is no strong negotiator, and no language model: it makes the moves that people made, not the best ones, and says nothing in words."
    " It does not see what it offered itself before, so it cannot hold to a plan. Its value head was taught nothing."
    " What it learnt from is what a rule parser made of people's words, not labels by people."
)


def clone_command(
    data: Annotated[Path, typer.Option(help="Folder of the Deal or No Dialog files (data.txt, val.txt, test.txt).")],
    config: Annotated[Path | None, typer.Option(help="YAML file of settings. Default: configs/behaviour_cloning.yaml.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Any setting, e.g. --set reading=ordered --set hidden=32.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of weights and order of the moves. Default: the settings'.")] = None,
    test: Annotated[bool, typer.Option("--test", help="Also measure the test dialogues; once, when everything is settled.")] = False,
    episodes: Annotated[int, typer.Option(min=10, help="Episodes that the clone plays against the scenario's partner.")] = 2_000,
    out_folder: Annotated[Path | None, typer.Option("--out", help="Run folder. Default: runs/clone_SCENARIO_seedSEED.")] = None,
    result_file: Annotated[Path | None, typer.Option("--result", help="Also write the measurements to this JSON file.")] = None,
    bundle: Annotated[Path | None, typer.Option(help="Also write the network and its card to this path, without suffix.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train a negotiator to imitate people, from their dialogues.

    Utterances are parsed by rules (`edgeworth parse`) into moves of the game, and a network is trained on them by maximum likelihood until
    the likelihood of the validation dialogues stops growing. Reported are likelihood and accuracy on dialogues that were not trained on,
    beside simple baselines, and how the clone plays.

    Example: edgeworth clone --data deal_or_no_dialog --out runs/clone

    Example: edgeworth evaluate --agent runs/clone --scenario lewis --episodes 2000 --sampled
    """
    torch_device("cpu")
    from edgeworth.training.behaviour_cloning import clone, load_cloning_settings, replay

    changes = changed({}, settings, "reading=ordered") | ({} if seed is None else {"seed": seed})
    wanted = load_cloning_settings(config or config_folder() / "behaviour_cloning.yaml", changes)
    folder = out_folder or Path("runs") / f"clone_{Path(wanted.scenario).stem}_seed{wanted.seed}"
    refuse_existing(folder)
    dialogues = _dialogues(data, test)
    with progress() as task:
        talks = _read(dialogues, wanted, task("reading"))
        samples = {part: replay(found, wanted.game) for part, found in talks.items()}
        show = task("learning")
        found = clone(
            wanted,
            samples["train"],
            samples["val"],
            lambda line: show(f"held-out log-likelihood {line['held_out_log_likelihood']:.3f}", int(line["iteration"]), wanted.epochs),
        )
    command = command_line(data)
    _keep(folder, found, command)
    from edgeworth.agents.network.player import NetworkPlayer
    from edgeworth.evaluation.imitation import QUANTITY, Marginal, count_moves, measure_imitation, measure_people, measure_play

    player, marginal = NetworkPlayer(found.parameters, found.shape), Marginal.of(samples["train"], found.shape.units)
    result = {
        "command": command,
        "seed": wanted.seed,
        "quantity": QUANTITY,
        "data": data.resolve().name,
        "parts": {part: count_moves(moves) for part, moves in talks.items()},
        "people": {part: measure_people(said) for part, said in dialogues.items()},
        "settings": found.checkpoint().facts["settings"],
        "parameters": found.shape.size,
        "training": {"passes": len(found.lines), "best": dict(found.best), "seconds": found.lines[-1]["seconds"]},
        "majority": marginal.majority.name,
        "held_out": {part: measure_imitation(player, marginal, moves) for part, moves in samples.items() if part != "train"},
        "play": {"scenario": wanted.scenario, **measure_play(folder / CHECKPOINTS / BEST, wanted.game, episodes, 0)},
    }
    if bundle is not None:
        write_checkpoint(bundle, found.checkpoint(card=_card(result)))
        say(f"Wrote {bundle}.safetensors.")
    deliver(result, _page(result, folder), as_json, result_file)


def _dialogues(data: Path, test: bool) -> dict[str, list[Dialogue]]:
    """The distinct dialogues of the training, validation and, if wanted, test part."""
    if not data.is_dir():
        raise DataError(data, f"there is no such folder; {SOURCE}.")
    return {part: distinct(read_dialogues(data, part)) for part in ("train", "val", *(["test"] if test else []))}


def _read(dialogues: dict[str, list[Dialogue]], settings: CloningSettings, show: Any) -> dict[str, list[DialogueMoves]]:
    """Every dialogue as moves of the game."""
    moves = {}
    for part, said in dialogues.items():
        moves[part] = [dialogue_moves(dialogue, settings.game.max_turns) for dialogue in said]
        show(part, len(moves), len(dialogues))
    return moves


def _keep(folder: Path, found: Clone, command: str) -> None:
    """Write the run folder: settings, log and network."""
    checkpoint = found.checkpoint()
    log = RunLog.begin(folder, checkpoint.facts["settings"], command, with_tensorboard=False)
    try:
        for line in found.lines:
            log.add(line)
        for name in (BEST, LAST):
            log.save(name, checkpoint)
    finally:
        log.close()


def _card(result: dict[str, Any]) -> dict[str, Any]:
    """The card of the network."""
    held_out = {part: {key: value for key, value in row.items() if key != "by_act"} for part, row in result["held_out"].items()}
    return {
        "what": "A negotiator that does as people did: cloned from the human dialogues of Deal or No Dialog (Lewis et al. 2017).",
        "what_it_is_not": WHAT_IT_IS_NOT,
        "data": result["data"],
        "licence": LICENCE,
        "command": result["command"],
        "seed": result["seed"],
        "talks": {part: row["talks"] for part, row in result["parts"].items()},
        "moves": {part: row["moves"] for part, row in result["parts"].items()},
        "left_out_of_train": result["parts"]["train"]["left_out"],
        "quantity": result["quantity"],
        "held_out": held_out,
        "play": result["play"],
    }


def _page(result: dict[str, Any], folder: Path) -> Iterator[RenderableType]:
    train, training, play = result["parts"]["train"], result["training"], result["play"]
    yield (
        f"{train['moves']:,} moves of {train['talks']:,} dialogues; {training['passes']} passes in {training['seconds']:.1f} s,"
        f" the best was {training['best']['iteration']}."
    )
    found = table("", *result["held_out"])
    for label, measure, whose in (
        ("log-likelihood per move: clone", "log_likelihood", "clone"),
        ("  marginal", "log_likelihood", "marginal"),
        ("  uniform", "log_likelihood", "uniform"),
        ("act accuracy: clone", "act_accuracy", "clone"),
        (f"  majority ({result['majority']})", "act_accuracy", "majority"),
        ("share accuracy, given the act: clone", "share_accuracy", "clone"),
        ("  marginal", "share_accuracy", "marginal"),
    ):
        found.add_row(label, *(shown(row[measure][whose]) for row in result["held_out"].values()))
    yield found
    played = table("", "reward", "deals", "Pareto, of deals", title=f"Play on {play['scenario']}")
    for name, row in play["agents"].items():
        played.add_row(name, *(shown(row[key]) for key in ("reward", "deal_rate", "pareto_rate")))
    yield played
    yield f"Play it against others: edgeworth evaluate --agent {folder} --scenario {play['scenario']}"
