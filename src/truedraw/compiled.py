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
            return numba.njit(cache=True, no_cfunc_wrapper=True, **options)(function)
        except RuntimeError:
            return numba.njit(no_cfunc_wrapper=True, **options)(function)

    return made


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """numba.njit with these options, for functions that only compiled ones call.

    They get no way in from Python, which would take a quarter of the time that compiling takes: calling one from there
    ends the process. A test calls it through a compiled function of its own.
    """
    import numba

    made: Callable[[Callable[..., Any]], Any] = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)
    return made
