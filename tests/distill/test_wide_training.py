"""A training whose texts are written at once and whose rows stand in a device's memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from distill.test_training import PLAN, opened, trained
from models.tiny_models import random_tensors, tiny_config, write_gguf
from truedraw.distill.plan import HeadPlan, Limits, Plan, Sizes, TextPlan
from truedraw.distill.store import ROW
from truedraw.distill.texts import Text, read_texts
from truedraw.draft.head.file import read_card
from truedraw.errors import BadParameter
from truedraw.generate.loading import load

pytestmark = pytest.mark.parity
HEAD = HeadPlan(hidden=16, vocabulary=200, seed=5)


def silent(*_):
    """Nobody is told."""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    config = tiny_config()
    tensors = {key: values * (0.3 if values.ndim == 2 else 1) for key, values in random_tensors(config).items()}
    return write_gguf(tmp_path_factory.mktemp("model") / "tiny.gguf", config, tensors)


@pytest.fixture
def model(path, tmp_path):
    with load(path, engine="pytorch", hidden_layers=(1,), cache=tmp_path / "cache", draft="none") as loaded:
        yield loaded


def plan_in(folder, **changes):
    texts = TextPlan(seed=2, answer_tokens=20, tokens=1500, **changes.pop("texts", {}))
    limits = Limits(seconds=None, steps=30, patience=99, threads=1, **changes.pop("limits", {}))
    return Plan(folder / "own.safetensors", folder / "own.work", texts, HEAD, limits, **changes)


def on_device(data):
    """The same rows as a tensor."""
    import torch

    from truedraw.distill.wide.rows import DeviceRows

    counts = np.bincount(data.texts)
    rows = np.zeros(data.count, ROW)
    rows["token"], rows["top"], rows["normaliser"] = data.tokens, data.tops, data.normaliser
    texts = [Text([0], [0] * count, (1.0, 0.7, 1.0)[number % 3]) for number, count in enumerate(counts)]
    return DeviceRows(torch.tensor(data.features), rows, texts)


def test_rows_on_a_device_train_the_same_head(fill, tmp_path):
    data = opened(fill(30, 12))
    held = on_device(data)
    assert held.held_name == data.held_name
    np.testing.assert_array_equal(held.temperature, data.temperature)
    np.testing.assert_array_equal(held.scale(), data.scale())
    for name in ("disk", "device"):
        (tmp_path / name).mkdir()
    one, other = (trained(each, tmp_path / name, 12) for each, name in ((data, "disk"), (held, "device")))
    first, second = (each.learner.arrays() for each in (one, other))
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


def test_what_is_measured_at_last_is_the_held_out_text(fill, tmp_path):
    data = on_device(opened(fill(60, 12)))
    head, some = trained(data, tmp_path, 2).learner.measurable()
    assert some.held.all()
    assert some.count == data.held.sum()
    np.testing.assert_array_equal(some.tokens, data.tokens[data.held])
    np.testing.assert_array_equal(some.states(np.arange(some.count)), data.states(np.flatnonzero(data.held)))
    assert head.known.readout.device.type == "cpu"


@pytest.mark.parametrize("kind", ["recurrent", "attentive"])
def test_a_head_is_trained_and_drafts(model, path, tmp_path, kind):
    from truedraw.distill.pipeline import train_draft

    plan = replace(plan_in(tmp_path), head=replace(HEAD, kind=kind))
    found = train_draft(model, plan, silent)
    card = read_card(plan.output)
    assert (card.kind, card.layers, card.training["steps"]) == (kind, (1,), 30)
    assert card.training["tokens"] == found.training["tokens"] >= 1500
    first, *_, last = (each["tokens_a_round"] for each in card.training["looks"])
    assert last > first
    with load(path, cache=tmp_path / "cache", draft=plan.output) as target:
        drafts = target.generate(
            "a b", seed=3, max_tokens=40, speculative={"method": "head", "num_speculative_tokens": 2, "adaptive": False}
        )
        assert drafts.stats.drafted
        assert drafts.text == target.generate("a b", seed=3, max_tokens=40, speculative=False).text


def test_rows_are_seen_by_the_copy_that_wrote_and_nothing_listens_to_the_engines(model, tmp_path, monkeypatch):
    """What listens to a model keeps what thousands of texts are."""
    from truedraw.distill import pipeline
    from truedraw.distill.wide import stage

    used, rows_on = [], stage.rows_on
    monkeypatch.setattr(stage, "rows_on", lambda network, *rest: used.append(network[0]) or rows_on(network, *rest))
    listening = [len(each._forward_hooks) for each in model.engine.model.modules()]
    pipeline.train_draft(model, plan_in(tmp_path), silent)
    assert used[0] is not model.engine.model
    assert [len(each._forward_hooks) for each in model.engine.model.modules()] == listening


def test_what_was_stopped_goes_on_with_its_texts(model, tmp_path, monkeypatch):
    from truedraw.distill import pipeline
    from truedraw.distill.training import Training

    plan, ran = plan_in(tmp_path), Training.run

    def stopped(self, limits, seconds, tell):
        ran(self, limits, seconds, tell, until=0.5)
        raise KeyboardInterrupt

    monkeypatch.setattr(Training, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        pipeline.train_draft(model, plan, silent)
    texts = list(read_texts(plan.work))
    monkeypatch.setattr(Training, "run", ran)
    told = []
    found = pipeline.train_draft(model, plan, lambda stage, done, _: told.append((stage, done)))
    assert list(read_texts(plan.work)) == texts
    assert found.training["steps"] == 30
    assert min(done for stage, done in told if stage == "training") >= 0.5


def test_texts_that_are_there_are_taken_when_the_time_is_up(model, tmp_path):
    """A batch of them comes at once: all but the first would be lost."""
    from truedraw.distill.gathering import Manner, gather
    from truedraw.distill.wide.stage import writer_of
    from truedraw.distill.wide.writing import WideModel

    writer = WideModel(model, writer_of(model.engine.model))
    asked = TextPlan(seed=1, answer_tokens=20, prompts=tuple(f"prompt {number}" for number in range(40)))
    found = gather(writer, asked, tmp_path, {}, (1e-3, silent), manner=Manner(40, 40, writer.ready))
    assert found.texts > 10


def test_a_batch_tells_how_far_it_is(model, tmp_path):
    from truedraw.distill.pipeline import train_draft

    told = []
    train_draft(model, plan_in(tmp_path), lambda stage, done, words: told.append((stage, done, words)))
    said = [(done, words) for stage, done, words in told if "texts at once, 7 of 20 tokens" in words]
    assert said
    assert {stage for stage, _, words in told if "at once" in words} == {"texts"}
    shares = [done for stage, done, _ in told if stage == "texts"]
    assert shares == sorted(shares)


def test_batches_hold_what_there_is_room_for(model, monkeypatch):
    from truedraw.distill.wide import writing
    from truedraw.distill.wide.stage import writer_of
    from truedraw.generate.request import Request

    writer = writing.WideModel(model, writer_of(model.engine.model))
    sizes = []
    monkeypatch.setattr(writer, "_columns", 200)
    monkeypatch.setattr(writer._drawing, "continued", lambda texts, *_: sizes.append(len(texts)) or [[3]] * len(texts))
    params = {"temperature": 1.0, "max_tokens": 20, "seed": 0}
    asked = [Request([1] * length, params, key=length) for length in (5, 80, 5, 5, 5, 5)]
    assert [request.key for request, _ in writer.generate_many(asked)] == [5, 80, 5, 5, 5, 5]
    assert sizes == [2, 4]
    many = Request([1] * 5, {"temperature": 1.0, "max_tokens": 20, "n": 11, "seed": 0}, key="many")
    ((_, found),) = writer.generate_many([many])
    assert (len(found.choices), sizes[2:]) == (11, [8, 3])
    too_long = Request([1] * 9999, {"temperature": 1.0, "max_tokens": 20, "seed": 0})
    ((_, said),) = writer.generate_many([too_long])
    assert "9,999 tokens" in str(said)
    endless = {**params, "max_tokens": 10**6}  # a text takes no more room than the context has
    monkeypatch.setattr(writer, "_columns", 4 * model.engine.context_length)
    assert len([*writer.generate_many([Request([1] * 5, endless, key=number) for number in range(5)])]) == 5
    assert sizes[4:] == [4, 1]


def test_answers_of_further_rounds_are_others(model):
    """Torch's generator on a processor knows the lowest 32 bits of a seed, by which rounds do not differ."""
    from itertools import islice

    from truedraw.distill.own_texts import Plan, own_texts
    from truedraw.distill.wide.stage import writer_of
    from truedraw.distill.wide.writing import WideModel

    writer = WideModel(model, writer_of(model.engine.model))
    asked = Plan(answer_tokens=20, asked=tuple(f"prompt {number}" for number in range(6)), temperatures=(1.0,))
    found = [tuple(record["answer"]) for record in islice(own_texts(writer, asked), 24) if len(record["answer"]) > 15]
    assert len(found) > 8
    assert len(set(found)) == len(found)


