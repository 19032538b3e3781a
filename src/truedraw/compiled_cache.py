"""numba's machine code on disk, such that no file of it can do harm: what is damaged is compiled again.

Nor does a start wait for what only compiling needs: numba's registries, and the functions in the form that others would
be linked with. That is a quarter of the time that a start takes.

numba itself ends every later process at a file that was cut short, ends the process that finds the disk full, and names
files by counting, so that two processes may each believe the other's code to be theirs.
"""

from __future__ import annotations

import builtins
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from glob import escape
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from time import time
from typing import Any

from llvmlite import binding
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import rtsys

from truedraw.compiled_for import UNTOLD

STALE_SECONDS = 3600.0  # since a file was last written to: whoever wrote it was killed
DIGEST_BYTES = 32  # of sha256, behind what pickle reads


class SafeCache(FunctionCache):  # type: ignore[misc]
    """A function's code by signature and processor; `sources` stands for all that it may be made of."""

    def __init__(self, function: Callable[..., Any], sources: str) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), sources
        self._cache_file = SafeFiles(self._cache_path, self._impl.filename_base, stamp)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), UNTOLD)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """See FunctionCache, which gets the registries ready first; whoever compiles does that anyway."""
        key = self._index_key(sig, target_context.codegen())
        data = self._cache_file.load(key)
        kept = None if data is None else self._cache_file.opened(key)
        if kept is None:
            return super().load_overload(sig, target_context)
        rtsys.initialize(target_context)
        (name, kind, (code, _)), described, *others = data
        codegen = target_context.codegen()
        names = described.llvm_func_name, described.llvm_cpython_wrapper_name
        codegen._engine._defined_symbols.update(names)
        found = self._impl.rebuild(target_context, ((name, kind, (code, _no_functions())), described, *others))
        found.library._get_module_for_linking = partial(_linked, kept)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """What cannot be kept is compiled anew in the next process."""
        with suppress(OSError):
            super().save_overload(sig, data)


def whole(data: bytes, name: str) -> Any:
    """What a file holds; raises ValueError where it is damaged."""
    if sha256(data[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:
        raise ValueError(f"{name} is damaged")
    return Reading(BytesIO(data)).load()


def _linked(kept: int) -> Any:
    """The module that other functions are linked with, of an open file."""
    with open(kept, "rb", closefd=False) as file:
        file.seek(0)
        (_, _, (_, functions)), *_ = whole(file.read(), "kept machine code")
    return binding.parse_bitcode(functions)


class Reading(pickle.Unpickler):
    """Of what numba keeps, without a load of each module that has lent a function: only Python's own objects would look
    names up there, and compiled code has none. One of them brings scipy's linear algebra."""

    def find_class(self, module: str, name: str) -> Any:
        """See Unpickler."""
        return _environment if name == "_rebuild_env" else super().find_class(module, name)


def _environment(module: str, constants: Sequence[Any], name: str) -> Any:
    """numba.core.environment._rebuild_env, over names that are there already."""
    found = lookup_environment(name)
    if found is None:
        found = Environment(vars(sys.modules.get(module, builtins)))
        found.consts[:] = constants
        found.env_name = name
        Environment._memo[name] = found
    return found


@cache
def _no_functions() -> bytes:
    """A module without any, as bitcode."""
    found: bytes = binding.parse_assembly("").as_bitcode()
    return found


class SafeFiles(IndexDataCacheFile):  # type: ignore[misc]
    """A file's name follows from its key and from the sources, and its digest stands in it."""

    def save(self, key: Any, data: Any) -> None:
        """The index comes last: what it names is there. With the first code of new sources that of old ones goes."""
        name, known = self._name_of(key), self._load_index()
        self._remove_parts()
        if not known:
            self._remove_all()
        self._save_data(name, data)
        self._save_index({**known, key: name})

    def load(self, key: Any) -> Any:
        """None for what is not there or not whole."""
        name = self._name_of(key)
        if self._load_index().get(key) != name:
            return None
        with suppress(Exception):  # whatever damaged bytes make of it
            return self._load_data(name)
        return None

    def opened(self, key: Any) -> int | None:
        """Its file, which can be read for as long as this process lives, whoever removes it; None where none is."""
        with suppress(OSError):
            return os.open(self._data_path(self._name_of(key)), os.O_RDONLY | getattr(os, "O_BINARY", 0))
        return None

    def _load_index(self) -> dict[Any, str]:
        with suppress(Exception):
            made_by, known = whole(Path(self._index_path).read_bytes(), self._index_name)
            if made_by == (self._version, self._source_stamp):
                return dict(known)
        return {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        with self._open_for_write(self._index_path) as file:
            file.write(self._dump(((self._version, self._source_stamp), overloads)))

    def _load_data(self, name: str) -> Any:
        return whole(Path(self._data_path(name)).read_bytes(), name)

    def _dump(self, obj: Any) -> bytes:
        data: bytes = super()._dump(obj)
        return data + sha256(data).digest()

    def _remove_all(self) -> None:
        pattern = escape(str(self._data_name_pattern).partition("{")[0]) + "*.nbc"
        for file in Path(self._cache_path).glob(pattern):
            with suppress(OSError):
                file.unlink()

    def _remove_parts(self) -> None:
        """What killed processes left half written, see `_open_for_write`."""
        for part in Path(self._cache_path).glob(escape(str(self._index_name).removesuffix(".nbi")) + ".*.tmp.*"):
            with suppress(OSError):
                if time() - part.stat().st_mtime > STALE_SECONDS:
                    part.unlink()

    def _name_of(self, key: Any) -> str:
        digest = sha256(repr((key, self._source_stamp)).encode()).hexdigest()[:16]
        return str(self._data_name_pattern).replace("{number:d}", digest)
