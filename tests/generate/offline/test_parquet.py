import sys

import pytest

from truedraw.errors import BadFile
from truedraw.generate.offline.parquet import write_parquet

RECORDS = [
    {"prompt": 0, "sample": i, "temperature": 0.5, "seed": 2**64 - 1 - i, "text": f"ten{i} \N{GRINNING FACE}",
     "finish_reason": "length", "exact": True, "prompt_tokens": 2, "token_ids": [1, 2], "logprobs": [-0.5, -1.25],
     "sampling_logprobs": [0.0, -1.0], "rounds": 2}
    for i in range(2500)
]  # fmt: skip
EMPTY = dict.fromkeys(("top_p", "min_p", "top_k", "top_logprobs", "error"))
FAILED = {"prompt": 1, "sample": 0, "temperature": 0.5, "seed": 1, "error": {"type": "BadPrompt", "message": "empty"}}


def test_all_rows_and_all_columns(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert write_parquet([*RECORDS, FAILED], tmp_path / "t.parquet") == 2501
    rows = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert rows[:-1] == [{**EMPTY, **record} for record in RECORDS]
    assert (rows[-1]["error"], rows[-1]["text"]) == ("empty", None)
    assert [file.name for file in tmp_path.iterdir()] == ["t.parquet"]


def test_a_top_k_beyond_any_column(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_parquet([{**RECORDS[0], "top_k": given} for given in (5, 10**400)], tmp_path / "t.parquet")
    assert [row["top_k"] for row in parquet.read_table(tmp_path / "t.parquet").to_pylist()] == [5, 2**63 - 1]


def test_where_it_cannot_be_written(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(BadFile, match="cannot be written"):
        write_parquet(RECORDS, tmp_path / "no" / "t.parquet")


@pytest.mark.parametrize(
    "damage",
    [{"top_logprobs": [[[1e308]]]}, {"rounds": "two"}, {"prompt_tokens": 10**30}, {"exact": {}}, {"text": "\ud800"}],
)
def test_a_damaged_record_is_told_and_the_table_before_stays(tmp_path, damage):
    pytest.importorskip("pyarrow")
    write_parquet(RECORDS, tmp_path / "t.parquet")
    before = (tmp_path / "t.parquet").read_bytes()
    with pytest.raises(BadFile, match="a line of the results is damaged"):
        write_parquet([*RECORDS, {**RECORDS[0], **damage}], tmp_path / "t.parquet")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("t.parquet", before)]


def test_without_the_extra_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadFile, match=r"pip install 'truedraw\[parquet\]'"):
        write_parquet(RECORDS, tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == []
