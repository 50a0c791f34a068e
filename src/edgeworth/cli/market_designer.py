"""Who sets the rules of a market that is told: a designer at work in one sale room, and what a language model says there."""

from __future__ import annotations

import warnings
from typing import Any

from edgeworth import catalog
from edgeworth.agents.designers.designer import Designer, told_to
from edgeworth.agents.designers.language_model import OPENING, LanguageModel
from edgeworth.cli.console import err, out
from edgeworth.config import AuctionConfig
from edgeworth.errors import FallbackUsed, InvalidOption
from edgeworth.games.auction.action import DaedalusAction, action_of
from edgeworth.games.auction.market_view import Notebook
from edgeworth.games.auction.sale_room import SaleRoom


class Standing:
    """One mechanism that stays, whatever happens."""

    verdict: dict[str, Any] | None = None
    """What became of a language model's last reply, where one was asked."""
    account: dict[str, Any] | None = None
    """Who was asked, how often, at what cost in tokens and seconds."""

    def __init__(self, mechanism: DaedalusAction) -> None:
        self.mechanism = mechanism

    def post(self, room: SaleRoom) -> DaedalusAction:
        """The mechanism for the next step of this room."""
        return self.mechanism

    def close(self) -> None:
        """Let go of a language model's connections and files."""


class DesignerAtWork:
    """A designer that posts the mechanisms of one market, step by step."""

    def __init__(self, name: str, config: AuctionConfig, seed: int, options: dict[str, Any]) -> None:
        self.designer: Designer = catalog.resolve("designer", name)(**options)
        if isinstance(self.designer, LanguageModel):
            self.designer.check()
        self.config, self.seed = config, seed
        self.notebook: Notebook | None = None

    def post(self, room: SaleRoom) -> DaedalusAction:
        """The mechanism for the next step of this room."""
        if self.notebook is None:
            self.notebook = Notebook(room.batch)
            self.designer.begin(self.config, 1, self.seed, told_to(self.designer, room.batch.markets))
            for note in self.designer.assumed:
                err.print(f"{note}.", markup=False)
        else:
            self.notebook.write(room.mechanisms)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackUsed)  # every verdict is shown
            return action_of(self.designer.design(self.notebook.view())[0])

    @property
    def verdict(self) -> dict[str, Any] | None:
        """What became of a language model's last reply."""
        return self.designer.verdicts[0].as_dict() if isinstance(self.designer, LanguageModel) else None

    @property
    def account(self) -> dict[str, Any] | None:
        """Who was asked, how often, at what cost in tokens and seconds."""
        if not isinstance(self.designer, LanguageModel):
            return None
        return {"model": self.designer.client.name, **self.designer.counters}

    def close(self) -> None:
        """Let go of a language model's connections and files."""
        if isinstance(self.designer, LanguageModel):
            self.designer.close()


def poster(
    fixed: DaedalusAction, designer: str | None, config: AuctionConfig, seed: int, model_options: dict[str, Any]
) -> Standing | DesignerAtWork:
    """Who posts the mechanisms: one that stays, or a designer; options of a language model are refused where none is asked."""
    given = {option: value for option, value in model_options.items() if value is not None}
    if given and designer != "language_model":
        raise InvalidOption(f"--{next(iter(given))} is about a language model; add --designer language_model.")
    if designer is not None:
        return DesignerAtWork(designer, config, seed, given)
    return Standing(fixed)


def show_verdict(verdict: dict[str, Any] | None, step: int) -> None:
    """Why a reply was not used, and what is posted instead."""
    if verdict is None or verdict["posted"] == "reply":
        return
    instead = "the mechanism in force stays" if verdict["posted"] == "kept" else f"the market opens under {OPENING}"
    out.print(
        f"Step {step}: no mechanism from the model ({verdict['reason']}), so {instead}. {verdict['sentence']}", style="bold", markup=False
    )


def show_model_account(account: dict[str, Any] | None) -> None:
    """What asking the model has cost."""
    if account is None:
        return
    asked = account["prompts"] - account["cache_hits"]
    parts = (
        [f"{account['prompts']:,} prompts", f"{account['cache_hits']:,} from the cache"]
        if account["cache_hits"]
        else [f"{asked:,} prompts"]
    )
    if asked:
        parts.append(f"{account['prompt_tokens']:,} + {account['completion_tokens']:,} tokens read and written")
    if account["latency"]:
        parts.append(f"{account['latency']['p50']:.2g} s a reply (p90 {account['latency']['p90']:.2g} s)")
    unused = account["posted"]["kept"] + account["posted"]["opening"]
    parts.append(f"{unused} of {sum(account['posted'].values())} replies not used" if unused else "every reply a legal mechanism")
    out.print(f"{account['model']}: {', '.join(parts)}.", markup=False)
