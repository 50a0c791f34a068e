"""The moment of the talks that `edgeworth hint` looks at: a context, and the moves so far, played or as told.

A history is told as prompts show it: `me PROPOSE 2,1,0; partner INSIST 1,1,1; me AGREE`, every share being mine. Moves that are told are
made by the rules, which refuse what is not legal, but the partner says what it is told to say, whatever it would have said itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from edgeworth import catalog
from edgeworth.cli.analyse import triple
from edgeworth.config import BargainingConfig
from edgeworth.errors import IllegalAction, InvalidOption, nearest
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context, Triple, context_of
from edgeworth.games.bargaining.talks import ACTS_WITH_SHARE, OUTCOME_WORDS, Move, triple_of
from edgeworth.games.bargaining.vocabulary import AGENT, COUNT_LIMIT, ONGOING, PARTNER, UTILITY_LIMIT, Act, Outcome

SPEAKERS = {"me": AGENT, "partner": PARTNER}
NAMES = ("mine", "the partner's")
EXAMPLE = "'me PROPOSE 2,1,0; partner PROPOSE 1,1,1'"


class Asked(NamedTuple):
    """What the flags say about the moment."""

    counts: str | None
    mine: str | None
    theirs: str | None
    history: str | None
    moves: int
    player: str
    seed: int


def moment(config: BargainingConfig, asked: Asked) -> BargainingBatch:
    """A batch of one, at the agent's move that is meant."""
    if asked.history is not None and asked.moves:
        raise InvalidOption("--history and --moves exclude each other: the talks are told, or played.")
    context = _context(config, asked)
    config = replace(config, max_count=max(*context.counts, BargainingBatch(config, 1).max_count))
    if asked.history is None:
        return _played(config, context, asked)
    return _told(config, context, read_history(asked.history, context.counts))


def _context(config: BargainingConfig, asked: Asked) -> Context:
    batch = BargainingBatch(config, 1)
    batch.seed(asked.seed)
    batch.reset()
    drawn = context_of(batch.state[0])
    if asked.counts is None and asked.mine is None and asked.theirs is None:
        return drawn
    if asked.counts is None or asked.mine is None:
        raise InvalidOption("A context needs --counts and --mine together; without any of them one is drawn by --seed.")
    theirs = drawn.partner_utilities if asked.theirs is None else triple("--theirs", asked.theirs, UTILITY_LIMIT)
    return Context(triple("--counts", asked.counts, COUNT_LIMIT), triple("--mine", asked.mine, UTILITY_LIMIT), theirs)


def _begun(config: BargainingConfig, context: Context, seed: int, two_player: bool) -> BargainingBatch:
    batch = BargainingBatch(config, 1, two_player=two_player)
    batch.seed(seed)
    batch.reset(np.array([context.row()], np.int16))
    return batch


def _played(config: BargainingConfig, context: Context, asked: Asked) -> BargainingBatch:
    """So many moves of a negotiator and the partner's replies."""
    player = catalog.resolve("negotiator", asked.player)()
    batch = _begun(config, context, asked.seed, two_player=False)
    for made in range(asked.moves):
        batch.step(*player.choose(batch))
        if batch.state["outcome"][0] != ONGOING:
            raise InvalidOption(
                f"The talks are over after move {made + 1} of {asked.player} ({OUTCOME_WORDS[Outcome(int(batch.state['outcome'][0]))]});"
                " ask for fewer --moves, or try another --seed or --player greedy, with whom nobody agrees."
            )
    return batch


def _told(config: BargainingConfig, context: Context, history: list[Move]) -> BargainingBatch:
    """The talks after these moves; the next is the agent's."""
    opener = history[0].side if history else AGENT
    opens = ("agent", "partner")[opener]
    if config.opens not in ("random", opens):
        raise InvalidOption(f"The first move of --history is of the {opens}, but here the {config.opens} opens (option `opens`).")
    batch = _begun(replace(config, opens=opens), context, 0, two_player=True)  # type: ignore[arg-type]
    batch.rules["sudden_end"] = 0.0  # these talks did not break off
    for number, move in enumerate(history, start=1):
        if move.side != (opener + number - 1) % 2:
            raise InvalidOption(f"Move {number} of --history is again one of {NAMES[move.side]}; the sides move in turn.")
        try:
            batch.move(move.side, np.array([move.act]), np.array([move.share or (0, 0, 0)]))
        except IllegalAction as error:
            raise InvalidOption(f"Move {number} of --history is not legal: {error}") from error
        if batch.state["outcome"][0] != ONGOING:
            raise InvalidOption(f"The talks are over with move {number} of --history; there is nothing to give a hint for.")
    if history and history[-1].side == AGENT:
        raise InvalidOption("The last move of --history is mine, so the next is the partner's; add its move.")
    batch.views[:], batch.masks[:] = batch.look(AGENT)
    return batch


def read_history(text: str, counts: Triple) -> list[Move]:
    """Moves from words, one after the other between semicolons or line breaks."""
    lines = [line.strip() for line in text.replace("\n", ";").split(";")]
    return [_read_move(line, counts) for line in lines if line and line != "none"]


def _read_move(line: str, counts: Triple) -> Move:
    speaker, _, said = line.partition(" ")
    word, _, share = said.strip().partition(" ")
    if speaker.lower() not in SPEAKERS or word.upper() not in Act.__members__:
        guess = nearest(word.upper(), Act.__members__)
        hint = f" Did you mean {guess!r}?" if guess and speaker.lower() in SPEAKERS else ""
        raise InvalidOption(f"--history: {line!r} is no move; expected me or partner, an act and my share, such as {EXAMPLE}.{hint}")
    side, act = SPEAKERS[speaker.lower()], Act[word.upper()]
    if act not in ACTS_WITH_SHARE:
        if share.strip():
            raise InvalidOption(f"--history: {line!r} states a share, but {act.name} has none.")
        return Move(side, act, None)
    mine = triple(f"--history: the share in {line!r}", share, COUNT_LIMIT)
    if any(n > cap for n, cap in zip(mine, counts, strict=True)):
        raise InvalidOption(f"--history: {line!r} gives me more than the pool {','.join(map(str, counts))}.")
    return Move(side, act, mine if side == AGENT else triple_of([cap - n for cap, n in zip(counts, mine, strict=True)]))