def test_features_end_where_the_time_does(model, tmp_path):
    from truedraw.distill.gathering import gather
    from truedraw.distill.store import Shape
    from truedraw.distill.wide import features
    from truedraw.distill.wide.stage import writer_of
    from truedraw.distill.wide.writing import WideModel
    from truedraw.engine.pytorch.taps import Taps

    network = writer_of(model.engine.model)
    asked = TextPlan(seed=1, answer_tokens=20, prompts=tuple(f"prompt {number}" for number in range(100)), tokens=1600)
    gather(WideModel(model, network), asked, tmp_path, {}, (None, silent))
    texts = list(read_texts(tmp_path))
    assert len(texts) > features.TEXTS_OF_PROCESSOR
    network = network, Taps(network, (1,))
    whole, done = features.rows_on(network, texts, Shape(2, 64), features.Limit(None, None, silent))
    assert (done.all_texts, done.texts, done.rows) == (True, len(texts), whole.count)
    some, done = features.rows_on(network, texts, Shape(2, 64), features.Limit(None, 0.0, silent))
    assert (done.all_texts, done.texts, done.rows) == (False, features.TEXTS_OF_PROCESSOR, some.count)
    np.testing.assert_array_equal(some.tokens, whole.tokens[: some.count])
    np.testing.assert_array_equal(some.features, whole.features[: some.count])
    with pytest.raises(BadParameter, match=r"--feature-bytes: 100 bytes of cpu hold no text"):
        features.rows_on(network, texts, Shape(2, 64), features.Limit(100, None, silent))


