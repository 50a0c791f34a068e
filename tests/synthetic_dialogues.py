"""Synthetic dialogues in the released format: one side asks for what it wants most, the other agrees unless it wants that too."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edgeworth.dialogues.lines import Dialogue, Speaker
from edgeworth.games.bargaining.contexts import Context, LewisContexts, Triple
from edgeworth.games.bargaining.vocabulary import ITEM_NAMES


def synthetic_dialogue(context: Context) -> Dialogue:
    """A dialogue of three utterances at most."""
    pool = context.counts
    mine, theirs = best_type(context.my_utilities), best_type(context.partner_utilities)
    said: list[tuple[Speaker, str]] = [("YOU", asked(pool, mine))]
    if mine == theirs:
        said += [("THEM", asked(pool, theirs)), ("YOU", "no deal")]
        return Dialogue(context, tuple(said), "no_agreement", None, None, 1)
    said.append(("THEM", "ok, deal"))
    share = taken(pool, mine)
    return Dialogue(context, tuple(said), "agreed", share, (pool[0] - share[0], pool[1] - share[1], pool[2] - share[2]), 1)


def best_type(utilities: Triple) -> int:
    return utilities.index(max(utilities))


def taken(pool: Triple, kind: int) -> Triple:
    a, b, c = (n if k == kind else 0 for k, n in enumerate(pool))
    return (a, b, c)


def asked(pool: Triple, kind: int) -> str:
    return f"i want {pool[kind]} {ITEM_NAMES[kind]}{'s' if pool[kind] > 1 else ''}"


def synthetic_dialogues(number: int, seed: int) -> list[Dialogue]:
    """Dialogues over Lewis contexts."""
    table = LewisContexts().table()
    assert table is not None
    rows = np.random.default_rng(seed).integers(len(table), size=number)
    return [synthetic_dialogue(Context.from_row(table[row])) for row in rows]


def tagged(dialogue: Dialogue) -> str:
    """A dialogue as a line of the released files."""
    context = dialogue.context

    def side(utilities: Triple) -> str:
        return " ".join(f"{n} {u}" for n, u in zip(context.counts, utilities, strict=True))

    said = " ".join(f"{speaker}: {text} <eos>" for speaker, text in dialogue.utterances)
    shares = (*(dialogue.my_share or ()), *(dialogue.partner_share or ()))
    items = " ".join(f"item{k % 3}={n}" for k, n in enumerate(shares)) or " ".join(["<no_agreement>"] * 6)
    return (
        f"<input> {side(context.my_utilities)} </input> <dialogue> {said} YOU: <selection> </dialogue> <output> {items} </output>"
        f" <partner_input> {side(context.partner_utilities)} </partner_input>"
    )


def write_dialogues(folder: Path, number: int = 40) -> Path:
    """A folder such as the released one, filled with synthetic dialogues."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, part in enumerate(("train", "val", "test")):
        lines = [tagged(dialogue) for dialogue in synthetic_dialogues(number, seed)]
        (folder / f"{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
