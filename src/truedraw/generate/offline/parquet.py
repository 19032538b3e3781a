"""The samples of a sweep as a Parquet file, one row each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from truedraw.errors import BadFile
from truedraw.generate.offline.grid import AXES
from truedraw.whole_files import replacing

LARGEST = 2**63 - 1  # of a column of whole numbers
ROWS = 1000  # written at a time


def require_pyarrow() -> Any:
    """The module; raises BadFile where it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise BadFile("a Parquet file needs an extra: pip install 'truedraw[parquet]'") from None
    return pyarrow


def check_ours(path: Path, instead: str) -> None:
    """Raises BadFile where something else stands there than samples of a sweep, and as require_pyarrow."""
    arrow = require_pyarrow()
    if not path.exists() or not path.stat().st_size:
        return
    try:
        columns = arrow.parquet.read_schema(path).names
    except (OSError, arrow.ArrowException):
        columns = []
    if columns != _schema(arrow).names:
        raise BadFile(f"{path} is there already and holds no samples of a sweep; {instead}")


def write_parquet(records: Iterable[Mapping[str, Any]], path: Path) -> int:
    """Write the records, whole or not at all, and return how many there were; raises BadFile, also for damaged ones.

    Columns: prompt, sample, the axes of the grid (null where the sweep has none), seed, text, finish_reason, exact,
    prompt_tokens, token_ids, logprobs, sampling_logprobs, top_logprobs (null where not asked for), rounds, error (null,
    or its message).
    """
    arrow = require_pyarrow()
    schema, rows = _schema(arrow), 0
    with replacing(path) as fresh, arrow.parquet.ParquetWriter(fresh, schema) as writer:
        for some in _in_batches(records):
            writer.write_table(_table(arrow, some, schema))
            rows += len(some)
    return rows


def _table(arrow: Any, records: Iterable[Mapping[str, Any]], schema: Any) -> Any:
    """Of some records; raises BadFile for what no column takes."""
    try:
        return arrow.Table.from_pylist([_row(record) for record in records], schema=schema)
    except (arrow.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise BadFile(
            f"a line of the results is damaged, so that no table can be made of it ({error}); take it out, and run the "
            "same command again: it is drawn anew"
        ) from error


def _schema(arrow: Any) -> Any:
    numbers, data = arrow.list_(arrow.float64()), arrow.list_(arrow.uint8())
    top = arrow.struct({"token_id": arrow.int32(), "text": arrow.string(), "bytes": data, "logprob": arrow.float64()})
    return arrow.schema(
        {
            "prompt": arrow.int64(),
            "sample": arrow.int64(),
            **{axis: arrow.int64() if axis == "top_k" else arrow.float64() for axis in AXES},
            "seed": arrow.uint64(),
            "text": arrow.string(),
            "finish_reason": arrow.string(),
            "exact": arrow.bool_(),
            "prompt_tokens": arrow.int64(),
            "token_ids": arrow.list_(arrow.int32()),
            "logprobs": numbers,
            "sampling_logprobs": numbers,
            "top_logprobs": arrow.list_(arrow.list_(top)),
            "rounds": arrow.int64(),
            "error": arrow.string(),
        }
    )


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    """A top_k that no column holds becomes the largest one that it does: either keeps all tokens."""
    error, top_k = record.get("error"), record.get("top_k")
    held = {} if top_k is None else {"top_k": min(top_k, LARGEST)}
    return {**record, **held, "error": None if error is None else error["message"]}


def _in_batches(records: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    left = iter(records)
    while some := list(islice(left, ROWS)):
        yield some
