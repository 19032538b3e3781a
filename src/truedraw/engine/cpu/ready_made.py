"""Does a ready-made graph, run page by page, compute what it computes by itself? Asked once a machine.

The runtime puts its paged attention in place of the graph's own, and with it plain causal attention in place of
whatever mask the graph had: a window, a bias by distance, both directions. Or a graph looks at the largest position,
which in a pass of many texts is another one's. What differs then is not rounding. Texts of some hundred tokens are
compared, each alone, beside the others and grown piece by piece; of what begins behind them config.json has to tell.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np

from truedraw.engine.cpu.arithmetic import numerics
from truedraw.engine.cpu.paged_engine import PagedEngine
from truedraw.engine.cpu.records import record_key
from truedraw.engine.cpu.selftest import difference
from truedraw.engine.meaningless import meaningless
from truedraw.engine.openvino.stateful import last_logits
from truedraw.engine.options import Options
from truedraw.engine.paged.pools import CACHE_BYTES
from truedraw.engine.record_files import read_record, write_record
from truedraw.errors import UnsupportedModel
from truedraw.models import Checkpoint
from truedraw.protocol import Logits, Scores, Work

LENGTHS = (2, 9, 40, 97, 600)  # tokens of the texts that are compared
PIECES = 3  # that the longest one grows by
MOST = 0.01  # total variation between the two laws, both in float32: rounding alone has less than a thousandth


def check_ready_made(checkpoint: Checkpoint, folder: Path, threads: int | None) -> None:
    """Raises UnsupportedModel, and BadModelFile where the graph does not run. folder: where results are kept."""
    options = Options(numerics("reference"), "float32", threads=threads)
    record = folder / f"paged-{record_key(checkpoint, options)}.json"
    lengths = [length for length in LENGTHS if length <= checkpoint.config.context_length]
    with suppress(OSError, ValueError, TypeError, KeyError, OverflowError):
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
    if paged.shape[1:] != alone.shape[1:]:
        return float("nan")
    return difference(np.concatenate([alone, alone, alone[-1:]]), paged)[1]


def _paged(checkpoint: Checkpoint, options: Options, folder: Path, texts: list[list[int]]) -> Logits:
    """Rows of all texts alone, of all in one pass, and of the longest one grown."""
    from truedraw.engine.cpu.opening import paged_runner

    runner, _ = paged_runner(checkpoint, options, folder, (CACHE_BYTES, 0))
    engine = PagedEngine(runner, checkpoint.config, options.arithmetic)
    try:
        alone = [_last(engine, [text])[0] for text in texts]
        return np.stack([*alone, *_last(engine, texts), _grown(engine, texts[-1])])
    finally:
        engine.close()


def _grown(engine: PagedEngine, text: list[int]) -> Logits:
    """The last row of a text that is computed in PIECES."""
    ends = [len(text) * part // PIECES for part in range(1, PIECES + 1)]
    sequence = engine.open(text[: max(1, ends[0])])
    for begin, end in pairwise(ends):
        engine.forward([Work(sequence)])
        sequence.commit(text[max(1, begin) : end])
    found = _row(engine.forward([Work(sequence)])[0])
    sequence.close()
    return found


def _last(engine: PagedEngine, texts: list[list[int]]) -> list[Logits]:
    """The last rows of texts that are computed together."""
    sequences = [engine.open(text) for text in texts]
    found = [_row(scores) for scores in engine.forward([Work(sequence) for sequence in sequences])]
    for sequence in sequences:
        sequence.close()
    return found


def _row(scores: Scores) -> Logits:
    return np.array(scores.logits[0], np.float32)
