"""Reading a model's settings: a wrong value is named with the file it stands in."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.sampling.values import parsed


@dataclass(frozen=True, slots=True)
class Fields:
    """The settings of one file; `prefix` stands before every key."""

    where: Path
    values: Mapping[str, Any]
    prefix: str = ""

    def get(self, key: str, default: Any = None) -> Any:
        """The value; a null counts as absent."""
        value = self.values.get(self.prefix + key)
        return default if value is None else value

    def positive(self, key: str, default: int | None = None) -> int:
        """A whole number above zero; a list, one a layer, must hold one value throughout."""
        value = self.get(key, default)
        if isinstance(value, list) and value:
            if any(other != value[0] for other in value):
                raise UnsupportedModel(f"{self.where}: {key} differs between layers; only uniform ones can be run")
            value = value[0]
        if value is None:
            raise BadModelFile(f"{self.where} lacks {self.prefix}{key}, a positive whole number")
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise BadModelFile(f"{self.where}: {self.prefix}{key} is {value!r}, not a positive whole number")
        return value

    def named(self, *keys: str) -> str:
        """The first of these names of one thing that is there; none: the first."""
        return next((key for key in keys if self.get(key) is not None), keys[0])

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number above zero."""
        value = self.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= sys.float_info.max:
            raise BadModelFile(f"{self.where}: {self.prefix}{key} is {value!r}, not a positive number")
        return float(value)

    def refuse_window(self, key: str, context: int, absent: int | None = None) -> None:
        """Raise UnsupportedModel for a sliding window shorter than the context; null, or 0, is none.

        absent: the window where the key is.
        """
        window = self.values.get(self.prefix + key, absent)
        if window is not None and not isinstance(window, int | float):
            raise BadModelFile(f"{self.where}: {self.prefix}{key} is {window!r}, not a number")
        if window and window < context:
            raise UnsupportedModel(f"{self.where}: a sliding window of {window} tokens is not supported")

    def switch(self, key: str) -> bool:
        """On or off; absent is off."""
        value = self.get(key, False)
        if not isinstance(value, bool):
            raise BadModelFile(f"{self.where}: {self.prefix}{key} is {value!r:.60}, not true or false")
        return value

    def refuse(self, key: str, allowed: tuple[Any, ...] = (None, False, 0)) -> None:
        """Raise UnsupportedModel where the key has a value that no graph here honours."""
        value = self.get(key)
        if value not in allowed:
            wanted = " or ".join(repr(choice) for choice in allowed if choice is not None)
            raise UnsupportedModel(f"{self.where}: {key} = {value!r} is not supported; it must be absent or {wanted}")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; raises BadModelFile."""
    try:
        value = parsed(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise BadModelFile(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadModelFile(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except ValueError as error:
        raise BadModelFile(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadModelFile(f"{path} holds a {type(value).__name__}, not a JSON object")
    return value


def read_json_if_there(path: Path) -> dict[str, Any]:
    """An absent file is an empty object."""
    return read_json(path) if path.exists() else {}
