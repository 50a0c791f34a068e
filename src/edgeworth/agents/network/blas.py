"""One thread for the linear algebra library: the network's products are too small to share, and waiting for a second core costs more."""

from __future__ import annotations

import ctypes
import warnings
from functools import cache

from edgeworth.errors import FallbackUsed, MissingExtra

SETTERS = ("scipy_openblas_set_num_threads", "openblas_set_num_threads", "scipy_openblas_set_num_threads64_")


@cache
def use_one_thread() -> None:
    """Let products run on the calling thread alone; where the library has no such switch, this is said once."""
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
