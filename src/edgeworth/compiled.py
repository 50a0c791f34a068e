"""Compilation of the rules: one decorator, one set of flags, one cache.

A game's rules are plain functions over NumPy arrays that Numba compiles on first use and keeps on disk. The flags are the ones that
keep results bit-stable: no fast-math, so a fresh and a cached build agree to the last bit.

Numba's own cache looks only at the file of the function it keeps, and would go on serving an old rule after a *callee* in another file
has changed. Ours is stamped with the text of all the game's rules. It lives in `__pycache__` beside the source; a read-only
install uses what was built there before, else the user's cache folder, else it compiles in memory and says nothing.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba.core import caching, types

PACKAGE = Path(__file__).resolve().parent
USES_THIS_MODULE = b"edgeworth.compiled import"
STAMP_LENGTH = 12
LAYERS = ("games", "envs", "agents", "training", "evaluation", "server", "cli")
"""The folders of the package, each of which imports from those before it."""

# What compiled functions take and give. Numba infers the machine types; these names are for the reader.
Int: TypeAlias = Any
Flag: TypeAlias = Any
Real: TypeAlias = Any
Bits: TypeAlias = Any
Record: TypeAlias = Any
Array: TypeAlias = Any

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a rule on first call, without the interpreter lock, cached on disk; it becomes part of every rule that calls it.

    A rule allocates nothing, so its arrays are handed on without counting who holds them: the count is kept with locked instructions,
    which a step of the bargaining game would feel.
    """
    return _compiled(function, forceinline=True, _nrt=False)


def compiled_apart(function: Function) -> Function:
    """The same for the longer rules of a game with many: compiled once and called, so that building stays quick. It may allocate."""
    return _compiled(function)


def compiled_within(function: Function) -> Function:
    """The same for the parts of one long computation: pasted into whoever calls it before anything is compiled.

    Nothing is built for the part itself unless Python calls it, so a computation can be cut into as many as it reads best in.
    """
    return _compiled(function, inline="always")


def compiled_bare(function: Function) -> Function:
    """The same for loops that allocate nothing: arrays are handed on without counting who holds them."""
    return _compiled(function, _nrt=False)


def _compiled(function: Function, **flags: Any) -> Function:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        np.seterr(over="ignore")  # the same source as plain Python, in which hashes overflow on purpose
        return function
    compile_lazily: Any = numba.njit
    flags = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True, **flags}
    dispatcher = compile_lazily(**flags)(function)
    _forget_literals(dispatcher)
    try:
        dispatcher._cache = _RuleCache(function)
    except RuntimeError:  # no folder to keep it in: compile in memory
        pass
    return cast(Function, dispatcher)


def _forget_literals(dispatcher: Any) -> None:
    """Compile once per argument type; Numba would compile once more for every constant that a caller passes."""
    resolve = dispatcher.get_call_template

    def resolve_types(args: Any, kws: Any) -> Any:
        return resolve(tuple(types.unliteral(a) for a in args), {k: types.unliteral(a) for k, a in kws.items()})

    dispatcher.get_call_template = resolve_types


def part_of(source: Path) -> str:
    """The part of the package that a source file (relative to it) belongs to: a game, another folder, or a leaf."""
    if source.parts[0] == "games" and len(source.parts) > 2:
        return "/".join(source.parts[:2])
    return source.as_posix() if len(source.parts) == 1 else source.parent.as_posix()


def may_call(part: str, other: str) -> bool:
    """Whether compiled code of a part can hold some of another: all call the leaves, layers call leftwards, no game calls another."""
    layer, other_layer = part.partition("/")[0], other.partition("/")[0]
    if other == part or other_layer not in LAYERS:
        return True
    if layer not in LAYERS or layer == other_layer == "games":
        return False
    return LAYERS.index(other_layer) <= LAYERS.index(layer)


@functools.cache
def rules_stamp(part: str) -> str:
    """Digest of every module that compiled code of a part can hold a constant of.

    These are all modules of the parts in which something is compiled and which it may call. A game that none of them names is left out,
    so that nobody is built anew when a game changes that they do not play.
    """
    digest = hashlib.sha256()
    sources = {path.relative_to(PACKAGE): path.read_bytes() for path in sorted(PACKAGE.rglob("*.py"))}
    compiled_parts = {part_of(path) for path, text in sources.items() if USES_THIS_MODULE in text}
    called = {other for other in compiled_parts if may_call(part, other)}
    callers = b"".join(text for path, text in sources.items() if part_of(path) in called and path.parts[0] != "games")
    unnamed = {other for other in called if other.startswith("games/") and f"edgeworth.{other.replace('/', '.')}".encode() not in callers}
    for path, text in sources.items():
        if part_of(path) in called - unnamed | {part}:
            digest.update(path.as_posix().encode())
            digest.update(text)
    return digest.hexdigest()


class _Stamped:
    """Keeps the stamp in the file's name too, so that an interrupted write can never pair new and old."""

    def get_source_stamp(self) -> str:
        return rules_stamp(part_of(Path(self._py_file).resolve().relative_to(PACKAGE)))  # type: ignore[attr-defined]

    def get_disambiguator(self) -> str:
        return f"{self._lineno}.{self.get_source_stamp()[:STAMP_LENGTH]}"  # type: ignore[attr-defined]


class _UserProvided(_Stamped, caching.UserProvidedCacheLocator):
    """The folder named by NUMBA_CACHE_DIR."""


class _InTree(_Stamped, caching.InTreeCacheLocator):
    """`__pycache__` beside the source, where it can be written."""


class _InTreeReadOnly(_InTree):
    """`__pycache__` beside the source, filled before the install became read-only."""

    def ensure_cache_path(self) -> None:
        if not any(Path(self.get_cache_path()).glob("*.nbi")):
            raise OSError("no compiled rules beside the source")


class _UserWide(_Stamped, caching.UserWideCacheLocator):
    """The user's own cache folder."""


class _RuleCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_UserProvided, _InTree, _InTreeReadOnly, _UserWide]  # noqa: RUF012 - as in the base class


class _RuleCache(caching.FunctionCache):
    _impl_class = _RuleCacheImpl

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
            self._remove_outdated()
        except OSError:  # read-only or full: the compiled function still serves this process
            pass

    def _remove_outdated(self) -> None:
        """Delete what older versions of the rules left behind."""
        prefix = self._impl.filename_base.split("-")[0]
        current = self._impl.locator.get_source_stamp()[:STAMP_LENGTH]
        for path in Path(self.cache_path).glob(f"{prefix}-*.nb?"):
            if current not in path.name:
                path.unlink(missing_ok=True)
