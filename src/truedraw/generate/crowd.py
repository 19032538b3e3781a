"""Who waits, who runs, and who gives up pages for whom.

First come, first served. Only those who begin like a text that is being computed let others pass, until it is. Where
the cache is out of pages the youngest gives its pages back and waits in front of the queue until somebody older has
left. So the oldest always goes on, and every queue comes to its end.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable
from itertools import islice

from truedraw.engine.logits_cache import LogitsCache
from truedraw.generate.job import Job
from truedraw.generate.planning import Limits
from truedraw.generate.sample import Sample, Turn
from truedraw.generate.shared_prompts import SharedPrompts, begins_alike
from truedraw.handlers import pass_on
from truedraw.protocol import Engine, Fill, Work
from truedraw.protocol import Sequence as Text

AHEAD = 4  # prompts computed before there is a place for them, so that none stays empty when many end at once


def number(sample: Sample) -> int:
    """Its place in the order of arrival."""
    return sample.number


class Crowd:
    """Jobs and samples of one scheduler. Lists have the oldest first; `failed` is told of jobs that cannot begin."""

    def __init__(
        self, engine: Engine, limits: Limits, cache: LogitsCache | None, failed: Callable[[Job, Exception], None]
    ) -> None:
        self._engine, self._limits, self._cache, self._failed = engine, limits, cache, failed
        self.waiting: deque[Job] = deque()
        self.opened: list[Job] = []  # some of their samples have not begun
        self.running: list[Sample] = []
        self.evicted: list[Sample] = []
        self.jobs: dict[int, Job] = {}  # by the numbers of the samples that run or are evicted
        self.shared = SharedPrompts(engine)
        self._full = False  # there was no room, and nobody has left since

    def join(self, job: Job) -> None:
        """At the end of the queue."""
        self.waiting.append(job)
        self.shared.expect(job)

    def admit(self) -> None:
        """Let in whom there is room for; nobody overtakes those who gave up their pages."""
        self._readmit()
        if self.evicted:
            return
        for job in tuple(self.opened):
            self._begin(job)
        for job in tuple(islice(self.waiting, self._limits.max_running + AHEAD)):
            if not self._may_open():
                return
            if not self._is_begun(job) and not self._open(job):
                return

    def prompts(self) -> list[tuple[int, Text]]:
        """What samples wait for, and its jobs' places in the order of arrival; nothing while pages are short."""
        if self._full and self.running:
            return []
        return [(job.first, job.root) for job in self.opened if job.root is not None]

    def make_room(self, turn: Turn) -> bool:
        """Take the youngest out of a pass and back into the queue; False where only one is left."""
        if self.shared.clear():
            return True
        self._full = True
        holders = [job for job in self.opened if job.root is not None and self._holds(job, turn)]
        if holders and len(holders) + len(self.running) > 1:
            root = holders[-1].root
            assert root is not None
            self._give_up(root, turn)
            return True
        if len(self.running) < 2:
            return False
        sample = self.running.pop()
        turn.samples = [each for each in turn.samples if each is not sample]
        self._give_up(sample.sequence, turn)
        insort(self.evicted, sample, key=number)
        return True

    def last(self, turn: Turn) -> Job:
        """Whose the only text is that has pages."""
        if self.running:
            return self.jobs[self.running[0].number]
        return next(job for job in self.opened if job.root is turn.fills[0].sequence)

    def leave(self, job: Job, sample: Sample) -> None:
        """A sample of the job has ended. May be repeated, as `drop`: an interruption may come anywhere."""
        for queue in (self.running, self.evicted):
            if sample in queue:
                queue.remove(sample)
        sample.sequence.close()
        self._full = False
        self.jobs.pop(sample.number, None)
        job.end(sample)

    def drop(self, job: Job) -> None:
        """The job ends, with what is left of it."""
        for sample in tuple(job.live):
            self.leave(job, sample)
        if job in self.opened:
            self.opened.remove(job)
        elif job in self.waiting:
            self._call(job)
        job.drop()
        self._full = False

    def _readmit(self) -> None:
        while self.evicted and len(self.running) < self._limits.max_running:
            if self.running and (self._full or not self._fits(self.evicted[0].sequence)):
                self._full = True
                return
            insort(self.running, self.evicted.pop(0), key=number)

    def _call(self, job: Job) -> None:
        """Out of the queue."""
        self.waiting.remove(job)
        self.shared.forget(job)

    def _open(self, job: Job) -> bool:
        """Whether it was let in, or has failed; False where it has to wait."""
        try:
            root = job.open(self._engine, self.shared.text(job))
            has_room = not (self.running or self.opened) or self._fits(root)
        except Exception as error:  # an engine of somebody else may raise anything
            pass_on(error)
            self._call(job)
            self._failed(job, error)
            return True
        if not has_room:
            job.postpone()
            self._full = True
            return False
        self._call(job)
        insort(self.opened, job, key=lambda each: each.first)
        self._begin(job)
        return True

    def _begin(self, job: Job) -> None:
        """Start samples of the job: once its prompt is computed where several share it, at once where one is left."""
        try:
            self.shared.keep(job)
            shared = self.shared.is_wanted(job)
            while job.remaining and len(self.running) < self._limits.max_running and job.is_ready(shared):
                sample = job.begin(self._engine, self._cache)
                self.jobs[sample.number] = job
                insort(self.running, sample, key=number)
        except Exception as error:  # a drafter may raise anything
            pass_on(error)
            self._failed(job, error)
        if not job.remaining and job in self.opened:
            self.opened.remove(job)

    def _may_open(self) -> bool:
        """Whether there is a place that nobody has a claim to, or a prompt might as well be computed ahead."""
        if self._full and self.running:
            return False
        claims = len(self.running) + sum(job.remaining for job in self.opened)
        return claims < self._limits.max_running or len(self.opened) < AHEAD

    def _is_begun(self, job: Job) -> bool:
        """Whether its prompt, or one that begins like it, is being computed: once it is, they can share that."""
        if self.shared.text(job) is not None:
            return False
        unfinished = self._unfinished()
        if self.shared.is_wanted(job) and any(each.prompt == job.prompt for each in unfinished):
            return True
        return begins_alike(job.prompt, [*(sample.sequence for sample in self.running), *unfinished.values()])

    def _unfinished(self) -> dict[Job, Text]:
        """Prompts that are not computed yet, but for those that samples compute themselves."""
        return {job: root for job in self.opened if (root := job.root) is not None and root.num_uncached > 1}

    def _fits(self, text: Text) -> bool:
        """Whether there is room for one more, with what the others need next."""
        works = [*(Work(sample.sequence) for sample in self.running), Work(text)]
        fills = [Fill(root, root.num_uncached - 1) for root in self._unfinished().values()]
        return self._engine.fits(works, fills) or (self.shared.clear() and self._engine.fits(works, fills))

    @staticmethod
    def _holds(job: Job, turn: Turn) -> bool:
        """Whether the prompt has pages, or is about to get some."""
        root = job.root
        assert root is not None
        return root.num_uncached < len(job.prompt) or any(fill.sequence is root for fill in turn.fills)

    @staticmethod
    def _give_up(text: Text, turn: Turn) -> None:
        turn.fills = [fill for fill in turn.fills if fill.sequence is not text]
        text.evict()
