"""The loop of training, whatever learns: steps, looks at held-out text, checkpoints.

A run of so many steps that goes on after a kill is, bit for bit, the run it would have been.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any, Generic, TypeVar

from truedraw.distill.checkpoint import (
    Arrays,
    damaged,
    forget_checkpoints,
    read_beside,
    read_checkpoint,
    write_checkpoint,
)
from truedraw.distill.clock import Clock
from truedraw.distill.evaluation import Measured
from truedraw.distill.gradients import Blend, survival_of
from truedraw.distill.learning import Course, Learner
from truedraw.distill.plan import TRAINING, Limits, Tell
from truedraw.distill.schedule import fallen, share_of, warmth
from truedraw.distill.state import KEPT_AT_FIRST, State, state_of
from truedraw.errors import TrainingError

LONGEST_GRADIENT = 1.0
LOOKS = 20  # at held-out text
PATIENT_UNTIL = 0.5  # of a training that goes on from another one: a high rate takes back at first what that learnt
PROGRESS = 1e-4  # tokens a round that count as such
SEEN_EVERY = 20  # steps
CHECKPOINT_SECONDS = 30.0
STEADY = 1.05  # times as much time as before: what is left of a budget is not the same in every run

Learns = TypeVar("Learns", bound=Learner)


class Training(Generic[Learns]):
    """Of what `opened` makes from the arrays of a checkpoint and its step, None and 0 at the beginning.

    The checkpoint is at `path`, the best weights so far stand beside it. Raises BadFile where one of both is damaged.
    """

    def __init__(
        self, path: Path, course: Course, opened: Callable[[Arrays | None, int], Learns], overwrite: bool = False
    ) -> None:
        self.path, self.best_path = path, path.with_name(f"{path.stem}.best{path.suffix}")
        if overwrite:
            forget_checkpoints(self.path)
            forget_checkpoints(self.best_path)
        self._course, self._is_whole = course, True  # unless weights have gone on and the count of steps has not
        found = read_checkpoint(path)
        known = None if found is None else state_of(found[1], path)
        self.learner = opened(None if found is None else found[0], known.step if known else 0)
        self.state = known or State(kept=[KEPT_AT_FIRST] * self.learner.positions)
        self._check()
        self._measure_anew(opened)

    def run(self, limits: Limits, seconds: float | None, tell: Tell, until: float = 1.0) -> None:
        """Until time or steps are over, or nothing gets better; or until this share of them, to go on later.

        Raises TrainingError where the loss is no number any more; the checkpoint before it stays. Ctrl-C leaves a
        checkpoint of the last step, or the one before where it comes within a step.
        """
        clock, saved = Clock(self.state.seconds, seconds), monotonic()
        self._note_limits(limits.steps, seconds)
        try:
            while True:
                done = max(clock.share, self.state.step / limits.steps if limits.steps else 0.0)
                self.state.seconds = round(clock.seconds, 3)
                self._look(done, clock)
                self.state.gave_up = done < min(until, 1.0) and self.state.stale >= limits.patience
                if done >= min(until, 1.0) or self.state.gave_up:
                    break
                self._step(done)
                tell(TRAINING, done, self._words(clock))
                if monotonic() - saved > CHECKPOINT_SECONDS:
                    self._save()
                    saved = monotonic()
        except KeyboardInterrupt:
            if self._is_whole:
                self._save()
            raise
        self._save()

    @property
    def has_best(self) -> bool:
        """Whether any weights were looked at."""
        return self.best_path.exists()

    def best(self) -> Arrays:
        """The weights that did best on held-out text; raises BadFile where they are damaged or gone."""
        return read_beside(self.best_path, self.path)

    def _check(self) -> None:
        """Before any step: what is damaged would be found out behind the last one."""
        kept, positions = len(self.state.kept), self.learner.positions
        if kept != positions:
            raise damaged(self.path, f"it has kept drafts at {kept} positions of {positions}")
        if self.state.best:
            read_beside(self.best_path, self.path).check(self.learner.arrays(moments=False))

    def _measure_anew(self, opened: Callable[[Arrays | None, int], Learns]) -> None:
        """The best weights, if other rows are held out now than when they were chosen."""
        state, held_out = self.state, self.learner.held_out
        self._has_new_rows = state.held_out != held_out
        if state.best and self._has_new_rows:
            state.best, state.stale = self._seen(opened(self.best(), 0)).tokens, 0
            state.lately = state.best

    def _step(self, done: float) -> None:
        """One; nothing has changed where its gradient is no number."""
        import torch

        state, course, learner = self.state, self._course, self.learner
        for group in learner.optimiser.param_groups:
            group["lr"] = course.rate * warmth(state.step) * fallen(done)
        blend = Blend(course.loss, share_of(course.loss, done, course.further), survival_of(state.kept).tolist())
        learner.optimiser.zero_grad()
        seen, count = learner.gradient(state.step, blend, state.step % SEEN_EVERY == 0)
        length = torch.nn.utils.clip_grad_norm_(list(learner.weights.values()), LONGEST_GRADIENT)
        if not torch.isfinite(length) or (seen is not None and not math.isfinite(seen.loss)):
            raise TrainingError(
                f"the loss is no number any more after step {state.step}; give a lower --learning-rate and another "
                f"--work, or --overwrite; the last good checkpoint is {self.path}"
            )
        self._is_whole = False
        learner.optimiser.step()
        if seen is not None:
            state.saw(seen.loss, seen.acceptance, done)
        state.step, state.tokens, self._is_whole = state.step + 1, state.tokens + count, True

    def _look(self, done: float, clock: Clock) -> None:
        """At held-out text, if it is time and there is anything new; the best weights are kept.

        Whatever ends it before it is over, it is taken again.
        """
        number, state = int(min(done, 1.0) * LOOKS), self.state
        if state.looks and number == state.looked:
            return
        is_due = not state.looks or state.looks[-1]["step"] != state.step or self._has_new_rows
        if is_due:
            self._note(self._seen(self.learner), done)
        state.looked, state.seconds = number, round(clock.seconds, 3)
        if is_due:
            self._save()

    def _note(self, found: Measured, done: float) -> None:
        """What a look has found. That it was taken, and what follows from that, changes between two interruptions."""
        state = self.state
        if found.tokens > state.best + PROGRESS:
            write_checkpoint(self.best_path, self.learner.arrays(moments=False), {"step": state.step})
            state.best, state.best_step = found.tokens, state.step
        is_better, waits = found.tokens > state.lately + PROGRESS, done < PATIENT_UNTIL and self._course.further
        lately, stale = (found.tokens, 0) if is_better else (state.lately, state.stale + (not waits))
        looks = [*state.looks, {"tokens": state.tokens, "step": state.step, **found.to_json()}]
        held_out, self._has_new_rows = self.learner.held_out, False
        state.lately, state.stale, state.looks, state.held_out = lately, stale, looks, held_out

    def _note_limits(self, steps: int | None, seconds: float | None) -> None:
        """Where they were raised its rate is high once more, which takes back at first what it learnt: progress is
        counted anew."""
        state = self.state
        if state.step and (is_more(steps, state.of_steps) or is_more(seconds, state.of_seconds, STEADY)):
            state.lately, state.stale, state.since, state.looked = 0.0, 0, len(state.looks), -1
        state.of_steps, state.of_seconds = steps, seconds

    def _seen(self, learner: Learns) -> Measured:
        """Of a learner, by held-out text; raises TrainingError for laws that are no numbers."""
        found = learner.look()
        if not math.isfinite(found.tokens):
            raise TrainingError(
                f"the draft's laws are no numbers after step {self.state.step}: what it began with is damaged, or "
                "the features are"
            )
        return found

    def _save(self) -> None:
        facts: dict[str, Any] = asdict(self.state)
        write_checkpoint(self.path, self.learner.arrays(), facts)

    def _words(self, clock: Clock) -> str:
        state = self.state
        speed = state.tokens / clock.seconds if clock.seconds else 0.0
        kept = " ".join(f"{each:.3f}" for each in state.kept)
        held_out = state.looks[-1]["tokens_a_round"]
        return f"loss {state.loss:.3f}, kept {kept}, held out {held_out:.3f} tokens a round, {speed:,.0f} tokens/s"


def is_more(limit: float | None, before: float | None, times: float = 1.0) -> bool:
    """Whether a limit was raised, or there is none any more."""
    return before is not None and (limit is None or limit > times * before)
