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
    from edgeworth.agents.features import HintAdapter as HintAdapter
    from edgeworth.config import AuctionConfig as AuctionConfig
    from edgeworth.config import BargainingConfig as BargainingConfig
    from edgeworth.envs.auction_parallel import auction_parallel as auction_parallel
    from edgeworth.envs.bargaining_aec import bargaining_aec as bargaining_aec
    from edgeworth.envs.bargaining_aec import bargaining_parallel as bargaining_parallel
    from edgeworth.envs.daedalus import DaedalusEnv as DaedalusEnv
    from edgeworth.envs.daedalus import DaedalusFlatEnv as DaedalusFlatEnv
    from edgeworth.envs.daedalus import DaedalusVectorEnv as DaedalusVectorEnv
    from edgeworth.envs.flat_action import FlatActionEnv as FlatActionEnv
    from edgeworth.envs.flat_action import FlatActionVectorEnv as FlatActionVectorEnv
    from edgeworth.envs.hint_injector import HintInjectorEnv as HintInjectorEnv
    from edgeworth.envs.hint_injector import HintInjectorVectorEnv as HintInjectorVectorEnv
    from edgeworth.envs.negotiation import NegotiationEnv as NegotiationEnv
    from edgeworth.envs.negotiation_vector import NegotiationVectorEnv as NegotiationVectorEnv
    from edgeworth.errors import EdgeworthError as EdgeworthError
    from edgeworth.games.auction.action import DaedalusAction as DaedalusAction
    from edgeworth.games.auction.batch import MarketBatch as MarketBatch
    from edgeworth.games.auction.sale_room import SaleRoom as SaleRoom
    from edgeworth.games.bargaining.batch import BargainingBatch as BargainingBatch
    from edgeworth.games.bargaining.contexts import Context as Context
    from edgeworth.games.bargaining.vocabulary import Act as Act
    from edgeworth.games.bargaining.vocabulary import Outcome as Outcome

__version__ = "0.1.0"

__all__ = ["__version__", *catalog.PUBLIC]

register_environments()


def __getattr__(name: str) -> Any:
    if name in catalog.PUBLIC:
        return catalog.load(catalog.PUBLIC[name])
    raise AttributeError(f"module 'edgeworth' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *catalog.PUBLIC})
