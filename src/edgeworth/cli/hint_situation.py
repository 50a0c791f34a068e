"""The moment of the talks that `edgeworth hint` looks at: a context, and the moves so far, played or as told.

A history is told as prompts show it: `me PROPOSE 2,1,0; partner INSIST 1,1,1; me AGREE`, every share being mine. Moves that are told are
made by the rules, which refuse what is not legal, but the partner says what it is told to say, whatever it would have said itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from edgeworth import catalog
from edgeworth.cli.analyse import triple
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption, nearest
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context, Triple, context_of
from edgeworth.games.bargaining.talks import ACTS_WITH_SHARE, OUTCOME_WORDS, Move, triple_of
from edgeworth.games.bargaining.told_talks import begun_talks, told_talks
from edgeworth.games.bargaining.vocabulary import AGENT, COUNT_LIMIT, ONGOING, PARTNER, UTILITY_LIMIT, Act, Outcome

SPEAKERS = {"me": AGENT, "partner": PARTNER}
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
    return told_talks(config, context, read_history(asked.history, context.counts), "--history")


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


def _played(config: BargainingConfig, context: Context, asked: Asked) -> BargainingBatch:
    """So many moves of a negotiator and the partner's replies."""
    player = catalog.resolve("negotiator", asked.player)()
    batch = begun_talks(config, context, asked.seed, two_player=False)
    for made in range(asked.moves):
        batch.step(*player.choose(batch))
        if batch.state["outcome"][0] != ONGOING:
            raise InvalidOption(
                f"The talks are over after move {made + 1} of {asked.player} ({OUTCOME_WORDS[Outcome(int(batch.state['outcome'][0]))]});"
                " ask for fewer --moves, or try another --seed or --player greedy, with whom nobody agrees."
            )
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
