"""Short episodes as readable text, so that a change of the rules shows as a change of a page.

`python tests/playthroughs/record.py` writes the pages anew; read the difference before committing it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgeworth import Act, NegotiationEnv, bargaining_aec
from edgeworth.agents.designers.bundled import bundled_mechanism
from edgeworth.config import AuctionConfig
from edgeworth.evaluation.sale_facts import facts_of_sale
from edgeworth.evaluation.story import account_line, cast_line, headline, sentences
from edgeworth.games.auction.sale_room import SaleRoom
from edgeworth.games.auction.state import SCORES
from edgeworth.games.auction.vocabulary import BIDDER_TYPES, SALES_PER_STEP
from edgeworth.games.bargaining.joint_actions import encode

FOLDER = Path(__file__).parent
Share = Callable[[Any], Any]
Script = Sequence[tuple[Act, Share]]


def everything(pool: Any) -> Any:
    return pool


def half(pool: Any) -> Any:
    return (pool + 1) // 2


def one_of_each(pool: Any) -> Any:
    return np.minimum(pool, 1)


def nothing(pool: Any) -> Any:
    return 0 * pool


def against_a_partner(seed: int, script: Script, **options: Any) -> str:
    """A script played in the single environment until the talks end."""
    env = NegotiationEnv(render_mode="ansi", **options)
    observation, info = env.reset(seed=seed)
    lines = []
    for act, share in script:
        observation, reward, terminated, _, info = env.step({"act_type": act, "oA": share(observation["counts"])})
        lines.append(f"step {len(lines) + 1}: reward {reward:g}, turns remaining {observation['turns_remaining']}")
        if terminated:
            lines.append(f"{info['outcome']}: deal {info['deal']}, partner's reward {info['partner_reward']:g}")
            break
    return "\n".join([f"NegotiationEnv, seed {seed}, {options}", "", str(env.render()), "", *lines, ""])


def between_two_players(seed: int, script: Script, **options: Any) -> str:
    """A script that two players follow by turns."""
    env = bargaining_aec(render_mode="ansi", **options)
    env.reset(seed=seed)
    lines = []
    for act, share in script:
        player = env.agent_selection
        pool = tuple(share(env.observe(player)["counts"]).tolist())
        env.step(encode(int(act), pool, env.batch.max_count))
        lines.append(f"{player}: rewards {env.rewards['player_0']:g} and {env.rewards['player_1']:g}")
        if all(env.terminations.values()):
            lines.append(f"{env.infos[player]['outcome']}: deal {env.infos[player]['deal']}")
            break
    return "\n".join([f"bargaining_aec, seed {seed}, {options}", "", str(env.render()), "", *lines, ""])


def in_a_market(seed: int, mechanism: str, steps: int, **options: Any) -> str:
    """A market told sale by sale, under one mechanism from the box."""
    room, posted = SaleRoom(AuctionConfig.from_options(**options), seed), bundled_mechanism(mechanism)
    types = [BIDDER_TYPES[kind] for kind in room.market["type"][: room.batch.config.n_agents]]
    lines = [f"SaleRoom, seed {seed}, {mechanism}, {options}", cast_line(types)]
    for _ in range(steps):
        room.post(posted)
        for _ in range(SALES_PER_STEP):
            sale = facts_of_sale(room, room.run_sale())
            bids = " ".join(f"{bid:.4f}" for bid in room.sale["bid"][: room.batch.config.n_agents])
            lines += ["", headline(sale), f"  bids {bids}", *(f"  {line}" for line in [*sentences(sale), account_line(sale)])]
        lines += ["", ", ".join(f"{name} {room.outcome[name]:.6f}" for name in SCORES)]
    return "\n".join([*lines, ""])


PAGES: dict[str, Callable[[], str]] = {
    "heuristic_classic_seed7": lambda: against_a_partner(
        7, [(Act.PROPOSE, everything), (Act.INSIST, half), (Act.AGREE, nothing)], scenario="classic", insist_price=0.5
    ),
    "boulware_lewis_seed3": lambda: against_a_partner(
        3,
        [*[(Act.PROPOSE, everything)] * 3, (Act.PROPOSE, one_of_each), (Act.AGREE, nothing)],
        scenario="lewis",
        partner="boulware",
        discount=0.9,
    ),
    "two_player_seed1": lambda: between_two_players(
        1,
        [(Act.PROPOSE, everything), (Act.INSIST, half), (Act.DISAGREE, nothing), (Act.PROPOSE, half), (Act.AGREE, nothing)],
        disagree="passes",
    ),
    "market_stage4_seed2": lambda: in_a_market(2, "informed_greedy", 2, stage="4"),
    "market_of_four_seed5": lambda: in_a_market(5, "informed_greedy", 1, mix={"truthful": 0.25, "colluder": 0.75}, n_agents=4),
}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / f"{name}.txt").write_text(page(), encoding="utf-8")
