"""The target's embedding and output rows as arrays of numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.opening import Readable
from truedraw.engine.constants.matrix import dense
from truedraw.errors import BadParameter, UnsupportedModel
from truedraw.protocol.able import is_able

AGREES = 0.05  # of the spread of a row's logits: what recomputing them may miss by, in the mean


class Tables(NamedTuple):
    """embedding [vocab, width]: of the tokens that come in. output [vocab, width]: times the final state, logits."""

    embedding: NDArray[np.float32]
    output: NDArray[np.float32]

    @property
    def tied(self) -> bool:
        """Whether they are one."""
        return self.embedding is self.output


def tables_of(engine: Any, name: str) -> Tables:
    """Raises BadParameter for an engine that shows neither hidden states nor its embedding."""
    check_readable(engine, name)
    embedding = dense(engine.embedding())
    head = engine.unembedding() if hasattr(engine, "unembedding") else engine.embedding()
    output = dense(head)
    return Tables(embedding, embedding if np.array_equal(embedding, output) else output)


def check_readable(engine: Any, name: str) -> None:
    """Raises BadParameter."""
    if not is_able(engine, Readable) or not engine.hidden_layers:
        raise BadParameter(
            "--engine", f"a draft reads hidden states, and the engine that runs {name} gives none; use openvino with a "
            "GGUF file or a Hugging Face folder"
        )  # fmt: skip


def check_output(tables: Tables, logits: NDArray[np.float32], final: NDArray[np.float32]) -> None:
    """Raises UnsupportedModel where `logits` [rows, vocab] are not the final states [rows, width] times the output."""
    again = final.astype(np.float32) @ tables.output.T
    missed = np.abs(again - logits).mean()
    if not missed <= AGREES * max(float(logits.std()), 1.0):
        raise UnsupportedModel(
            f"this model's logits are not its last hidden state times its output rows (off by {missed:.3g} in the "
            "mean), so that no head can be trained on its hidden states"
        )
