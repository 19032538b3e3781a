"""What is to be found out of a drafter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from truedraw.bench.draft_eval.replay import drafter_of
from truedraw.bench.pairs import Task
from truedraw.draft.several import ALWAYS_GOOD, WITH_HEAD
from truedraw.draft.site import close
from truedraw.generate.model import Model
from truedraw.generate.speculation import AUTO, Speculation

HEAD = "head"
WRITTEN, REPLAYED, TIMED = "texts written", "texts replayed", "pairs timed"
Done = Callable[[str], None]
"""Hears of each unit of work that is done, by one of these names."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`repeats` 0 times nothing end to end. Raises what making the drafter raises."""

    model: Model
    speculation: Speculation
    todo: Sequence[Task]
    repeats: int = 1

    def __post_init__(self) -> None:
        close(drafter_of(self.speculation, self.model))

    def arms(self) -> dict[str, Speculation]:
        """What is timed end to end."""
        spec = self.speculation
        own = {"method": spec.method, **spec.settings, **({} if spec.model is None else {"model": spec.model})}
        usual = self.model.drafts.auto_sources
        if spec.method == HEAD and spec.method not in usual:  # under auto counts are mixed into it
            own |= {"method": "head-ngram"}
        others = usual if own["method"] in usual else WITH_HEAD if own["method"] in WITH_HEAD else ALWAYS_GOOD
        beside = [*(name for name in others if name != own["method"]), own]
        together = Speculation(AUTO, rejection_sample_method=spec.rejection_sample_method, auto_sources=beside)
        return {spec.method: spec, AUTO: together}

    def units(self) -> dict[str, int]:
        """Of work, for one temperature."""
        texts = len(self.todo)
        return {WRITTEN: texts, REPLAYED: texts, TIMED: texts * self.repeats * len(self.arms())}