def test_features_end_where_the_bytes_do(model, tmp_path):
    from truedraw.distill.pipeline import train_draft

    row = 2 * 2 * 64  # two streams of float16
    found = train_draft(model, plan_in(tmp_path, limits={"feature_bytes": 700 * row}), silent)
    assert not found.all_texts
    assert 600 < found.training["tokens"] <= 700


def test_a_head_of_another_model_is_not_trained_further(model, tmp_path):
    from truedraw.distill.pipeline import train_draft

    train_draft(model, plan_in(tmp_path), silent)
    head = tmp_path / "own.safetensors"
    model.tokenizer.__dict__["fingerprint"] = "another"
    further = HeadPlan(16, 200, seed=5, init_from=head)
    with pytest.raises(BadParameter, match=r"--init-from: .* drafts tokens of .*tiny.gguf, and those of"):
        train_draft(model, replace(plan_in(tmp_path / "more"), head=further), silent)


@pytest.mark.parametrize("kind", ["transformer", "eagle3"])
def test_other_kinds_are_trained_for_it_and_draft_for_it(model, path, tmp_path, kind):
    from truedraw.distill.pipeline import train_draft

    plan = plan_in(tmp_path)
    plan = replace(plan, head=replace(HEAD, kind=kind), sizes=Sizes(32, 1, 2), output=tmp_path / "own")
    found = train_draft(model, plan, silent)
    assert found.training["steps"] == 30
    speculative = {"num_speculative_tokens": 2, "adaptive": False}
    speculative |= {"method": "model", "model": str(plan.output)} if kind == "transformer" else {"method": "eagle"}
    draft = "none" if kind == "transformer" else plan.output
    with load(path, engine="pytorch", cache=tmp_path / "cache", draft=draft) as target:
        drafts = target.generate("a b", seed=3, max_tokens=40, speculative=speculative)
        assert drafts.stats.drafted
        assert drafts.text == target.generate("a b", seed=3, max_tokens=40, speculative=False).text


