"""Continuous batching: many requests through the one loop, whose passes they share.

Samples join and leave after every pass (crowd.py), and a pass computes prompts beside the texts that are being written
(planning.py). None of this changes a text: a row's logits are the same whatever is computed beside it, and noise
belongs to (seed, sample, position). An error in a part of a request ends that request alone, and all texts keep what
they have.
"""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack

from truedraw.engine.logits_cache import LogitsCache
from truedraw.errors import BadInput, OutOfPages
from truedraw.generate.crowd import AHEAD, Crowd
from truedraw.generate.job import Job, moved, taken
from truedraw.generate.known_rows import KnownRows
from truedraw.generate.loop import rounds
from truedraw.generate.planning import LIMITS, Limits, plan
from truedraw.generate.sample import Sample, Turn
from truedraw.generate.taking_turns import TakingTurns
from truedraw.protocol import Controller, Engine, Round, Work
from truedraw.sampling.working_time import working_seconds


class Scheduler:
    """sample.Schedule for jobs. One thread drives it; `add` and `cancel` may be called from any, and while it runs.

    turns: schedulers of one engine share it, so that threads which drive them take turns, a step each.
    `ended` collects the jobs that have ended, failed or been cancelled, in that order; whoever reads them takes them
    out.
    """

    def __init__(
        self, engine: Engine, controller: Controller, limits: Limits = LIMITS, logits_cache: LogitsCache | None = None,
        turns: TakingTurns | None = None,
    ) -> None:  # fmt: skip
        self.ended: deque[Job] = deque()
        self.num_tokens = 0  # written so far, of all jobs
        self.controller = controller  # of all jobs that bring none
        self._engine, self._limits, self._turns = engine, limits, turns or TakingTurns()
        self._crowd = Crowd(engine, limits, logits_cache, self._fail)
        self._jobs: dict[Job, None] = {}  # that have come in and hold something, or may
        self._added: deque[Job] = deque()
        self._cancelled: deque[Job] = deque()
        self._failed: deque[Job] = deque()
        self._numbers = 0
        self._closed = False
        self._known = KnownRows()
        self._turn = Turn([])
        self._passes = rounds(engine, controller, self)

    @property
    def num_unfinished(self) -> int:
        """Samples that run or wait."""
        crowd = self._crowd
        jobs = (*self._added, *crowd.waiting, *crowd.opened)
        return len(crowd.running) + len(crowd.evicted) + sum(job.remaining for job in jobs)

    @property
    def is_hungry(self) -> bool:
        """Whether another job would begin soon."""
        queue = len(self._added) + len(self._crowd.waiting) + len(self._crowd.opened)
        return queue < AHEAD or self.num_unfinished < self._limits.max_running

    @property
    def is_closed(self) -> bool:
        """Whether it takes nothing more."""
        return self._closed

    def add(self, job: Job) -> None:
        """Put a job at the end of the queue; raises BadInput once it is closed."""
        self.check_open()
        self._added.append(job)
        if self._closed:  # by another thread, just now: either it has taken the job and ends it, or nobody will
            try:
                self._added.remove(job)
            except ValueError:
                return
            self.check_open()

    def check_open(self) -> None:
        """Raises BadInput after close(), and after an interruption, which closes it too."""
        if self._closed:
            raise BadInput("the batch is closed and takes nothing more; open another one with model.batch()")

    def cancel(self, job: Job) -> None:
        """Free what the job holds before the next pass; also from a signal handler."""
        self._cancelled.append(job)

    def step(self) -> bool:
        """One pass, or one round of what needs none; False where nothing is left to do."""
        with self._turns:
            if self._is_passing:
                raise BadInput(
                    "the batch is in the midst of a pass, and an observer or a signal handler cannot begin another one"
                )
            more = self._step()
            if self._closed:
                self._close()
        if self._turns.put_off:
            self._turns.catch_up()
        return more

    def close(self) -> None:
        """Cancel everything and free it at once, after the pass that another thread may be computing.

        What is called in the midst of a pass, a signal handler or an observer, closes it when the pass is over. Where
        an interruption comes in between, closing once more frees the rest.
        """
        self._closed = True
        with self._turns:
            self._close()
        self._turns.catch_up()

    def abandon(self) -> None:
        """The same as soon as that needs no waiting: the garbage collector may call it, in any thread."""
        self._closed = True
        self._turns.soon(self._close)

    def turn(self) -> Turn | None:
        """The next pass; before it, all that the cache of logits makes unnecessary."""
        cancelled = taken(self._cancelled)  # before the jobs: each of these was added before it was cancelled
        if self._added:
            self._take_in()
        for job in cancelled:
            self._finish(job)
        self._crowd.admit()
        running, prompts = self._crowd.running, self._crowd.prompts()
        self._turn = self._known.turn(running, bool(prompts)) or plan(running, prompts, self._limits)
        if self._turn.samples or self._turn.fills:
            return self._turn
        return None

    def make_room(self, turn: Turn, error: OutOfPages) -> None:
        """The youngest waits; one that has no room even alone drafts nothing, or has failed."""
        if self._crowd.make_room(turn) or any(sample.drop_drafts() for sample in turn.samples):
            return
        self._fail(self._crowd.last(turn), error)
        turn.samples, turn.fills = [], []

    def has_room(self, work: Work) -> bool:
        """Beside what the others hold."""
        return self._engine.fits([work])

    def failed(self, sample: Sample, error: Exception) -> None:
        """It ends with its whole job, once the pass is over."""
        self._fail(self._crowd.jobs[sample.number], error)

    def _step(self) -> bool:
        if self._closed:
            return False
        try:
            done = self._next()
            self._collect(done or [])
        except BaseException:
            self.close()
            raise
        return done is not None or bool(self._crowd.waiting)  # behind jobs that could not begin

    def _close(self) -> None:
        """May be repeated; in the midst of a pass, `step` does. What goes wrong with one job leaves no other behind."""
        if self._is_passing:
            return
        self._passes.close()
        self._take_in()
        with ExitStack() as stack:
            stack.callback(self._crowd.shared.clear)
            for job in reversed(tuple(self._jobs)):
                stack.callback(self._finish, job)

    @property
    def _is_passing(self) -> bool:
        running: bool = self._passes.gi_running  # type: ignore[attr-defined] # of every generator
        return running

    def _take_in(self) -> None:
        """What was added, unless it has ended already."""
        for job in moved(self._added, self._jobs):
            if job.ended_at is None:
                job.first, self._numbers = self._numbers, self._numbers + len(job.starts)
                self._crowd.join(job)

    def _next(self) -> list[Round] | None:
        try:
            done = next(self._passes, None)
            if done is None:  # everything had ended when it was asked last
                self._passes = rounds(self._engine, self.controller, self)
                done = next(self._passes, None)
            return done
        except Exception as error:  # of the engine: whoever might have been in the pass cannot go on
            stuck = (*self._crowd.jobs.values(), *self._crowd.opened) or tuple(self._crowd.waiting)
            for job in stuck:
                self._fail(job, error)
            return [] if stuck else None

    def _collect(self, done: list[Round]) -> None:
        """Hand out what a pass has brought, and let go of what has ended."""
        turn, self._turn = self._turn, Turn([])
        for sample in turn.samples:
            if sample.finish_reason is not None:
                sample.ending.finish()  # before others see its last round
        for each in done:
            self._crowd.jobs[each.sample].rounds.append(each)
            self.num_tokens += len(each.tokens)
        if turn.fills and not done:
            self._charge(turn)
        for sample in turn.samples:
            if sample.finish_reason is not None:
                self._end(sample)
        for job in taken(self._failed):
            self._finish(job)

    def _charge(self, turn: Turn) -> None:
        """The time of a pass that computed nothing but prompts and texts begun before, to those it was for."""
        owners = {id(job.root): job for job in self._crowd.opened}
        owners |= {id(sample.sequence): self._crowd.jobs[sample.number] for sample in self._crowd.running}
        for fill in turn.fills:
            owner = owners.get(id(fill.sequence))
            if owner is not None:
                owner.fill_seconds += turn.engine_seconds * fill.count / turn.rows

    def _end(self, sample: Sample) -> None:
        """A sample is complete, or will be no longer."""
        job = self._crowd.jobs[sample.number]
        self._crowd.leave(job, sample)
        if not job.live and not job.remaining:
            self._finish(job)

    def _fail(self, job: Job, error: Exception) -> None:
        job.fail(error)
        self._failed.append(job)

    def _finish(self, job: Job) -> None:
        """Free what the job holds; it has ended when nothing is left."""
        if job.ended_at is None:
            self._crowd.drop(job)
            now = working_seconds()
            if job.ended_at is None:  # nor did a signal handler end it
                job.ended_at = now
                self.ended.append(job)
        self._jobs.pop(job, None)
