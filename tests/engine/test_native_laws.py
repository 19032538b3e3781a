"""Native numerics against plain float64 code that rounds where they round: weights, activations, keys, values,
queries and their shares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.bfloat16 import nearest
from engine.decoder import (
    CONFIGS,
    PLAIN,
    Decoder,
    RandomWeights,
    expected_rows,
    random_tree,
    tiny_checkpoint,
    tiny_engine,
    tv,
)
from truedraw.engine.constants.bfloat16 import widened
from truedraw.engine.constants.matrix import dense
from truedraw.engine.constants.rounding import codes_of
from truedraw.engine.constants.weights import FOR_OUR_KERNELS, from_packed
from truedraw.engine.cpu.opening import arithmetic_of
from truedraw.engine.native.blocks import SIZE, Blocks
from truedraw.engine.native.layers import Mixed, of_one_form, stacked
from truedraw.engine.native.laying import eights_of
from truedraw.errors import BadParameter, EngineError, UnsupportedModel
from truedraw.models.gguf_packed import READERS
from truedraw.models.layout import EMBEDDING
from truedraw.protocol import Fill, Proposal, Work

CLOSE = 0.01  # total variation over one layer; a float32 that lies where two integers meet falls to either side
NEARLY = 0.02  # in the mean of many rows over two layers, behind which it has gone through all that follows
FAR = 0.1  # what another model is off by at least
ONE = replace(PLAIN, num_layers=1)
RNG = np.random.default_rng(8)
TEXT = RNG.integers(0, PLAIN.vocab_size, 150).tolist()
SHAPES = CONFIGS | {
    "three heads a key": replace(PLAIN, num_heads=6),
    "five heads a key": replace(PLAIN, num_heads=5, num_kv_heads=1),
    "seven heads a key, wide": replace(PLAIN, num_heads=7, num_kv_heads=1, head_dim=80),
    "widths of no whole blocks": replace(PLAIN, hidden_size=72, intermediate_size=100, num_heads=3, num_kv_heads=3),
}


class RoundedDecoder(Decoder):
    """Rounds as the kernels do, and sums in float64."""

    def __init__(self, config, weights: RandomWeights) -> None:
        super().__init__(config, weights)
        self._turned = 0  # of each layer first the queries, then the keys
        self._weights = weights
        self._multiplied = dict(self._tensors)
        for name, values in self._tensors.items():
            if values.ndim == 2 and self._is_rounded(name):
                self._multiplied[name] = dense(codes_of(values, short=True)).astype(np.float64)
        if self._is_rounded(EMBEDDING) or weights.stored_as(EMBEDDING) in FOR_OUR_KERNELS:
            self._tensors[EMBEDDING] = dense(codes_of(self._tensors[EMBEDDING], short=True)).astype(np.float64)

    def _is_rounded(self, name):
        """Whether its codes are made anew: of floats, and of least values of no whole blocks."""
        found = self._weights.packed(name)
        return found is None or (found.least is not None and found.codes.shape[1] % SIZE != 0)

    def _size(self, name):
        """Of the groups that activations are rounded in: of codes of 4 bits whole blocks."""
        found = self._weights.packed(name)
        if found is None or self._is_rounded(name):
            return SIZE
        return SIZE if found.bits < 8 and found.codes.shape[1] % SIZE == 0 else 32

    def _linear(self, x, name):
        size = self._size(f"{name}.weight")
        rows = np.apply_along_axis(self._rounded, -1, x, size)
        found = rows @ self._multiplied[f"{name}.weight"].T + self._tensors.get(f"{name}.bias", 0.0)
        return shortened(found) if name.endswith("v_proj") else found

    def _rounded(self, row, size):
        blocks = [row[first : first + size] for first in range(0, len(row), size)]
        steps = [max(np.abs(block).max() / 127, 1e-300) for block in blocks]
        return np.concatenate([np.rint(block / step) * step for block, step in zip(blocks, steps, strict=True)])

    def _rotated(self, x):
        self._turned += 1
        turned = super()._rotated(x)
        is_query = self._turned % 2  # rounded when it has all that a score is multiplied with
        scale = np.sqrt(self.config.head_dim) * np.log(2) if is_query else 1.0
        return shortened(turned / scale) * scale

    def _shares(self, scores):
        powers = shortened(np.exp(scores - scores.max(-1, keepdims=True)))
        return powers / powers.sum(-1, keepdims=True)


def mean_tv(a, b) -> float:
    return float(np.mean([tv(one[None], other[None]) for one, other in zip(a, b, strict=True)]))


def shortened(x):
    return widened(nearest(x)).astype(np.float64)


def native(path, config=PLAIN, random_weights=None, **options):
    return tiny_engine(path, config, random_weights, numerics="native", **options)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    loaded = native(tmp_path_factory.mktemp("cache"), ONE, prefix_cache_bytes=0)
    yield loaded
    loaded.close()


@pytest.fixture(scope="module")
def decoder():
    return RoundedDecoder(ONE, RandomWeights(ONE))


def check(engine, decoder, works, fills=()):
    for work, scores in zip(works, engine.forward(works, fills), strict=True):
        expected = expected_rows(decoder, list(work.sequence.tokens), work.proposal)
        assert scores.logits.shape == expected.shape
        assert scores.logits.dtype == np.float32
        assert mean_tv(scores.logits, expected) < CLOSE
        assert tv(scores.logits, expected) < FAR


PACKED = [(), (4,), (4, True), (8,)]
USUAL = [("llama", (4, True)), ("llama", (8,)), *((name, ()) for name in SHAPES)]
"""What is compiled for others takes a quarter of a minute each."""


@pytest.mark.parametrize(
    ("name", "packed"),
    [*USUAL, *(pytest.param(name, packed, marks=pytest.mark.slow) for name in SHAPES for packed in PACKED
               if (name, packed) not in USUAL)],
)  # fmt: skip
def test_every_family_over_a_whole_text(name, packed, tmp_path):
    config = SHAPES[name]
    if packed and (config.hidden_size % 32 or config.num_heads * config.head_dim % 32):
        pytest.skip("no whole groups")
    weights = RandomWeights(config, 3, *packed)
    engine = native(tmp_path, config, weights)
    logits = engine.forward([Work(engine.open(TEXT[:1]), Proposal.chain(TEXT[1:]))])[0].logits
    expected = RoundedDecoder(config, weights).logits(TEXT)
    assert mean_tv(logits, expected) < NEARLY
    other = RoundedDecoder(config, RandomWeights(config, 4, *packed)).logits(TEXT)
    assert mean_tv(logits, other) > FAR
    engine.close()


@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 64, 100, 128])
def test_plain_rows_at_page_edges(engine, decoder, length):
    check(engine, decoder, [Work(engine.open(TEXT[:length]))])


@pytest.mark.parametrize("nodes", [1, 2, 5, 12, 40])
@pytest.mark.parametrize("length", [1, 20, 31, 64, 118])
def test_trees_behind_texts(engine, decoder, length, nodes):
    check(engine, decoder, [Work(engine.open(TEXT[:length]), random_tree(RNG, nodes, PLAIN.vocab_size))])


def test_ragged_passes(engine, decoder):
    filled = engine.open(TEXT[:70])
    works = [
        Work(engine.open(TEXT[:40])),
        Work(engine.open(TEXT[5:25]), Proposal.chain(TEXT[25:32])),
        Work(engine.open(TEXT[7:50]), random_tree(RNG, 9, PLAIN.vocab_size)),
    ]
    check(engine, decoder, works, [Fill(filled, 33)])
    for work in works:
        work.sequence.commit([3, 4])
    filled.commit([5])
    check(engine, decoder, [*(Work(work.sequence, Proposal.chain([1, 2])) for work in works), Work(filled)])


@pytest.mark.parametrize("length", [50, 125])
def test_a_tree_s_nodes_have_the_bits_of_chains(engine, length):
    """Behind a mask, without pages of their own: no other arithmetic here has that."""
    assert not engine.unrolls_trees
    tree = random_tree(RNG, 24, PLAIN.vocab_size)
    sequence = engine.open(TEXT[:length])
    logits = engine.forward([Work(sequence, tree)])[0].logits.copy()
    for node in range(len(tree)):
        path, here = [], node
        while here >= 0:
            path.append(int(tree.tokens[here]))
            here = int(tree.parents[here])
        alone = engine.open([*TEXT[:length], *path[::-1]])
        np.testing.assert_array_equal(engine.forward([Work(alone)])[0].logits[0], logits[1 + node])
        alone.close()
    sequence.close()


def test_each_tree_of_a_pass_has_a_mask_of_its_own(engine):
    rng = np.random.default_rng(3)
    works = [Work(engine.open(TEXT[:end]), random_tree(rng, nodes, 96)) for end, nodes in ((40, 6), (33, 9), (70, 3))]
    together = [scores.logits.copy() for scores in engine.forward(works)]
    for work, rows in zip(works, together, strict=True):
        np.testing.assert_array_equal(engine.forward([work])[0].logits, rows)
        work.sequence.close()


def test_hidden_states_are_the_streams(tmp_path):
    layers = (1, 0)  # as they are asked for, not as they are computed
    weights = RandomWeights(PLAIN)
    engine = native(tmp_path, PLAIN, weights, hidden_layers=layers, hidden_text=True)
    scores = engine.forward([Work(engine.open(TEXT[:20]), Proposal.chain(TEXT[20:24]))])[0]
    _, streams = RoundedDecoder(PLAIN, weights).run(TEXT[:24])
    expected = np.stack([streams[1], streams[0], streams[2]], 1)
    assert scores.hidden.shape == (5, 3, PLAIN.hidden_size)
    before = np.concatenate([part.hidden for part in scores.text])
    for found, wanted in ((scores.hidden, expected[19:]), (before, expected[:19])):
        assert np.abs(found - wanted).mean() < 0.01 * np.abs(wanted).max()
    engine.close()


def test_the_first_layers_alone(tmp_path):
    engine = native(tmp_path)
    engine.forward([Work(engine.open(TEXT[:30]))])
    shallow = engine.shallow(1)
    logits = shallow.forward([Work(shallow.open(TEXT[:30]), Proposal.chain(TEXT[30:33]))])[0].logits
    assert tv(logits, RoundedDecoder(ONE, RandomWeights(ONE)).logits(TEXT[:33])[29:]) < CLOSE
    engine.close()


@pytest.mark.parametrize("name", ["llama", "three heads a key", "five heads a key", "seven heads a key, wide"])
def test_a_long_text_has_its_bits_alone_and_among_others(tmp_path, name):
    """However many queries of rows that share keys meet them at once: 1 to 4 rows of a text, and all of it."""
    config = replace(SHAPES[name], num_layers=1, context_length=600)
    tokens = np.random.default_rng(5).integers(0, config.vocab_size, 500).tolist()
    engine = native(tmp_path, config, prefix_cache_bytes=0)
    whole = engine.forward([Work(engine.open(tokens[:1]), Proposal.chain(tokens[1:]))])[0].logits.copy()
    for length in (33, 128, 129, 383, 424, len(tokens) - 3):
        texts = [engine.open(tokens[:length]), *(engine.open(tokens[k : k + 20]) for k in range(40))]
        for rows in range(1, 5):
            own = Work(texts[0], Proposal.chain(tokens[length : length + rows - 1]))
            for others in ([], [Work(text) for text in texts[1:]]):
                found = engine.forward([own, *others])[0].logits
                np.testing.assert_array_equal(found, whole[length - 1 : length - 1 + rows])
        for text in texts:
            text.close()
    check(engine, RoundedDecoder(config, RandomWeights(config)), [Work(engine.open(tokens[:400]))])
    engine.close()


@pytest.mark.parametrize("length", [60, 126])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_any_number_of_threads_computes_the_same_bits(tmp_path, engine, threads, length):
    """More than there are pieces, too."""
    other = native(tmp_path, ONE, threads=threads)
    work = [Work(each.open(TEXT[:length]), random_tree(np.random.default_rng(1), 9, 96)) for each in (engine, other)]
    expected, found = (each.forward([it])[0].logits for each, it in zip((engine, other), work, strict=True))
    np.testing.assert_array_equal(found, expected)
    other.close()


@pytest.mark.parametrize(
    ("changes", "options", "error", "message"),
    [
        ({}, {"weights": "stored"}, BadParameter, "auto, int8 or int4"),
        ({"head_dim": 24}, {}, UnsupportedModel, "24"),
        ({"architecture": "gpt2"}, {}, UnsupportedModel, "llama, qwen2, qwen3"),
    ],
)
def test_what_cannot_be_computed_so(tmp_path, changes, options, error, message):
    with pytest.raises(error, match=message):
        native(tmp_path, replace(PLAIN, **changes), **options)


def test_a_processor_without_halves(tmp_path, monkeypatch):
    monkeypatch.setattr("truedraw.engine.native.machine.HAS_HALVES", False)
    with pytest.raises(EngineError, match="runtime"):
        native(tmp_path)


@pytest.mark.parametrize(
    ("lacks", "name"), [((), "native"), (("HAS_PRODUCTS",), "runtime"), (("HAS_HALVES",), "runtime")]
)
def test_the_default_is_what_the_processor_is_good_at(lacks, name, monkeypatch):
    checkpoint = tiny_checkpoint()
    for each in ("HAS_PRODUCTS", "HAS_HALVES"):
        monkeypatch.setattr(f"truedraw.engine.native.machine.{each}", each not in lacks)
    assert arithmetic_of("invariant", checkpoint, "auto").name == name
    assert arithmetic_of("invariant", checkpoint, "stored").name == "runtime"


@pytest.mark.parametrize("packed", [(8,), (4,), (4, True)])
def test_weights_of_any_form_are_laid_out(packed, tmp_path):
    """Layers that share scales among other numbers of inputs, or have codes of other sizes, as in mixed files."""

    class OnePacked(RandomWeights):
        def packed(self, name):
            return super().packed(name) if ".0." in name or "embed" in name else None

    weights = OnePacked(PLAIN, 0, *packed)
    engine = native(tmp_path, PLAIN, weights)
    logits = engine.forward([Work(engine.open(TEXT[:1]), Proposal.chain(TEXT[1:60]))])[0].logits
    assert mean_tv(logits, Decoder(PLAIN, weights).logits(TEXT[:60])) < 0.1
    engine.close()


def test_layers_of_two_forms_each_keep_their_own(tmp_path):
    """As in files that store some layers more precisely than others; so do the first layers alone."""

    class SomePacked(RandomWeights):
        def packed(self, name):
            return None if ".1." in name or ".2." in name else super().packed(name)

    config = replace(PLAIN, num_layers=4, intermediate_size=128)
    weights = SomePacked(config, 3, 4, True)
    engine = native(tmp_path, config, weights)
    kinds = engine._live().runner._weights.kinds
    assert [kind.at.tolist() for kind in kinds if isinstance(kind, Mixed)] == [[0, ~0, ~1, 1]] * len(kinds)
    logits = engine.forward([Work(engine.open(TEXT[:1]), Proposal.chain(TEXT[1:70]))])[0].logits
    assert mean_tv(logits, RoundedDecoder(config, weights).logits(TEXT[:70])) < NEARLY
    text = engine.open(TEXT[:5], alone=True)
    shallow = engine.shallow(3).forward([Work(engine.shallow(3).open(TEXT[:5]))])[0].logits
    first = RoundedDecoder(replace(config, num_layers=3), weights).logits(TEXT[:5])[-1:]
    assert mean_tv(shallow, first) < NEARLY
    text.close()
    engine.close()


SIZES = {"Q4_K": (144, 0, (0.01, 0.075)), "Q5_K": (176, 0, (0.005, 0.075)), "Q6_K": (210, 208, (0.0008,))}
"""Of a block, bytes, where its float16 begin, and about what these are."""


class Nested(RandomWeights):
    """Bits of GGUF types by chance: Q6_K by the names of some, a coarser one by others."""

    coarser = "Q4_K"

    def stored_as(self, name):
        more = any(part in name for part in ("embed", "lm_head", ".1.mlp.down", "v_proj"))
        return super().stored_as(name) if len(self._shapes[name]) == 1 else "Q6_K" if more else self.coarser

    def packed(self, name):
        if len(self._shapes[name]) == 1:
            return None
        (out, width), kind = self._shapes[name], self.stored_as(name)
        rng = np.random.default_rng([self._seed, *name.encode()])
        size, first, steps = SIZES[kind]
        blocks = rng.integers(0, 256, (out * width // 256, size)).astype(np.uint8)
        spread = rng.uniform(0.5, 1, (len(blocks), len(steps))) * np.array(steps) / np.sqrt(width)
        blocks[:, first : first + 2 * len(steps)] = spread.astype(np.float16).view(np.uint8)
        return READERS[kind](blocks.reshape(out, -1))


@pytest.mark.parametrize(
    ("architecture", "tied", "coarser"), [("llama", True, "Q4_K"), ("qwen2", False, "Q4_K"), ("qwen2", True, "Q5_K")]
)
def test_weights_with_nested_scales_are_taken_as_they_are(tmp_path, architecture, tied, coarser):
    """Layers of two types, some matrices of both side by side, and a head, as in files of type Q4_K_M and Q5_K_M."""
    wide = {"hidden_size": 256, "intermediate_size": 512, "num_heads": 8, "num_kv_heads": 4, "tie_embeddings": tied}
    config = replace(PLAIN, architecture=architecture, qkv_bias=architecture == "qwen2", num_layers=3, **wide)
    weights = Nested(config, 4)
    weights.coarser = coarser
    engine = native(tmp_path, config, weights)
    laid = engine._live().runner._weights
    qkv, out, up, down = laid.kinds
    assert [each.scales.dtype.type for each in (out, up, laid.head)] == [np.uint8, np.uint8, np.int8]
    assert {each.codes.dtype.type for each in (out, up)} == {np.int8 if coarser == "Q5_K" else np.uint8}
    assert (down.at.tolist(), down.finer.scales.dtype.type, qkv.is_fine) == ([0, ~0, 1], np.int8, True)
    logits = engine.forward([Work(engine.open(TEXT[:1]), Proposal.chain(TEXT[1:70]))])[0].logits
    assert np.ptp(logits) > 1
    assert mean_tv(logits, RoundedDecoder(config, weights).logits(TEXT[:70])) < NEARLY
    engine.close()


def test_layers_of_four_bits_beside_others_that_share_scales_otherwise_become_codes_of_eight():
    held = [
        from_packed(RandomWeights(PLAIN, 1, *kind).packed("model.layers.0.mlp.up_proj.weight")) for kind in ((4,), (8,))
    ]
    found = stacked(held)
    assert isinstance(found, Blocks)
    assert found.is_fine


def test_layers_of_four_bits_beside_others_keep_their_codes():
    four, eight = (
        RandomWeights(PLAIN, 1, 4).packed("model.layers.0.mlp.up_proj.weight"),
        codes_of(RNG.normal(size=(96, 64))),
    )
    own = from_packed(four)
    blocks = of_one_form([own, eight])
    assert blocks.is_fine
    alone = eights_of(own)
    np.testing.assert_array_equal(blocks.codes[0], alone.codes)
    np.testing.assert_array_equal(blocks.scales[0], alone.scales)


def test_keys_that_no_float16_holds(tmp_path):
    class Large(RandomWeights):
        def dense(self, name):
            return super().dense(name) * np.float32(1e6 if "k_proj" in name else 1)

    weights = Large(ONE)
    engine = native(tmp_path, ONE, weights)
    logits = engine.forward([Work(engine.open(TEXT[:1]), Proposal.chain(TEXT[1:5]))])[0].logits
    assert mean_tv(logits, RoundedDecoder(ONE, weights).logits(TEXT[:5])) < CLOSE
    engine.close()


def test_keys_that_no_bfloat16_holds_make_no_law(tmp_path):
    class Endless(RandomWeights):
        def dense(self, name):
            values = super().dense(name)
            return np.full_like(values, 3e38) if name.endswith("k_norm.weight") else values

    config = replace(CONFIGS["qwen3"], num_layers=1)
    engine = native(tmp_path, config, Endless(config))
    logits = engine.forward([Work(engine.open(TEXT[:5]))])[0].logits
    assert not np.isfinite(logits).any()
    engine.close()
