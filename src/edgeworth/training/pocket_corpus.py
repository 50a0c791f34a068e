"""The pocket model's text: what the two games write, as rows of tokens.

A row is one exchange, the user's message and the reply, without the system message in front: that one is the same for all rows of a game,
so it is kept once. Rows are made by several processes; what they hold depends on the seed alone.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.design_prompt import load_design_prompt
from edgeworth.dialogues.hint_prompt import AGREES_FROM, load_hint_prompt
from edgeworth.errors import DataError
from edgeworth.executor.execution import HERE, Executor
from edgeworth.executor.tasks import Task
from edgeworth.files import write_arrays, write_json
from edgeworth.llm.prompt import Prompt
from edgeworth.progress import Progress, silent
from edgeworth.training import pocket_games, pocket_hints, pocket_mechanisms
from edgeworth.training.designer.states import TRAINING_SEEDS
from edgeworth.training.pocket_games import Negotiations
from edgeworth.training.pocket_hints import Example
from edgeworth.training.pocket_model import ROLES, Rows, encode, train_tokenizer, turn
from edgeworth.training.settings import Count
from edgeworth.validation import settings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

GAMES = ("hint", "mechanism")
JOB_NEGOTIATIONS, JOB_MARKETS = 240, 64
"""Negotiations and markets of one job; a job is one process's work at a time."""
SAMPLED_JOBS, SAMPLED_SIZE = 160, 12
"""Jobs of each game, and negotiations or markets of each, that the tokenizer learns from."""
HELD_OUT_SEED = 2**20
"""Added to a job's number where its contexts are held out."""


@settings
class CorpusSettings:
    """How much text, and of what kind."""

    negotiations: int = 800_000
    """Negotiations to play, every state of which is an exchange."""
    markets: int = 40_000
    """Markets to play, every step of which is an exchange."""
    repeats: Count = 4
    """Negotiations with every half-context that is planned."""
    random_share: float = 0.06
    """Exchanges that are marked, and whose replies are random."""
    held_out_negotiations: int = 6_000
    held_out_markets: int = 500
    vocabulary: int = 1_536
    context: int = 2_048
    seed: int = 0


@dataclass(frozen=True)
class Corpus:
    """All the text, and how to read it."""

    tokenizer: PreTrainedTokenizerFast
    systems: dict[str, list[int]]
    """The system message of each game."""
    rows: dict[str, Rows]
    held_out: dict[str, Rows]
    """Rows from contexts and seeds that no row in `rows` comes from."""


@dataclass(frozen=True)
class Job:
    """One process's work at a time: some negotiations, or some markets."""

    lesson: Negotiations | None
    """The kind of negotiations; None for markets."""
    size: int
    number: int
    kept_back: bool = False

    @property
    def game(self) -> str:
        """The game that is played."""
        return GAMES[self.lesson is None]


def system_messages() -> dict[str, str]:
    """What the prompts say before the state, with the values that do not change."""

    def first(prompt: Prompt, **values: str) -> str:
        return prompt.sections[0].filled(values).content

    return {"hint": first(load_hint_prompt(), p=f"{AGREES_FROM:g}"), "mechanism": first(load_design_prompt())}


def jobs_of(settings: CorpusSettings, kept_back: bool) -> list[Job]:
    """All the work: every kind of negotiations by its share, then markets."""
    negotiations = settings.held_out_negotiations if kept_back else settings.negotiations
    markets = settings.held_out_markets if kept_back else settings.markets
    work: list[tuple[Negotiations | None, int, int]] = [
        *((lesson, max(1, round(lesson.share * negotiations)), JOB_NEGOTIATIONS) for lesson in pocket_games.lessons()),
        (None, max(1, markets), JOB_MARKETS),
    ]
    jobs: list[Job] = []
    for lesson, total, most in work:
        for begin in range(0, total, most):
            jobs.append(Job(lesson, min(most, total - begin), len(jobs), kept_back))
    return jobs


def examples_of(job: Job, settings: CorpusSettings) -> Iterator[Example]:
    """The exchanges of one job."""
    place = (settings.seed << 24) + job.number + (HELD_OUT_SEED if job.kept_back else 0)
    random_share = 0.0 if job.kept_back else settings.random_share
    if job.lesson is not None:
        return pocket_hints.negotiation_examples(job.lesson, job.size, settings.repeats, place, random_share, job.kept_back)
    seed = (0 if job.kept_back else TRAINING_SEEDS) + place * JOB_MARKETS
    return pocket_mechanisms.market_examples(job.size, seed, random_share)


