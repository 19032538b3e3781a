"""Trees of one shape, whatever was learnt."""

from __future__ import annotations

from truedraw.draft.siblings import OfText, Settled
from truedraw.draft.trees import Trees, TreesOfText


class Given(Trees):
    """One shape, where there are nodes enough for it."""

    def __init__(self, shape) -> None:
        super().__init__(Settled((0.5,)), 9)
        self.shape = shape

    def of_text(self) -> GivenOfText:
        return GivenOfText(self, OfText(Settled((0.5,))))


class GivenOfText(TreesOfText):
    """The same for a text."""

    def levels(self, nodes):
        shape = self._trees.shape
        return shape if nodes >= size(shape) else ()


def size(shape) -> int:
    return sum(count for level in shape for _, count in level)
