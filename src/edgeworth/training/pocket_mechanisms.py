"""Markets as text for the pocket model: states that were reached by play are prompts, and what the policy designer posts there the replies.

Populations, numbers of bidders and lengths of the episodes are those that language model designers are trained on
(`designer/settings.py`); held-out populations are not among them. At part of the steps something else is posted than the policy's choice,
so that the model also sees markets under strange mechanisms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edgeworth.agents.designers.design_prompt import mechanism_json
from edgeworth.games.auction.action import random_mechanisms
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.seeding import generator
from edgeworth.training.designer.settings import MarketSettings
from edgeworth.training.designer.states import drawn_market, named_designer, play_lot
from edgeworth.training.designer.variations import rounded_rows
from edgeworth.training.pocket_hints import ANY_REPLY, Example

MARKETS = MarketSettings()
TEACHER = "policy"


def trained_on(markets: MarketSettings = MARKETS) -> dict[str, list[Any]]:
    """What the markets have, for a model's card: least and most of a number."""
    numbers = {"n_agents": markets.n_agents, "episode_length": markets.episode_lengths}
    return {"rules": [RULES, RULES], **{name: [min(values), max(values)] for name, values in numbers.items()}}


def market_examples(size: int, seed: int, random_share: float = 0.0) -> Iterator[Example]:
    """The examples of `size` markets of one kind, one per step; a `random_share` of them is marked, and has random legal replies."""
    rng = generator(seed, 1)
    states = play_lot(drawn_market(MARKETS, rng), named_designer(TEACHER), MARKETS, seed, rng, size)
    marked = rng.random(len(states)) < random_share
    replies = states.posted.copy()
    replies[marked] = random_mechanisms(rng, int(marked.sum()))
    for prompt, reply, any_will_do in zip(states.prompts, rounded_rows(replies), marked, strict=True):
        user = prompt[-1]["content"]
        yield Example(f"{user}\n{ANY_REPLY}" if any_will_do else user, mechanism_json(reply))
