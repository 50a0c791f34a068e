"""The context and the moves so far that `analyse` and `hint` look at: given on the command line, drawn by a seed, or played.

A history is written as prompts show it: `me PROPOSE 2,1,0; partner INSIST 1,1,1; me AGREE`, every share being mine. The rules refuse moves
that are not legal, but the partner makes the moves it is given, whatever it would have done itself.
"""

from __future__ import annotations

from dataclasses import replace

from edgeworth import catalog
from edgeworth.cli.options import triple
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.wording import OUTCOME_WORDS
from edgeworth.errors import InvalidOption, nearest
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context, Triple, context_of, rest_of
from edgeworth.games.bargaining.history import ACTS_WITH_SHARE, Move
from edgeworth.games.bargaining.replay import opened_negotiation, replayed_negotiation
from edgeworth.games.bargaining.vocabulary import AGENT, COUNT_LIMIT, ONGOING, PARTNER, UTILITY_LIMIT, Act, Outcome

SPEAKERS = {"me": AGENT, "partner": PARTNER}
EXAMPLE = "'me PROPOSE 2,1,0; partner PROPOSE 1,1,1'"


def given_context(
    config: BargainingConfig, seed: int, counts: str | None, mine: str | None, theirs: str | None, needs_theirs: bool
) -> tuple[Context, BargainingConfig]:
    """The context of --counts, --mine and --theirs, or the first one of the seed; and the game with room for its pool."""
    batch = BargainingBatch(config, 1)
    batch.seed(seed)
    batch.reset()
    context = context_of(batch.state[0])
    if any(flag is not None for flag in (counts, mine, theirs)):
        if counts is None or mine is None or (theirs is None and needs_theirs):
            flags = "--counts, --mine and --theirs" if needs_theirs else "--counts and --mine"
            raise InvalidOption(f"A context needs {flags} together; without any of them one is drawn by --seed.")
        partner = context.partner_utilities if theirs is None else triple("--theirs", theirs, UTILITY_LIMIT)
        context = Context(triple("--counts", counts, COUNT_LIMIT), triple("--mine", mine, UTILITY_LIMIT), partner)
    return context, replace(config, max_count=max(*context.counts, batch.max_count))


def after_moves(config: BargainingConfig, context: Context, seed: int, moves: int, player: str) -> BargainingBatch:
    """A batch of one after `moves` moves of a negotiator and the partner's replies."""
    negotiator = catalog.resolve("negotiator", player)()
    batch = opened_negotiation(config, context, seed, two_player=False)
    for made in range(moves):
        batch.step(*negotiator.choose(batch))
        if batch.state["outcome"][0] != ONGOING:
            raise InvalidOption(
                f"The negotiation is over after move {made + 1} of {player} ({OUTCOME_WORDS[Outcome(int(batch.state['outcome'][0]))]});"
                " ask for fewer --moves, or try another --seed or --player greedy, with whom nobody agrees."
            )
    return batch


def after_history(config: BargainingConfig, context: Context, history: str) -> BargainingBatch:
    """A batch of one after the moves of --history."""
    return replayed_negotiation(config, context, read_history(history, context.counts), "--history")


def read_history(text: str, counts: Triple) -> list[Move]:
    """Parse moves that are separated by semicolons or line breaks."""
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
    return Move(side, act, mine if side == AGENT else rest_of(counts, mine))
