"""The pickle within a `torch.save` file, read without running anything that it names.

A pickle can call whatever it names; here it can name an ordered dictionary, the kinds of storages and how a tensor is
put together of one, and these only note what was said. Anything else is refused, and so is what could take long: hash
and repr of tuples within tuples can, so that only text is a key.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

OPCODES = (
    *(pickle.PROTO, pickle.FRAME, pickle.STOP, pickle.MARK, pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE),
    *(pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.LONG1, pickle.BINFLOAT),
    *(pickle.BINUNICODE, pickle.SHORT_BINUNICODE, pickle.GLOBAL, pickle.STACK_GLOBAL, pickle.REDUCE, pickle.BINPERSID),
    *(pickle.EMPTY_TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3, pickle.TUPLE),
    *(pickle.EMPTY_LIST, pickle.APPEND, pickle.APPENDS, pickle.EMPTY_DICT),
    *(pickle.BINPUT, pickle.LONG_BINPUT, pickle.MEMOIZE, pickle.BINGET, pickle.LONG_BINGET),
)
"""Those that torch writes; the reader adds its own for keys and for attributes."""
STORAGES = {
    "FloatStorage": "F32",
    "HalfStorage": "F16",
    "BFloat16Storage": "BF16",
    "LongStorage": "I64",
    "IntStorage": "I32",
    "ByteStorage": "U8",
    "BoolStorage": "BOOL",
}
"""Kinds of numbers, by the names that safetensors has for them."""


class Storage(NamedTuple):
    """Raw numbers of the archive."""

    dtype: str
    key: str


class Said(NamedTuple):
    """What a pickle says of a tensor."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Rebuild:
    """Stands for torch._utils._rebuild_tensor_v2; a pickle can call it, and change nothing about it."""

    __slots__ = ()

    def __call__(self, storage: Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any) -> Any:
        return Said(storage, offset, shape, strides)


class _Whole:
    """Stands for torch._utils._rebuild_parameter."""

    __slots__ = ()

    def __call__(self, tensor: Any, *_: Any) -> Any:
        return tensor


class _Ordered:
    """Stands for collections.OrderedDict, which torch makes empty and then fills."""

    __slots__ = ()

    def __call__(self, *items: Any) -> Any:
        if items:
            raise pickle.UnpicklingError("an ordered dictionary is made with items in it, which torch does not do")
        return OrderedDict()


class _Opcodes(dict[int, Any]):
    def __missing__(self, code: int) -> Any:
        raise pickle.UnpicklingError(
            f"its list of tensors has the pickle opcode {code:#04x}, which torch does not write"
        )


class _Reader(pickle._Unpickler):  # in Python: the one in C reserves as much memory as a file tells it to
    stack: list[Any]
    pop_mark: Callable[[], list[Any]]
    dispatch = _Opcodes({code[0]: pickle._Unpickler.dispatch[code[0]] for code in OPCODES})

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._add([key, value])

    def load_setitems(self) -> None:
        self._add(self.pop_mark())

    def load_build(self) -> None:
        """Attributes of what was made: torch writes versions there, which nobody reads here."""
        self.stack.pop()

    dispatch.update({pickle.SETITEM[0]: load_setitem, pickle.SETITEMS[0]: load_setitems, pickle.BUILD[0]: load_build})

    def _add(self, items: list[Any]) -> None:
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, str):
                raise pickle.UnpicklingError(f"a {type(key).__name__} stands where a name should")
            self.stack[-1][key] = value

    def find_class(self, module: str, name: str) -> Any:
        known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): _Ordered(),
            ("torch._utils", "_rebuild_tensor_v2"): _Rebuild(),
            ("torch._utils", "_rebuild_parameter"): _Whole(),
            **{("torch", storage): dtype for storage, dtype in STORAGES.items()},
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"it names {module:.40}.{name:.40}")
        return known[module, name]

    def persistent_load(self, pid: Any) -> Storage:
        if not isinstance(pid, tuple) or not all(isinstance(each, str) for each in pid[:3]):
            raise pickle.UnpicklingError("it names a storage by something else than text")
        _, dtype, key = pid[:3]
        if dtype not in STORAGES.values():
            raise pickle.UnpicklingError(f"a storage of {dtype!r:.40}")
        return Storage(dtype, key)


def read_pickle(data: bytes) -> Any:
    """What is said there, tensors as Said; raises whatever a pickle can go wrong with."""
    return _Reader(io.BytesIO(data)).load()
