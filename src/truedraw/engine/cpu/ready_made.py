"""Does a ready-made graph, run page by page, compute what it computes by itself? Asked once a machine.

The runtime puts its paged attention in place of the graph's own, and with it plain causal attention in place of
whatever mask the graph had: a window, a bias by distance, both directions. What differs then is not rounding. Texts are
compared as far as the context goes that config.json names, so another context is another question.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from truedraw.engine.cpu.records import record_key
from truedraw.engine.cpu.selftest import difference, meaningless
from truedraw.engine.openvino.compiling import Options
from truedraw.engine.openvino.numerics import numerics
from truedraw.engine.openvino.stateful import last_logits
from truedraw.engine.paged.pools import CACHE_BYTES
from truedraw.engine.record_files import read_record, write_record
from truedraw.errors import UnsupportedModel
from truedraw.models import Checkpoint
from truedraw.protocol import Logits, Work

if TYPE_CHECKING:
    from truedraw.engine.cpu.engine import CPUEngine

LENGTHS = (2, 9, 40, 97)  # tokens of the texts that are compared
MOST = 0.01  # total variation between the two laws, both in float32: rounding alone has less than a thousandth


def check_ready_made(checkpoint: Checkpoint, folder: Path, threads: int | None) -> None:
    """Raises UnsupportedModel, and BadModelFile where the graph does not run. folder: where results are kept."""
    options = Options(numerics("reference"), "float32", threads=threads)
    record = folder / f"paged-{record_key(checkpoint, options)}.json"
    lengths = [length for length in LENGTHS if length <= checkpoint.config.context_length]
    if not lengths:
        raise UnsupportedModel(f"{checkpoint.path} has a context of one token; nothing can be run in it")
    with suppress(OSError, ValueError, TypeError, KeyError):
        known = read_record(record)
        if known["lengths"] == lengths and float(known["largest_tv"]) <= MOST:
            return
    found = _distance(checkpoint, options, folder, lengths)
    if not found <= MOST:
        raise UnsupportedModel(
            f"{checkpoint.path} cannot be run page by page: its attention is not plainly causal, and without its own "
            f"mask it has other laws (total variation {found:.2g}); the engine pytorch runs the model it was made from"
        )
    write_record(record, {"largest_tv": found, "lengths": lengths})


def _distance(checkpoint: Checkpoint, options: Options, folder: Path, lengths: list[int]) -> float:
    """The largest total variation, NaN where there are no laws; one model after the other is in memory."""
    text = meaningless(max(LENGTHS), checkpoint.config.vocab_size).tolist()
    texts = [text[:length] for length in lengths]
    paged = _paged(checkpoint, options, folder, texts)
    alone = last_logits(checkpoint.path, texts, options.arithmetic.properties(options.threads))
    if paged.shape != alone.shape:
        return float("nan")
    return difference(alone, paged)[1]


def _paged(checkpoint: Checkpoint, options: Options, folder: Path, texts: list[list[int]]) -> Logits:
    from truedraw.engine.cpu.engine import CPUEngine
    from truedraw.engine.cpu.opening import paged_runner

    runner, _ = paged_runner(checkpoint, options, folder, (CACHE_BYTES, 0))
    engine = CPUEngine(runner, checkpoint.config, options.arithmetic, None)
    try:
        return np.stack([_last(engine, text) for text in texts])
    finally:
        engine.close()


def _last(engine: CPUEngine, text: list[int]) -> Logits:
    sequence = engine.open(text)
    try:
        return np.array(engine.forward([Work(sequence)])[0].logits[0], np.float32)
    finally:
        sequence.close()
