"""The model card of a language model designer, as the README of its folder: what it is, how it came about, what was measured, its limits.

Everything comes from the folder's `card.json` and from a result of `edgeworth designer evaluate`; nothing is written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeworth.evaluation.statistics import Estimate
from edgeworth.evaluation.training_figures import draw_designer_histories
from edgeworth.files import write_whole
from edgeworth.llm.huggingface import TRAINED_ON
from edgeworth.llm.local.folders import BUNDLED
from edgeworth.llm.local.hub import HUB_NAME
from edgeworth.training.designer.merge import STAGES, thinned

README = "README.md"
CURVES = (
    "steps",
    "validation",
    "loss",
    "eval_loss",
    "reward",
    "reward_std",
    "reward_composite",
    "entropy",
    "kl",
    "completion_length",
    "invalid",
)
"""Columns of a curve, where they were logged."""
CURVE_ROWS = 10
"""Rows of a curve's table; the figure has all of its points."""
SPANS = {"n_agents": "bidders", "episode_length": "steps in an episode"}
"""What a card's limits are called."""


def write_model_card(folder: Path, card: Mapping[str, Any], results: Mapping[str, Any] | None, name: str | None = None) -> Path:
    """Write the card of a model into its folder; without a name it is called as the folder."""
    for training, stage in zip(_names(card), card.get(STAGES, ()), strict=True):
        if len(stage.get("curve", ())) > 1:
            drawn = {"name": _title(training), "steps": stage["steps"], "seconds": stage["training_seconds"], "lines": stage["curve"]}
            draw_designer_histories({"histories": [drawn]}, folder / f"{training}.png")
    lines = model_card(folder.resolve().name if name is None else name, card, results)
    write_whole(folder / README, ("\n".join(lines) + "\n").encode())
    return folder / README


def model_card(name: str, card: Mapping[str, Any], results: Mapping[str, Any] | None) -> Iterator[str]:
    """The lines of the card."""
    yield from _front_matter(card)
    yield from (f"# {name}", "", str(card.get("what", "A language model designer of auction markets.")), "")
    yield from _use(name)
    yield from _training(card)
    yield from _measured(results)
    yield from _limits(card)


def _front_matter(card: Mapping[str, Any]) -> Iterator[str]:
    base = str(card.get("base", ""))
    yield from ("---", "library_name: transformers", "pipeline_tag: text-generation")
    if base in BUNDLED:
        yield "license: apache-2.0"
    elif HUB_NAME.fullmatch(base) and not Path(base).exists():
        yield f"base_model: {base}"
    yield from ("tags:", "- mechanism-design", "- auctions", "- edgeworth", "---", "")


def _use(name: str) -> Iterator[str]:
    yield from ("## Use", "", "The folder loads with plain `transformers`; the prompt and the market come from Edgeworth:", "")
    yield from ("```bash", f"python inference.py --repo-id {name}", f"edgeworth market --designer language_model --model {name}", "```", "")
    yield from ("```python", "from edgeworth.agents.designers.language_model import LanguageModel", "")
    yield from (f'designer = LanguageModel(model="{name}")  # decodes under the schema: every reply is a legal mechanism', "```", "")


# How it came about


def _training(card: Mapping[str, Any]) -> Iterator[str]:
    yield from ("## Training", "")
    stages: Sequence[Mapping[str, Any]] = card.get(STAGES, ())
    if not stages:
        yield from ("No training was recorded beside the weights.", "")
    for name, stage in zip(_names(card), stages, strict=True):
        settings = stage["settings"]
        yield from (f"### {_title(name)}", "", f"`{stage['command']}`", "")
        minutes = stage["training_seconds"] / 60.0
        yield f"{stage['steps']:,} steps from `{settings['model']}` in {minutes:.1f} minutes on {stage['hardware']};"
        yield f"{stage['trainable']:,} of {stage['parameters']:,} parameters trained, seed {settings['seed']}."
        yield f"Markets: {', '.join(dict.fromkeys(settings['markets']['populations']))}; held-out populations are never trained on."
        yield ""
        yield from _curve(name, stage.get("curve", ()))
    if "command" in card:
        yield from (f"Written by `{card['command']}`, in bf16.", "")


def _names(card: Mapping[str, Any]) -> list[str]:
    """What the trainings are called: by their trainer, with a number from the second of a trainer on."""
    trainers = [str(stage["settings"]["trainer"]) for stage in card.get(STAGES, ())]
    before = [trainers[:place].count(trainer) for place, trainer in enumerate(trainers)]
    return [f"{trainer}_{count + 1}" if count else trainer for trainer, count in zip(trainers, before, strict=True)]


def _title(name: str) -> str:
    return name.upper().replace("_", " ")


def _curve(name: str, points: Sequence[Mapping[str, float]]) -> Iterator[str]:
    columns = [column for column in CURVES if any(column in point for point in points)]
    if len(points) > 1:
        rows = ([f"{point[column]:.4g}" if column in point else "" for column in columns] for point in thinned(points, CURVE_ROWS))
        yield from table([column.replace("_", " ") for column in columns], list(rows))
        yield from (f"![{_title(name)}: how it went]({name}.png)", "")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown, with an empty line below."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


# What was measured


def _measured(results: Mapping[str, Any] | None) -> Iterator[str]:
    yield from ("## Measured", "")
    if results is None:
        yield from ("Not measured yet; `edgeworth designer evaluate` does it.", "")
        return
    yield f"`{results['command']}`: mean score R per step of {results['episodes']:,} episodes on each population, with 95 % intervals;"
    yield from (f"seeds {results['seeds']}, never trained on. R = 1 is the competitive market.", "")
    for key, rows in results["populations"].items():
        yield from (f"**{key}**", "")
        yield from table(
            ["designer", "R", "over the best constant"],
            [
                [row["designer"], f"{Estimate.from_dict(row['score']):.4f}", f"{Estimate.from_dict(row['over_best_constant']):+.4f}"]
                for row in rows
            ],
        )
    if results.get("targets"):
        yield from table(
            ["target", "found", "wanted", ""],
            [[row["target"], row["found"], row["wanted"], "met" if row["met"] else "not met"] for row in results["targets"]],
        )


# What it is not


def _limits(card: Mapping[str, Any]) -> Iterator[str]:
    yield from ("## Limits", "")
    yield "- It answers one prompt, that of Edgeworth's auction designer, with one mechanism in JSON; for anything else it is not meant."
    asked = card.get(TRAINED_ON, {}).get("mechanism", {})
    if asked:
        spans = (f"{asked[name][0]} to {asked[name][-1]} {words}" for name, words in SPANS.items() if name in asked)
        rules = f"rules {asked['rules'][-1]} of the market" if "rules" in asked else "rules that are not recorded"
        yield f"- It was trained on {' and '.join(spans)}, under {rules}; beyond them it guesses."
    yield "- The bidders are simulated. What suits them need not suit people, and nothing here is advice on a real auction."
    yield "- Without constrained decoding some replies are no legal mechanism; a market then keeps the mechanism in force."
