"""The attentive kind while it learns: what its rows look back at, in windows and where they lie scattered."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from distill.conftest import quiet, tables
from distill.test_training import PLAN, exported, opened, shaken, trained, untrained
from distill.test_wide_training import on_device
from training import as_written
from truedraw.distill import evaluation, learner, looking_back
from truedraw.distill import training as loop
from truedraw.distill.plan import HeadPlan, Limits
from truedraw.distill.rows import Rows
from truedraw.distill.store import ROW
from truedraw.distill.tables import Tables
from truedraw.distill.texts import Text
from truedraw.draft.head.cell import Past
from truedraw.draft.head.compiled import TargetRows
from truedraw.draft.head.file import HeadFile
from truedraw.draft.head.kinds import cell_of
from truedraw.engine.constants.matrix import Matrix

pytestmark = pytest.mark.parity
ATTENTIVE = replace(PLAN, kind="attentive")
OFF = 0.05  # of the size of what is computed, where the arithmetic is that of int8
REACH = 256


@pytest.fixture(autouse=True)
def one_thread():
    """As in test_training.py."""
    from truedraw.engine.pytorch.running import running

    with running(1):
        yield


def rows_of(features, tokens, counts):
    """Rows in memory, of texts of so many rows."""
    import torch

    from truedraw.distill.wide.rows import DeviceRows

    laws = np.zeros(len(features), ROW)
    laws["token"] = tokens
    texts = [Text([0], [0] * count, 1.0) for count in counts]
    return DeviceRows(torch.tensor(features, dtype=torch.float16), laws, texts)


def states_over(head, data, rows, positions=2):
    """States and what is read out [rows, width] behind each position, over one window of these rows."""
    import torch

    from truedraw.distill.head import scaled
    from truedraw.distill.windows import Windows

    recall, found = looking_back.in_windows(head, Windows(rows[None], data)), []
    with torch.no_grad():
        x = head.network.begin(head.weights, scaled(data, rows, head.scale))[None]
        for position in range(1, positions + 1):
            x, out = head.behind(x, head.known.embedded[data.on(data.tokens[rows[None] + position])], position, recall)
            found.append((x[0], out[0]))
    return found


# ------------------------------------------------------------------------------------------------ the cell that drafts

WIDTH, STREAMS, KNOWN, ROWS_OF_TEXT = 64, 2, 50, 300


class Random(NamedTuple):
    """A head of random numbers, and as arrays; the embedding; a text."""

    head: object
    best: dict
    embedding: np.ndarray
    data: object


@pytest.fixture(scope="module")
def drawn():
    import torch

    from truedraw.distill.head import Head
    from truedraw.distill.kinds.attentive import Attentive
    from truedraw.distill.known import Known
    from truedraw.distill.network import Sizes, normed

    network, chance = Attentive(), torch.Generator().manual_seed(5)
    weights = network.beginning(Sizes(WIDTH, STREAMS, 2 * WIDTH), seed=4)
    weights["down"] = torch.randn(WIDTH, 2 * WIDTH, generator=chance) / WIDTH
    weights["found"] = torch.randn(WIDTH, 512, generator=chance) / 32
    weights["sink"] = torch.randn(8, generator=chance)
    weights["asking"][:1024] *= 2  # some keys are looked at more than others
    embedding = torch.randn(KNOWN, WIDTH, generator=chance)
    tokens = np.arange(1, KNOWN, 2)
    known = Known(tokens, normed(embedding), embedding[tokens], embedding[tokens], torch.float32)
    head = Head(network, weights, known, torch.ones(STREAMS))
    best = {f"weight.{name}": each.numpy() for name, each in weights.items()}
    best |= {"tokens": tokens, "scale": np.ones(STREAMS, np.float32)}
    rng = np.random.default_rng(6)
    count = ROWS_OF_TEXT + 3
    data = rows_of(rng.normal(size=(count, STREAMS, WIDTH)), rng.integers(0, KNOWN, count), [count])
    return Random(head, best, embedding.numpy(), data)


def test_it_is_the_cell_that_drafts(drawn, tmp_path):
    """Which is told of rounds of a few rows each, also where the first ones are out of reach."""
    from truedraw.distill.export import Target, as_read, export
    from truedraw.distill.kinds.recurrent import Recurrent

    path, held = tmp_path / "head.safetensors", Matrix(drawn.embedding)
    export(path, Target("none", "0" * 32, KNOWN, WIDTH, (4,)), drawn.head, drawn.best, {"siblings": [0.5]})
    read, rows = as_read(drawn.head, drawn.best), np.arange(ROWS_OF_TEXT)
    wanted = states_over(read, drawn.data, rows)
    blind = states_over(read._replace(network=Recurrent()), drawn.data, rows)
    cell, off, beside = cell_of(HeadFile(path), TargetRows(held, held), threads=1), [], []
    for row, said in rounds(cell, drawn.data):
        for (states, logits), (x, out), (other, _) in zip(said, wanted, blind, strict=True):
            off += [apart(states, x[row]), apart(logits, out[row] @ read.known.readout.T)]
            beside.append(apart(other[row], x[row]))
    assert len(off) > 400
    assert max(off) < OFF
    assert min(beside[2:]) > 2 * OFF


def rounds(cell, data):
    """The last row of rounds of one row to four, and states and logits of the cell behind it, at two positions."""
    features, memory, rng, end = data.features.float().numpy(), cell.memory(), np.random.default_rng(7), 0
    while end < ROWS_OF_TEXT - 4:
        start, end = end, end + int(rng.integers(1, 5))
        last, behind = data.tokens[start + 1 : end + 1], data.tokens[end + 1 : end + 2]
        states, logits = cell.begin(features[start:end], last, Past(memory, start, end - start))
        said = [(cell.shown(states)[0].copy(), logits[0].copy())]
        states, logits = cell.step(states.copy(), behind)
        yield end - 1, [*said, (cell.shown(states)[0].copy(), logits[0].copy())]


def apart(found, wanted):
    """As a part of what is wanted."""
    return float(np.linalg.norm(np.asarray(found) - np.asarray(wanted)) / np.linalg.norm(wanted))


# ---------------------------------------------------------------------------------------------- what it begins as


def test_a_recurrent_head_goes_on_as_an_attentive_one_and_says_the_same_at_first(fill, tmp_path):
    import torch

    data = opened(fill(30, 12))
    path = exported(data, tmp_path)
    before = learner.HeadLearner(data, tables(), replace(PLAN, init_from=path), None, 0)
    grown = learner.HeadLearner(data, tables(), replace(ATTENTIVE, init_from=path), None, 0)
    rows = data.held_out(1.0, 100, evaluation.CHAIN)
    for temperature in evaluation.MEASURED:
        one, other = (evaluation.kept_behind(each.head, data, rows, temperature) for each in (before, grown))
        np.testing.assert_array_equal(one, other)
    weights = grown.head.weights
    for name, values in before.head.weights.items():
        assert torch.equal(values, weights[name]), name
    assert set(weights) - set(before.head.weights) == {"asking", "found", "slope", "sink"}
    assert not weights["found"].any()
    asking = weights["asking"].detach()
    assert float(asking.std()) * asking.shape[1] ** 0.5 == pytest.approx(1, abs=0.05)
    assert weights["slope"].tolist() == [-6, -4, -3, -2] * 2
    again = learner.HeadLearner(data, tables(), replace(ATTENTIVE, init_from=path), None, 0)
    assert torch.equal(again.head.weights["asking"], weights["asking"])


def test_an_attentive_head_goes_on_with_all_that_it_learnt(fill, tmp_path):
    data = opened(fill(30, 12))
    data.windows = 2
    path = exported(data, tmp_path, ATTENTIVE)
    before = learner.head_training(data, tables(), ATTENTIVE, tmp_path / "lk.checkpoint").learner
    written = as_written(before.head, before.arrays()).weights
    found = learner.HeadLearner(data, tables(), replace(ATTENTIVE, init_from=path), None, 0).head.weights
    assert written["found"].any()
    assert written["slope"].tolist() != [-6, -4, -3, -2] * 2
    for name, values in found.items():
        np.testing.assert_allclose(values.detach(), written[name], rtol=2e-3, atol=1e-6, err_msg=name)


# ------------------------------------------------------------------------------------------------ what it looks back at


def two_texts(fill):
    """Rows 0 to 299 and 300 to 599, none of which is held out."""
    data = opened(fill(2, 300))
    data.held[:] = False
    return data, shaken(untrained(data, ATTENTIVE))


BEHIND = 580  # a row of the second text, whose first one is in reach


@pytest.mark.parametrize(("row", "changed", "seen"), [
    (290, 289, True), (290, 290 - REACH + 1, True), (290, 290 - REACH, False), (290, 291, False), (BEHIND, 299, False),
    (320, 300, True), (320, 299, False), (320, 310, True), (299, 300, False),
])  # fmt: skip
@pytest.mark.parametrize("scattered", [False, True])
def test_a_row_sees_those_before_it_in_its_text(fill, row, changed, seen, scattered):
    data, head = two_texts(fill)
    before = said_of(head, data, row, scattered)
    data.features = np.array(data.features)
    data.features[changed] += np.float16(3)
    assert (said_of(head, data, row, scattered) != before).any() == seen


def said_of(head, data, row, scattered):
    """States at the first two positions behind a row."""
    import torch

    from truedraw.distill.head import scaled

    if not scattered:
        return np.stack([x[row].numpy() for x, _ in states_over(head, data, np.arange(data.count - 2))])
    rows = np.array([0, row, data.count - 3])
    recall, found = looking_back.looking_back(head, data, rows)(rows), []
    with torch.no_grad():
        x = head.network.begin(head.weights, scaled(data, rows, head.scale))
        for position in (1, 2):
            x, _ = head.behind(x, head.known.embedded[data.on(data.tokens[rows + position])], position, recall)
            found.append(x[1].numpy())
    return np.stack(found)


def test_a_value_of_the_second_half_is_that_of_the_next_row(fill):
    import torch

    _, head = two_texts(fill)
    states = torch.randn(5, 8, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        keys, values = head.network.remembered(head.weights, states)
        alone = [head.network.remembered(head.weights, one[None]) for one in states]
    for row in range(4):
        torch.testing.assert_close(keys[:, row], alone[row][0][:, 0])
        torch.testing.assert_close(values[:4, row], alone[row][1][:4, 0])
        torch.testing.assert_close(values[4:, row], alone[row + 1][1][4:, 0])


@pytest.mark.parametrize("at_once", [(3, 5), (256, 4096)])
def test_scattered_rows_are_measured_as_whole_texts_are(fill, monkeypatch, at_once):
    import torch

    data = on_device(opened(fill(60, 40)))
    head = shaken(untrained(data, ATTENTIVE))
    monkeypatch.setattr(evaluation, "AT_ONCE", at_once[0])
    monkeypatch.setattr(looking_back, "AT_ONCE", at_once[1])
    rows = data.held_out(None, 25, evaluation.CHAIN)
    whole, laws = np.zeros((data.count, evaluation.CHAIN)), {}
    for text in np.unique(data.texts[rows]):
        here = np.flatnonzero(data.texts == text)[: -evaluation.CHAIN]
        for position, (_, out) in enumerate(states_over(head, data, here, evaluation.CHAIN), 1):
            logits = out @ head.known.readout.T
            whole[here, position - 1] = evaluation.chances(head.known, logits, data, here + position, 0.7)
            if position == 1:
                laws |= dict(zip(here.tolist(), torch.softmax(logits, -1).detach().numpy(), strict=True))
    np.testing.assert_allclose(evaluation.kept_behind(head, data, rows, 0.7), whole[rows], atol=1e-5)
    found = np.concatenate([q for _, q in evaluation._first(head, data, rows)])
    np.testing.assert_allclose(found, np.stack([laws[row] for row in rows.tolist()]), atol=1e-6)
    part = data.held_part()
    kept = evaluation.kept_behind(head, part, part.held_out(None, 25, evaluation.CHAIN), 0.7)
    np.testing.assert_allclose(kept, whole[rows], atol=1e-5)


# ------------------------------------------------------------------------------------------------------- how it learns


def test_its_windows_are_as_long_as_it_looks_and_half_as_many(fill, tmp_path, monkeypatch):
    data, seen, real = opened(fill(30, 12)), [], learner.gradient
    monkeypatch.setattr(learner, "gradient", lambda head, where, *rest: seen.append(where) or real(head, where, *rest))
    for plan in (ATTENTIVE, PLAN):
        (tmp_path / plan.kind).mkdir()
        trained(data, tmp_path / plan.kind, 1, plan=plan)
    assert [each.rows.shape for each in seen] == [(8, 256), (16, 128)]


def test_rows_on_a_device_train_the_same_attentive_head(fill, tmp_path, monkeypatch):
    monkeypatch.setattr(Rows, "windows", 2)
    data = opened(fill(30, 12))
    for name in ("disk", "device"):
        (tmp_path / name).mkdir()
    given = ((data, "disk"), (on_device(data), "device"))
    first, second = (trained(each, tmp_path / name, 6, plan=ATTENTIVE).learner.arrays() for each, name in given)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


def test_a_run_that_is_stopped_goes_on_as_if_it_never_was(fill, tmp_path):
    """From a recurrent head: what that lacked is begun once, and so is what the optimiser knows of it."""
    data = opened(fill(30, 12))
    data.windows = 2
    plan = replace(ATTENTIVE, init_from=exported(data, tmp_path))
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    one = trained(data, tmp_path / "whole", 20, plan=plan)
    trained(data, tmp_path / "parts", 7, of=20, plan=plan)
    other = trained(data, tmp_path / "parts", 20, plan=plan)
    for name, values in one.learner.arrays().items():
        np.testing.assert_array_equal(values, other.learner.arrays()[name], err_msg=name)
    assert replace(one.state, seconds=0.0) == replace(other.state, seconds=0.0)


KEYS, PAIRS, TEXTS = 4, 30, 50


def copying():
    """Texts of pairs, a key of 0 to 3 and a value of 4 to 7 that is that key's in this text alone; what the target
    knows at a row is the next token and nothing else."""
    chance, width = np.random.default_rng(11), 16
    tokens = []
    for _ in range(TEXTS):
        keys, values = chance.integers(0, KEYS, PAIRS), chance.permutation(KEYS) + KEYS
        tokens.append(np.stack([keys, values[keys]], 1).ravel())
    tokens = np.concatenate(tokens)
    embedding = np.linalg.qr(chance.normal(size=(width, width)))[0][: 2 * KEYS].astype(np.float32) * 4
    finals = embedding[np.roll(tokens, -1)]
    data = rows_of(np.stack([np.zeros_like(finals), finals], 1), tokens, [2 * PAIRS] * TEXTS)
    logits = finals @ embedding.T
    for place, temperature in enumerate((1.0, 0.7)):
        data.normaliser[:, place] = np.log(np.exp(logits / temperature).sum(1))
    data.windows = 2
    return data, Tables(embedding, embedding)


def test_it_learns_to_copy_and_a_head_that_looks_at_one_row_does_not(tmp_path, monkeypatch):
    """Keys are chance, one of four; what stands behind one is known from the second time on."""
    monkeypatch.setattr(loop, "LOOKS", 4)
    data, held = copying()
    kept = {}
    for kind in ("attentive", "recurrent"):
        plan = HeadPlan(hidden=32, vocabulary=2 * KEYS, loss="lk", seed=1, rate=1e-2, kind=kind)
        training = learner.head_training(data, held, plan, tmp_path / f"{kind}.checkpoint")
        training.run(Limits(seconds=None, steps=100, patience=99), None, quiet)
        kept[kind] = training.state.looks[-1]["acceptance"][0]
    assert kept["recurrent"] < 0.3
    assert kept["attentive"] > 0.45
