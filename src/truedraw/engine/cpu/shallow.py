"""The first layers of a model as an engine of their own, over the cache and the texts of the whole one.

What the first layers keep of a text is the same whether the other layers are computed or not. So this engine's caches
are the whole engine's, of the first layers: a text that the whole engine has computed need not be computed here, and
its pages are shared with it like a fork's, copied before they are written. What is computed here lacks the other layers
and is never found by, or given to, the whole engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, runtime_checkable

from truedraw.engine.constants.mapped import MappedConstants
from truedraw.engine.cpu.paged_engine import PagedEngine
from truedraw.engine.openvino.compiling import compile_graph
from truedraw.engine.openvino.fixed import MOST_BYTES, FixedGraphs, Shape
from truedraw.engine.openvino.runner import Runner
from truedraw.engine.options import Options
from truedraw.engine.paged.runs import Runs
from truedraw.engine.paged.sequence import PagedSequence
from truedraw.errors import EngineError
from truedraw.protocol import Fill, ModelConfig, Scores, Sequence, Work


@runtime_checkable
class Cut(Protocol):
    """A runner that can be cut behind some of its layers."""

    def first(self, config: ModelConfig) -> Runs:
        """The first layers, over the same cache; `config` says how many."""
        ...


@dataclass(frozen=True, slots=True)
class Layers:
    """What a graph of the first layers is made of."""

    config: ModelConfig
    constants: MappedConstants
    options: Options

    def fixed(self, whole: Runs, after: int) -> FixedGraphs | None:
        """Graphs of all layers for passes of one shape; None for none, or weights too large for a second copy."""
        if after < 0 or self.constants.num_bytes > MOST_BYTES or not isinstance(whole, Runner):
            return None
        return FixedGraphs(partial(self._of_shape, whole), after)

    def _of_shape(self, whole: Runner, shape: Shape) -> Runner | None:
        """Bound to the cache of the whole one; None where the runtime or the memory does not allow it."""
        try:
            with self.constants.forgetting():  # where shapes are fixed they are packed now
                return whole.beside(compile_graph(self.config, self.constants, self.options, shape))
        except (EngineError, RuntimeError, MemoryError):
            return None

    def first(self, layers: int, whole: Runs) -> tuple[Runs, ModelConfig]:
        """Such a graph, bound to the cache of the whole one; raises EngineError where there are not so many layers."""
        if not 1 <= layers < self.config.num_layers:
            raise EngineError(
                f"{layers} layers are not fewer than the model's {self.config.num_layers} and at least 1; "
                f"give 1 to {self.config.num_layers - 1}"
            )
        config = replace(self.config, num_layers=layers)
        if isinstance(whole, Cut):
            return whole.first(config), config
        assert isinstance(whole, Runner)
        compiled = compile_graph(config, self.constants, replace(self.options, hidden_layers=(), hidden_text=False))
        return Runner(compiled, config, whole.first_layers(layers), keep=self.constants), config


class ShallowEngine:
    """Implements protocol.Engine around an engine of the first layers; `find` looks for a text of the whole one."""

    def __init__(self, first: PagedEngine, find: Callable[[Seq[int]], PagedSequence | None]) -> None:
        self._first, self._find = first, find
        self.vocab_size, self.context_length = first.vocab_size, first.context_length

    def open(self, tokens: Seq[int]) -> PagedSequence:
        """Start a text; what the whole engine has computed of an equal one, which is open there, is shared."""
        sequence = self._first.open(tokens, alone=True)
        if (equal := self._find(sequence.tokens)) is not None:
            sequence.share(equal)
        return sequence

    def fork(self, sequence: Sequence, n: int) -> list[Sequence]:
        """See Engine."""
        return self._first.fork(sequence, n)

    def fits(self, works: Seq[Work], fills: Seq[Fill] = ()) -> bool:
        """See Engine; the room is the whole engine's."""
        return self._first.fits(works, fills)

    def forward(self, works: Seq[Work], fills: Seq[Fill] = ()) -> list[Scores]:
        """See Engine; logits are the head's, of the stream that leaves the last of the first layers."""
        return self._first.forward(works, fills)

    def close(self) -> None:
        """Free the graph; the cache is the whole engine's."""
        self._first.close()


def equal_text(texts: Iterable[PagedSequence], tokens: Seq[int]) -> PagedSequence | None:
    """The open text of exactly these tokens of which most is computed, None where there is none."""
    length, last, wanted = len(tokens), tokens[-1], list(tokens)
    near = (text for text in texts if len(text.tokens) == length and text.tokens[-1] == last and not text.closed)
    return max((text for text in near if text.tokens == wanted), key=lambda text: text.cached, default=None)
