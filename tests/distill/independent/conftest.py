"""A store and its texts that no model made, whose laws are those of the final states kept in it."""

import json

import numpy as np
import pytest

from distill.conftest import SETTINGS, SHAPE, VOCAB, tables
from truedraw.distill.independent.whole_texts import WholeTexts
from truedraw.distill.rows import Rows
from truedraw.distill.store import ROW, TEMPERATURES, Store


def write_texts(folder, lengths, tied=True):
    """Texts of so many (prompt, answer) tokens; what the target says depends on the last two tokens."""
    chance, output = np.random.default_rng(2), tables(tied).output
    before, last = chance.normal(size=(2, VOCAB, SHAPE.width))
    lines = []
    with Store(folder, SHAPE, SETTINGS) as store:
        for number, (prompt, answer) in enumerate(lengths):
            tokens = chance.integers(0, VOCAB, prompt + answer)
            at = np.arange(prompt - 1, prompt + answer - 1)
            final = (last[tokens[at]] + before[tokens[np.maximum(at - 1, 0)]] / 4).astype(np.float16)
            logits = final.astype(np.float32) @ output.T
            rows = np.zeros(answer, ROW)
            rows["token"], rows["top"] = tokens[at], logits.argmax(1)
            for place, temperature in enumerate(TEMPERATURES):
                rows["normaliser"][:, place] = np.log(np.exp(logits / temperature).sum(1))
            features = np.stack([chance.normal(size=final.shape).astype(np.float16), final], 1)
            temperature = (1.0, 0.7, 1.0)[number % 3]
            store.append(features, rows, temperature, seconds=0.0)
            lines.append({"key": [0, number], "temperature": temperature, "prompt": tokens[:prompt].tolist(),
                          "answer": tokens[prompt:].tolist(), "seconds": 0.0})  # fmt: skip
    (folder / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture
def texts(tmp_path):
    """Fifty-three texts, of which two are held out."""
    folder = tmp_path / "work"
    folder.mkdir()
    write_texts(folder, [(1 + number % 4, 9 + number % 7) for number in range(53)])
    return WholeTexts(folder, Rows(folder, SHAPE))
