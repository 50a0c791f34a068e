"""Compilation of the rules: four decorators, one set of flags, one cache.

Rules are plain functions over NumPy arrays that Numba compiles on first use and keeps on disk. There is no fast-math, so that a fresh and a
cached build agree to the last bit. The decorators differ in how a function gets into its callers:

    compiled         inlined by the compiler, allocates nothing    the small rules of a step
    compiled_bare    called, allocates nothing                     loops over a batch
    compiled_apart   called, may allocate                          the longer rules of a game with many
    compiled_within  pasted into its callers before compilation    the parts of one long computation

Numba's own cache looks only at the file of the function it keeps, and would go on using an old rule after a *callee* in another file has
changed. Ours is stamped with the text of all rules that a function can call. Numba has no public interface for that, which is why this
module uses `numba.core.caching` and a dispatcher's `_cache`; nothing else in the package does. The cache lives in `__pycache__` beside the
source; a read-only install uses what was built there before, else the user's cache folder, else rules are compiled in memory.
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

from edgeworth.progress import ON_COMPILING

PACKAGE = Path(__file__).resolve().parent
USES_THIS_MODULE = b"edgeworth.compiled import"
STAMP_LENGTH = 12
LAYERS = ("games", "dialogues", "envs", "agents", "training", "evaluation", "server", "cli")
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
    """Compile a small rule that allocates nothing; the compiler inlines it into every rule that calls it.

    Its arrays are passed on without reference counts: counting takes atomic instructions, which would slow a step of the bargaining game.
    """
    return _compiled(function, forceinline=True, _nrt=False)


def compiled_apart(function: Function) -> Function:
    """Compile a longer rule once, to be called by others, so that compilation stays quick; it may allocate arrays."""
    return _compiled(function)


def compiled_within(function: Function) -> Function:
    """Paste a part of a long computation into its callers before these are compiled.

    The part itself is compiled only where Python calls it, so a computation can be cut into as many parts as are good to read.
    """
    return _compiled(function, inline="always")


def compiled_bare(function: Function) -> Function:
    """Compile a loop that allocates nothing, to be called by others; its arrays are passed on without reference counts."""
    return _compiled(function, _nrt=False)


def _compiled(function: Function, **flags: Any) -> Function:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        np.seterr(over="ignore")  # as plain Python, where hashes overflow on purpose
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
    """Digest of every module from which compiled code of a part can hold a constant.

    These are all modules of the parts in which something is compiled and which it may call. A game that none of them names is left out,
    so that code is not compiled again when a game changes that it does not use.
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
    """Puts the stamp into the file's name too, so that an interrupted write cannot mix old and new."""

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

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        while found is None and ON_COMPILING:
            ON_COMPILING.pop()()
        return found

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
