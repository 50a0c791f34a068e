"""What can go wrong, as a tree.

    EdgeworthError
    ├── InvalidOption     a setting has the wrong type, name or range
    │   ├── UnknownName   a name that the catalog does not hold; carries `known` and `nearest`
    │   ├── UnknownKey    a mistyped setting or option; carries `known` and `nearest`
    │   └── CannotPlay    a negotiator that has no move in a game; carries `who` and `reason`
    ├── InvalidContext    counts or utilities that no game can start from
    ├── DataError         a data file that is missing or malformed; carries `path` and `line`
    ├── IllegalAction     an action the rules forbid now; carries `env_index` and `rule`
    ├── OtherRules        a session that was opened under rules which are not in force; carries `found` and `expected`
    ├── EpisodeOver       stepping after the end, or before the first reset
    ├── ModelUnavailable  a language model that cannot be asked: no key, no server, no such model; carries `reason`
    ├── RunStopped        a run that cannot go on: a full disk, a loss that is not a number; its folder can be continued
    ├── NotRecorded       a prompt that a recording played back offline does not hold; carries `key`
    ├── ServerRefused     a request that a server did not carry out; carries `code`, `remedy`, `field` and with a conflict `state`
    └── MissingExtra      a feature whose optional dependency is not installed; carries `extra`
    FallbackUsed          a warning, not an error: something else stands in for what was asked

A message says what was expected, what arrived and what to do next. Nothing has changed when one of these is raised.
InvalidOption, InvalidContext, DataError and IllegalAction are also ValueErrors, EpisodeOver, ModelUnavailable and
RunStopped are also RuntimeErrors, NotRecorded is a LookupError and MissingExtra an ImportError, so that code which knows nothing of us
can catch them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires

SHOWN_LENGTH = 60

SYNONYMS: dict[str, tuple[str, ...]] = {
    "lr": ("learning_rate", "ppo.learning_rate"),
    "lam": ("gae_lambda", "ppo.gae_lambda"),
    "ent": ("entropy", "ppo.entropy"),
    "ent_coef": ("entropy", "ppo.entropy"),
    "vf": ("value", "ppo.value"),
    "vf_coef": ("value", "ppo.value"),
    "grad_norm": ("gradient_norm", "ppo.gradient_norm"),
    "max_grad_norm": ("gradient_norm", "ppo.gradient_norm"),
    "clip_range": ("clip", "ppo.clip"),
    "clip_coef": ("clip", "ppo.clip"),
    "clip_eps": ("clip", "ppo.clip"),
    "n_epochs": ("epochs", "ppo.epochs"),
    "batch_size": ("minibatch", "ppo.minibatch"),
    "n_steps": ("rollout", "ppo.rollout"),
    "total_timesteps": ("num_train_steps",),
    "cadence_k": ("k", "hints.k"),
    "provider": ("options.client", "hints.options.client", "hint"),
    "use_dataset": ("contexts: dataset", "env.contexts: dataset"),
    "dataset_mode": ("context_options.part", "env.context_options.part"),
}
"""What the field and other libraries call a setting, and what to write here: a name, a name inside another, or a name with its value; where
the first is not known, the next."""


class EdgeworthError(Exception):
    """Anything Edgeworth refuses."""


class InvalidOption(EdgeworthError, ValueError):
    """A setting has the wrong type, name or range."""


class UnknownName(InvalidOption):
    """A name that a table does not hold, with a suggestion where one comes near."""

    def __init__(self, kind: str, name: object, known: Iterable[str], also: str = "") -> None:
        self.known = sorted(known)
        self.nearest = nearest(str(name), self.known)
        others = f", or {also}" if also else ""
        listed = ", ".join(repr(each) if "," in each else each for each in self.known)
        super().__init__(f"Unknown {kind} {shown(name)}. Known: {listed}{others}.{suggestion(str(name), self.known)}")


class UnknownKey(UnknownName):
    """A mistyped setting or option."""


class CannotPlay(InvalidOption):
    """A negotiator that has no move in a game: no plan for its partner, no network for its pools."""

    def __init__(self, who: str, reason: str) -> None:
        self.who, self.reason = who, reason
        super().__init__(f"{who} cannot play this game: {reason}")


class InvalidContext(EdgeworthError, ValueError):
    """Counts or utilities that no game can start from."""


class DataError(EdgeworthError, ValueError):
    """A data file that is missing or malformed."""

    def __init__(self, path: object, problem: str, line: int | None = None) -> None:
        self.path = str(path)
        self.line = line
        where = self.path if line is None else f"{self.path}, line {line}"
        super().__init__(f"{where}: {problem}")


class IllegalAction(EdgeworthError, ValueError):
    """An action that the rules forbid at this moment; the state is unchanged."""

    def __init__(self, message: str, rule: str, env_index: int | None = None) -> None:
        self.rule = rule
        self.env_index = env_index
        super().__init__(message if env_index is None else f"Environment {env_index}: {message}")


class OtherRules(EdgeworthError):
    """A session that was opened under rules which are not in force, so that its steps would come out differently."""

    def __init__(self, game: str, found: object, expected: int) -> None:
        self.found, self.expected = found, expected
        self.what = (
            f"The session was opened under rules {found} of the {game} game; rules {expected} are in force here, under which its steps"
            " would come out differently."
        )
        super().__init__(f"{self.what} Open a new session, or play this one with the version of edgeworth that wrote it.")


class EpisodeOver(EdgeworthError, RuntimeError):
    """Stepping after the end, or before the first reset."""


class ModelUnavailable(EdgeworthError, RuntimeError):
    """A language model that cannot be asked, with the remedy."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class RunStopped(EdgeworthError, RuntimeError):
    """A run that cannot go on; what it had saved is whole."""


