"""Kinds that have a head a level: their graphs against the formulas in plain numpy, and how deep they are asked."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from draft.head.random_heads import HEADS, INNER, LAYERS, VOCAB, WIDTH, PlainLevels, card, dense, shapes_of, write
from draft.head.seeing import TableCell, seen
from draft.head.test_head_file import changed
from truedraw.draft.head.card import KINDS as EVERY
from truedraw.draft.head.cell import Chosen
from truedraw.draft.head.compiled import TargetRows
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.draft.head.file import HeadFile, read_card
from truedraw.draft.head.kinds import CELLS, cell_of
from truedraw.draft.head.opening import Head
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.rounding import quantise
from truedraw.errors import BadFile
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness

KINDS = ("medusa", "parallel", "hydra")
OFF = 0.12  # of the spread: arithmetic is the target's, which rounds, three blocks one behind another


def rows(form: str = "int8") -> Matrix:
    values = np.random.default_rng(7).normal(size=(VOCAB, WIDTH)).astype(np.float32)
    return quantise(values) if form == "int8" else Matrix(values)


def numbers_of(matrix: Matrix) -> np.ndarray:
    return matrix.values.astype(np.float64) if matrix.scales is None else dense(matrix)


@pytest.fixture(scope="module", params=KINDS)
def file(request, tmp_path_factory) -> HeadFile:
    return HeadFile(write(tmp_path_factory.mktemp("heads") / "head.safetensors", card(kind=request.param), seed=5))


@pytest.fixture(scope="module", params=["int8", "float32"])
def cells(request, file):
    held = rows(request.param)
    return cell_of(file, TargetRows(held, held), threads=1), PlainLevels(file, numbers_of(held))


def some(of, count: int, seed: int = 1):
    rng = np.random.default_rng(seed)
    streams = 1 if of == "medusa" else len(LAYERS) + 1
    return rng.normal(size=(count, streams, WIDTH)).astype(np.float32) * 3, rng.integers(0, VOCAB, count)


def near(found, expected) -> bool:
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max()) < OFF * float(np.std(expected))


@pytest.mark.parametrize("count", [1, 2, 5, 17])
def test_a_kind_is_the_network_of_its_formulas(cells, count) -> None:
    cell, plain = cells
    features, last = some(plain.kind, count)
    states, logits = (each.copy() for each in cell.begin(features, last))
    tokens = last[:, None]
    for level in range(1, HEADS + 1):
        assert near(logits, plain.logits(features.astype(np.float64), tokens)), level
        if level < HEADS:
            more = np.random.default_rng(level).integers(0, VOCAB, count)
            tokens = np.concatenate([tokens, more[:, None]], 1)
            states, logits = (each.copy() for each in cell.step(states, more))


def test_branches_of_a_tree_go_on_from_states_of_one_call(cells) -> None:
    """Some of them, and again; what is behind each is its own text's."""
    cell, plain = cells
    features, last = some(plain.kind, 4)
    states, _ = cell.begin(features, last)
    texts, tokens = np.arange(4), last[:, None]
    for places in ([2, 0, 2, 3], [1, 1, 3]):
        more = np.arange(3, 3 + len(places))
        texts, tokens = texts[places], np.concatenate([tokens[places], more[:, None]], 1)
        states, logits = cell.step(states[places], more)
        assert near(logits, plain.logits(features[texts].astype(np.float64), tokens))


WRONG = {
    "gate and up": (("parallel", "hydra"), lambda plain: roll(plain, "up.2", INNER)),
    "trunk": (("parallel",), lambda plain: roll(plain, "up", INNER)),
    "streams": (("parallel", "hydra"), lambda plain: roll(plain, "input", WIDTH, 1)),
    "tokens before": (("hydra",), lambda plain: roll(plain, "up.2", WIDTH, 1)),
    "own token": (("hydra",), lambda plain: roll(plain, "token.2", 1)),
    "gain": (KINDS, lambda plain: setattr(plain, "gain", np.ones(WIDTH))),
    "bias": (("medusa",), lambda plain: plain.biases.update({"block.2.2": np.zeros(WIDTH)})),
    "second block": (("medusa",), lambda plain: plain.parts.update({"block.2.2": plain.parts["block.2.1"]})),
    "output": (("medusa",), lambda plain: plain.parts.update({"output.2": plain.parts["output.1"]})),
    "known": (KINDS, lambda plain: setattr(plain, "known", np.arange(len(plain.known)))),
}


def roll(plain, name: str, by: int, axis: int = 0) -> None:
    plain.parts[name] = np.roll(plain.parts[name], by, axis)


@pytest.mark.parametrize("part", WRONG)
def test_another_network_would_be_noticed(cells, file, part) -> None:
    cell, right = cells
    kinds, spoil = WRONG[part]
    if right.kind not in kinds:
        return
    wrong = PlainLevels(file, right.embedding)
    spoil(wrong)
    features, last = some(right.kind, 5)
    states, _ = cell.begin(features, last)
    _, logits = cell.step(states, last)
    tokens = np.stack([last, last], 1)
    assert near(logits, right.logits(features.astype(np.float64), tokens))
    assert not near(logits, wrong.logits(features.astype(np.float64), tokens))


