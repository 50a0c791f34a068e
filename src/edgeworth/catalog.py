"""Every public name, and where it lives.

Each table maps a name that users write to `"module:Class"`. Nothing is imported until it is asked for, and typos get a suggestion. A new
partner, context source, negotiator, hint provider or designer is one file and one line here; `tests/contract/` runs over these tables.
What lives outside the package joins them with `register`.
"""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import Any

from edgeworth.errors import InvalidOption, UnknownName

PARTNERS = {
    "boulware": "edgeworth.games.bargaining.partners.concession:Boulware",
    "conceder": "edgeworth.games.bargaining.partners.concession:Conceder",
    "heuristic": "edgeworth.games.bargaining.partners.heuristic:Heuristic",
    "linear": "edgeworth.games.bargaining.partners.concession:Linear",
    "population": "edgeworth.games.bargaining.partners.population:Population",
    "random": "edgeworth.games.bargaining.partners.reply:Random",
    "tit_for_tat": "edgeworth.games.bargaining.partners.concession:TitForTat",
    "walk_away": "edgeworth.games.bargaining.partners.heuristic:WalkAway",
}

OUTSIDE_PARTNERS = {
    "expert": "edgeworth.agents.partners:Expert",
    "human_clone": "edgeworth.agents.partners:HumanClone",
    "self_play": "edgeworth.agents.partners:SelfPlay",
}
"""Partners that move from outside the rules."""
CHECKPOINT_PARTNER = "edgeworth.agents.partners:FromCheckpoint"
"""The partner that is meant by the path of a checkpoint."""

CONTEXTS = {
    "dataset": "edgeworth.dialogues.deal_or_no_dialog:DatasetContexts",
    "lewis": "edgeworth.games.bargaining.contexts:LewisContexts",
    "uniform": "edgeworth.games.bargaining.contexts:UniformContexts",
}

NEGOTIATORS = {
    "agree_first": "edgeworth.agents.negotiators.scripted:AgreeFirst",
    "bayes": "edgeworth.agents.negotiators.exact:Bayes",
    "concession": "edgeworth.agents.negotiators.scripted:Concession",
    "generalist": "edgeworth.agents.negotiators.bundled:generalist",
    "greedy": "edgeworth.agents.negotiators.scripted:Greedy",
    "human_clone": "edgeworth.agents.negotiators.bundled:human_clone",
    "learned": "edgeworth.agents.negotiators.bundled:Bundled",
    "oracle": "edgeworth.agents.negotiators.exact:Oracle",
    "random": "edgeworth.agents.negotiators.scripted:RandomLegal",
    "self_play": "edgeworth.agents.negotiators.bundled:self_play",
}

HINTS = {
    "bayes": "edgeworth.agents.hints.bayes:Bayes",
    "expert": "edgeworth.agents.hints.baselines:Expert",
    "llm": "edgeworth.agents.hints.llm:LanguageModelHints",
    "none": "edgeworth.agents.hints.baselines:NoHints",
    "random": "edgeworth.agents.hints.baselines:RandomHints",
}

BIDDERS = {
    "colluder": "edgeworth.games.auction.bidders:Colluder",
    "dropout": "edgeworth.games.auction.bidders:Dropout",
    "exploiter": "edgeworth.games.auction.bidders:Exploiter",
    "shader": "edgeworth.games.auction.bidders:Shader",
    "truthful": "edgeworth.games.auction.bidders:Truthful",
}

DESIGNERS = {
    "adaptive": "edgeworth.agents.designers.adaptive:Adaptive",
    "best_constant": "edgeworth.agents.designers.fixed:BestConstant",
    "fixed": "edgeworth.agents.designers.fixed:Fixed",
    "informed_greedy": "edgeworth.agents.designers.fixed:InformedGreedy",
    "language_model": "edgeworth.agents.designers.language_model:LanguageModel",
    "oracle": "edgeworth.agents.designers.informed:Oracle",
    "policy": "edgeworth.agents.designers.policy:Policy",
    "schedule": "edgeworth.agents.designers.fixed:Schedule",
    "told_stage": "edgeworth.agents.designers.informed:ToldStage",
    "uniform": "edgeworth.agents.designers.fixed:Uniform",
}

BEST_DESIGNER = "policy"
"""The trained designer that the server asks where a client names none; it uses whatever history it is given."""

LLM_CLIENTS = {
    "groq": "edgeworth.llm.openai_compatible:Groq",
    "huggingface": "edgeworth.llm.huggingface:HuggingFace",
    "llama_cpp": "edgeworth.llm.openai_compatible:LlamaCpp",
    "ollama": "edgeworth.llm.openai_compatible:Ollama",
    "openai": "edgeworth.llm.openai_compatible:OpenAI",
    "pocket": "edgeworth.llm.huggingface:Pocket",
    "scripted": "edgeworth.llm.scripted:Scripted",
    "vllm": "edgeworth.llm.openai_compatible:VLLM",
}

