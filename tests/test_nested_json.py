"""Files of JSON that is nested more deeply than Python reads are damaged files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from truedraw.distill.checkpoint import FACTS, read_checkpoint
from truedraw.distill.folders import is_ours
from truedraw.draft.eagle.card import CARD, tokenizer_of
from truedraw.engine.constants.replaced import INDEX, Origin, drop_replaced
from truedraw.engine.constants.store import whole
from truedraw.engine.record_files import read_record
from truedraw.errors import BadFile
from truedraw.generate.offline.settings import beside, read
from truedraw.models.sums import SUMS, changed_files
from truedraw.sampling.values import parsed

DEEP = '{"a":' * 100_000


def written(path: Path) -> Path:
    path.write_text(DEEP)
    return path


def test_it_is_called_so() -> None:
    assert parsed('{"a": [1]}') == {"a": [1]}
    with pytest.raises(ValueError, match="nested too deeply"):
        parsed(DEEP)


def test_what_is_found_out_again_is(tmp_path) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        read_record(written(tmp_path / "passes-1.json"))
    entry = tmp_path / "entry"
    entry.mkdir()
    index = written(entry / INDEX)
    assert not whole(entry)
    drop_replaced(tmp_path, "another", Origin("a", "b", 1))
    assert index.exists()
    written(tmp_path / SUMS)
    assert changed_files(tmp_path) is None


def test_what_somebody_gave_is_refused_by_name(tmp_path) -> None:
    written(beside(tmp_path / "out"))
    with pytest.raises(BadFile, match=r"out\.settings\.json is not what a run wrote"):
        read(tmp_path / "out")
    written(tmp_path / CARD)
    assert not is_ours(tmp_path, "kind")
    with pytest.raises(BadFile, match="is damaged"):
        tokenizer_of(tmp_path)
    save_file({"a": np.zeros(1, np.float32)}, tmp_path / "c", {FACTS: DEEP})
    with pytest.raises(BadFile, match="damaged"):
        read_checkpoint(tmp_path / "c")
