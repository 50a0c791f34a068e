"""Compilation of the rules: one decorator, one set of flags, one cache.

A game's rules are plain functions over NumPy arrays that Numba compiles on first use and keeps on disk. The flags are the ones that
keep results bit-stable: no fast-math, so a fresh and a cached build agree to the last bit.

Numba's own cache looks only at the file of the function it keeps, and would go on serving an old rule after a *callee* in another file
has changed. Ours is stamped with the text of all the rules. It lives in `__pycache__` beside the source; a read-only
install uses what was built there before, else the user's cache folder, else it compiles in memory and says nothing.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numba
from numba.core import caching, types

PACKAGE = Path(__file__).resolve().parent
USES_THIS_MODULE = b"edgeworth.compiled import"
STAMP_LENGTH = 12

# What compiled functions take and give. Numba infers the machine types; these names are for the reader.
Int: TypeAlias = Any
Flag: TypeAlias = Any
Real: TypeAlias = Any
Bits: TypeAlias = Any
Record: TypeAlias = Any
Array: TypeAlias = Any

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a rule on first call, without the interpreter lock, cached on disk."""
    if numba.config.DISABLE_JIT:  # the same source as plain Python: NUMBA_DISABLE_JIT=1
        return function
    compile_lazily: Any = numba.njit
    dispatcher = compile_lazily(error_model="numpy", nogil=True, no_cfunc_wrapper=True, forceinline=True)(function)
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


@functools.cache
def rules_stamp() -> str:
    """Digest of every module that compiled code can hold a constant of: the version of the rules as a whole.

    These are all modules of the packages (`games`, …) in which something is compiled, and the leaves beside them.
    """
    digest = hashlib.sha256()
    sources = {path.relative_to(PACKAGE): path.read_bytes() for path in sorted(PACKAGE.rglob("*.py"))}
    compiled_parts = {path.parts[0] for path, text in sources.items() if USES_THIS_MODULE in text}
    for path, text in sources.items():
        if path.parts[0] in compiled_parts:
            digest.update(path.as_posix().encode())
            digest.update(text)
    return digest.hexdigest()


class _Stamped:
    """Keeps the stamp in the file's name too, so that an interrupted write can never pair new and old."""

    def get_source_stamp(self) -> str:
        return rules_stamp()

    def get_disambiguator(self) -> str:
        return f"{self._lineno}.{rules_stamp()[:STAMP_LENGTH]}"  # type: ignore[attr-defined]


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
        for path in Path(self.cache_path).glob(f"{prefix}-*.nb?"):
            if rules_stamp()[:STAMP_LENGTH] not in path.name:
                path.unlink(missing_ok=True)
