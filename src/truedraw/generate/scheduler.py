"""Continuous batching: many requests through the one loop, whose passes they share.

Samples join and leave after every pass (crowd.py), and a pass computes prompts beside the texts that are being written
(planning.py). None of this changes a text: a row's logits are the same whatever is computed beside it, and noise
belongs to (seed, sample, position). An error in a part of a request ends that request alone, and all texts keep what
they have.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter

from truedraw.draft.site import close
from truedraw.engine.logits_cache import LogitsCache
from truedraw.errors import BadInput, OutOfPages
from truedraw.generate.crowd import AHEAD, Crowd
from truedraw.generate.job import Job
from truedraw.generate.loop import rounds
from truedraw.generate.planning import LIMITS, Limits, plan
from truedraw.generate.sample import Sample, Turn
from truedraw.protocol import Controller, Engine, Round, Scores


class Scheduler:
    """sample.Schedule for jobs. One thread drives it; `add` and `cancel` may be called from any, and while it runs.

    `ended` collects the jobs that have ended, failed or been cancelled, in that order; whoever reads them takes them
    out.
    """

    def __init__(
        self, engine: Engine, controller: Controller, limits: Limits = LIMITS, logits_cache: LogitsCache | None = None
    ) -> None:
        self.ended: deque[Job] = deque()
        self.num_tokens = 0  # written so far, of all jobs
        self.controller = controller  # of all jobs that bring none
        self._engine, self._limits, self._cache = engine, limits, logits_cache
        self._crowd = Crowd(engine, limits, logits_cache, self._fail)
        self._added: deque[Job] = deque()
        self._cancelled: deque[Job] = deque()
        self._failed: deque[Job] = deque()
        self._numbers = 0
        self._closed = False
        self._missed: set[int] = set()  # samples that the cache of logits could not serve since the last pass
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

    def add(self, job: Job) -> None:
        """Put a job at the end of the queue; raises BadInput once it is closed."""
        self.check_open()
        self._added.append(job)

    def check_open(self) -> None:
        """Raises BadInput after close(), and after an interruption, which closes it too."""
        if self._closed:
            raise BadInput("the batch is closed and takes nothing more; open another one with model.batch()")

    def cancel(self, job: Job) -> None:
        """Free what the job holds before the next pass; also from a signal handler."""
        self._cancelled.append(job)

    def step(self) -> bool:
        """One pass, or one round of what needs none; False where nothing is left to do."""
        try:
            done = self._next()
        except Exception as error:  # of the engine: whoever might have been in the pass cannot go on
            done = []
            for job in (*self._crowd.jobs.values(), *self._crowd.opened):
                self._fail(job, error)
        except BaseException:
            self.close()
            raise
        self._collect(done or [])
        return done is not None

    def close(self) -> None:
        """Cancel everything and free it at once; not while a pass is being computed."""
        self._closed = True
        self._passes.close()
        while self._added:
            self._number(self._added.popleft())
        for job in (*self._crowd.jobs.values(), *self._crowd.opened, *self._crowd.waiting):
            self._finish(job)

    def turn(self) -> Turn | None:
        """The next pass; before it, all that the cache of logits makes unnecessary."""
        while self._added:
            self._number(self._added.popleft())
        while self._cancelled:
            self._finish(self._cancelled.popleft())
        self._crowd.admit()
        self._turn = self._known() or plan(self._crowd.running, self._crowd.prompts(), self._limits)
        if self._turn.samples or self._turn.fills:
            return self._turn
        return None

    def make_room(self, turn: Turn, error: OutOfPages) -> None:
        """The youngest waits; one that has no room even alone has failed."""
        if self._crowd.make_room(turn):
            return
        self._fail(self._crowd.last(turn), error)
        turn.samples, turn.fills = [], []

    def failed(self, sample: Sample, error: Exception) -> None:
        """It ends with its whole job, once the pass is over."""
        self._fail(self._crowd.jobs[sample.number], error)

    def _number(self, job: Job) -> None:
        """A job has come in."""
        job.first, self._numbers = self._numbers, self._numbers + len(job.starts)
        self._crowd.waiting.append(job)

    def _next(self) -> list[Round] | None:
        done = next(self._passes, None)
        if done is None:  # everything had ended when it was asked last
            self._passes = rounds(self._engine, self.controller, self)
            done = next(self._passes, None)
        return done

    def _known(self) -> Turn | None:
        """Samples whose rows are in the cache of logits: asked again and again, until it can serve nobody."""
        known: list[tuple[Sample, Scores]] = []
        for sample in self._crowd.running if self._cache is not None else ():
            trail = sample.trail
            if trail is None or sample.proposal is not None or sample.number in self._missed:
                continue
            scores = None if trail.cold else trail.scores()
            if scores is not None:
                known.append((sample, scores))
                continue
            self._missed.add(sample.number)
            if trail.cold:
                sample.trail = None
        if known:
            return Turn([sample for sample, _ in known], scores=[scores for _, scores in known])
        self._missed.clear()
        return None

    def _collect(self, done: list[Round]) -> None:
        """Hand out what a pass has brought, and let go of what has ended."""
        turn, self._turn = self._turn, Turn([])
        for each in done:
            self._crowd.jobs[each.sample].rounds.append(each)
            self.num_tokens += len(each.tokens)
        if turn.fills and not done:
            self._charge(turn)
        for sample in turn.samples:
            if sample.finish_reason is not None:
                self._end(sample)
        while self._failed:
            self._finish(self._failed.popleft())

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
        job = self._crowd.leave(sample)
        sample.ending.finish()
        close(sample.draft)
        job.live.remove(sample)
        if not job.live and not job.remaining:
            self._finish(job)

    def _fail(self, job: Job, error: Exception) -> None:
        job.fail(error)
        self._failed.append(job)

    def _finish(self, job: Job) -> None:
        """Free what the job holds."""
        if job.ended_at is not None:
            return
        job.ended_at = perf_counter()
        for sample in tuple(job.live):
            self._end(sample)
        self._crowd.drop(job)
        close(job.parts.drafter)
        self.ended.append(job)