def make_corpus(settings: CorpusSettings, run: Executor = HERE, progress: Progress = silent) -> Corpus:
    """Write all the text: first a little for the tokenizer to learn from, then everything, as tokens."""
    jobs, later = jobs_of(settings, kept_back=False), jobs_of(settings, kept_back=True)
    systems = system_messages()
    tokenizer = train_tokenizer(
        [*systems.values(), *_sample_texts(jobs, settings)], vocabulary=settings.vocabulary, context=settings.context
    )
    every = [*jobs, *later]
    tasks = [Task(f"text {number}", write_rows, (job, settings, tokenizer), keep=False) for number, job in enumerate(every)]
    parts: dict[tuple[str, bool], list[Rows]] = {}
    for job, arrays in zip(every, run(tasks, progress).whole(), strict=True):
        parts.setdefault((job.game, job.kept_back), []).append(Rows(**arrays))
    taught, kept = ({game: joined(parts[game, kept_back]) for game in GAMES} for kept_back in (False, True))
    return Corpus(tokenizer, _heads(tokenizer), taught, kept)


def _sample_texts(jobs: list[Job], settings: CorpusSettings) -> Iterator[str]:
    """Some exchanges of both games, from jobs all over the list."""
    for game in GAMES:
        there = [job for job in jobs if job.game == game]
        for job in there[:: -(-len(there) // SAMPLED_JOBS)]:
            for example in examples_of(dataclasses.replace(job, size=min(job.size, SAMPLED_SIZE)), settings):
                yield from example


def write_rows(job: Job, settings: CorpusSettings, tokenizer: PreTrainedTokenizerFast) -> dict[str, NDArray[Any]]:
    """The arrays of one job's rows."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    rows = as_rows(list(examples_of(job, settings)), tokenizer)
    return {part.name: getattr(rows, part.name) for part in dataclasses.fields(rows)}


def as_rows(examples: Sequence[Example], tokenizer: PreTrainedTokenizerFast) -> Rows:
    """Exchanges as tokens: the user's turn, the reply, its end."""
    asked = encode(tokenizer, [turn("user", user) + ROLES["assistant"] for user, _ in examples])
    answered = encode(tokenizer, [turn("assistant", reply) for _, reply in examples])
    rows = [ask + answer[1:] for ask, answer in zip(asked, answered, strict=True)]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return Rows(np.concatenate([np.array(row, np.uint16) for row in rows]), starts, np.array([len(ask) for ask in asked], np.int64))


def joined(parts: Sequence[Rows]) -> Rows:
    """Several lots of rows as one."""
    offsets = np.cumsum([0, *(part.starts[-1] for part in parts)])
    starts = np.concatenate([*(part.starts[:-1] + offset for part, offset in zip(parts, offsets, strict=False)), offsets[-1:]])
    return Rows(np.concatenate([part.tokens for part in parts]), starts, np.concatenate([part.replies for part in parts]))


# Kept text


def corpus_at(folder: Path | None, settings: CorpusSettings, run: Executor = HERE, progress: Progress = silent) -> Corpus:
    """The corpus kept in a folder if there is one of these settings; otherwise a new one, kept there if a folder is named."""
    if folder is None:
        return make_corpus(settings, run, progress)
    if (folder / "settings.json").is_file():
        return load_corpus(folder, settings)
    corpus = make_corpus(settings, run, progress)
    save_corpus(folder, corpus, settings)
    return corpus


def save_corpus(folder: Path, corpus: Corpus, settings: CorpusSettings) -> None:
    """Keep a corpus; its settings are written last, so that a folder with settings is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus.tokenizer.save_pretrained(folder)
    arrays: dict[str, NDArray[Any]] = {}
    for name, rows in (("rows", corpus.rows), ("held_out", corpus.held_out)):
        for game in GAMES:
            arrays |= {f"{name}/{game}/{part.name}": getattr(rows[game], part.name) for part in dataclasses.fields(Rows)}
    write_arrays(folder / "tokens.npz", arrays)
    write_json(folder / "settings.json", dataclasses.asdict(settings))


def load_corpus(folder: Path, settings: CorpusSettings) -> Corpus:
    """A corpus that was kept, if it was made with these settings."""
    from transformers import PreTrainedTokenizerFast

    kept = json.loads((folder / "settings.json").read_text())
    if kept != dataclasses.asdict(settings):
        different = [key for key, value in dataclasses.asdict(settings).items() if kept.get(key) != value]
        raise DataError(folder, f"holds text of other settings ({', '.join(different)} differ); name another folder, or remove it.")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    with np.load(folder / "tokens.npz", allow_pickle=False) as arrays:
        rows, held_out = (
            {game: Rows(*(arrays[f"{name}/{game}/{part.name}"] for part in dataclasses.fields(Rows))) for game in GAMES}
            for name in ("rows", "held_out")
        )
    return Corpus(tokenizer, _heads(tokenizer), rows, held_out)


def _heads(tokenizer: PreTrainedTokenizerFast) -> dict[str, list[int]]:
    """The system messages as tokens."""
    return {game: encode(tokenizer, [turn("system", text)])[0] for game, text in system_messages().items()}
