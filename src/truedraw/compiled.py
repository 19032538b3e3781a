"""Functions that numba compiles; their machine code is kept between runs where a folder can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """numba.njit with these options, cached.

    Where neither this package's folder nor one of the user's can be written, as in many a container, numba refuses to
    cache; the function is then compiled anew in every process.
    """
    import numba

    def made(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:
            return numba.njit(**options)(function)

    return made