def test_codes_of_four_bits_are_near_and_gradients_pass(fill):
    import torch

    from truedraw.distill.rounding import in_four_bits, passed

    values = torch.randn(7, 96, generator=torch.Generator().manual_seed(1)).requires_grad_()
    found = passed(values)
    found.square().sum().backward()
    assert torch.allclose(values.grad, 2 * found)
    groups, rounded = values.detach().view(-1, 32), found.detach().view(-1, 32)
    span = groups.amax(-1) - groups.amin(-1)
    assert ((groups - rounded).abs().amax(-1) <= span / 30 * 1.001).all()
    assert all(len(each.unique()) <= 16 for each in rounded)
    assert torch.equal(in_four_bits(values[:, :40]), values[:, :40])
    one = torch.full((1, 32), 2.5)
    assert torch.equal(in_four_bits(one), one)


def test_a_head_learns_with_the_rows_that_it_will_read(fill):
    import torch

    from truedraw.distill.head import Head
    from truedraw.distill.kinds import network_of
    from truedraw.distill.known import Known
    from truedraw.distill.network import Sizes, normed
    from truedraw.distill.rounding import as_if_read, in_four_bits, written_as_read

    network = network_of(PLAN)
    weights = network.beginning(Sizes(32, 2, 32), seed=1)
    rows = torch.randn(20, 32)
    head = Head(network, weights, Known(np.arange(20), normed(rows), rows, rows, torch.float32), torch.ones(2))
    read = as_if_read(written_as_read(head))
    assert torch.equal(read.known.readout, in_four_bits(rows))
    assert read.known.output is rows  # the target's law is as exact as it was
    changed = {name for name in weights if not torch.equal(read.weights[name], weights[name])}
    assert changed == {"up", "token"}  # `down` begins with zeros


def test_models_whose_texts_are_others_in_a_batch_are_refused(model, tmp_path, monkeypatch):
    from truedraw.distill.pipeline import train_draft

    monkeypatch.setattr(model.engine._ways, "reach", 40)
    with pytest.raises(BadParameter, match=r"--engine: .* cannot be trained for here: .* beyond 40 tokens"):
        train_draft(model, plan_in(tmp_path), silent)


def test_settings_that_a_model_brings_along_are_applied_or_told(model, tmp_path, monkeypatch):
    from truedraw.distill.pipeline import train_draft
    from truedraw.distill.wide.stage import writer_of
    from truedraw.distill.wide.writing import WideModel
    from truedraw.generate.request import Request

    monkeypatch.setattr(model, "defaults", {"top_p": 1e-6, "top_k": 5, "temperature": 0.3})
    writer = WideModel(model, writer_of(model.engine.model))
    asked = Request([5, 6], {"temperature": 1.0, "max_tokens": 9, "seed": 0, "n": 5})
    ((_, found),) = writer.generate_many([asked])
    assert len({choice.tokens for choice in found.choices}) == 1
    told = []
    train_draft(model, plan_in(tmp_path), lambda _stage, _done, words: told.append(words))
    assert told[0] == "drawn without the model's own top_k"
