"""Whole texts of a store that no model made, whose laws are those of the final states kept in it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from distill.conftest import SETTINGS, VOCAB, tables
from truedraw.distill.eagle.layer import layer_config
from truedraw.distill.eagle.learner import Material
from truedraw.distill.eagle.whole_rows import WholeRows
from truedraw.distill.rows import Rows
from truedraw.distill.store import ROW, TEMPERATURES, Shape, Store

SHAPE = Shape(3, 8)  # two layers' streams, and the final state
CONFIG = replace(layer_config(VOCAB, 100, SHAPE.width, 6), num_heads=4, num_kv_heads=2, head_dim=4)


def write_whole(folder, lengths, tied=True):
    """Texts of so many (prompt, answer) tokens; the target goes by the last two tokens, and its streams show both."""
    chance, output = np.random.default_rng(2), tables(tied).output
    before, last = chance.normal(size=(2, VOCAB, SHAPE.width))
    lines = []
    with Store(folder, SHAPE, SETTINGS) as store:
        for number, (prompt, answer) in enumerate(lengths):
            tokens = chance.integers(0, VOCAB, prompt + answer)
            here = tokens[:-1]
            shown = before[np.roll(here, 1)] / 4
            final = (last[here] + shown).astype(np.float16)
            logits = final.astype(np.float32) @ output.T
            rows = np.zeros(len(here), ROW)
            rows["token"], rows["top"] = here, logits.argmax(1)
            for place, temperature in enumerate(TEMPERATURES):
                rows["normaliser"][:, place] = np.log(np.exp(logits / temperature).sum(1))
            features = np.stack([50 * before[here], last[here], final], 1).astype(np.float16)
            temperature = (1.0, 0.7, 1.0)[number % 3]
            store.append(features, rows, temperature, seconds=0.0)
            lines.append({"key": [0, number], "temperature": temperature, "prompt": tokens[:prompt].tolist(),
                          "answer": tokens[prompt:].tolist(), "seconds": 0.0})  # fmt: skip
    (folder / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return WholeRows(folder, Rows(folder, SHAPE))


@pytest.fixture
def texts(tmp_path):
    """Fifty-three texts, of which two are held out."""
    folder = tmp_path / "work"
    folder.mkdir()
    return write_whole(folder, [(1 + number % 4, 9 + number % 7) for number in range(53)])


@pytest.fixture(params=[True, False], ids=["tied", "untied"])
def material(request, tmp_path):
    folder = tmp_path / "either"
    folder.mkdir()
    lengths = [(1 + number % 4, 9 + number % 7) for number in range(53)]
    return Material(write_whole(folder, lengths, request.param), tables(request.param))


@pytest.fixture
def tied(texts):
    return Material(texts, tables())
