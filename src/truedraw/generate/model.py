"""The face that users see: a loaded model, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from truedraw.control.experience import Experience
from truedraw.control.kept import remember
from truedraw.control.payoff import PayoffController
from truedraw.errors import BadParameter, EngineError, TruedrawError
from truedraw.generate.draft_model import DraftModels
from truedraw.generate.generation import Generation
from truedraw.generate.job import Job
from truedraw.generate.keys import naming
from truedraw.generate.one_place import OnePlace
from truedraw.generate.planning import LIMITS, LOGITS_CACHE_BYTES, check_bytes, limits
from truedraw.generate.preparing import Wish, prepare
from truedraw.generate.prompt_ids import Prompt, prompt_ids
from truedraw.generate.request import Request
from truedraw.generate.result import Result
from truedraw.generate.scheduler import Scheduler
from truedraw.generate.shared_drafters import SharedDrafters
from truedraw.generate.speculation import Speculation, speculation
from truedraw.generate.stream import Stream
from truedraw.generate.taking_turns import TakingTurns
from truedraw.home_folder import expanded
from truedraw.protocol import Engine, KnowsCosts, Observer
from truedraw.protocol.able import is_able
from truedraw.sampling.params import SamplingParams, sampling_params
from truedraw.sampling.values import plain_number, shown
from truedraw.text import Tokenizer

if TYPE_CHECKING:
    from truedraw.draft.head.refit.learning import Learnt
    from truedraw.generate.batch import Batch

Spec = Speculation | Mapping[str, Any] | str | bool | None


class Model(OnePlace):
    """An engine, its tokenizer and the model's own sampling defaults. Use it in a `with` block, or call close().

    Threads may share it: their runs take turns, a pass each. A batch serves many requests sooner.
    """

    instead = "share it among threads, or load it once in every process"

    def __init__(
        self, name: str, engine: Engine, tokenizer: Tokenizer, defaults: Mapping[str, Any] | None = None
    ) -> None:
        self.name, self.engine, self.tokenizer = name, engine, tokenizer
        self.defaults = dict(defaults or {})
        self.experience = Experience()
        self.drafts = DraftModels(name, tokenizer, engine.vocab_size, target=engine)
        self.turns = TakingTurns()
        self._closed = False

    def generate(self, prompt: Prompt, params: SamplingParams | None = None, *, speculative: Spec = None,
                 **sampling: Any) -> Result:  # fmt: skip
        """Samples of one prompt, a text or token ids.

        Parameters as SamplingParams, by name, or given whole: then they are taken as they are, where by name the
        model's own `defaults` stand for those that are not named (`params` puts these into SamplingParams).
        `speculative` is a method's name, a mapping like vLLM's speculative config, or False for plain sampling. Raises
        BadInput naming what is wrong.
        """
        run = self.start(prompt, params, speculative=speculative, **sampling)
        for _ in run:
            pass
        return run.result()

    def stream(self, prompt: Prompt, params: SamplingParams | None = None, *, speculative: Spec = None,
               **sampling: Any) -> Stream:  # fmt: skip
        """The same as it comes, in pieces of text; close() ends it early, from any thread."""
        return Stream(self.start(prompt, params, speculative=speculative, **sampling))

    def start(self, prompt: Prompt, params: SamplingParams | None = None, *, speculative: Spec = None,
              observer: Observer | None = None, **sampling: Any) -> Generation:  # fmt: skip
        """The same as a run that can be read while it goes, and whose result so far survives an interruption.

        `observer` sees every verdict while it is made, see protocol.Observer.
        """
        wish = self.wish(prompt, params, speculative=speculative, observer=observer, **sampling)
        scheduler = Scheduler(self.engine, PayoffController(self.experience), turns=self.turns)
        with self.turns:
            run, job = self.run(wish, scheduler)
        scheduler.add(job)
        return run

    def batch(self, *, max_running: int = LIMITS.max_running, max_rows: int = LIMITS.max_rows,
              fill_rows: int = LIMITS.fill_rows, logits_cache_bytes: int = LOGITS_CACHE_BYTES) -> Batch:  # fmt: skip
        """Many requests that share the model's passes, see batch.py.

        max_running: samples at once. max_rows: rows of a pass for prompts where nothing is being written; fill_rows:
        beside texts that are being written. logits_cache_bytes: memory for rows of logits that other samples may meet
        again, 0 = none. Raises BadParameter, EngineError once the model is closed.
        """
        from truedraw.generate.batch import Batch

        self._check_open()
        logits_cache_bytes = plain_number(logits_cache_bytes)
        check_bytes("logits_cache_bytes", logits_cache_bytes)
        return Batch(self, limits(max_running, max_rows, fill_rows), logits_cache_bytes)

    def generate_many(
        self,
        requests: Iterable[Request],
        *,
        max_running: int = LIMITS.max_running,
        logits_cache_bytes: int = LOGITS_CACHE_BYTES,
    ) -> Iterator[tuple[Request, Result | TruedrawError]]:
        """Each request with its result, or with what was wrong with it, in order of completion.

        Requests are pulled as room becomes free, so there may be any number of them.
        """
        from truedraw.generate.requests import generate_many

        batch = self.batch(max_running=max_running, logits_cache_bytes=logits_cache_bytes)
        return generate_many(batch, requests)

    def wish(self, prompt: Prompt, params: SamplingParams | None = None, *, speculative: Spec = None,
             observer: Observer | None = None, **sampling: Any) -> Wish:  # fmt: skip
        """A request as it is understood; raises BadInput naming what is wrong, EngineError once the model is closed."""
        self._check_open()
        if params is not None and sampling:
            raise TypeError(f"give either SamplingParams or {', '.join(sampling)} by name, not both")
        if observer is not None and not callable(observer):
            raise BadParameter("observer", f"got {shown(observer)}; give a function, as protocol.Observer describes it")
        if not isinstance(params, SamplingParams | None):
            raise BadParameter("params", f"got {shown(params)}; give SamplingParams, or the parameters by name")
        given = self.params(**sampling) if params is None else params
        return Wish(prompt_ids(prompt, self.tokenizer, self.engine), given, self.speculation(speculative), observer)

    def run(self, wish: Wish, scheduler: Scheduler, shared: SharedDrafters | None = None) -> tuple[Generation, Job]:
        """The run of a request, alone or with others, and its job, which has yet to be added to the scheduler.

        Raises BadInput.
        """
        job, readers = prepare(wish, self.engine, self.tokenizer, self.drafts, shared)
        return Generation(self.name, wish.params, job, readers, scheduler, alone=shared is None), job

    def params(self, **sampling: Any) -> SamplingParams:
        """Sampling parameters by name, with the model's own defaults below them."""
        return sampling_params(sampling, self.defaults)

    def speculation(self, given: Spec) -> Speculation:
        """A config as it is understood for this model; raises BadParameter and UnknownName."""
        return speculation(naming(given, self.drafts.lent.default))

    def save_draft(self, path: str | Path, head_path: str | Path | None = None) -> Learnt:
        """Write the draft head that was refitted on this model's texts, to be loaded as `draft` the next time.

        head_path: the one that requests named; None: the only one that learnt. Written whole or not at all.
        Raises BadParameter where nothing was learnt that helps, and BadFile, also where something else than a head
        stands at `path`.
        """
        if not isinstance(path, str | Path):
            raise BadParameter("path", f"got {shown(path)}; give the file to write")
        return self.drafts.save_refit(expanded(path), head_path)

    def chat_prompt(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Token ids of a conversation by the model's chat template; messages have "role" and "content"."""
        text = self.tokenizer.chat(messages)
        self.tokenizer.check_length(text, self.engine.context_length)
        return self.tokenizer.encode(text, add_special=False)

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("the engine is closed; load the model again")

    def close(self) -> None:
        """Free the engine, and those of draft models.

        An engine whose passes took otherwise than it says is told so, and one that keeps what drafters take gets that.
        """
        self._closed = True
        with self.turns:
            if is_able(self.engine, KnowsCosts) and self.experience.costs.drifted():
                self.engine.doubt_costs()
            remember(self.engine, self.experience)
            self.drafts.close()
            self.engine.close()

    def __repr__(self) -> str:
        head, numerics = self.drafts.head_path, getattr(self.engine, "numerics", "")
        parts = [shown(self.name), type(self.engine).__name__, f"{numerics} numerics" if numerics else ""]
        parts += [
            "no draft of its own" if head is None else f"draft {shown(head.name)}",
            "closed" if self._closed else "",
        ]
        return f"<truedraw.Model {', '.join(filter(None, parts))}>"

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
