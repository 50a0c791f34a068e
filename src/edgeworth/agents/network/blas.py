"""One thread for the linear algebra library: the network's products are too small to share, and waiting for a second core costs more."""

from __future__ import annotations

import ctypes
from functools import cache

SETTERS = ("scipy_openblas_set_num_threads", "openblas_set_num_threads", "scipy_openblas_set_num_threads64_")


@cache
def use_one_thread() -> bool:
    """Let products run on the calling thread alone; False where the library offers no such switch (then OMP_NUM_THREADS=1 does it)."""
    from scipy.linalg import cython_blas  # type: ignore[import-untyped]

    library = ctypes.CDLL(cython_blas.__file__)
    for name in SETTERS:
        setter = getattr(library, name, None)
        if setter is not None:
            setter(1)
            return True
    return False
