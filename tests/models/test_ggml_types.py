"""The table of storage types against the package it spares, and that it is spared."""

import subprocess
import sys

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize
from tiny_models import GGUFOptions, random_tensors, tiny_config, write_gguf

from truedraw.models.ggml_types import COMMON, can_dequantise, storage_of


@pytest.mark.parametrize("number", COMMON)
def test_the_table_is_the_packages(number):
    kind = gguf.GGMLQuantizationType(number)
    assert tuple(COMMON[number]) == (kind.name, *gguf.GGML_QUANT_SIZES[kind])
    dequantize(np.zeros((1, COMMON[number].block_bytes), np.uint8), kind)  # raises where it cannot


def test_the_package_is_asked_for_the_rest():
    number = gguf.GGMLQuantizationType.IQ4_NL.value
    assert number not in COMMON
    assert storage_of(number) == ("IQ4_NL", 32, 18)
    assert can_dequantise("IQ4_NL")
    assert not can_dequantise("Q8_1")
    assert storage_of(12345) is None


def test_a_usual_model_is_opened_without_the_package(tmp_path):
    config = tiny_config()
    path = write_gguf(tmp_path / "m.gguf", config, random_tensors(config), GGUFOptions(kind="Q4_1"))
    code = (
        f"import sys; from truedraw.models import open_checkpoint; open_checkpoint({str(path)!r}).text.load_tokenizer()"
    )
    run = [sys.executable, "-c", f"{code}; print('gguf' in sys.modules, 'tokenizers' in sys.modules)"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.split() == ["False", "True"]
