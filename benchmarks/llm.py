"""How fast a local language model writes hints and mechanisms on one core, and what constrained decoding brings.

Contenders answer the same prompts of real negotiations and markets, greedily. Plain generation is `generate` of transformers: left
padding, end token, nothing else. Constrained is our decoder with a grammar, every token chosen by the model. Ours appends forced tokens
at once and reads the beginning that prompts share once. Everything is timed in CPU seconds of one core; contenders take turns, and a
ratio is taken within each round.

The first hint is wall-clock, from the start of the interpreter to a legal hint; its processor time is reported too, since other
processes slow a start. A cache hit is one prompt with a reply that was recorded before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import transformers
import typer
from rich.console import RenderableType
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from benchmarks import hints
from benchmarks.command import Repeats, rates_table, report, start, targets_table
from benchmarks.measuring import Measure, Rates, entries, machine_facts, measure_rates, ratios, repeated, target
from edgeworth.agents.designers.design_prompt import MECHANISM_SCHEMA, design_variables, load_design_prompt
from edgeworth.cli.options import AsJson, OutFile, Seed
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.hint_prompt import batch_variables, hint_schema, legal_json_schema, load_hint_prompt
from edgeworth.envs.daedalus import DaedalusEnv
from edgeworth.games.auction.action import action_of, random_mechanisms
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.rules import SAME_STEP
from edgeworth.llm.client import Client, Completion, Messages, Sampling
from edgeworth.llm.huggingface import POCKET_FOLDER, Pocket
from edgeworth.llm.stack import make_client, open_client
from edgeworth.progress import Progress, silent
from edgeworth.protocol import Accepted, Schema, parse_reply
from edgeworth.seeding import generator

BATCH = 16
STARTS = 3
LONGEST = {"hints": 64, "mechanisms": 200}
"""Tokens that a reply may have."""
WAYS = {
    "plain": f"plain generation, {BATCH} at a time",
    "constrained": f"constrained, {BATCH} at a time",
    "ours": f"with forced tokens and shared beginning, {BATCH} at a time",
    "single": "with forced tokens and shared beginning, one at a time",
}
LABELS = {**{f"{kind}_{way}": f"{kind}: {label}" for kind in LONGEST for way, label in WAYS.items()}, "cached": "hints from the cache"}

FIRST_HINT = """
import sys
import numpy as np
from edgeworth.dialogues.hint_prompt import hint_variables, legal_json_schema, load_hint_prompt
from edgeworth.llm.client import Sampling
from edgeworth.llm.stack import open_client
import gymnasium, edgeworth

env = gymnasium.make("DealOrNoDialog-v0")
observation, info = env.reset(seed=0)
client = open_client("pocket", model=sys.argv[1])
schema = legal_json_schema(info["action_mask"], observation["counts"])
reply = client.complete([load_hint_prompt().messages(hint_variables(observation, info))], Sampling(max_tokens=64, json_schema=schema))[0]
assert reply.finish_reason == "stop", reply
"""


@dataclass(frozen=True)
class Task:
    """A prompt, and what a reply must be."""

    messages: Messages
    json_schema: dict[str, Any]
    schema: Schema[Any]


def run(repeats: int = 5, seed: int = 0, model: Path | None = None, progress: Progress = silent) -> dict[str, Any]:
    """Measure everything."""
    torch.set_num_threads(1)
    folder = POCKET_FOLDER if model is None else model
    tasks = {"hints": hint_tasks(seed), "mechanisms": mechanism_tasks(seed)}
    with tempfile.TemporaryDirectory() as place:
        table, written = contenders(folder, tasks, Path(place))
        rates = measure_rates(table, repeats, 0.01, progress, LABELS)
    starts = [first_hint(folder, progress, lap) for lap in range(STARTS)]
    injector = hints.run(seed=seed, progress=progress)["targets"]
    return {
        "quantity": "replies per CPU second of one core, median of the repeats; ratios within a repeat",
        "model": Pocket(folder).name,
        "seed": seed,
        "repeats": repeats,
        "batch": BATCH,
        "machine": {**machine_facts(), "torch": torch.__version__, "transformers": transformers.__version__},
        "entries": entries(rates, LABELS),
        "legal": {name: legal_share(tasks[name.partition("_")[0]], replies()) for name, replies in written.items()},
        "first_hint_cpu_seconds": [processor for _, processor in starts],
        "targets": [*targets(rates, [wall for wall, _ in starts]), *injector],
    }


# Prompts


def hint_tasks(seed: int) -> list[Task]:
    """Negotiations after one move of each side."""
    batch = BargainingBatch(BargainingConfig(), BATCH)
    batch.seed(seed)
    batch.reset()
    batch.step(*batch.random_actions(), autoreset=SAME_STEP)
    prompt, tasks = load_hint_prompt(), []
    for slot, variables in enumerate(batch_variables(batch, np.ones(BATCH, np.bool_))):
        mask, caps = batch.masks[slot].copy(), np.array([int(count) for count in variables["counts_csv"].split(",")])
        tasks.append(Task(prompt.messages(variables), legal_json_schema(mask, caps), hint_schema(mask, caps)))
    return tasks


def mechanism_tasks(seed: int) -> list[Task]:
    """Markets, none to three steps in."""
    prompt, tasks = load_design_prompt(), []
    for market in range(BATCH):
        env = DaedalusEnv()
        observation, _ = env.reset(seed=seed + market)
        for row in random_mechanisms(generator(seed, market), market % 4):
            observation = env.step(action_of(row).model_dump())[0]
        tasks.append(Task(prompt.messages(design_variables(observation)), MECHANISM_SCHEMA.json_schema(), MECHANISM_SCHEMA))
    return tasks


# Contenders

Write = Callable[[], list[str]]


def contenders(folder: Path, tasks: dict[str, list[Task]], place: Path) -> tuple[dict[str, Measure], dict[str, Write]]:
    """Everybody who writes replies: as something to be measured, and as something whose replies can be read."""
    whole, bare = Pocket(folder), Pocket(folder)
    for client in (whole, bare):
        client.check()
    assert bare._loaded is not None
    _slow_down(bare._loaded)
    plain = plain_generation(folder)
    written: dict[str, Write] = {}
    for kind, longest in LONGEST.items():
        written[f"{kind}_plain"] = _plain_write(plain, tasks[kind], longest)
        written[f"{kind}_constrained"] = _write(bare, tasks[kind], longest, BATCH)
        written[f"{kind}_ours"] = _write(whole, tasks[kind], longest, BATCH)
        written[f"{kind}_single"] = _write(whole, tasks[kind], longest, 1)
    table = {name: repeated(_counting(write)) for name, write in written.items()}
    recorded = open_client("pocket", cache=place / "replies.sqlite", model=folder, deadline=600.0)
    hits = _write(recorded, tasks["hints"], LONGEST["hints"], 1)
    hits()
    table["cached"] = repeated(_counting(hits))
    return table, written


def _slow_down(loaded: Any) -> None:
    """Let a model write forced tokens itself and read every prompt from its first token, to measure what these two bring."""
    begin = loaded.constraints.begin

    def begin_unforced(schema: Any) -> Any:
        constraint = begin(schema)
        constraint.forced = list
        return constraint

    loaded.constraints.begin = begin_unforced
    loaded.decoder.prefixes.shared_by = lambda prompts, read: None


def plain_generation(folder: Path) -> Callable[[Sequence[Messages], int], list[str]]:
    """Greedy replies of transformers' own `generate`."""
    bars: Any = logging
    bars.disable_progress_bar()
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder, padding_side="left")

    def generate(batch: Sequence[Messages], longest: int) -> list[str]:
        said = [[{"role": message.role, "content": message.content} for message in messages] for messages in batch]
        asked = tokenizer.apply_chat_template(said, add_generation_prompt=True, padding=True, return_tensors="pt", return_dict=True)
        with torch.inference_mode():
            tokens = model.generate(**asked, max_new_tokens=longest, do_sample=False)
        replies: list[str] = tokenizer.batch_decode(tokens[:, asked["input_ids"].shape[1] :], skip_special_tokens=True)
        return replies

    return generate


