"""A ready-made graph run as its maker meant it: a whole text in, logits out. For comparing, not for speed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from truedraw.engine.openvino.core import core
from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models.openvino_ir import GRAPH
from truedraw.protocol import Logits
from truedraw.silent_openvino import openvino


def read_graph(folder: Path) -> Any:
    """The graph as it is on the disk; raises BadModelFile."""
    ov = openvino()

    try:
        return ov.Core().read_model(folder / GRAPH)  # which loads no plug-in, see core.py
    except RuntimeError as error:
        raise BadModelFile(f"{folder / GRAPH} cannot be read: {reason(error)}; export or fetch it again") from error


def reason(error: Exception) -> str:
    """The line of the runtime's message that says something: the last one that is not blank."""
    return next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)


def last_logits(folder: Path, texts: Sequence[Sequence[int]], properties: dict[str, Any]) -> Logits:
    """[texts, vocab], each after the last token of a text; raises BadModelFile, UnsupportedModel."""
    model = read_graph(folder)
    try:
        compiled = core().compile_model(model, "CPU", properties)
        request = compiled.create_infer_request()
        return np.stack([_last(compiled, request, list(text)) for text in texts])
    except RuntimeError as error:
        raise UnsupportedModel(f"{folder / GRAPH} does not run: {reason(error)}; export it again") from error


def _last(compiled: Any, request: Any, text: list[int]) -> Logits:
    request.reset_state()
    length = len(text)
    every = {
        "input_ids": np.array([text], np.int64),
        "attention_mask": np.ones((1, length), np.int64),
        "position_ids": np.arange(length, dtype=np.int64)[None],
        "beam_idx": np.zeros(1, np.int32),
    }
    asked = {port.get_any_name() for port in compiled.inputs}
    request.infer({name: value for name, value in every.items() if name in asked})
    named = "logits" if any("logits" in port.get_names() for port in compiled.outputs) else 0
    logits = request.get_tensor(compiled.output(named)).data
    return np.array(logits.reshape(-1, logits.shape[-1])[-1], np.float32)
