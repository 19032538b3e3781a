"""A mapping of a parameter's, which stays as it was checked."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class FixedDict(dict[Key, Value]):
    """A dict that is written to once, when it is made; raises TypeError for every later change."""

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("parameters stay as they were checked; make new ones, with dataclasses.replace")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled as it is made."""
        return type(self), (dict(self),)