def test_a_row_does_not_depend_on_the_others(cells) -> None:
    cell, plain = cells
    features, last = some(plain.kind, 6)
    whole = cell.begin(features, last)[1].copy()
    for start, stop in ((0, 2), (1, 4), (3, 6)):
        assert near(cell.begin(features[start:stop], last[start:stop])[1], whole[start:stop])


@pytest.mark.parametrize("kind", ["medusa", "parallel"])
def test_kinds_that_say_all_at_once_call_their_network_once(tmp_path, kind) -> None:
    held = rows()
    cell = cell_of(HeadFile(write(tmp_path / "head.safetensors", card(kind=kind))), TargetRows(held, held), 1)
    calls, says = [], cell._says
    cell._says = lambda *given: (calls.append(len(given[1])), says(*given))[1]
    states, _ = cell.begin(*some(kind, 3))
    for _ in range(HEADS - 1):
        states, _ = cell.step(states, np.zeros(3, np.int64))
    assert calls == [3]
    with pytest.raises(IndexError):
        cell.step(states, np.zeros(3, np.int64))


# ------------------------------------------------------------------------------------------------------ how deep


class Deep(TableCell):
    """Counts the levels that it is asked for."""

    def begin(self, given, last):
        self.asked = 1
        return super().begin(given, last)

    def step(self, states, tokens):
        self.asked += 1
        return super().step(states, tokens)


@pytest.mark.parametrize(("levels", "depth", "deepest"), [(2, 6, 2), (2, 1, 1), (None, 4, 4), (5, 6, 5)])
@pytest.mark.parametrize("trees", [False, True])
def test_no_level_is_asked_for_that_a_head_does_not_have(levels, depth, deepest, trees) -> None:
    cell = Deep(tokens=(0, 1, 2))
    models = SimpleNamespace(target=None, head=lambda path: Head(cell, (0.9, 0.01), levels))
    drafter = HeadDrafter(3, models=models, head_depth=depth, trees=trees)
    law = SamplingLaw(SamplingParams())
    (proposal,) = drafter.propose([seen(drafter, [0, 1, 2, 0], law)], [30], [PhiloxRandomness(1)])
    depths = {-1: 0}
    for node, parent in enumerate(proposal.parents.tolist()):
        depths[node] = depths[parent] + 1
    assert max(depths.values()) == cell.asked == deepest


def test_a_head_may_read_fewer_streams_than_an_engine_returns() -> None:
    cell = TableCell(tokens=(0, 1, 2))
    features = np.random.default_rng(0).integers(0, 2, (3, 4, 3)).astype(np.float32)
    last = np.array([0, 1, 2])
    wanted = cell.begin(features[:, [1, 3]], last)[1].copy()
    assert np.array_equal(Chosen(cell, np.array([1, 3])).begin(features, last)[1], wanted)
    states = cell.begin(features[:, [1, 3]], last)[0].copy()
    assert np.array_equal(Chosen(cell, np.array([1, 3])).step(states, last)[1], cell.step(states, last)[1])


# ---------------------------------------------------------------------------------------------------- cards and files


def test_there_is_a_network_for_every_kind() -> None:
    assert set(CELLS) == set(EVERY)


@pytest.mark.parametrize(("changes", "said"), [
    ({"heads": 0}, "says 0 of its heads"), ({"heads": None}, "says None of its heads; a hydra head has 1 to"),
    ({"heads": 17}, "says 17 of its heads"), ({"heads": "3"}, "says '3' of its heads"),
    ({"heads": True}, "says True of its heads"), ({"kind": "recurrent"}, "a recurrent head has none a level"),
    ({"kind": "medusa"}, r"reads the layers \(1, 4\); a medusa head reads none"),
])  # fmt: skip
def test_cards_that_cannot_be_meant(tmp_path, changes, said) -> None:
    usual = {"kind": "hydra", "heads": HEADS, "layers": LAYERS}
    path = write(tmp_path / "head.safetensors", card(kind="hydra"))
    said_of = card(**{**usual, **changes}).to_metadata()["card"]
    with pytest.raises(BadFile, match=said):
        read_card(changed(path, {"card": said_of}))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", ["missing", "shape", "a head too many"])
def test_numbers_that_do_not_fit_the_card(tmp_path, kind, what) -> None:
    path = write(tmp_path / "head.safetensors", card(kind=kind))
    last = list(shapes_of(card(kind=kind)))[-1]
    if what == "a head too many":
        file = HeadFile(path)
        object.__setattr__(file, "card", card(kind=kind, heads=HEADS + 1))
    else:
        codes = None if what == "missing" else np.zeros((WIDTH, WIDTH + 1), np.int8)
        changes = {f"{last}.codes": codes} if what == "shape" else {f"{last}.scales": None}
        file = HeadFile(changed(path, **changes))
    held = rows()
    with pytest.raises(BadFile, match=r"lacks|is damaged"):
        cell_of(file, TargetRows(held, held), 1)


def test_the_same_numbers_give_the_same_bytes(tmp_path) -> None:
    """The format's own writer puts the metadata in an order of chance."""
    said = card(kind="parallel", training={"b": 1, "a": {"d": [0.5], "c": "Ω"}})
    first = write(tmp_path / "a.safetensors", said).read_bytes()
    assert all(write(tmp_path / "b.safetensors", said).read_bytes() == first for _ in range(12))
    length = int.from_bytes(first[:8], "little")
    assert length % 8 == 0
    assert HeadFile(tmp_path / "b.safetensors").card == said
