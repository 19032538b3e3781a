"""The paged CPU engine."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Seq
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.openvino.batch import Batch
from truedraw.engine.openvino.compiling import Options, compile_checkpoint, weights_policy
from truedraw.engine.openvino.numerics import Numerics
from truedraw.engine.openvino.numerics import numerics as find_numerics
from truedraw.engine.openvino.parts import Lane, Part, check_proposal, chunk, is_chain, scored
from truedraw.engine.openvino.row_counts import RowCounts
from truedraw.engine.openvino.runner import Runner
from truedraw.engine.openvino.selftest import InvarianceReport, check_once
from truedraw.engine.openvino.sequence import PagedSequence, check_tokens
from truedraw.errors import BadPrompt, EngineError
from truedraw.models import Checkpoint
from truedraw.models.cache import cache_root
from truedraw.protocol import Logits, ModelConfig, Scores, Sequence, Work

FOLDER = "converted"  # in the cache
CHUNK_ROWS = 256  # uncached text computed in one pass
CACHE_BYTES = 2 << 30  # address space; memory is used as texts grow


class OpenVINOEngine:
    """Implements protocol.Engine with OpenVINO's paged attention. Not for use from several threads at once.

    `numerics` is "invariant" (fast; a row's logits are the same bits whatever else is in the pass) or "reference"
    (float32 throughout). `invariance` tells whether the first was found to hold on this machine.
    """

    def __init__(self, runner: Runner, config: ModelConfig, arithmetic: Numerics) -> None:
        self.vocab_size = config.vocab_size
        self.context_length = config.context_length
        self.numerics = arithmetic.name
        self._arithmetic = arithmetic
        self.invariance: InvarianceReport | None = None
        self._runner: Runner | None = runner
        self._pool = runner.pool
        self._row_counts = RowCounts()

    @classmethod
    def load(
        cls,
        checkpoint: Checkpoint,
        *,
        numerics: str = "invariant",
        weights: str = "auto",
        hidden_layers: tuple[int, ...] = (),
        threads: int | None = None,
        cache_bytes: int = CACHE_BYTES,
        cache: Path | None = None,
    ) -> OpenVINOEngine:
        """Convert (or find converted), compile, and test the invariance once a machine.

        weights: "auto", "int8" or "stored", see weights.py. hidden_layers: residual streams to return with every
        score, the final norm's output behind them. threads: None is every core. cache: where converted weights and
        test results are kept, None is the user's own folder. Raises UnsupportedModel, BadParameter, BadModelFile or
        EngineError.
        """
        arithmetic = find_numerics(numerics)
        options = Options(arithmetic, weights_policy(weights, arithmetic), hidden_layers, threads)
        folder = cache_root(cache) / FOLDER
        compiled, constants = compile_checkpoint(checkpoint, options, folder)
        runner = Runner(compiled, checkpoint.config, cache_bytes, keep=constants)
        engine = cls(runner, checkpoint.config, arithmetic)
        with nullcontext() if constants is None else constants.forgetting():
            engine.warm_up()
        if numerics == "invariant":
            engine.invariance = check_once(engine, checkpoint, options, folder)
        return engine

    def open(self, tokens: Seq[int]) -> PagedSequence:
        """Start a text; raises BadPrompt for none or more tokens than the context, EngineError for unknown ones."""
        self._live()
        ids = [int(token) for token in tokens]
        if not ids:
            raise BadPrompt("a text needs at least one token; give a prompt or let it start with a special token")
        if len(ids) > self.context_length:
            raise BadPrompt(
                f"the prompt has {len(ids)} tokens and the model's context holds {self.context_length}; shorten it"
            )
        check_tokens(ids, self.vocab_size)
        return PagedSequence(ids, self._pool, self.vocab_size, self.context_length)

    def fork(self, sequence: Sequence, n: int) -> list[Sequence]:
        """n further texts equal to `sequence`; what it lacks in the cache is computed first, once for all."""
        self._live()
        own = self._own(sequence)
        if n > 0:
            self._prefill([own])
        return [own.forked() for _ in range(n)]

    def forward(self, works: Seq[Work]) -> list[Scores]:
        """One pass for all works. The scores are views of the engine's buffers: the next forward overwrites them."""
        self._live()
        if not works:
            return []
        for work in works:
            self._check(work)
        self._prefill([self._own(work.sequence) for work in self._to_prefill(works)])
        unrolled = self._arithmetic.unrolled
        parts = [scored(self._own(work.sequence), work.proposal, unrolled=unrolled) for work in works]
        batch, logits, hidden = self._run(parts)
        for part in parts:
            part.sequence.computed(len(part.sequence.tokens), part.drafted)
        return [Scores(logits[rows], None if hidden is None else hidden[rows]) for rows in batch.places()]

    def close(self) -> None:
        """Free everything; sequences that are still open can no longer be run."""
        self._runner = None

    def warm_up(self) -> None:
        """One plain pass over a text of one token: the runtime packs the constants now."""
        sequence = self.open([0])
        self.forward([Work(sequence)])
        sequence.close()

    def _check(self, work: Work) -> None:
        length = len(self._own(work.sequence).tokens)
        check_proposal(work.proposal, length, self.vocab_size, self.context_length)

    def _to_prefill(self, works: Seq[Work]) -> Seq[Work]:
        """All of them where one pass would be too long; else trees to unroll, which repeat their text in every lane."""
        if sum(self._own(work.sequence).num_uncached + len(work.proposal) for work in works) > CHUNK_ROWS:
            return works
        return [work for work in works if self._arithmetic.unrolled and not is_chain(work.proposal)]

    def _own(self, sequence: Sequence) -> PagedSequence:
        if not isinstance(sequence, PagedSequence) or sequence.pool is not self._pool:
            raise EngineError("a sequence can only be run by the engine that opened it")
        sequence.check_open()
        return sequence

    def _prefill(self, sequences: Seq[PagedSequence]) -> None:
        """Compute all text but each one's last token, several texts in a pass, CHUNK_ROWS rows at a time."""
        while parts := _next_chunk(sequences):
            self._run(parts)
            for part in parts:
                part.sequence.computed(part.sequence.cached + len(part.ids), [])

    def _run(self, parts: list[Part]) -> tuple[Batch, Logits, NDArray[np.float32] | None]:
        runner = self._live()
        if len({id(part.sequence) for part in parts}) < len(parts):
            raise EngineError("a sequence can stand in a pass only once; fork it")
        self._pool.reserve([(part.sequence.pages, part.lanes[0].past, part.lanes[0].end) for part in parts])
        side_lanes = [lane for part in parts for lane in part.lanes[1:]]
        with self._side_pages(side_lanes):
            for part in parts:
                part.sequence.uncertain()
            num_rows = self._row_counts.choose(sum(len(part.ids) for part in parts))
            batch = Batch(parts, num_rows, self._pool.rows)
            return batch, *runner.run(batch)

    @contextmanager
    def _side_pages(self, lanes: list[Lane]) -> Iterator[None]:
        """Give each lane pages of its own, for as long as the pass takes."""
        given: list[list[int]] = []
        try:
            for lane in lanes:
                lane.pages = self._pool.branch(lane.pages, lane.past, lane.end)
                given.append(lane.pages)
            yield
        finally:
            for pages in given:
                self._pool.release(pages)

    def _live(self) -> Runner:
        if self._runner is None:
            raise EngineError("the engine is closed; load the model again")
        return self._runner


def _next_chunk(sequences: Seq[PagedSequence]) -> list[Part]:
    """Up to CHUNK_ROWS uncached rows, the first texts first."""
    parts: list[Part] = []
    room = CHUNK_ROWS
    for sequence in sequences:
        count = min(room, sequence.num_uncached - 1)
        if count > 0:
            parts.append(chunk(sequence, count))
            room -= count
    return parts
