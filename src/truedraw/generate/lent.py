"""Models that are open anyway, and that somebody else closes, as drafters: an amateur is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truedraw.home_folder import expanded, from_root

if TYPE_CHECKING:
    from truedraw.generate.model import Model


class Lent:
    """By the names they were given."""

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}
        self._places: dict[str, str] = {}

    @property
    def default(self) -> str | None:
        """The name of the one that drafts where a method needs a model and none is named, if there is any."""
        return next(iter(self._models), None)

    def add(self, name: str, model: Model) -> None:
        """From now on it drafts under this name, which means the same file when the process changes its folder."""
        self._models[name] = model
        self._places[name] = str(from_root(expanded(name)))

    def find(self, name: str) -> Model | None:
        """The model of this name, or of another name of its file."""
        if name in self._models:
            return self._models[name]
        return next((self._models[known] for known, place in self._places.items() if is_same(place, name)), None)


def is_same(name: str, other: str) -> bool:
    """Whether two names are those of one model: equal ones, or ones of one file or folder."""
    if name == other:
        return True
    here, there = expanded(name), expanded(other)
    return here.exists() and there.exists() and here.samefile(there)
