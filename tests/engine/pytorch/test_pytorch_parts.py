"""What the PyTorch engine does before torch is asked: settings, batches, drafts that become text, room, windows."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from engine.decoder import tiny_checkpoint
from truedraw import load
from truedraw.engine.pytorch import PyTorchEngine
from truedraw.engine.pytorch.folders import ENDLESS, context_length
from truedraw.engine.pytorch.kept import Kept
from truedraw.engine.pytorch.parts import Part, batch
from truedraw.engine.pytorch.reach import is_sparse, reach
from truedraw.engine.pytorch.room import Room
from truedraw.engine.pytorch.sequence import Drafted, TorchSequence
from truedraw.engine.texts import Limits
from truedraw.errors import BadParameter, EngineError, OutOfPages, UnknownName
from truedraw.protocol import NOTHING, ROOT, Proposal

LIMITS = Limits(96, 40)
TREE = Proposal(np.array([7, 7, 8, 9, 8]), np.array([ROOT, ROOT, 0, 1, 3]), (None,) * 5)


def text(tokens, rows=0):
    """A text of which so many rows are kept, of a model without layers."""
    sequence = TorchSequence(list(tokens), LIMITS)
    if rows:
        sequence.computed(Kept((), rows), rows)
    return sequence


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"dtype": "int8"}, "dtype: 'int8' is not one of float32, bfloat16, float16"),
        ({"numerics": "invariant"}, "numerics: 'invariant' is not what .* give 'reference' or leave it out"),
        ({"numerics": "reference", "dtype": "bfloat16"}, "computes in bfloat16.* give 'bfloat16'"),
        ({"weights": "int8"}, "weights: 'int8' is not one of auto, stored"),
        ({"threads": 0}, "1 to 4096"),
        ({"threads": 10**40}, "1 to 4096"),
        ({"cache_bytes": 0}, "cache_bytes: 0 holds no text"),
        ({"prefix_cache_bytes": 1}, "nothing is kept of texts that are closed; give 0"),
    ],
)
def test_settings_out_of_range(options, named) -> None:
    with pytest.raises(BadParameter, match=named):
        PyTorchEngine.load(tiny_checkpoint(), **options)


def test_without_torch_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(BadParameter, match=r"engine: .* needs an extra: pip install 'truedraw\[torch\]'"):
        PyTorchEngine.load(tiny_checkpoint())


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_without_the_extra_no_model_is_fetched(package, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BadParameter, match=r"needs an extra: pip install 'truedraw\[torch\]'"):
        load(engine="pytorch", cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_importing_it_needs_neither_torch_nor_transformers() -> None:
    code = (
        "import sys; sys.modules.update(torch=None, transformers=None, openvino=None); import truedraw.engine.pytorch"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"engine": "torch"}, UnknownName, "choose one of: openvino, pytorch"),
        ({"engine": "tabular"}, BadParameter, "'tabular' runs no model from a file"),
        ({"device": "cuda"}, BadParameter, "device: .* the engine openvino has no such setting"),
        ({"speed": 2}, BadParameter, "speed: got 2, but the engine openvino has no such setting; leave it out"),
        ({"n_threads": 2}, BadParameter, r"no such setting \(did you mean threads\?\); leave it out"),
    ],
)
def test_engines_and_settings_that_do_not_exist(options, error, named) -> None:
    with pytest.raises(error, match=named):
        load("smollm2-135m", **options)


@pytest.mark.parametrize("options", [{"engine": "pytorch"}, {"device": "cuda"}])
def test_a_table_has_no_engine_to_choose(options) -> None:
    with pytest.raises(BadParameter, match="is a table and has no such setting"):
        load("tabular", **options)


def test_rows_see_their_text_and_their_ancestors_alone() -> None:
    long, short = text(range(10), rows=8), text([5, 6])
    found = batch([Part(long, 10, TREE), Part(short, 2)])
    assert found.past == 8
    np.testing.assert_array_equal(found.ids, [[8, 9, 7, 7, 8, 9, 8], [0, 0, 0, 0, 0, 5, 6]])
    np.testing.assert_array_equal(found.positions[0], [8, 9, 10, 10, 11, 11, 12])
    np.testing.assert_array_equal(found.positions[1, 5:], [0, 1])
    seen = found.visible[:, 0].astype(int)
    assert seen[0, :, :8].all()
    np.testing.assert_array_equal(
        seen[0, :, 8:],
        [
            [1, 0, 0, 0, 0, 0, 0],
            [1, 1, 0, 0, 0, 0, 0],
            [1, 1, 1, 0, 0, 0, 0],
            [1, 1, 0, 1, 0, 0, 0],
            [1, 1, 1, 0, 1, 0, 0],
            [1, 1, 0, 1, 0, 1, 0],
            [1, 1, 0, 1, 0, 1, 1],
        ],
    )
    assert not seen[1, 5:, :13].any()
    np.testing.assert_array_equal(seen[1, 5:, 13:], [[1, 0], [1, 1]])
    assert seen.any(-1).all()


@pytest.mark.parametrize(
    ("tokens", "path"),
    [([], []), ([7], [0]), ([7, 8], [0, 2]), ([7, 9, 8, 1], [1, 3, 4]), ([9], []), ([7, 7], [0])],
)
def test_drafts_become_text_along_the_branch_that_goes_on(tokens, path) -> None:
    drafted, agreed = Drafted(TREE).follow(tokens)
    assert drafted.path() == path
    assert agreed == len(path)


def test_a_text_commits_in_several_steps_and_goes_its_own_way_after_a_fork() -> None:
    sequence = text(range(4))
    sequence.computed(Kept((), 9), 4, TREE)
    sequence.commit([7])
    twin = sequence.forked()
    sequence.commit([9, 1])
    assert (sequence.cached, sequence.num_uncached) == (6, 1)
    twin.commit([8])
    assert (twin.cached, twin.num_uncached, twin.num_past) == (6, 1, 5)
    twin.commit([8])  # behind the end of its branch
    assert twin.cached == 6
    sequence.evict()
    assert (sequence.cached, sequence.num_uncached, sequence.kept) == (0, 7, None)
    sequence.close()
    for use in (sequence.evict, lambda: sequence.commit([1])):
        with pytest.raises(EngineError, match="closed"):
            use()


def test_room_counts_what_forks_share_once() -> None:
    one, room = text(range(9), rows=9), Room(cache_bytes=300, row_bytes=10)
    twin, other = one.forked(), text(range(5), rows=5)
    texts = [one, twin, other]
    assert room.fits(texts, {other: 21})
    assert not room.fits(texts, {other: 22})
    assert room.fits(texts, {one: 16, other: 5})  # what the twin holds stays
    assert not room.fits(texts, {one: 17, other: 5})
    with pytest.raises(OutOfPages, match=r"31 tokens are wanted and 30 fit.* cache_bytes from 300 to at least 310"):
        room.check(texts, {other: 22})
    assert Room(1, 0).fits(texts, {one: 10**9})


class Config(SimpleNamespace):
    """As much of a config of transformers as is looked at."""

    def get_text_config(self):
        return self

    def to_dict(self):
        return vars(self)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, 500),
        ({"sliding_window": 24}, 24),
        ({"sliding_window": 9000}, 500),
        ({"sliding_window": None}, 500),
        ({"sliding_window": 24, "use_sliding_window": False, "max_window_layers": 7}, 500),
        ({"sliding_window": 24, "layer_types": ["full_attention"]}, 500),
        ({"sliding_window": 24, "layer_types": ["full_attention", "sliding_attention"]}, 24),
        ({"attention_chunk_size": 24, "layer_types": ["chunked_attention"]}, 24),
        ({"window_size": 24, "sliding_window_pattern": 6}, 24),
        ({"index_topk": 24}, 24),
        ({"attn_temperature_tuning": True}, 0),
        ({"attn_temperature_tuning": False}, 500),
        ({"per_layer_config": {"1": {"sliding_window": 24}}}, 24),
        ({"sliding_window": 30, "per_layer_config": {"0": {"sliding_window": None}, "7": {"sliding_window": 24}}}, 24),
        ({"sliding_window": 24, "use_sliding_window": False, "per_layer_config": {"0": {"head_dim": 8}}}, 500),
        ({"per_layer_config": {"1": {"attn_temperature_tuning": True}}}, 0),
    ],
)
def test_how_far_masks_without_windows_are_right(settings, expected) -> None:
    pytest.importorskip("torch")
    assert reach(SimpleNamespace(config=Config(**settings), buffers=list), 500) == expected


@pytest.mark.parametrize("own", [{"index_topk": 24}, {"head_dim": 24}])
def test_a_layer_that_chooses_its_rows_is_found(own) -> None:
    config = Config(per_layer_config={"1": own})
    assert is_sparse(SimpleNamespace(config=config)) == ("index_topk" in own)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_position_embeddings": 64}, 64),
        ({}, ENDLESS),
        ({"max_position_embeddings": -1}, ENDLESS),
        ({"max_seq_len": 64}, 64),
        ({"max_target_positions": 64}, 64),
        ({"max_position_embeddings": 64, "rope_parameters": {"rope_type": "yarn"}}, 64),
        ({"max_position_embeddings": 64, "rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}, 64),
        (
            {"max_position_embeddings": 640,
             "rope_parameters": {"rope_type": "longrope", "original_max_position_embeddings": 64}},
            64,
        ),
        (
            {"max_position_embeddings": 640,
             "rope_parameters": {"full_attention": {"rope_type": "longrope", "original_max_position_embeddings": 64},
                                 "sliding_attention": {"rope_type": "default"}}},
            64,
        ),
    ],
)  # fmt: skip
def test_the_context_ends_where_positions_would_be_treated_otherwise(settings, expected) -> None:
    assert context_length(Config(**settings)) == expected


def test_a_proposal_without_nodes_is_only_text() -> None:
    assert Part(text([1, 2]), 2).num_scores == 1
    assert Part(text([1, 2]), 2, NOTHING, scored=False).num_scores == 0
