"""`edgeworth clone`: teach a negotiator to do as people did, from their dialogues, and measure how well it foretells others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from edgeworth.cli.console import AsJson, changed, command_line, deliver, err, out
from edgeworth.cli.progress import progress
from edgeworth.config import config_folder
from edgeworth.errors import DataError
from edgeworth.evaluation.parsing import distinct
from edgeworth.games.bargaining.deal_or_no_dialog import read_dialogues
from edgeworth.games.bargaining.dialogue_lines import Dialogue
from edgeworth.games.bargaining.dialogue_moves import TalkMoves, talk_moves
from edgeworth.runlog import BEST, CHECKPOINTS, LAST, Checkpoint, RunLog, refuse_existing, write_checkpoint
from edgeworth.training.run import torch_device

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
    data: Annotated[Path, typer.Option("--data", help="The folder of the released Deal or No Dialog files.")],
    config: Annotated[Path | None, typer.Option("--config", help="Settings as YAML; default: configs/behaviour_cloning.yaml.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Any setting, e.g. --set reading=ordered --set hidden=32.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Decides the first weights and the order of the moves.")] = None,
    test: Annotated[bool, typer.Option("--test", help="Also measure the test talks; once, when everything is settled.")] = False,
    episodes: Annotated[int, typer.Option(min=10, help="Episodes that the clone plays against the scenario's partner.")] = 2_000,
    out_folder: Annotated[Path | None, typer.Option("--out", help="The run folder; default: runs/clone_SCENARIO_seedSEED.")] = None,
    result_file: Annotated[Path | None, typer.Option("--result", help="Write the measurements as JSON into this file.")] = None,
    box: Annotated[Path | None, typer.Option(help="Also write the network with its card to this path, without a suffix.")] = None,
    as_json: AsJson = False,
) -> None:
    """Teach a network the moves of people from their dialogues, and measure it on dialogues that it has not seen.

    Utterances are read by rules (`edgeworth parse`), played again as moves of the game, and learnt by maximum likelihood; the validation
    talks say when to stop. The measurement: likelihood and accuracy against guesses that do not look, and how the clone plays.

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
    if box is not None:
        write_checkpoint(box, _boxed(found, result))
        err.print(f"Wrote {box}.safetensors.", soft_wrap=True)
    deliver(result, as_json, result_file, lambda: _show(result, folder))


def _dialogues(data: Path, test: bool) -> dict[str, list[Dialogue]]:
    """The distinct dialogues of every part that is wanted."""
    if not data.is_dir():
        raise DataError(data, f"there is no such folder; {SOURCE}.")
    return {part: distinct(read_dialogues(data, part)) for part in ("train", "val", *(["test"] if test else []))}


def _read(dialogues: dict[str, list[Dialogue]], settings: CloningSettings, show: Any) -> dict[str, list[TalkMoves]]:
    """Every dialogue as moves."""
    turns, total, done = settings.game.max_turns, sum(map(len, dialogues.values())), 0
    talks: dict[str, list[TalkMoves]] = {}
    for part, said in dialogues.items():
        talks[part] = []
        for dialogue in said:
            talks[part].append(talk_moves(dialogue, turns))
            done += 1
            if done % 100 == 0:
                show(part, done, total)
    return talks


def _keep(folder: Path, found: Clone, command: str) -> None:
    """The run folder: settings, the log, the network."""
    checkpoint = found.checkpoint()
    log = RunLog.begin(folder, checkpoint.facts["settings"], command, with_tensorboard=False)
    try:
        for line in found.lines:
            log.add(line)
        for name in (BEST, LAST):
            log.save(name, checkpoint)
    finally:
        log.close()


def _boxed(found: Clone, result: dict[str, Any]) -> Checkpoint:
    """The network with its card."""
    held_out = {part: {key: value for key, value in row.items() if key != "by_act"} for part, row in result["held_out"].items()}
    card = {
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
    return found.checkpoint(card=card)


# For people


def _show(result: dict[str, Any], folder: Path) -> None:
    train, best = result["parts"]["train"], result["training"]["best"]
    out.print(
        f"{train['moves']:,} moves of {train['talks']:,} talks; {result['training']['passes']} passes in"
        f" {result['training']['seconds']:.1f} s, the best was {best['iteration']}.",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for part in result["held_out"]:
        table.add_column(part, justify="right")
    for label, *path in (
        ("log-likelihood per move: clone", "log_likelihood", "clone"),
        ("  marginal", "log_likelihood", "marginal"),
        ("  uniform", "log_likelihood", "uniform"),
        ("act accuracy: clone", "act_accuracy", "clone"),
        (f"  majority ({result['majority']})", "act_accuracy", "majority"),
        ("share accuracy, given the act: clone", "share_accuracy", "clone"),
        ("  marginal", "share_accuracy", "marginal"),
    ):
        table.add_row(label, *(_shown(row[path[0]][path[1]]) for row in result["held_out"].values()))
    out.print(table)
    played = Table(title=f"Play on {result['play']['scenario']}", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(("", "reward", "deals", "Pareto, of deals")):
        played.add_column(column, justify="right" if number else "left")
    for name, row in result["play"]["agents"].items():
        played.add_row(name, *(_shown(row[key]) for key in ("reward", "deal_rate", "pareto_rate")))
    out.print(played)
    out.print(f"Play it against others: edgeworth evaluate --agent {folder} --scenario {result['play']['scenario']}", soft_wrap=True)


def _shown(estimate: dict[str, float] | None) -> str:
    return "–" if estimate is None else f"{estimate['value']:.3f} [dim]{estimate['low']:.3f} – {estimate['high']:.3f}[/]"
