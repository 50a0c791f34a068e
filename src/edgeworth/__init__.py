"""Edgeworth: a laboratory for strategic agents.

Two games that belong together: dividing a pool with a partner whose utilities you cannot see, and designing the auction that others will
try to game. Importing this package registers the Gymnasium environments and loads nothing heavy; every public name is imported on first
use, and `edgeworth.catalog` lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeworth import catalog
from edgeworth.envs import register_environments

if TYPE_CHECKING:
    from edgeworth.agents.features import HintAdapter
    from edgeworth.config import AuctionConfig, BargainingConfig
    from edgeworth.envs.auction_parallel import auction_parallel
    from edgeworth.envs.bargaining_aec import bargaining_aec, bargaining_parallel
    from edgeworth.envs.daedalus import DaedalusEnv, DaedalusFlatEnv
    from edgeworth.envs.daedalus_vector import DaedalusVectorEnv
    from edgeworth.envs.flat_action import FlatActionEnv, FlatActionVectorEnv
    from edgeworth.envs.hint_injector import HintInjectorEnv, HintInjectorVectorEnv
    from edgeworth.envs.negotiation import NegotiationEnv
    from edgeworth.envs.negotiation_vector import NegotiationVectorEnv
    from edgeworth.errors import EdgeworthError
    from edgeworth.games.auction.action import DaedalusAction
    from edgeworth.games.auction.batch import MarketBatch
    from edgeworth.games.auction.sale_room import SaleRoom
    from edgeworth.games.bargaining.batch import BargainingBatch
    from edgeworth.games.bargaining.contexts import Context
    from edgeworth.games.bargaining.vocabulary import Act, Outcome

__version__ = "0.1.0"

__all__ = [
    "Act",
    "AuctionConfig",
    "BargainingBatch",
    "BargainingConfig",
    "Context",
    "DaedalusAction",
    "DaedalusEnv",
    "DaedalusFlatEnv",
    "DaedalusVectorEnv",
    "EdgeworthError",
    "FlatActionEnv",
    "FlatActionVectorEnv",
    "HintAdapter",
    "HintInjectorEnv",
    "HintInjectorVectorEnv",
    "MarketBatch",
    "NegotiationEnv",
    "NegotiationVectorEnv",
    "Outcome",
    "SaleRoom",
    "__version__",
    "auction_parallel",
    "bargaining_aec",
    "bargaining_parallel",
]

register_environments()


def __getattr__(name: str) -> Any:
    if name in catalog.PUBLIC:
        return catalog.load(catalog.PUBLIC[name])
    raise AttributeError(f"module 'edgeworth' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *catalog.PUBLIC})
