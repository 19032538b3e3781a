"""Continuous batching: many requests through the one loop, whose passes they share.

What becomes of them between two passes, jobs.py says. None of this changes a text: a row's logits are the same whatever
is computed beside it, and noise belongs to (seed, sample, position).
"""

from __future__ import annotations

from weakref import ref

from truedraw.engine.logits_cache import LogitsCache
from truedraw.errors import BadInput
from truedraw.generate.job import Job
from truedraw.generate.jobs import Jobs
from truedraw.generate.loop import rounds
from truedraw.generate.planning import LIMITS, Limits
from truedraw.generate.taking_turns import TakingTurns, is_running
from truedraw.handlers import pass_on
from truedraw.protocol import Controller, Engine, Round


class Scheduler:
    """Moves jobs, a pass a step. One thread drives it; `add` and `cancel` may be called from any, and while it runs.

    turns: schedulers of one engine share it, so that threads which drive them take turns, a step each.
    """

    def __init__(
        self, engine: Engine, controller: Controller, limits: Limits = LIMITS, logits_cache: LogitsCache | None = None,
        turns: TakingTurns | None = None,
    ) -> None:  # fmt: skip
        self.jobs = Jobs(engine, limits, logits_cache)
        self.controller = controller  # of all jobs that bring none
        self._engine, self._turns = engine, turns or TakingTurns()
        self._passes = rounds(engine, controller, self.jobs)

    @property
    def is_closed(self) -> bool:
        """Whether it takes nothing more."""
        return self.jobs.is_ending

    def add(self, job: Job) -> None:
        """Put a job at the end of the queue; raises BadInput once it is closed."""
        self.check_open()
        self.jobs.added.append(job)
        if self.is_closed:  # by another thread, just now: either it has taken the job and ends it, or nobody will
            try:
                self.jobs.added.remove(job)
            except ValueError:
                return
            self.check_open()

    def check_open(self) -> None:
        """Raises BadInput after close(), and after an interruption, which closes it too."""
        if self.is_closed:
            raise BadInput("the batch is closed and takes nothing more; open another one with model.batch()")

    def cancel(self, job: Job) -> None:
        """Free what the job holds before the next pass; also from a signal handler."""
        self.jobs.cancelled.append(job)

    def step(self) -> bool:
        """One pass, or one round of what needs none; False where nothing is left to do."""
        with self._turns:
            if self._turns.are_passing:
                raise BadInput(
                    "the model is in the midst of a pass, and an observer or a signal handler cannot begin another one"
                )
            more = self._step()
            if self.is_closed:
                self._close()
        if self._turns.put_off:
            self._turns.catch_up()
        return more

    def close(self) -> None:
        """Cancel everything and free it at once, after the pass that another thread may be computing.

        What is called in the midst of a pass, a signal handler or an observer, closes it when the pass is over. Where
        an interruption comes in between, closing once more frees the rest.
        """
        self.jobs.is_ending = True
        with self._turns:
            self._close()
        self._turns.catch_up()

    def abandon(self) -> None:
        """The same as soon as that needs no waiting: the garbage collector may call it, in any thread."""
        self.jobs.is_ending = True
        self._turns.soon(self._close)

    def _step(self) -> bool:
        if self.is_closed:
            return False
        try:
            done = self._next()
            self.jobs.collect(done or [])
        except BaseException:
            self.jobs.enter_held()
            self.close()
            raise
        return done is not None or self.jobs.some_wait  # behind jobs that could not begin

    def _close(self) -> None:
        """May be repeated; in the midst of a pass, `step` does."""
        if self._is_passing:
            return
        self._passes.close()
        self.jobs.end_all()

    @property
    def _is_passing(self) -> bool:
        return is_running(self._passes)

    def _next(self) -> list[Round] | None:
        try:
            done = self._moved()
            if done is None:  # everything had ended when it was asked last
                self._passes = rounds(self._engine, self.controller, self.jobs)
                done = self._moved()
            return done
        except Exception as error:
            pass_on(error)
            return [] if self.jobs.engine_failed(error) else None

    def _moved(self) -> list[Round] | None:
        self._turns.passes = ref(self._passes)
        return next(self._passes, None)
