"""The decoder layer of a draft as OpenVINO graphs around its attention.

Let f_j be the target's hidden states of the text's token j, t_j the token and e(t) its row of the draft's embedding, n
norms with gains of their own. A row of the draft stands for token j and what is drawn behind it:

    EAGLE    (Li et al., 2401.15077)   u_j = F (e(t_{j+1}), h_j) + b             a_j = u_j         r_j = u_j
    EAGLE-3  (Li et al., 2503.01840)   a_j = (n(e(t_{j+1})), n(h_j))                               r_j = h_j
    MTP      (MiMo, 2505.07608)        u_j = F (n(h_j), n(e(t_{j+1})))              a_j = n(u_j)      r_j = u_j
    all                                y_j = r_j + O attention(Q a_j, K a, V a)
                                       z_j = y_j + D (silu(G n(y_j)) * (U n(y_j)))
                                       logits = H z_j, and H n(z_j) in EAGLE-3 and MTP

h_j is what the target knows of token j, and behind drafted tokens the draft's own z of the row before: EAGLE reads the
final norm's output, EAGLE-3 F f_j of several layers' streams. EAGLE-3.1 (2605.09992) norms each of these streams
before F, with a gain of its own, and goes on with n(z) of the row before. The first has the target's own H, the third
one for fewer tokens. An MTP layer is a part of its target, whose e and H it shares: h_j is the last layer's stream
before the final norm, n(z) of the row before behind drafted tokens, and the row of a text's first token reads 0 for
e(t_1), as the model's authors have it in their fork of vLLM.

Both rows and columns of attention are rows of the draft, so keys and values of the text are kept, and nothing of the
text but its last row goes through the rest of the layer. EAGLE-2 (2406.16858) is the first under other trees.

Matrices are int8 with one scale an output row, arithmetic is that of the target's engine: whatever comes out, drafts
are drawn from just that.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.eagle.attention import Rotary
from truedraw.draft.eagle.checkpoint import EagleFolder
from truedraw.draft.eagle.graphs import Graphs
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.cpu.arithmetic import numerics
from truedraw.engine.openvino.core import core
from truedraw.engine.openvino.requests import Request
from truedraw.protocol import Ints, Logits

States = NDArray[np.float32]
"""[rows, width]."""
ARITHMETIC = "runtime"
FEWEST_ROWS = 2  # of a call: a lone row takes longer than two


class Asked(NamedTuple):
    """Rows on their way through the layer, with rotated queries and keys."""

    residual: States
    queries: NDArray[np.float32]  # [rows, heads, head_dim]
    keys: NDArray[np.float32]  # [rows, kv_heads, head_dim]
    values: NDArray[np.float32]  # as keys


class Network(Protocol):
    """The layer as the drafter sees it; nothing that it returns is overwritten by its next call."""

    tokens: Ints  # [known] rising: what logits are of
    kv_heads: int
    head_dim: int

    def start(self, hidden: NDArray[np.float32]) -> States:
        """h of rows whose hidden states [rows, streams, width of the target] the target has shown."""
        ...

    def before(self, states: States, tokens: Ints, positions: Ints) -> Asked:
        """What goes into attention, of rows with h, the token behind them [rows], and their places [rows]."""
        ...

    def after(self, mixed: States, residual: States) -> tuple[States, Logits]:
        """z and logits [rows, known], from what attention gave [rows, heads * head_dim]."""
        ...


class CompiledNetwork:
    """Network of a folder; raises BadFile. threads: None is every core.

    rows: the target's embedding and what turns its final norm's output into logits [vocab, width]. streams: the numbers
    of the hidden states to be read.
    """

    def __init__(
        self,
        folder: EagleFolder,
        rows: tuple[Matrix, Matrix],
        streams: tuple[int, ...],
        threads: int | None = None,
        arithmetic: str = ARITHMETIC,
    ) -> None:
        config = folder.config
        self.kv_heads, self.head_dim = config.num_kv_heads, config.head_dim
        self._third, self._mtp = folder.is_third, folder.is_mtp
        self._rotary = Rotary(config)
        self._streams = list(streams)
        graphs = Graphs(folder, *rows, rounded=arithmetic == ARITHMETIC)
        self.tokens = graphs.tokens
        self._keep = graphs  # the compiled ones share its memory
        names = ("start", "before", "after") if self._third else ("before", "after")
        models = {name: getattr(graphs, name)() for name in names}
        folder.check_all_read(graphs.read)
        self._requests = {name: _compiled(model, threads, arithmetic) for name, model in models.items()}

    def start(self, hidden: NDArray[np.float32]) -> States:
        """See Network."""
        features = hidden[:, self._streams].reshape(len(hidden), -1)
        return self._run("start", {"features": features}, "states")[0] if self._third else features

    def before(self, states: States, tokens: Ints, positions: Ints) -> Asked:
        """See Network."""
        given: dict[str, NDArray[Any]] = {"states": states, "tokens": tokens}
        if self._mtp:
            given["shown"] = (np.asarray(positions) > 0).astype(np.float32)
        residual, q, k, v = self._run("before", given, "residual", "q", "k", "v")
        rows, width = len(tokens), self.head_dim
        q, k, v = (each.reshape(rows, -1, width) for each in (q, k, v))
        return Asked(residual, self._rotary.turned(q, positions), self._rotary.turned(k, positions), v)

    def after(self, mixed: States, residual: States) -> tuple[States, Logits]:
        """See Network."""
        states, logits = self._run("after", {"mixed": mixed, "residual": residual}, "after", "logits")
        return states, logits

    def _run(self, name: str, given: dict[str, NDArray[Any]], *wanted: str) -> list[NDArray[np.float32]]:
        """One call; a lone row brings its double."""
        rows = len(next(iter(given.values())))
        if rows < FEWEST_ROWS:
            given = {key: np.repeat(value, FEWEST_ROWS, axis=0) for key, value in given.items()}
        request = self._requests[name]
        request.run(given)
        return [np.array(request.output(each)[:rows]) for each in wanted]


def _compiled(model: Any, threads: int | None, arithmetic: str) -> Request:
    return Request(core().compile_model(model, "CPU", numerics(arithmetic).properties(threads)))
