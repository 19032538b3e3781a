"""Functions that numba compiles; their machine code is kept between runs where a folder can be written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent
KERNELS = ("sampling/kernels", "engine/native", "engine/constants", "sampling", "protocol", "threads")
"""Folders whose functions and numbers are compiled into those of others."""


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """numba.njit with these options, cached.

    Where neither this package's folder nor one of the user's can be written, as in many a container, numba refuses to
    cache; the function is then compiled anew in every process.
    """
    import numba

    from truedraw.compiled_cache import SafeCache
    from truedraw.compiled_parts import WHOLE

    def made(function: Callable[..., Any]) -> Any:
        found = numba.njit(no_cfunc_wrapper=True, pipeline_class=WHOLE, **options)(function)
        with suppress(RuntimeError):
            found._cache = SafeCache(function, sources(Path(function.__code__.co_filename).parent))
        return found

    return made


def is_kept(function: Any) -> bool | None:
    """Whether a compiled function has machine code on disk, for this processor and for its code as it stands here
    (-OO makes another one of it); None where nothing can be kept."""
    files = getattr(function._cache, "_cache_file", None)
    if files is None:
        return None
    _, *own = function._cache._index_key(None, function.targetctx.codegen())
    return any([*key[1:]] == own for key in files._load_index())


def sources(folder: Path) -> str:
    """Stands for what the code of a folder's functions may be made of, and how: numba looks at a function's own file
    alone, and what is compiled into it may come from others, of the folders around it too."""
    return " ".join((*map(_digest, folders(folder)), _digest(PACKAGE, "compiled*.py")))


def folders(folder: Path) -> list[Path]:
    """Those whose files the compiled functions of a folder may be made of."""
    around = (each for each in folder.parents if PACKAGE in each.parents)
    return list(dict.fromkeys((folder, *around, *(PACKAGE / kernels for kernels in KERNELS))))


@cache
def _digest(folder: Path, files: str = "*.py") -> str:
    """Of a folder's own files, which are read once a process."""
    whole = sha256()
    for file in sorted(folder.glob(files)):
        whole.update(file.read_bytes())
    return whole.hexdigest()


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """numba.njit with these options, for functions that only compiled ones call.

    They get no machine code by themselves, see compiled_parts.py: calling one from Python ends the process, and two of
    them cannot call each other. A test calls it through a compiled function of its own. Where that is numba's alone,
    errors whose words are put together at run time come as others.
    """
    from truedraw.compiled_parts import PART

    return _without_way_in(pipeline_class=PART, **options)


def inlined(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """The same, put into whoever calls."""
    return inner(forceinline=True, **options)


def apart(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """The same, never put into whoever calls: for what is long, and called a few times a layer at most."""
    from truedraw.compiled_parts import PART_APART

    return _without_way_in(pipeline_class=PART_APART, forceinline=False, **options)


def forwarded(**options: Any) -> dict[str, Any]:
    """As `inlined`, for overloads that only choose whom to call: numba's jit_options."""
    from truedraw.compiled_parts import PART

    return {"forceinline": True, "pipeline_class": PART, **options}


def _without_way_in(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Not from Python, and not from C."""
    import numba

    made: Callable[[Callable[..., Any]], Any] = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)
    return made


def later(module: str, name: str) -> Callable[[], Callable[..., Any]]:
    """What gives a function of a module that is loaded, with the compiler, when it is first asked for.

    Even a repeated import takes time, in every round.
    """
    return cache(partial(_found, module, name))


def _found(module: str, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