def _plain_write(generate: Callable[[Sequence[Messages], int], list[str]], tasks: Sequence[Task], longest: int) -> Write:
    return lambda: generate([task.messages for task in tasks], longest)


def _write(client: Client, tasks: Sequence[Task], longest: int, at_a_time: int) -> Write:
    samplings = [Sampling(max_tokens=longest, json_schema=task.json_schema) for task in tasks]

    def write() -> list[str]:
        replies = []
        for first in range(0, len(tasks), at_a_time):
            part = slice(first, first + at_a_time)
            replies += client.complete([task.messages for task in tasks[part]], samplings[part])
        return [reply.text if isinstance(reply, Completion) else "" for reply in replies]

    return write


def _counting(write: Write) -> Callable[[], int]:
    return lambda: len(write())


def legal_share(tasks: Sequence[Task], replies: Sequence[str]) -> float:
    """The share of replies that are what was asked for."""
    accepted = [isinstance(parse_reply(reply, task.schema), Accepted) for task, reply in zip(tasks, replies, strict=True)]
    return sum(accepted) / len(accepted)


def first_hint(folder: Path, progress: Progress, lap: int) -> tuple[float, float]:
    """Seconds from the start of an interpreter to its first hint: on the wall, and of a processor."""
    progress("first hint of a process", lap, STARTS)
    begin, used = time.perf_counter(), os.times()
    subprocess.run([sys.executable, "-c", FIRST_HINT, str(folder)], check=True, capture_output=True)
    wall, now = time.perf_counter() - begin, os.times()
    return wall, now.children_user + now.children_system - used.children_user - used.children_system


# Targets


def targets(rates: Rates, starts: Sequence[float]) -> list[dict[str, Any]]:
    """The targets, with what was measured."""
    hit_milliseconds = [1000.0 / rate for rate in rates["cached"]]
    return [
        target("mechanisms, ours / plain generation", ratios(rates, "mechanisms_ours", "mechanisms_plain"), ">=", 4.0, ""),
        target("hints, ours / plain generation", ratios(rates, "hints_ours", "hints_plain"), ">=", 2.5, ""),
        target(f"hints, {BATCH} at a time / one at a time", ratios(rates, "hints_ours", "hints_single"), ">=", 3.0, ""),
        target("first hint after process start", starts, "<=", 10.0, "s"),
        target("cache hit", hit_milliseconds, "<=", 0.2, "ms"),
    ]


def main(
    repeats: Repeats = 5,
    seed: Seed = 0,
    model: Annotated[Path | None, typer.Option(help="Another model's folder; default: the pocket model.")] = None,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Measure hints and mechanisms per second of the pocket model: plain, constrained, and with everything that makes it fast.

    Example: python -m benchmarks.llm --repeats 5
    """
    make_client("pocket", model=model).check()
    report(lambda progress: run(repeats, seed, model, progress), page, as_json, out_file)


def page(result: dict[str, Any]) -> Iterator[RenderableType]:
    """The rates of hints and of mechanisms, then the targets."""
    for kind in LONGEST:
        part = {name: entry for name, entry in result["entries"].items() if entry["label"].startswith(kind)}
        yield rates_table(part, f"{kind.capitalize()} per CPU second, one core", f"{kind}/s", f"{kind}_plain", "times plain")
        yield ""
    yield targets_table(result)


if __name__ == "__main__":
    start(main)
