"""The loop of training, as in distill/training.py: steps, looks at held-out text, checkpoints.

A run of so many steps that goes on after a kill is, bit for bit, the run it would have been.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

from truedraw.distill.checkpoint import Arrays, forget_checkpoints, read_checkpoint, write_checkpoint
from truedraw.distill.clock import Clock
from truedraw.distill.independent.gradients import Sums
from truedraw.distill.independent.learner import Learner, Material
from truedraw.distill.independent.plan import TransformerPlan
from truedraw.distill.plan import TRAINING, Limits, Tell
from truedraw.distill.schedule import fallen, share_of, warmth
from truedraw.distill.training import (
    CHECKPOINT_SECONDS,
    KEPT_AT_FIRST,
    LONGEST_GRADIENT,
    LOOKS,
    POINTS,
    PROGRESS,
    SCORE,
    SEEN_EVERY,
    SMOOTH,
    State,
)
from truedraw.errors import TrainingError
from truedraw.protocol import ModelConfig

LOOK_ROWS = 2000  # of held-out text: such a look takes about as long as a step


class Training:
    """One draft over some texts; its checkpoint is at `path`, the best weights so far stand beside it."""

    def __init__(
        self, material: Material, config: ModelConfig, plan: TransformerPlan, path: Path, overwrite: bool = False
    ) -> None:
        self.path, self.best_path = path, path.with_name(f"{path.stem}.best{path.suffix}")
        if overwrite:
            forget_checkpoints(self.path)
            forget_checkpoints(self.best_path)
        self._plan = plan
        found = read_checkpoint(path)
        arrays, self.state = (None, State(kept=[KEPT_AT_FIRST])) if found is None else (found[0], State(**found[1]))
        self.learner = Learner(material, config, plan, arrays, self.state.step)

    def run(self, limits: Limits, seconds: float | None, tell: Tell) -> None:
        """Until time or steps are over, or nothing gets better.

        Raises TrainingError where the loss is no number any more; the checkpoint before it stays. What else ends it,
        ctrl-C for instance, leaves a checkpoint of the last step.
        """
        clock, saved = Clock(self.state.seconds, seconds), monotonic()
        try:
            while not self._ended(limits, clock):
                done = self._done(limits, clock)
                self._step(done)
                tell(TRAINING, done, self._words(clock))
                if monotonic() - saved > CHECKPOINT_SECONDS:
                    self._save()
                    saved = monotonic()
        except KeyboardInterrupt:
            self._save()
            raise
        self._save()

    def best(self) -> Arrays:
        """The weights that did best on held-out text."""
        found = read_checkpoint(self.best_path)
        assert found is not None
        return found[0]

    def _done(self, limits: Limits, clock: Clock) -> float:
        return max(clock.share, self.state.step / limits.steps if limits.steps else 0.0)

    def _ended(self, limits: Limits, clock: Clock) -> bool:
        """After a look, if it is time for one."""
        done = self._done(limits, clock)
        self.state.seconds = round(clock.seconds, 3)
        self._look(done, clock)
        return done >= 1 or self.state.stale >= limits.patience

    def _step(self, done: float) -> None:
        """One; nothing has changed where its gradient is no number."""
        import torch

        state, learner = self.state, self.learner
        for group in learner.optimiser.param_groups:
            group["lr"] = self._plan.rate * warmth(state.step) * fallen(done)
        learner.optimiser.zero_grad()
        look = state.step % SEEN_EVERY == 0
        seen, count = learner.gradient(state.step, share_of(self._plan.loss, done), look)
        length = torch.nn.utils.clip_grad_norm_(list(learner.draft.weights.values()), LONGEST_GRADIENT)
        if not torch.isfinite(length) or (seen is not None and not math.isfinite(seen.loss)):
            raise TrainingError(
                f"the loss is no number any more after step {state.step}; give a lower --learning-rate and another "
                f"--work, or --overwrite; the last good checkpoint is {self.path}"
            )
        learner.optimiser.step()
        if seen is not None:
            self._saw(seen, done)
        state.step, state.tokens = state.step + 1, state.tokens + count

    def _saw(self, seen: Sums, done: float) -> None:
        state = self.state
        part = SMOOTH if state.step else 0.0
        state.loss = part * state.loss + (1 - part) * seen.loss
        state.kept = [part * state.kept[0] + (1 - part) * seen.kept]
        if int(done * POINTS) != state.pointed:
            state.pointed = int(done * POINTS)
            state.curve.append({"tokens": state.tokens, "loss": state.loss, "acceptance": list(state.kept)})

    def _look(self, done: float, clock: Clock) -> None:
        """At held-out text, if it is time; the best weights are kept."""
        number, state = int(min(done, 1.0) * LOOKS), self.state
        if number == state.looked:
            return
        found = self.learner.measured(SCORE, LOOK_ROWS)
        state.looked = number
        state.looks.append({"tokens": state.tokens, "step": state.step, **found.to_json()})
        if found.tokens > state.best + PROGRESS:
            state.best, state.best_step, state.stale = found.tokens, state.step, 0
            write_checkpoint(self.best_path, self.learner.arrays(moments=False), {"step": state.step})
        else:
            state.stale += 1
        state.seconds = round(clock.seconds, 3)
        self._save()

    def _save(self) -> None:
        facts: dict[str, Any] = asdict(self.state)
        write_checkpoint(self.path, self.learner.arrays(), facts)

    def _words(self, clock: Clock) -> str:
        state = self.state
        speed = state.tokens / clock.seconds if clock.seconds else 0.0
        held_out = state.looks[-1]["tokens_a_round"]
        return (
            f"loss {state.loss:.3f}, kept {state.kept[0]:.3f}, held out {held_out:.3f} tokens a round, "
            f"{speed:,.0f} tokens/s"
        )
