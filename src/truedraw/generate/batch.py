"""Many requests at once, in and out in any order; which others there are changes no text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import finalize

from truedraw.control.payoff import PayoffController
from truedraw.draft.site import close
from truedraw.engine.logits_cache import LogitsCache, LogitsCacheUse
from truedraw.errors import (
    BadFile,
    BadInput,
    BadParameter,
    TruedrawError,
    UnknownModel,
    UnknownName,
    UnsupportedModel,
)
from truedraw.generate.generation import Generation
from truedraw.generate.job import Job
from truedraw.generate.one_place import OnePlace
from truedraw.generate.planning import Limits
from truedraw.generate.request import Request
from truedraw.generate.result import Result
from truedraw.generate.scheduler import Scheduler
from truedraw.generate.shared_drafters import SharedDrafters
from truedraw.generate.taking_turns import TakingTurns
from truedraw.protocol import Observer
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.values import shown

if TYPE_CHECKING:
    from truedraw.generate.model import Model, Spec
    from truedraw.generate.prompt_ids import Prompt


class Batch(OnePlace):
    """Add requests, then take what is `completed()`. Use it in a `with` block, or call close().

    One that nobody holds any more is closed, too; runs of it that somebody holds keep what they have.

    One thread drives it; others may add and cancel meanwhile. `logits_cache_bytes`: memory for rows of logits that
    other samples may meet again; 0 turns that off.
    """

    instead = "open another one with model.batch()"

    def __init__(self, model: Model, limits: Limits, logits_cache_bytes: int) -> None:
        self._model = model
        self._cache = LogitsCache(logits_cache_bytes)
        cache = self._cache if logits_cache_bytes else None
        self._scheduler = Scheduler(model.engine, PayoffController(model.experience), limits, cache, model.turns)
        self._drafters = SharedDrafters()
        self._open: dict[Job, Generation] = {}
        self._left = finalize(self, abandon, self._scheduler, self._drafters, model.turns)
        self._left.atexit = False

    def add(self, prompt: Prompt, params: SamplingParams | None = None, *, speculative: Spec = None,
            observer: Observer | None = None, **sampling: Any) -> Generation:  # fmt: skip
        """Put a request, as for Model.generate, at the end of the queue; raises BadInput naming what is wrong."""
        self._scheduler.check_open()
        wish = self._model.wish(prompt, params, speculative=speculative, observer=observer, **sampling)
        with self._model.turns:
            run, job = self._model.run(wish, self._scheduler, self._drafters)
        self._open[job] = run
        try:
            self._scheduler.add(job)
        except BadInput:
            del self._open[job]
            with self._model.turns:
                close(job.parts.drafter)
            raise
        return run

    def step(self) -> bool:
        """Move everybody by one pass, or by what needs none; False where nothing is left to do."""
        more = self._scheduler.step()
        if self._scheduler.is_closed:  # in the midst of that pass, or by another thread
            self.close()
        return more

    def completed(self) -> Iterator[Generation]:
        """Each request once, when it has ended, failed or been cancelled, until none is left; more may be added."""
        while True:
            yield from self.finished()
            if not self.step() and not self._scheduler.jobs.ended:
                return

    def finished(self) -> Iterator[Generation]:
        """Those that have ended since the last look; moves nobody."""
        while self._scheduler.jobs.ended:
            yield self._open.pop(self._scheduler.jobs.ended.popleft())

    @property
    def num_unfinished(self) -> int:
        """Samples that run or wait."""
        return self._scheduler.jobs.num_unfinished

    @property
    def num_tokens(self) -> int:
        """Written so far, by all requests; another thread may look."""
        return self._scheduler.jobs.num_tokens

    @property
    def is_hungry(self) -> bool:
        """Whether another request would begin soon."""
        return self._scheduler.jobs.is_hungry

    @property
    def logits_cache_use(self) -> LogitsCacheUse:
        """How often a row needed no pass; zeros where the cache is off."""
        return self._cache.use

    def close(self) -> None:
        """Cancel what is left; its texts keep what they have. After an interruption, call it once more."""
        with self._model.turns:
            self._scheduler.close()
            self._drafters.close()
        self._left.detach()

    def __repr__(self) -> str:
        name, requests = shown(self._model.name), len(self._open)
        state = "closed" if self._scheduler.is_closed else f"samples unfinished: {self.num_unfinished}"
        return f"<truedraw.Batch of {name}, requests: {requests}, {state}, tokens: {self.num_tokens}>"

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def abandon(scheduler: Scheduler, drafters: SharedDrafters, turns: TakingTurns) -> None:
    """What a batch holds that the garbage collector has found."""
    scheduler.abandon()
    turns.soon(drafters.close)


class End:
    """Behind the last request."""


class Nothing:
    """In place of a request, where something was read that asks for none."""


END, NOTHING = End(), Nothing()


NOT_OF_THE_PROMPT = (BadParameter, BadFile, UnknownModel, UnknownName, UnsupportedModel)
"""What is wrong about how a request is to be sampled, whatever its prompt."""


def generate_many(
    batch: Batch,
    requests: Iterable[Request | Nothing],
    is_like_all: Callable[[Request], bool] = lambda _: False,
    is_ready: Callable[[], bool] = lambda: True,
) -> Iterator[tuple[Request, Result | TruedrawError]]:
    """Each request and what came of it, in order of completion; a bad one has its error beside it.

    Requests are asked for when they would begin soon. `is_like_all`: whether a request is to be sampled as the whole
    run is. What is wrong about that is raised: it would be wrong about all that are left. `is_ready`: whether the next
    request is there; where it is not, it is waited for when nothing else is left to do.
    """
    source, asked, more = iter(requests), {}, True
    with batch:
        while more or batch.num_unfinished:
            while more and batch.is_hungry and (is_ready() or not batch.num_unfinished):
                request = next(source, END)
                if isinstance(request, End):
                    more = False
                    break
                if isinstance(request, Nothing):
                    continue
                try:
                    asked[added(batch, request)] = request
                except TruedrawError as error:
                    if isinstance(error, NOT_OF_THE_PROMPT) and is_like_all(request):
                        raise
                    yield request, error
            batch.step()
            for run in batch.finished():
                yield asked.pop(run), run.error or run.result()


def added(batch: Batch, request: Request) -> Generation:
    """The run of a request; raises TruedrawError, whatever is wrong with it."""
    if not isinstance(request, Request):
        raise BadInput(f"got {shown(request)} among the requests; give truedraw.Request(prompt, params)")
    try:
        return batch.add(request.prompt, speculative=request.speculative, observer=request.observer, **request.params)
    except TruedrawError:
        raise
    except Exception as error:  # of a plug-in, or of what a request names
        raise BadInput(f"the request cannot be begun: {type(error).__name__}: {error}") from error
