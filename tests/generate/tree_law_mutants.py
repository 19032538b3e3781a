"""Known bugs of a law at the nodes of a tree, as small changes to production code. On chains none of them shows."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import numpy as np

from enumeration import KeyReused, law_of
from known_laws import Scenario
from truedraw.errors import BadParameter
from truedraw.generate.rows import LawRows
from truedraw.protocol import Drafter
from truedraw.registry import find
from truedraw.testing.runs import run

Law = dict[tuple[int, ...], float]


class ParentIsTheNodeBefore(LawRows):
    """A node's hypothetical text is that of the node before it, and its own token: siblings hear of each other."""

    def _law(self, row):
        if row not in self._laws:
            self._laws[row] = self._after(row - 1, int(self._proposal.tokens[row - 1]))
        return self._laws[row]


class ParentIsTheText(LawRows):
    """Every node stands directly behind the committed text."""

    def _law(self, row):
        if row not in self._laws:
            self._laws[row] = self._after(0, int(self._proposal.tokens[row - 1]))
        return self._laws[row]


class SiblingsWithoutP(LawRows):
    """Only the first node of the tree hears of p: mirostat's mu stands still at its siblings."""

    def _law(self, row):
        if row in self._laws or row == 1:
            return super()._law(row)
        above = 1 + int(self._proposal.parents[row - 1])
        self._laws[row] = self._law(above).after(int(self._proposal.tokens[row - 1]))
        return self._laws[row]


class FirstRowIsP(LawRows):
    """The p that a law hears of is always that of the committed text."""

    def _after(self, row, token):
        return self._law(row).after(token, self[0])


def law_with(rows: type[LawRows], case: Scenario, drafter: Callable[[], Drafter], verifier: str, prompt) -> Law | None:
    """The law of the text with other rows; None where the run breaks, which is how a bug may show as well."""
    rule = find("verifiers", verifier)()
    try:
        with patch("truedraw.generate.judging.LawRows", rows), np.errstate(divide="ignore"):
            return law_of(lambda walker: run(case, walker, rule, drafter(), prompt=prompt)[0])
    except (KeyReused, BadParameter):
        return None
