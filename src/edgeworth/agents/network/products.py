"""Matrix products of the network, each a single call of the linear algebra library (BLAS), and the sums it does best.

Matrices are row by row in flat arrays. The library is SciPy's, reached by the names that Numba itself uses for `np.dot`; calling them
directly needs no shapes, no copies and little compilation. There is no product with a transposed second factor: callers transpose the
factor first, because the library is slow on such products of small matrices. It runs on one thread: the products are too small to share,
and waiting for a second core costs more.
"""

from __future__ import annotations

import ctypes
import warnings
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from edgeworth.compiled import Array, Int, Real, compiled_bare
from edgeworth.errors import FallbackUsed, MissingExtra

CHAR, POINTER = ir.IntType(8), ir.IntType(8).as_pointer()
LOWERING: Any = cgutils

SINGLE, PLAIN, TRANSPOSED = (ir.Constant(CHAR, ord(letter)) for letter in "snt")
REPLACE, ACCUMULATE = np.float32(0.0), np.float32(1.0)
"""The factor on what the output holds already."""
SETTERS = ("scipy_openblas_set_num_threads", "openblas_set_num_threads", "scipy_openblas_set_num_threads64_")


@cache
def use_one_thread() -> None:
    """Let products run on the calling thread alone; where the library has no such switch, a warning says so once."""
    library = _library()
    for name in SETTERS:
        setter = getattr(library, name, None)
        if setter is not None:
            setter(1)
            return
    warnings.warn(
        "SciPy's linear algebra library has no switch for its number of threads here, so it keeps its own;"
        " the variable OMP_NUM_THREADS=1 may set it from outside.",
        FallbackUsed,
        stacklevel=2,
    )


def _library() -> ctypes.CDLL:
    try:
        from scipy.linalg import cython_blas  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("The compiled network", "scipy", "train") from error
    return ctypes.CDLL(cython_blas.__file__)


def _start(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Where an array begins in memory."""
    return builder.bitcast(context.make_array(kind)(context, builder, array).data, POINTER)


def _kept(builder: Any, value: Any) -> Any:
    """A number where the library can read it."""
    return builder.bitcast(LOWERING.alloca_once_value(builder, value), POINTER)


def _call(builder: Any, name: str, arguments: list[Any]) -> None:
    kind = ir.FunctionType(ir.IntType(32), [argument.type for argument in arguments])
    builder.call(LOWERING.get_or_insert_function(builder.module, kind, name), arguments)


def _product(first_transposed: bool) -> Any:
    def typed(typing_context: Any, a: Any, b: Any, out: Any, rows: Any, columns: Any, inner: Any, keep: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            starts = [_start(context, builder, *pair) for pair in zip(signature.args[:3], arguments[:3], strict=True)]
            m, n, k = arguments[3:6]
            one = _kept(builder, ir.Constant(ir.FloatType(), 1.0))
            first = TRANSPOSED if first_transposed else PLAIN
            # the library counts column by column, so that it computes the transposed product of the factors in reverse
            sizes = [SINGLE, PLAIN, first, n, m, k]
            factors = [one, starts[1], n, starts[0], m if first_transposed else k]
            _call(builder, "numba_xxgemm", [*sizes, *factors, _kept(builder, arguments[6]), starts[2], n])
            return context.get_dummy_value()

        return types.void(a, b, out, types.int64, types.int64, types.int64, types.float32), generate

    return typed


_multiply: Any = intrinsic(_product(first_transposed=False))
_multiply_transposed: Any = intrinsic(_product(first_transposed=True))


def _sum_of_rows(typing_context: Any, a: Any, ones: Any, out: Any, rows: Any, columns: Any, keep: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        starts = [_start(context, builder, *pair) for pair in zip(signature.args[:3], arguments[:3], strict=True)]
        m, n, keep = arguments[3:]
        one = _kept(builder, ir.Constant(ir.FloatType(), 1.0))
        _call(builder, "numba_xxgemv", [SINGLE, TRANSPOSED, n, m, one, starts[0], n, starts[1], _kept(builder, keep), starts[2]])
        return context.get_dummy_value()

    return types.void(a, ones, out, types.int64, types.int64, types.float32), generate


def _square(typing_context: Any, a: Any, size: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = _start(context, builder, signature.args[0], arguments[0])
        result = LOWERING.alloca_once(builder, ir.FloatType())
        not_conjugate = ir.Constant(CHAR, 0)
        _call(builder, "numba_xxdot", [SINGLE, not_conjugate, arguments[1], start, start, builder.bitcast(result, POINTER)])
        return builder.load(result)

    return types.float32(a, types.int64), generate


_sum_rows: Any = intrinsic(_sum_of_rows)
_squared_length: Any = intrinsic(_square)


@compiled_bare
def multiply(a: Array, b: Array, out: Array, rows: Int, columns: Int, inner: Int, keep: Real) -> None:
    """A B + keep × out: (rows × inner) by (inner × columns)."""
    _multiply(a, b, out, rows, columns, inner, keep)


@compiled_bare
def multiply_transposed(a: Array, b: Array, out: Array, rows: Int, columns: Int, inner: Int, keep: Real) -> None:
    """Aᵀ B + keep × out, where A is (inner × rows)."""
    _multiply_transposed(a, b, out, rows, columns, inner, keep)


@compiled_bare
def sum_rows(a: Array, ones: Array, out: Array, rows: Int, columns: Int, keep: Real) -> None:
    """The sum of every row + keep × out, as a product with ones: quick, and in an order that never changes."""
    _sum_rows(a, ones, out, rows, columns, keep)


@compiled_bare
def squared_length(a: Array) -> Real:
    """The sum of squares of a vector."""
    return _squared_length(a, a.shape[0])


@compiled_bare
def transpose(a: Array, rows: Int, columns: Int, out: Array) -> None:
    """Aᵀ, written out; four rows at a time, so that four neighbours are written at once."""
    width, height = np.uint64(columns), np.uint64(rows)
    fours = rows // 4 * 4
    for i in range(0, fours, 4):
        for j in range(columns):
            there, here = np.uint64(j) * height + np.uint64(i), np.uint64(i) * width + np.uint64(j)
            first, second, third, fourth = a[here], a[here + width], a[here + np.uint64(2) * width], a[here + np.uint64(3) * width]
            out[there], out[there + np.uint64(1)] = first, second
            out[there + np.uint64(2)], out[there + np.uint64(3)] = third, fourth
    for i in range(fours, rows):
        for j in range(columns):
            out[np.uint64(j) * height + np.uint64(i)] = a[np.uint64(i) * width + np.uint64(j)]
