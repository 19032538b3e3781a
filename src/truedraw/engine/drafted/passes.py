"""What one pass of the engine has to compute of the rows that are wanted."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass

from truedraw.engine.drafted.behind import Behind, Path, missing, paths
from truedraw.protocol import NOTHING, Engine, Fill, Proposal, Scores, Sequence, Work


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows behind a text."""

    behind: Behind
    paths: list[Path]


class Pass:
    """Works of the engine, in place of those that were asked for: what is known already is not among them."""

    def __init__(self) -> None:
        self.works: list[Work] = []
        self._computed: list[Rows | None] = []  # by each of `works`; None: rows that nobody keeps
        self._answers: list[Rows | int] = []  # to what was asked: rows that are kept, or the number of a work
        self._coming: dict[Behind, set[Path]] = {}

    def ask(self, sequence: Sequence, proposal: Proposal = NOTHING) -> None:
        """For rows that are computed here and not kept."""
        self._answers.append(len(self.works))
        self._add(Work(sequence, proposal), None)

    def ask_behind(self, text: Sequence, behind: Behind, path: Path, proposal: Proposal) -> None:
        """For the row at `path` behind a text and those at the nodes that follow there; `text` stands at ()."""
        coming = self._coming.setdefault(behind, set())
        self._answers.append(Rows(behind, paths(path, proposal)))
        for start, below in missing(path, proposal, coming | behind.rows.keys()):
            found = behind.reach(start, text, busy=coming)
            rows = paths(start, below)
            self._add(Work(found, below), Rows(behind, rows))
            coming.update(rows)

    def run(self, engine: Engine, fills: Seq[Fill] = ()) -> list[Scores]:
        """The answers; the engine is not asked at all where everything is known. Raises what it raises."""
        found = engine.forward(self.works, fills) if self.works or fills else []
        for scores, rows in zip(found, self._computed, strict=True):
            if rows is not None:
                for path, row in zip(rows.paths, scores.logits, strict=True):
                    rows.behind.keep(path, row)
        return [
            found[each] if isinstance(each, int) else Scores(each.behind.stacked(each.paths)) for each in self._answers
        ]

    def _add(self, work: Work, rows: Rows | None) -> None:
        self.works.append(work)
        self._computed.append(rows)
