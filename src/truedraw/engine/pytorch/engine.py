"""Any causal model of transformers behind protocol.Engine."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from truedraw.engine.pytorch.casting import cast
from truedraw.engine.pytorch.folders import context_length, open_folder
from truedraw.engine.pytorch.network import Network
from truedraw.engine.pytorch.options import Options, check_device, check_installed
from truedraw.engine.pytorch.passes import CachedPasses, ReplayedPasses
from truedraw.engine.pytorch.probe import batches_hold, compute_some, looks_at_length
from truedraw.engine.pytorch.reach import is_sparse, places, reach
from truedraw.engine.pytorch.room import Room
from truedraw.engine.pytorch.running import running
from truedraw.engine.pytorch.sequence import TorchSequence
from truedraw.engine.pytorch.tables import Tables
from truedraw.engine.pytorch.ways import Ways
from truedraw.engine.texts import CLOSED, FOREIGN, Limits, beginning
from truedraw.engine.works import checked
from truedraw.errors import EngineError
from truedraw.models import Checkpoint
from truedraw.protocol import Fill, Scores, Sequence, Work

if TYPE_CHECKING:
    from truedraw.engine.constants.matrix import Matrix
    from truedraw.engine.cpu.selftest import InvarianceReport

CACHE_BYTES = 2 << 30  # of keys and values; memory is used as texts grow
FLOAT32_BYTES = 4


class PyTorchEngine:
    """Implements protocol.Engine. Not for use from several threads at once.

    `numerics` is "reference" in float32, else the name of the dtype. Either way a row's last bits depend on what else
    is in the pass: in float32 that changes a law by about 1e-6 in total variation, so a seed gives one text whatever
    is drafted, but for a token in a million or so.
    """

    open_folder = staticmethod(open_folder)
    check_installed = staticmethod(check_installed)

    def __init__(self, model: Any, options: Options, *, is_eager: bool = True) -> None:
        """`model` in float32 on the CPU, ready to be run, with eager attention or another, which honours no masks.

        Raises BadParameter for layers that it does not have or a dtype that it cannot be run in, UnsupportedModel where
        it is not causal.
        """
        with running(options.threads):
            network = Network(model, options.hidden_layers, hidden_text=options.hidden_text)
            self.vocab_size = int(network.text([0], 1).logits.shape[1])
            self.context_length = places(model, context_length(model.config))
            sizes = model.config.get_text_config()
            self.num_layers, self.hidden_size = int(sizes.num_hidden_layers), int(sizes.hidden_size)
            by_length = looks_at_length(network, self.vocab_size, self.context_length)
            holds, row_bytes = batches_hold(network, self.vocab_size, self.context_length) if is_eager else (False, 0)
            cast(model, options, lambda: compute_some(network, self.context_length, batched=holds))
        self.model, self.hidden_layers = model, options.hidden_layers  # for training, which runs it by itself
        self.cache_bytes = options.cache_bytes
        self.numerics = options.arithmetic
        self.invariance: InvarianceReport | None = None  # nothing is promised; the certificate measures it
        self._room = Room(options.cache_bytes, row_bytes * model.dtype.itemsize // FLOAT32_BYTES)
        self._limits = Limits(self.vocab_size, self.context_length)
        self._threads, self._tables = options.threads, Tables()
        replayed = ReplayedPasses(network, one_by_one=by_length or is_sparse(model))
        self._ways: Ways | None = Ways(
            CachedPasses(network), replayed, reach(model, self.context_length) if holds else 0
        )
        self._texts: WeakSet[TorchSequence] = WeakSet()

    @classmethod
    def load(  # noqa: PLR0913 - what can be said of an engine, all by name
        cls,
        checkpoint: Checkpoint,
        *,
        device: str = "cpu",
        dtype: str = "float32",
        numerics: str | None = None,
        weights: str = "auto",
        hidden_layers: tuple[int, ...] = (),
        hidden_text: bool = False,
        threads: int | None = None,
        cache_bytes: int = CACHE_BYTES,
        prefix_cache_bytes: int = 0,
    ) -> PyTorchEngine:
        """Read the weights as float32 and find out how the model can be run.

        device: as torch calls it, "cpu", "cuda", "cuda:1". dtype: "float32", "bfloat16" or "float16". numerics: only
        what dtype gives. weights: "auto" or "stored", both the file's own values. hidden_layers: residual streams to
        return with every score, the final norm's output behind them. hidden_text: a text's first scores bring those of
        the tokens before, too. threads: None is torch's own choice. cache_bytes: for the texts that are open; of others
        nothing is kept. Raises UnsupportedModel, BadParameter or BadModelFile.
        """
        from truedraw.engine.pytorch.attention import as_usual
        from truedraw.engine.pytorch.loading import load_model

        options = Options(
            device, dtype, numerics, weights, threads, hidden_layers, hidden_text, cache_bytes, prefix_cache_bytes
        )
        check_device(device)
        with running(threads):
            model, is_eager = as_usual(checkpoint, load_model(checkpoint))
        return cls(model, options, is_eager=is_eager)

    def open(self, tokens: Seq[int], *, alone: bool = False) -> TorchSequence:
        """Start a text; only forks share anything here, so every one is `alone`.

        Raises BadPrompt for no token or more than the context holds, EngineError for unknown ones.
        """
        self._live()
        sequence = TorchSequence(beginning(tokens, self._limits), self._limits)
        self._texts.add(sequence)
        return sequence

    def fork(self, sequence: Sequence, n: int) -> list[Sequence]:
        """n further texts equal to `sequence`; what it lacks in the cache is computed first, once for all.

        Raises OutOfPages, and changes nothing, where the cache has no room for that.
        """
        own = self._own(sequence)
        if n > 0 and own.num_uncached > 1:
            self.forward([], [Fill(own, own.num_uncached - 1)])
        forks = [own.forked() for _ in range(n)]
        self._texts.update(forks)
        return list(forks)

    def fits(self, works: Seq[Work], fills: Seq[Fill] = ()) -> bool:
        """Whether `forward` would find the room; raises EngineError where it would for another reason."""
        self._check(works, fills)
        return self._room.fits(self._texts, self._live().held(works, fills))

    def bytes_for(self, tokens: int) -> int:
        """See protocol.KnowsRoom."""
        return tokens * self._room.row_bytes

    def forward(self, works: Seq[Work], fills: Seq[Fill] = ()) -> list[Scores]:
        """One pass for the last tokens of all works and their drafts; fills and longer texts are computed before.

        Raises OutOfPages, and changes nothing, where the cache has no room for all of it, and EngineError for what no
        pass can do.
        """
        self._check(works, fills)
        self._room.check(self._texts, self._live().held(works, fills))
        with running(self._threads):
            return self._live().run(works, fills)

    def close(self) -> None:
        """Free everything; sequences that are still open can no longer be run."""
        self._ways = self.model = None
        self.let_go()
        for text in self._texts:
            text.close()

    @property
    def batched_tokens(self) -> int:
        """That a text may have in a batch; 0: none can be computed so."""
        return self._live().reach

    def embedding(self) -> Matrix:
        """[vocab, width] in float32, for what drafts on the processor."""
        self._live()
        return self._tables.of(self.model.get_input_embeddings())

    def unembedding(self) -> Matrix:
        """[vocab, width], what logits are made with; the very same where it is tied."""
        self._live()
        return self._tables.of(self.model.get_output_embeddings())

    def let_go(self) -> None:
        """Of what has been copied of the rows of tokens."""
        self._tables = Tables()

    def _check(self, works: Seq[Work], fills: Seq[Fill]) -> None:
        """Raises EngineError for anything but room."""
        self._live()
        checked(works, fills, self._own, self._limits)

    def _own(self, sequence: Sequence) -> TorchSequence:
        if not isinstance(sequence, TorchSequence) or sequence not in self._texts:
            raise EngineError(FOREIGN)
        sequence.check_open()
        return sequence

    def _live(self) -> Ways:
        if self._ways is None:
            raise EngineError(CLOSED)
        return self._ways