ENVIRONMENTS = {
    "Daedalus-v0": "edgeworth.envs.daedalus:DaedalusEnv",
    "DaedalusFlat-v0": "edgeworth.envs.daedalus:DaedalusFlatEnv",
    "DealOrNoDialog-v0": "edgeworth.envs.negotiation:NegotiationEnv",
    "DealOrNoDialogFlat-v0": "edgeworth.envs.flat_action:FlatActionEnv",
}

VECTOR_ENVIRONMENTS = {
    "Daedalus-v0": "edgeworth.envs.daedalus:DaedalusVectorEnv",
    "DaedalusFlat-v0": "edgeworth.envs.daedalus:DaedalusVectorEnv",
    "DealOrNoDialog-v0": "edgeworth.envs.negotiation_vector:NegotiationVectorEnv",
    "DealOrNoDialogFlat-v0": "edgeworth.envs.flat_action:FlatActionVectorEnv",
}
"""What `gymnasium.make_vec` gives for the same names."""

TABLES: MappingProxyType[str, dict[str, str]] = MappingProxyType(
    {
        "partner": dict(sorted({**PARTNERS, **OUTSIDE_PARTNERS}.items())),
        "context source": CONTEXTS,
        "negotiator": NEGOTIATORS,
        "hint provider": HINTS,
        "bidder": BIDDERS,
        "designer": DESIGNERS,
        "language model client": LLM_CLIENTS,
        "environment": ENVIRONMENTS,
    }
)

PUBLIC = {
    "Act": "edgeworth.games.bargaining.vocabulary:Act",
    "AuctionConfig": "edgeworth.config:AuctionConfig",
    "BargainingBatch": "edgeworth.games.bargaining.batch:BargainingBatch",
    "BargainingConfig": "edgeworth.config:BargainingConfig",
    "Context": "edgeworth.games.bargaining.contexts:Context",
    "DaedalusAction": "edgeworth.games.auction.action:DaedalusAction",
    "DaedalusEnv": "edgeworth.envs.daedalus:DaedalusEnv",
    "DaedalusFlatEnv": "edgeworth.envs.daedalus:DaedalusFlatEnv",
    "DaedalusVectorEnv": "edgeworth.envs.daedalus:DaedalusVectorEnv",
    "EdgeworthError": "edgeworth.errors:EdgeworthError",
    "FlatActionEnv": "edgeworth.envs.flat_action:FlatActionEnv",
    "FlatActionVectorEnv": "edgeworth.envs.flat_action:FlatActionVectorEnv",
    "HintAdapter": "edgeworth.agents.features:HintAdapter",
    "HintInjectorEnv": "edgeworth.envs.hint_injector:HintInjectorEnv",
    "HintInjectorVectorEnv": "edgeworth.envs.hint_injector:HintInjectorVectorEnv",
    "MarketBatch": "edgeworth.games.auction.batch:MarketBatch",
    "NegotiationEnv": "edgeworth.envs.negotiation:NegotiationEnv",
    "NegotiationVectorEnv": "edgeworth.envs.negotiation_vector:NegotiationVectorEnv",
    "Outcome": "edgeworth.games.bargaining.vocabulary:Outcome",
    "SaleRoom": "edgeworth.games.auction.sale_room:SaleRoom",
    "auction_parallel": "edgeworth.envs.auction_parallel:auction_parallel",
    "bargaining_aec": "edgeworth.envs.bargaining_aec:bargaining_aec",
    "bargaining_parallel": "edgeworth.envs.bargaining_aec:bargaining_parallel",
}
"""What `from edgeworth import …` offers, loaded on first use."""


def names(kind: str) -> list[str]:
    """The known names of a kind, in order."""
    return sorted(_table(kind))


def resolve(kind: str, name: str) -> Any:
    """The class or function behind a name."""
    table = _table(kind)
    if not isinstance(name, str) or name not in table:
        raise UnknownName(kind, name, table)
    return load(table[name])


def register(kind: str, name: str, target: str) -> None:
    """Give a class of your own a name for this process: `register("partner", "patient", "my_module:Patient")`."""
    table = _table(kind)
    if table.get(name, target) != target:
        raise InvalidOption(f"The {kind} {name!r} exists already, as {table[name]}; choose another name.")
    table[name] = target


def load(target: str) -> Any:
    """The object at `"module:name"`."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _table(kind: str) -> dict[str, str]:
    if kind not in TABLES:
        raise InvalidOption(f"The catalog has no table {kind!r}. Known: {', '.join(sorted(TABLES))}.")
    return TABLES[kind]
