"""A ready-made OpenVINO folder runs page by page, with the same laws and the same trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tokenizers import Tokenizer, models

from engine.decoder import PLAIN, Decoder, RandomWeights, expected_rows, random_tree, tv
from truedraw.bench.peers.exported import write_ir
from truedraw.engine.cpu import CPUEngine
from truedraw.errors import BadParameter, UnsupportedModel
from truedraw.models import open_checkpoint
from truedraw.protocol import Proposal, Work
from truedraw.silent_openvino import openvino, operations

ov, op = openvino(), operations()

CONFIG = PLAIN
TEXT = np.random.default_rng(3).integers(0, CONFIG.vocab_size, 120).tolist()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = write_ir(tmp_path_factory.mktemp("ir") / "model", CONFIG, RandomWeights(CONFIG), int8=False)
    Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).save(str(folder / "tokenizer.json"))
    return open_checkpoint(folder)


@pytest.fixture(scope="module", params=["masked", "apart"])
def engine(request, checkpoint, tmp_path_factory):
    """Trees behind a mask, or each row a lane of its own."""
    cache = tmp_path_factory.mktemp("cache")
    loaded = CPUEngine.load(checkpoint, numerics="reference", cache=cache, cache_bytes=8 << 20)
    if request.param == "apart":
        loaded._admission._unrolled, loaded._passes._lanes = True, loaded._passes.runner.num_threads
    return loaded


def check(engine, works):
    decoder = Decoder(CONFIG, RandomWeights(CONFIG))
    for work, scores in zip(works, engine.forward(works), strict=True):
        assert tv(scores.logits, expected_rows(decoder, list(work.sequence.tokens), work.proposal)) < 1e-4


def test_laws_of_a_ragged_batch(engine):
    rng = np.random.default_rng(4)
    works = [
        Work(engine.open(TEXT[:length]), random_tree(rng, nodes, CONFIG.vocab_size))
        for length, nodes in ((1, 0), (40, 5), (33, 1), (100, 0))
    ]
    check(engine, works)
    for work in works:
        work.sequence.commit([3])
    check(engine, [Work(work.sequence, Proposal.chain([1, 2])) for work in works])


def test_settings_that_a_ready_made_graph_cannot_have(checkpoint, tmp_path):
    with pytest.raises(BadParameter, match="hidden_layers"):
        CPUEngine.load(checkpoint, cache=tmp_path, hidden_layers=(0,))
    with pytest.raises(BadParameter, match="weights"):
        CPUEngine.load(checkpoint, cache=tmp_path, weights="int8")


def test_a_graph_that_is_no_language_model(checkpoint, tmp_path):
    x = op.parameter([-1, 4], np.float32, name="x")
    ov.save_model(ov.Model([op.relu(x)], [x], "other"), tmp_path / "openvino_model.xml")
    with pytest.raises(UnsupportedModel, match="text"):
        CPUEngine.load(replace(checkpoint, path=tmp_path), cache=tmp_path)
