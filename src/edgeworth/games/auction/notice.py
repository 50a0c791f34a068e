"""The notice on the door: a mechanism in words, and what a step under it has shown."""

from __future__ import annotations

from collections.abc import Mapping

from edgeworth.games.auction.action import DaedalusAction
from edgeworth.games.auction.state import PROXIES, SCORES

PRICING = {
    "first_price": "winners pay their own bid",
    "second_price": "winners pay the next bid",
    "vcg": "winners pay what their presence costs the others",
}
PUBLISHED = {
    "reveal_competing_bids": "all bids with names",
    "reveal_winner_identity": "the winners",
    "reveal_clearing_price": "the prices paid",
    "reveal_bid_distribution": "a histogram of bids",
}
POLICIES = {
    "allow": "legal",
    "restrict": "hindered",
    "penalize_suspected": "fined on suspicion",
    "penalize_confirmed": "fined on proof",
}
LABEL_WIDTH = 11
PROXIES_PER_LINE = 4


def mechanism_lines(action: DaedalusAction) -> list[str]:
    """A mechanism as people would announce it, one matter per line."""
    published = [words for flag, words in PUBLISHED.items() if getattr(action, flag)]
    reserve = "announced" if action.reveal_reserve else "secret"
    fines = f"{action.shill_penalty:.3g} for false names, {action.collusion_penalty:.3g} for bidding as a ring (in unit fines)"
    matters = {
        "sale": f"{action.auction_type}, {PRICING[action.auction_type]}; reserve {action.reserve_price:.3g}, {reserve}",
        "published": ", ".join(published) or "nothing",
        "rings": POLICIES[action.coalition_policy],
        "fines": fines,
        "withdrawing": f"costs {action.withdrawal_penalty:.3g} times the seller's loss",
    }
    return [f"{label:<{LABEL_WIDTH}} {words}" for label, words in matters.items()]


def step_notice(step: int, episode_length: int, n_agents: int, mechanism: DaedalusAction | None, outcome: Mapping[str, float]) -> str:
    """The last step of an episode: the mechanism in force, its scores as a table, and what was seen of the bidders."""
    lines = [f"Step {step} of {episode_length}, {n_agents} bidders", ""]
    if mechanism is None:
        return "\n".join([*lines, "No mechanism has been posted yet."])
    names = [name.removesuffix("_ratio").removesuffix("_score").removesuffix("_rate") for name in SCORES]
    lines += [*mechanism_lines(mechanism), ""]
    lines += ["".join(f"{name:>15}" for name in names), "".join(f"{outcome[name]:>15.3f}" for name in SCORES), ""]
    seen = [f"{name.replace('_', ' '):<21}{outcome[name]:>6.3f}" for name in PROXIES]
    lines += ["   ".join(seen[k : k + PROXIES_PER_LINE]) for k in range(0, len(seen), PROXIES_PER_LINE)]
    return "\n".join(lines)
