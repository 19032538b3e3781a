"""What an MTP layer draws from, against its formulas written plainly, and folders that are not what they should be."""

from __future__ import annotations

import json

import numpy as np
import pytest

from draft.eagle.random_mtp import CONFIG, PREFIX, SHAPES, Mistakes, PlainMtp, mtp_tensors, write_mimo
from draft.eagle.showing import CLOSE, ROUGH, TREE, Rounds, Shown
from draft.given_trees import Given
from truedraw.draft.eagle.checkpoint import EagleFolder
from truedraw.draft.eagle.drafter import EagleDrafter
from truedraw.draft.eagle.mtp import MtpDrafter
from truedraw.draft.eagle.network import CompiledNetwork
from truedraw.draft.eagle.opening import streams_of
from truedraw.draft.eagle.settings import is_mtp
from truedraw.engine.constants.matrix import Matrix
from truedraw.errors import BadFile


class Case(Rounds):
    """A layer over a target that shows its last stream, and its final norm, which must not be read."""

    def __init__(self, folder, config=CONFIG, arithmetic: str = "reference", wrong: Mistakes | None = None) -> None:
        rng = np.random.default_rng(5)
        rows = [(rng.normal(size=(config.vocab_size, config.hidden_size)) / 4).astype(np.float32) for _ in range(2)]
        found = EagleFolder(folder)
        streams = streams_of(found, config.num_layers, found.layers(config.num_layers))
        network = CompiledNetwork(found, (Matrix(rows[0]), Matrix(rows[1])), streams, 1, arithmetic)
        self.vocab, self.streams, self.shown = config.vocab_size, 0, Shown(1, config.hidden_size)
        self.plain = PlainMtp(config, mtp_tensors(config), *rows, wrong)
        self.drafter = EagleDrafter.over(network, Given(TREE), self.vocab)


@pytest.fixture(scope="module", params=SHAPES)
def case(request, tmp_path_factory) -> Case:
    config = SHAPES[request.param]
    return Case(write_mimo(tmp_path_factory.mktemp("mtp") / "Modell ✂", config), config)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_mimo(tmp_path_factory.mktemp("mtp") / "model")


# --------------------------------------------------------------------------------------------------------- formulas


def test_every_node_has_the_law_of_the_formulas(case) -> None:
    assert case.worst() < CLOSE


def test_rows_that_were_never_shown_are_left_out(folder) -> None:
    """The beginning of a text was found in the cache: the others keep their places, and none of them is the first."""
    case = Case(folder)
    state = case.start(12, first=8)
    (proposal,) = case.propose([state])
    assert case.off(state, proposal, first=8) < CLOSE


def test_rounded_matrices_are_near(folder) -> None:
    case = Case(folder, arithmetic="runtime")
    state = case.start(9)
    assert case.off(state, case.propose([state])[0]) < ROUGH


@pytest.mark.parametrize("wrong", Mistakes.__dataclass_fields__)
def test_another_reading_would_be_noticed(folder, wrong) -> None:
    case = Case(folder, wrong=Mistakes(**{wrong: True}))
    state = case.start(3)
    assert case.off(state, case.propose([state])[0]) > 10 * CLOSE


def test_the_first_of_several_layers_drafts_at_every_place(tmp_path) -> None:
    case = Case(write_mimo(tmp_path / "three", count=3))
    state = case.start(9)
    assert case.off(state, case.propose([state])[0]) < CLOSE


# ---------------------------------------------------------------------------------------------------- what is refused


def test_what_it_is(folder, tmp_path) -> None:
    found = EagleFolder(folder)
    assert is_mtp(folder)
    assert found.is_mtp
    assert not found.is_third
    assert found.layers(7) == (6,)
    assert streams_of(found, 7, (2, 6)) == (1,)
    assert not is_mtp(tmp_path)
    (tmp_path / "config.json").write_text("{")
    assert not is_mtp(tmp_path)


PARTS = ("token_layernorm.weight", "input_proj.weight", "self_attn.q_proj.weight", "self_attn.k_proj.bias",
         "mlp.down_proj.weight", "final_layernorm.weight")  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("what", ["missing", "one more", "flat", "nan"])
def test_a_tensor_that_is_not_what_it_should_be(tmp_path, part, what) -> None:
    good = mtp_tensors(CONFIG)[f"{PREFIX}0.{part}"]
    bad = {"missing": None, "one more": np.concatenate([good, good[..., :1]], -1), "flat": good.reshape(-1)[:7],
           "nan": np.full_like(good, np.nan)}[what]  # fmt: skip
    folder = write_mimo(tmp_path / "m", **{part.replace(".", "__"): bad})
    said = {"missing": rf"lacks {PREFIX}0\.{part} of its MTP layers", "nan": f"{part} holds numbers that are not fin"}
    with pytest.raises(BadFile, match=said.get(what, rf"another shape .*{PREFIX}0\.{part} \[.*\(expected \[")):
        Case(folder)


@pytest.mark.parametrize("name", ["self_attn.o_proj.bias", "mlp.gate.weight", "self_attn.q_norm.weight", "new.weight"])
def test_unknown_tensors_are_refused_by_name(tmp_path, name) -> None:
    folder = write_mimo(tmp_path / "m", **{name.replace(".", "__"): np.ones(3, np.float32)})
    with pytest.raises(BadFile, match=rf"holds {PREFIX}0\.{name}, which none of its 1 MTP layers should have"):
        EagleFolder(folder)


def test_old_tables_of_positions_are_not_read(tmp_path) -> None:
    folder = write_mimo(tmp_path / "m", self_attn__rotary_emb__inv_freq=np.ones(4, np.float32))
    assert EagleFolder(folder).is_mtp


@pytest.mark.parametrize(("count", "said"), [
    (2, rf"lacks {PREFIX}1\.input_layernorm.weight, .* more of its MTP layers"), (10**40, f"lacks {PREFIX}1"),
    (True, "num_nextn_predict_layers is True"), (-1, "is -1, not a whole number"), ("1", "is '1'"), (1.0, "is 1.0"),
    (0, "holds no EAGLE draft"), (None, "holds no EAGLE draft"),
])  # fmt: skip
def test_another_number_of_layers_than_there_are(tmp_path, count, said) -> None:
    folder = write_mimo(tmp_path / "m")
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "num_nextn_predict_layers": count}))
    with pytest.raises(BadFile, match=said):
        EagleFolder(folder)


def test_one_layer_too_many(tmp_path) -> None:
    folder = write_mimo(tmp_path / "m", count=2)
    path = folder / "config.json"
    path.write_text(path.read_text().replace('"num_nextn_predict_layers": 2', '"num_nextn_predict_layers": 1'))
    with pytest.raises(BadFile, match=rf"holds {PREFIX}1\..* and 13 more, which none of its 1 MTP layers should have"):
        EagleFolder(folder)


@pytest.mark.parametrize("given", [0, -1, 2.0, True])
def test_nonsense_for_a_depth_is_refused(given) -> None:
    with pytest.raises(ValueError, match="mtp_depth"):
        MtpDrafter(3, models=None, mtp_depth=given)
