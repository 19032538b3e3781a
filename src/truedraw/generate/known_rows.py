"""Turns that need no pass: rows that the cache of logits has."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.generate.sample import Sample, Turn
from truedraw.generate.trail import Trail
from truedraw.protocol import Scores

IN_A_ROW = 32  # turns without a pass while somebody waits for one: they take far less time than it does


class KnownRows:
    """Asks the cache for each sample again and again, until it can serve nobody: then a pass is due.

    It is due sooner where others wait for it: samples that come and are served might never end.
    """

    def __init__(self) -> None:
        self._missed: set[int] = set()  # numbers of samples that it could not serve since the last pass
        self._turns = 0  # since then

    def turn(self, samples: Sequence[Sample], prompts_wait: bool) -> Turn | None:
        """Of those whose rows are known; None where there are none, or it is time for a pass."""
        is_late = self._turns >= IN_A_ROW and (prompts_wait or len(self._missed) > 0)
        known: list[tuple[Sample, Scores]] = []
        for sample in () if is_late else samples:
            scores = None if sample.trail is None else self._scores(sample, sample.trail)
            if scores is not None:
                known.append((sample, scores))
        if known:
            self._turns += 1
            return Turn([sample for sample, _ in known], scores=[scores for _, scores in known])
        self._missed.clear()
        self._turns = 0
        return None

    def _scores(self, sample: Sample, trail: Trail) -> Scores | None:
        if sample.proposal is not None or sample.number in self._missed:
            return None
        scores = None if trail.cold else trail.scores()
        if scores is None:
            self._missed.add(sample.number)
        if trail.cold:
            sample.trail = None
        return scores
