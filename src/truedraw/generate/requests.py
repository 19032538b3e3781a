"""Any number of requests through a batch, each handed back with what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from truedraw.errors import (
    BadFile,
    BadInput,
    BadParameter,
    TruedrawError,
    UnknownModel,
    UnknownName,
    UnsupportedModel,
    in_words,
)
from truedraw.generate.batch import Batch
from truedraw.generate.generation import Generation
from truedraw.generate.request import Request
from truedraw.generate.result import Result
from truedraw.handlers import pass_on
from truedraw.sampling.values import shown


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
    except Exception as error:  # of a plug-in, or of what a request names
        pass_on(error)
        if isinstance(error, TruedrawError):
            raise
        raise BadInput(f"the request cannot be begun: {in_words(error)}") from error
