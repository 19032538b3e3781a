"""Texts over a paged cache, and passes of all of them at once, whatever runs these and however many layers it has."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import Any
from weakref import WeakSet, ref

from truedraw.engine.cache_use import CacheUse
from truedraw.engine.cpu.passes import Passes
from truedraw.engine.numerics import Numerics
from truedraw.engine.paged.abreast import PagedAbreast
from truedraw.engine.paged.admission import Admission
from truedraw.engine.paged.parts import LONE_ROWS
from truedraw.engine.paged.runs import Runs, RunsAbreast, RunsAlong
from truedraw.engine.paged.sequence import PagedSequence
from truedraw.engine.paged.stride import PagedStride, has_pages
from truedraw.engine.paged.tasks import unfinished
from truedraw.engine.texts import CLOSED, Limits
from truedraw.errors import EngineError
from truedraw.protocol import Fill, ModelConfig, Scores, Sequence, Work

CHUNK_ROWS = 256  # uncached text computed in one pass, beside the last tokens of the works and their drafts


class PagedEngine:
    """Implements protocol.Engine. Not for use from several threads at once."""

    def __init__(self, runner: Runs, config: ModelConfig, arithmetic: Numerics) -> None:
        self.vocab_size = config.vocab_size
        self.context_length = config.context_length
        self.num_layers, self.hidden_size = config.num_layers, config.hidden_size
        self.numerics = arithmetic.name
        self.page_rows = runner.pool.rows  # tokens a page
        self.unrolls_trees, self.runs_chains = arithmetic.unrolled, isinstance(runner, RunsAlong)
        self._passes: Passes | None = Passes(runner, arithmetic.apart)
        self._pool = runner.pool
        self._chain: tuple[ref[PagedSequence], Any] | None = None  # of the last text that was alone
        self._texts: WeakSet[Any] = WeakSet()
        self._admission = Admission(runner.pool, Limits(self.vocab_size, self.context_length), arithmetic.unrolled)

    def open(self, tokens: Seq[int], *, alone: bool = False) -> PagedSequence:
        """Start a text; pages that hold its beginning are shared, unless it is to be `alone`.

        Raises BadPrompt for no token or more than the context holds, EngineError for unknown ones.
        """
        self._live()
        sequence = self._admission.open(tokens, alone)
        self._texts.add(sequence)
        return sequence

    def fork(self, sequence: Sequence, n: int) -> list[Sequence]:
        """n further texts equal to `sequence`; what it lacks in the cache is computed first, once for all.

        Raises OutOfPages, and changes nothing, where the cache has no room for that.
        """
        passes, own = self._live(), self._admission.own(sequence)
        if n > 0 and own.num_uncached > 1:
            tasks = self._admission.with_room([], [Fill(own, own.num_uncached - 1)])
            passes.ahead(tasks, CHUNK_ROWS, leave=0)
        forks: list[Sequence] = [own.forked() for _ in range(n)]
        self._texts.update(forks)
        return forks

    def fits(self, works: Seq[Work], fills: Seq[Fill] = ()) -> bool:
        """Whether `forward` would find the pages; raises EngineError where it would for another reason."""
        self._live()
        return self._admission.fits(works, fills)

    def bytes_for(self, tokens: int) -> int:
        """See protocol.KnowsRoom."""
        return self._pool.bytes_for(tokens + LONE_ROWS - 1)

    def forward(self, works: Seq[Work], fills: Seq[Fill] = ()) -> list[Scores]:
        """One pass for all works and fills; more than CHUNK_ROWS rows of uncached text are computed in passes before.

        The scores are views of the engine's buffers: the next forward overwrites them. Raises OutOfPages, and
        changes nothing, where the cache has no room for all of it, and EngineError for what no pass can do.
        """
        passes = self._live()
        tasks = self._admission.with_room(works, fills)
        passes.ahead([task for task in tasks if task.unrolled], CHUNK_ROWS, leave=0)
        passes.ahead(tasks, CHUNK_ROWS, leave=CHUNK_ROWS)
        works_first = tasks[: len(works)] + unfinished(tasks[len(works) :])
        if not works_first:
            return []
        places, logits, hidden = passes.run([task.part() for task in works_first])
        if hidden is None:
            return [Scores(logits[rows]) for rows in places[: len(works)]]
        told = [self._admission.own(work.sequence).shown.tell() if passes.runner.shows_text else () for work in works]
        found = zip(places, told, strict=False)
        return [Scores(logits[rows], hidden[rows], text=text) for rows, text in found]

    def stride(self, sequence: Sequence, tokens: int, drafts: int) -> PagedStride | None:
        """See protocol.Strides: by runners that need no graph of a shape, for a text that is computed."""
        passes, own = self._live(), self._admission.own(sequence)
        runner, longest = passes.runner, len(own.tokens) + tokens
        if not isinstance(runner, RunsAlong) or runner.shows_text or own.num_uncached != 1:
            return None
        if longest > self.context_length or not has_pages([own], [tokens]):
            return None
        passes.padding_rows = 0
        chain = self._chain_of(runner, own)
        return PagedStride(own, drafts, runner, chain, lambda proposal: self.forward([Work(own, proposal)])[0])

    def abreast(self, sequences: Seq[Sequence], tokens: Seq[int], drafts: Seq[int]) -> PagedAbreast | None:
        """See protocol.StepsAbreast: by runners that are made for it, for texts that are computed."""
        passes, own = self._live(), [self._admission.own(sequence) for sequence in sequences]
        counts, runner = [1 + some for some in drafts], passes.runner
        if not isinstance(runner, RunsAbreast) or runner.shows_text or any(each.num_uncached != 1 for each in own):
            return None
        longest = max(len(each.tokens) + more for each, more in zip(own, tokens, strict=True))
        if longest > self.context_length or not has_pages(own, tokens):
            return None
        passes.padding_rows = 0
        job = runner.abreast([each.pages for each in own], counts, longest)
        return None if job is None else PagedAbreast(own, job)

    def _chain_of(self, runner: RunsAlong, own: PagedSequence) -> Any:
        """The text as the runner has it, the same as long as its pages are."""
        if self._chain is None or self._chain[0]() is not own or not self._chain[1].holds(own.pages):
            self._chain = ref(own), runner.alone(own.pages, len(own.pages) * self.page_rows)
        return self._chain[1]

    @property
    def padding_rows(self) -> int:
        """See protocol.FillsUp."""
        return self._live().padding_rows

    def cache_use(self) -> CacheUse:
        """How full the cache is, and how much text it has saved from being computed."""
        pool = self._pool
        idle = pool.prefixes.num_idle
        return CacheUse(pool.num_pages, pool.num_free - idle, idle, pool.page_bytes, *self._admission.use)

    def forget_closed(self) -> None:
        """Keep nothing of texts that are closed: a measurement is not to find what another one computed."""
        self._pool.forget_idle()

    def forget_row_counts(self) -> None:
        """Pad the next pass as if none had been before it: one that is measured must not depend on these."""
        self._live().forget_row_counts()

    def close(self) -> None:
        """Free everything; sequences that are still open can no longer be run."""
        self._passes = None

    def warm_up(self) -> None:
        """One plain pass over a text of one token: the runtime packs the constants now."""
        sequence = self.open([0], alone=True)
        self.forward([Work(sequence)])
        sequence.close()

    def _live(self) -> Passes:
        if self._passes is None:
            raise EngineError(CLOSED)
        return self._passes