class NotRecorded(EdgeworthError, LookupError):
    """A prompt that a recording played back offline does not hold."""

    def __init__(self, message: str, key: str) -> None:
        self.key = key
        super().__init__(message)


class ServerRefused(EdgeworthError):
    """A request that a server did not carry out; nothing has changed there."""

    def __init__(self, message: str, code: str, remedy: str, field: str | None = None, state: object = None) -> None:
        self.code, self.remedy, self.field, self.state = code, remedy, field, state
        super().__init__(f"{message} {remedy}".strip())


class MissingExtra(EdgeworthError, ImportError):
    """A feature whose optional dependency is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{feature} needs {package} (the extra `{extra}`); install it with: pip install {_requirements(extra)}")


def _requirements(extra: str) -> str:
    """The packages of an extra for a shell, each with the platforms it is for; wherever this package came from, pip can install these."""
    try:
        declared = [line.replace("'", '"').partition(";") for line in requires("edgeworth") or ()]
    except PackageNotFoundError:  # run from source, without an installation
        declared = []
    wanted = f'extra == "{extra}"'
    found = [(name.strip(), condition.partition(wanted)[0]) for name, _, condition in declared if wanted in condition]
    platforms = [(name, re.sub(r"[()]|\s+and\s*$", "", platform).strip()) for name, platform in found]
    return " ".join(f"'{name}; {platform}'" if platform else f"'{name}'" for name, platform in platforms) or f"'edgeworth[{extra}]'"


class FallbackUsed(UserWarning):
    """Something else stands in for what was asked; the message says what, and how to get the real thing."""


def shown(value: object) -> str:
    """A value for a sentence, cut where it is long."""
    text = repr(value)
    return text if len(text) <= SHOWN_LENGTH else text[: SHOWN_LENGTH - 3] + "..."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that means the same, or else the one that looks most like it, if any comes near."""
    known = list(known)
    for meant in SYNONYMS.get(name, ()):
        if re.split(r"[.:]", meant)[0] in known:
            return meant
    matches = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return matches[0] if matches else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """The nearest known name as a question at the end of a message; nothing where none comes near."""
    guess = nearest(name, known)
    return f" Did you mean {guess!r}?" if guess else ""
