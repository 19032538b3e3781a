"""The loop of training: steps, looks at held-out text, checkpoints.

A run of so many steps that goes on after a kill is, bit for bit, the run it would have been.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from truedraw.distill.checkpoint import Arrays, forget_checkpoints, read_checkpoint, write_checkpoint
from truedraw.distill.clock import Clock
from truedraw.distill.evaluation import measured
from truedraw.distill.gradients import Blend, Seen, gradient, survival_of
from truedraw.distill.head import Head
from truedraw.distill.kinds import network_of
from truedraw.distill.plan import TRAINING, HeadPlan, Limits, Tell
from truedraw.distill.rows import Rows
from truedraw.distill.schedule import fallen, share_of, warmth
from truedraw.distill.starting import bridged, first_arrays, head_of, optimiser_of, rounded
from truedraw.distill.tables import Tables
from truedraw.distill.windows import POSITIONS, windows
from truedraw.errors import TrainingError

LONGEST_GRADIENT = 1.0
LOOKS = 20  # at held-out text
LOOK_ROWS = 1500
PROGRESS = 1e-4  # tokens a round that count as such
SEEN_EVERY = 20  # steps
SMOOTH = 0.9  # of what was seen before
KEPT_AT_FIRST = 0.4  # acceptance, before any was seen
POINTS = 100  # of the curves
CHECKPOINT_SECONDS = 30.0
SCORE = 1.0  # temperature of the looks


@dataclass(slots=True)
class State:
    """Where a training is."""

    step: int = 0
    tokens: int = 0  # rows learnt from, each time they were
    seconds: float = 0.0
    loss: float = 0.0  # smoothed
    kept: list[float] = field(default_factory=lambda: [KEPT_AT_FIRST] * POSITIONS)  # acceptance, smoothed
    best: float = 0.0  # tokens a round
    best_step: int = 0
    stale: int = 0  # looks since
    looked: int = -1  # which look was the last
    pointed: int = -1  # which point of the curves
    curve: list[dict[str, Any]] = field(default_factory=list)
    looks: list[dict[str, Any]] = field(default_factory=list)


class Training:
    """One head over some rows; its checkpoint is at `path`, the best weights so far stand beside it."""

    def __init__(self, data: Rows, tables: Tables, plan: HeadPlan, path: Path, overwrite: bool = False) -> None:
        self.path, self.best_path = path, path.with_name(f"{path.stem}.best{path.suffix}")
        if overwrite:
            forget_checkpoints(self.path)
            forget_checkpoints(self.best_path)
        self._data, self._plan = data, plan
        found = read_checkpoint(path)
        arrays = first_arrays(data, tables, plan) if found is None else found[0]
        network = network_of(plan)
        fresh = State(kept=[KEPT_AT_FIRST] * network.positions)
        self.state = fresh if found is None else State(**found[1])
        self.head = head_of(network, tables, arrays)
        if found is None:
            bridged(self.head)
        self._optimiser = optimiser_of(self.head.weights, plan.rate, arrays, self.state.step)

    def run(self, limits: Limits, seconds: float | None, tell: Tell, until: float = 1.0) -> None:
        """Until time or steps are over, or nothing gets better; or until this share of them, to go on later.

        Raises TrainingError where the loss is no number any more; the checkpoint before it stays. What else ends it,
        ctrl-C for instance, leaves a checkpoint of the last step.
        """
        clock, saved = Clock(self.state.seconds, seconds), monotonic()
        try:
            while True:
                done = max(clock.share, self.state.step / limits.steps if limits.steps else 0.0)
                self.state.seconds = round(clock.seconds, 3)
                self._look(done, clock)
                if done >= min(until, 1.0) or self.state.stale >= limits.patience:
                    break
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

    def best_head(self) -> Head:
        """The head with these weights, to be measured."""
        arrays = self.best()
        return rounded(self.head, {name: arrays[f"weight.{name}"] for name in self.head.weights})

    def _step(self, done: float) -> None:
        """One; nothing has changed where its gradient is no number."""
        import torch

        state, weights = self.state, self.head.weights
        for group in self._optimiser.param_groups:
            group["lr"] = self._plan.rate * warmth(state.step) * fallen(done)
        blend = Blend(self._plan.loss, share_of(self._plan.loss, done), survival_of(state.kept).tolist())
        look = state.step % SEEN_EVERY == 0
        self._optimiser.zero_grad()
        where = windows(self._data, self._plan.seed, state.step, self.head.network.positions)
        seen = gradient(self.head, where, blend, look)
        length = torch.nn.utils.clip_grad_norm_(list(weights.values()), LONGEST_GRADIENT)
        if not torch.isfinite(length) or (seen is not None and not math.isfinite(seen.loss)):
            raise TrainingError(
                f"the loss is no number any more after step {state.step}; give a lower --learning-rate and another "
                f"--work, or --overwrite; the last good checkpoint is {self.path}"
            )
        self._optimiser.step()
        if seen is not None:
            self._saw(seen, done)
        state.step, state.tokens = state.step + 1, state.tokens + int(where.counts(1).sum())

    def _saw(self, seen: Seen, done: float) -> None:
        state = self.state
        part = SMOOTH if state.step else 0.0
        state.loss = part * state.loss + (1 - part) * seen.loss
        state.kept = [part * old + (1 - part) * new for old, new in zip(state.kept, seen.acceptance, strict=True)]
        if int(done * POINTS) != state.pointed:
            state.pointed = int(done * POINTS)
            state.curve.append({"tokens": state.tokens, "loss": state.loss, "acceptance": list(state.kept)})

    def _look(self, done: float, clock: Clock) -> None:
        """At held-out text, if it is time; the best weights are kept."""
        number, state = int(min(done, 1.0) * LOOKS), self.state
        if number == state.looked:
            return
        found = measured(self.head, self._data, SCORE, LOOK_ROWS)
        state.looked = number
        state.looks.append({"tokens": state.tokens, "step": state.step, **found.to_json()})
        if found.tokens > state.best + PROGRESS:
            state.best, state.best_step, state.stale = found.tokens, state.step, 0
            write_checkpoint(self.best_path, self._arrays(), {"step": state.step})
        else:
            state.stale += 1
        state.seconds = round(clock.seconds, 3)
        self._save()

    def _arrays(self) -> Arrays:
        weights = {f"weight.{name}": values.detach().numpy() for name, values in self.head.weights.items()}
        return {**weights, "tokens": self.head.known.tokens, "scale": self.head.scale.numpy()}

    def _save(self) -> None:
        moments: Arrays = {}
        for name, values in self.head.weights.items():
            kept = self._optimiser.state.get(values, {})
            if kept:
                moments |= {f"mean.{name}": kept["exp_avg"].numpy(), f"square.{name}": kept["exp_avg_sq"].numpy()}
        write_checkpoint(self.path, {**self._arrays(), **moments}, asdict(self.state))

    def _words(self, clock: Clock) -> str:
        state = self.state
        speed = state.tokens / clock.seconds if clock.seconds else 0.0
        kept = " ".join(f"{each:.3f}" for each in state.kept)
        held_out = state.looks[-1]["tokens_a_round"]
        return f"loss {state.loss:.3f}, kept {kept}, held out {held_out:.3f} tokens a round, {speed:,.0f} tokens/s"
