"""The default engine: a whole model on CPUs, from its files, with what this machine is known to do with it."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from truedraw.engine.code_pages import drop_code
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.cpu.drafting_costs import KeptCosts
from truedraw.engine.cpu.opening import arithmetic_of, open_runner
from truedraw.engine.cpu.paged_engine import PagedEngine
from truedraw.engine.cpu.records import record_key
from truedraw.engine.cpu.selftest import InvarianceReport, check_once
from truedraw.engine.cpu.shallow import Layers, ShallowEngine, equal_text
from truedraw.engine.cpu.timing import Costs
from truedraw.engine.numerics import INVARIANT, Numerics
from truedraw.engine.openvino.fixed import AFTER, COUNTED
from truedraw.engine.options import Options, weights_policy
from truedraw.engine.paged.abreast import PagedAbreast
from truedraw.engine.paged.pools import CACHE_BYTES, PREFIX_CACHE_BYTES
from truedraw.engine.paged.runs import Runs
from truedraw.engine.paged.stride import PagedStride
from truedraw.errors import EngineError
from truedraw.models import Checkpoint
from truedraw.models.cache import cache_root
from truedraw.models.layout import EMBEDDING, HEAD
from truedraw.protocol import DraftCost, ModelConfig, PassTable, Sequence

if TYPE_CHECKING:
    from truedraw.engine.native.blocks import Blocks
    from truedraw.threads.crew import Crew

FOLDER = "converted"  # in the cache


class CPUEngine(PagedEngine):
    """Opened by `load`. Not for use from several threads at once.

    `numerics` is "native" (by kernels of this package: fast; a row's logits are the same bits whatever else is in the
    pass), "runtime" (the same by OpenVINO's, with other bits), "rowwise" (the same, faster than that for many texts at
    once) or "reference" (float32 throughout); `load` chooses between the first two where it is told "invariant".
    `invariance` tells whether the first three were found to hold on this machine, None where that was never tested: the
    test is left out where the cache has no room for it, some 11 pages. `not_kept`: why the converted weights could not
    be kept for the next time, None where they are. `kept_in`: where they are, and what else is to be found again.
    """

    def __init__(  # see `load`
        self, runner: Runs, config: ModelConfig, arithmetic: Numerics, layers: Layers | None, costs: Costs,
        kept: KeptCosts,
    ) -> None:  # fmt: skip
        super().__init__(runner, config, arithmetic)
        self.hidden_layers = layers.options.hidden_layers or None if layers else None
        self.invariance: InvarianceReport | None = None
        self.not_kept: str | None = None
        self.kept_in: Path | None = None
        self._arithmetic, self._layers, self._costs = arithmetic, layers, costs
        self._kept: KeptCosts | None = kept
        self._firsts: dict[int, PagedEngine] = {}  # of first layers
        self._shallow: WeakValueDictionary[int, ShallowEngine] = WeakValueDictionary()  # around them, for who drafts

    @classmethod
    def load(  # noqa: PLR0913 - what can be said of an engine, all but the first by name
        cls,
        checkpoint: Checkpoint,
        *,
        numerics: str = INVARIANT,
        weights: str = "auto",
        hidden_layers: tuple[int, ...] = (),
        hidden_text: bool = False,
        threads: int | None = None,
        cache_bytes: int = CACHE_BYTES,
        prefix_cache_bytes: int = PREFIX_CACHE_BYTES,
        fixed_after: int = AFTER,
        cache: Path | None = None,
    ) -> CPUEngine:
        """Convert (or find converted), compile, and test the invariance once a machine, where the cache has room.

        weights: "auto", "int8", "int4" or "stored", see constants/weights.py. hidden_layers: residual streams to
        return with every score, the final norm's output behind them. hidden_text: a text's first scores bring those of
        the text before them as well, as far as it was computed and not found in pages of another. threads: None is
        every core. prefix_cache_bytes: what of cache_bytes may stay with texts that are closed, for texts that begin
        like them; 0 = no text finds another's pages. fixed_after: passes of one shape before a small model's graph is
        compiled for just that, which holds the weights once more, see openvino/fixed.py; -1 = never; native numerics
        have none. cache: where converted weights and test results are kept, None is the user's own folder. Raises
        UnsupportedModel, BadParameter, BadModelFile or EngineError.
        """
        arithmetic = arithmetic_of(numerics, checkpoint, weights)
        COUNTED.check("fixed_after", fixed_after)
        options = Options(arithmetic, weights_policy(weights, arithmetic), hidden_layers, threads, hidden_text)
        folder = cache_root(cache) / FOLDER
        runner, constants = open_runner(checkpoint, options, folder, (cache_bytes, prefix_cache_bytes))
        layers = None if constants is None else Layers(checkpoint.config, constants, options)
        key = record_key(checkpoint, options)
        costs, kept = Costs(folder / f"passes-{key}.json"), KeptCosts(folder / f"drafts-{key}.json")
        engine = cls(runner, checkpoint.config, arithmetic, layers, costs, kept)
        engine.kept_in, engine.not_kept = folder, None if constants is None else constants.not_kept
        with nullcontext() if constants is None else constants.forgetting():
            engine.warm_up()
        if arithmetic.native:
            drop_code()  # what has compiled, or loaded, the kernels
        if arithmetic.invariant:
            engine.invariance = check_once(engine, folder / f"invariance-{key}.json")
        engine.let_go()
        engine._live().fixed = None if layers is None else layers.fixed(runner, fixed_after)
        return engine

    def stride(self, sequence: Sequence, tokens: int, drafts: int) -> PagedStride | None:
        """See protocol.Strides; no drafts where first layers draft, which look for what is computed of a text."""
        return None if drafts and self._shallow else super().stride(sequence, tokens, drafts)

    def abreast(self, sequences: Seq[Sequence], tokens: Seq[int], drafts: Seq[int]) -> PagedAbreast | None:
        """See protocol.StepsAbreast; no drafts where first layers draft."""
        return None if any(drafts) and self._shallow else super().abreast(sequences, tokens, drafts)

    def shallow(self, layers: int) -> ShallowEngine:
        """The first layers with the final norm and the head, over this engine's cache: see shallow.py.

        Compiled when first asked for, and closed with this engine. Raises EngineError for an OpenVINO IR folder, and
        for a number of layers that is not below the model's.
        """
        passes = self._live()
        if self._layers is None:
            raise EngineError("a ready-made OpenVINO IR folder is run whole; open a GGUF file or a model folder")
        if layers not in self._firsts:
            self._firsts[layers] = PagedEngine(*self._layers.first(layers, passes.runner), self._arithmetic)
        found = self._shallow.get(layers) or ShallowEngine(self._firsts[layers], partial(equal_text, self._texts))
        self._shallow[layers] = found
        return found

    def embedding(self) -> Matrix:
        """The rows of the input tokens [vocab, width], as the graph holds them.

        Raises EngineError for an OpenVINO IR folder.
        """
        return self._held(EMBEDDING)

    def unembedding(self) -> Matrix:
        """The rows that turn the final norm's output into logits [vocab, width]; as `embedding`, often the same."""
        tied = self._layers is not None and self._layers.config.tie_embeddings
        return self._held(EMBEDDING if tied else HEAD)

    @property
    def weights_bytes(self) -> int:
        """Of all weights as passes read them; 0 of an OpenVINO IR folder, whose own file is mapped."""
        mapped = 0 if self._layers is None else self._layers.constants.num_bytes
        return int(getattr(self._live().runner, "weights_bytes", mapped))

    def let_go(self) -> None:
        """Of what has been read of the rows of tokens: it comes back from the file when it is read again."""
        if self._layers is not None:
            self._layers.constants.forget()

    @property
    def crew(self) -> Crew | None:
        """The threads that its kernels run on; None where these are not this package's."""
        return getattr(self._live().runner, "crew", None)

    @property
    def embedding_blocks(self) -> Blocks | None:
        """The rows of `embedding` as its kernels read them for logits; None where they do not."""
        tied = self._layers is not None and self._layers.config.tie_embeddings
        return getattr(self._live().runner, "written", None) if tied else None

    def pass_costs(self, *, anew: bool = False) -> PassTable | None:
        """What passes take on this machine; a first measurement, or one `anew`, takes seconds and is recorded.

        None where the cache has no room to measure in.
        """
        with self._live().without_fixed():
            found = self._costs.table(self, anew)
        self.let_go()  # of what the texts of a measurement have read
        return found

    def doubt_costs(self) -> None:
        """See protocol.KnowsCosts: the record is dropped, unless it is less than an hour old."""
        self._costs.doubt()

    def draft_costs(self) -> list[DraftCost]:
        """See protocol.KeepsDraftCosts; none of an engine that is closed."""
        return [] if self._kept is None else self._kept.read()

    def keep_draft_costs(self, costs: Seq[DraftCost]) -> None:
        """See protocol.KeepsDraftCosts; an engine that is closed keeps none."""
        if self._kept is not None:
            self._kept.write(costs)

    def close(self) -> None:
        """Free everything; sequences that are still open can no longer be run."""
        while self._firsts:
            self._firsts.popitem()[1].close()
        if self._passes is not None and self._passes.fixed is not None:
            self._passes.fixed.settle()
        self._layers = self._kept = None
        super().close()

    def _held(self, name: str) -> Matrix:
        self._live()
        if self._layers is None:
            raise EngineError("an OpenVINO IR folder does not show its embedding; open a GGUF file or a model folder")
        found = self._layers.constants.matrix((name,))
        assert found is not None
        return found
