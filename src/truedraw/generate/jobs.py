"""The jobs of one scheduler, from their coming to their end: who is in the next pass, and what a pass has brought.

Samples join and leave after every pass (crowd.py), and a pass computes prompts beside the texts that are being written
(planning.py). An error in a part of a request ends that request alone, and all texts keep what they have.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack

from truedraw.engine.logits_cache import LogitsCache
from truedraw.errors import OutOfPages
from truedraw.generate.crowd import AHEAD, Crowd
from truedraw.generate.job import Job, moved, taken
from truedraw.generate.known_rows import KnownRows
from truedraw.generate.planning import Limits, plan
from truedraw.generate.sample import Sample, Turn
from truedraw.protocol import Engine, Round, Work
from truedraw.sampling.working_time import working_seconds


def without_room(job: Job, error: OutOfPages, engine: Engine) -> OutOfPages:
    """The error of a text that has no room even alone, and how much it may need before its end."""
    bytes_for = getattr(engine, "bytes_for", None)  # see protocol.KnowsRoom
    if bytes_for is None:
        return error
    whole = f"with its prompt and max_tokens it may have {job.most_tokens} tokens"
    return OutOfPages(f"{error}; {whole}, for which cache_bytes has to be {bytes_for(job.most_tokens)}")


class Jobs:
    """sample.Schedule for jobs. One thread drives it; any may put a job into `added` or `cancelled`, while it runs.

    `ended` collects the jobs that have ended, failed or been cancelled, in that order; whoever reads them takes them
    out.
    """

    def __init__(self, engine: Engine, limits: Limits, logits_cache: LogitsCache | None) -> None:
        self.added: deque[Job] = deque()
        self.cancelled: deque[Job] = deque()
        self.ended: deque[Job] = deque()
        self.num_tokens = 0  # written so far, of all jobs
        self.is_ending = False  # whoever sets it is about to end all
        self._engine, self._limits = engine, limits
        self._crowd = Crowd(engine, limits, logits_cache, self._fail)
        self._open: dict[Job, None] = {}  # that have come in and hold something, or may
        self._failed: deque[Job] = deque()
        self._numbers = 0
        self._known = KnownRows()
        self._held: deque[Round] = deque()  # that a pass has brought and nobody has collected
        self._turn = Turn([])

    @property
    def is_awaited(self) -> bool:
        """Whether a job has come or been cancelled meanwhile, or all are to end."""
        return self.is_ending or bool(self.added or self.cancelled)

    @property
    def is_read(self) -> bool:
        """Whether somebody reads one of the texts as it comes."""
        return any(job.is_read for job in self._open)

    @property
    def num_unfinished(self) -> int:
        """Samples that run or wait."""
        crowd = self._crowd
        jobs = (*self.added, *crowd.waiting, *crowd.opened)
        return len(crowd.running) + len(crowd.evicted) + sum(job.remaining for job in jobs)

    @property
    def is_hungry(self) -> bool:
        """Whether another job would begin soon."""
        queue = len(self.added) + len(self._crowd.waiting) + len(self._crowd.opened)
        return queue < AHEAD or self.num_unfinished < self._limits.max_running

    @property
    def some_wait(self) -> bool:
        """Whether jobs have come in and not begun."""
        return bool(self._crowd.waiting)

    def turn(self) -> Turn | None:
        """The next pass; before it, all that the cache of logits makes unnecessary."""
        cancelled = taken(self.cancelled)  # before the jobs: each of these was added before it was cancelled
        if self.added:
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
        job = self._crowd.last(turn)
        self._fail(job, without_room(job, error, self._engine))
        turn.samples, turn.fills = [], []

    def has_room(self, work: Work) -> bool:
        """Beside what the others hold."""
        return self._engine.fits([work])

    def failed(self, sample: Sample, error: Exception) -> None:
        """It ends with its whole job, once the pass is over."""
        self._fail(self._crowd.jobs[sample.number], error)

    def engine_failed(self, error: Exception) -> bool:
        """Whoever might have been in the pass cannot go on; whether there is anybody."""
        stuck = (*self._crowd.jobs.values(), *self._crowd.opened) or tuple(self._crowd.waiting)
        for job in stuck:
            self._fail(job, error)
        return bool(stuck)

    def collect(self, done: list[Round]) -> None:
        """Hand out what a pass has brought, and let go of what has ended."""
        turn, self._turn = self._turn, Turn([])
        for sample in turn.samples:
            if sample.finish_reason is not None:
                sample.ending.finish()  # before others see its last round
        self.rescue(done)
        if turn.fills and turn.rows and not done:
            self._charge(turn)
        for sample in turn.samples:
            if sample.finish_reason is not None:
                self._end(sample)
        for job in taken(self._failed):
            self._finish(job)

    def rescue(self, rounds: Sequence[Round]) -> None:
        """See Schedule: they are entered for their jobs."""
        self.hold(rounds)
        self.enter_held()

    def hold(self, rounds: Sequence[Round]) -> None:
        """See Schedule: until `collect` enters them for their jobs, or `enter_held` in its place."""
        self._held = deque(rounds)

    def enter_held(self) -> None:
        """May be repeated: an interruption may come anywhere."""
        while self._held:
            each = self._held[0]
            rounds = self._crowd.jobs[each.sample].rounds
            if not rounds or rounds[-1] is not each:
                rounds.append(each)
                self.num_tokens += len(each.tokens)
            self._held.popleft()

    def end_all(self) -> None:
        """Whatever they hold. May be repeated; what goes wrong with one leaves no other behind."""
        self._take_in()
        with ExitStack() as stack:
            stack.callback(self._crowd.shared.clear)
            for job in reversed(tuple(self._open)):
                stack.callback(self._finish, job)

    def _take_in(self) -> None:
        """What was added, unless it has ended already."""
        for job in moved(self.added, self._open):
            if job.ended_at is None:
                job.first, self._numbers = self._numbers, self._numbers + len(job.starts)
                self._crowd.join(job)

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
        self._open.pop(job, None)
