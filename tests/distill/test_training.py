"""Training on features that no model computed: gradients, resumption, what goes wrong, the file that comes out."""

from dataclasses import replace

import numpy as np
import pytest

from distill.conftest import SHAPE, VOCAB, quiet, run, tables
from training import as_written
from truedraw.distill import learner, starting
from truedraw.distill import training as loop
from truedraw.distill.checkpoint import forget_checkpoints, read_checkpoint, write_checkpoint
from truedraw.distill.evaluation import Measured
from truedraw.distill.kinds import network_of
from truedraw.distill.learner import head_training
from truedraw.distill.plan import HeadPlan, Limits
from truedraw.distill.rows import Rows
from truedraw.distill.schedule import MOST_BLENDED
from truedraw.draft.head.file import HeadFile
from truedraw.engine.constants.matrix import Matrix
from truedraw.errors import BadFile, TrainingError

pytestmark = pytest.mark.parity
PLAN = HeadPlan(hidden=6, vocabulary=9, loss="lk", seed=3)
PLANS = {
    "recurrent": PLAN,
    "attentive": replace(PLAN, kind="attentive"),
    "medusa": replace(PLAN, kind="medusa", hidden=None, heads=3),
    "parallel": replace(PLAN, kind="parallel", heads=4),
    "hydra": replace(PLAN, kind="hydra", heads=2),
}


@pytest.fixture(params=PLANS)
def plan(request, monkeypatch):
    """Of each kind; where rows look at all others before them a step has fewer, as it takes long."""
    if request.param == "attentive":
        monkeypatch.setattr(Rows, "windows", 2)
    return PLANS[request.param]


def untrained(data, plan, tied=True):
    """A head where a training begins."""
    held = tables(tied)
    return starting.head_of(network_of(plan), held, starting.first_arrays(data, held, plan))


def shaken(head):
    """With weights where nothing is 0 or 1."""
    import torch

    for values in head.weights.values():
        values.data += 0.1 * torch.randn(values.shape, generator=torch.Generator().manual_seed(1))
    return head


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for one another take longer than such small products."""
    from truedraw.engine.pytorch.running import running

    with running(1):
        yield


@pytest.fixture
def data(fill):
    return opened(fill(30, 12))


def opened(folder):
    """With normalisers that fit the final states."""
    data = Rows(folder, SHAPE)
    logits = data.features[:, -1].astype(np.float32) @ tables().output.T
    for place, temperature in enumerate((1.0, 0.7)):
        data.normaliser[:, place] = np.log(np.exp(logits / temperature).sum(1))
    return data


def trained(data, folder, steps, of=None, plan=PLAN):
    """`steps` of a run that is to have `of` of them."""
    return run(head_training(data, tables(), plan, folder / "lk.checkpoint"), steps, of)


def test_a_run_that_goes_on_is_the_run_it_would_have_been(data, tmp_path, plan):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    one = trained(data, whole, 60, plan=plan)
    for steps in (7, 30):
        trained(data, parts, steps, of=60, plan=plan)
    other = trained(data, parts, 60, plan=plan)
    assert one.state.step == other.state.step == 60
    for name, values in one.learner.head.weights.items():
        assert values.equal(other.learner.head.weights[name]), name
    assert replace(one.state, seconds=0.0) == replace(other.state, seconds=0.0)


@pytest.mark.parametrize("number", [1, 2, 20, 21])
def test_a_look_that_was_broken_off_is_taken_again(data, tmp_path, monkeypatch, number):
    whole, parts, looks = tmp_path / "whole", tmp_path / "parts", []
    whole.mkdir()
    parts.mkdir()
    one, seen = trained(data, whole, 30), loop.Training._seen

    def breaking(self, learner):
        looks.append(seen(self, learner))
        if len(looks) == number:
            raise KeyboardInterrupt
        return looks[-1]

    monkeypatch.setattr(loop.Training, "_seen", breaking)
    with pytest.raises(KeyboardInterrupt):
        trained(data, parts, 30)
    other = trained(data, parts, 30)
    assert len(other.state.looks) == 21
    assert replace(one.state, seconds=0.0) == replace(other.state, seconds=0.0)


def test_what_broke_off_before_any_look_was_kept_goes_on(data, tmp_path):
    """As versions before this one wrote it: the first look is thought to be over."""
    training = head_training(data, tables(), PLAN, tmp_path / "lk.checkpoint")
    training.state.looked = 0
    training._save()
    assert len(trained(data, tmp_path, 5).state.looks) == 6


@pytest.mark.parametrize("place", ["before", "behind"])
def test_ctrl_c_within_a_step_leaves_whole_steps(data, tmp_path, monkeypatch, place):
    """Half a step that was kept would be taken twice, and the run be another one."""
    import torch

    (tmp_path / "whole").mkdir()
    one = trained(data, tmp_path / "whole", 20)
    step, count = torch.optim.AdamW.step, iter(range(20))

    def broken_off(optimiser, *args):
        if next(count) != 9:
            return step(optimiser, *args)
        if place == "behind":
            step(optimiser, *args)
        raise KeyboardInterrupt

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(torch.optim.AdamW, "step", broken_off)
        with pytest.raises(KeyboardInterrupt):
            trained(data, tmp_path, 20)
    other = trained(data, tmp_path, 20)
    for name, values in one.learner.head.weights.items():
        assert torch.equal(values, other.learner.head.weights[name])


def test_it_learns(data, tmp_path, plan):
    found = trained(data, tmp_path, 150, plan=plan).state
    first, last = found.looks[0], found.looks[-1]
    assert found.curve[-1]["loss"] < found.curve[0]["loss"] or found.best > first["tokens_a_round"]
    assert found.best >= last["tokens_a_round"] - 1e-4
    assert [look["step"] for look in found.looks] == sorted(look["step"] for look in found.looks)
    assert found.curve[-1]["acceptance"][0] > found.curve[0]["acceptance"][0]
    assert {len(each["acceptance"]) for each in found.curve} == {network_of(plan).positions}
    assert {len(each["acceptance"]) for each in found.looks} == {min(4, plan.heads or 4)}


def test_the_gradient_is_that_of_the_plain_formula(data, plan):
    import torch

    from truedraw.distill.gradients import Blend, gradient
    from truedraw.distill.head import scaled
    from truedraw.distill.looking_back import in_windows
    from truedraw.distill.losses import LOSSES
    from truedraw.distill.windows import num_windows, windows

    head = shaken(untrained(data, plan))
    known, network = head.known._replace(fast=torch.float32), head.network
    where, survival = windows(data, 0, 0, network.positions), (1.0, 0.5, 0.2, 0.1)[: network.positions]
    gradient(head._replace(known=known), where, Blend("lk", 0.85, survival))
    found = {name: values.grad.clone() for name, values in head.weights.items()}
    for values in head.weights.values():
        values.grad = None
    count, length = where.rows.shape
    x = network.begin(head.weights, scaled(data, where.rows, head.scale)).view(count, length, -1)
    total, recall = 0, in_windows(head, where)
    for position in range(1, network.positions + 1):
        some = num_windows(position, count)
        at = where.behind(position, some)
        x, out = head.behind(x[:some], known.embedded[torch.from_numpy(data.tokens[at])], position, recall)
        q = torch.softmax(out @ known.readout.T, -1)
        p = known.law(data, at)
        loss = 0.15 * LOSSES["kl"].value(p, q) + 0.85 * LOSSES["lk"].value(p, q)
        counts = torch.from_numpy(where.counts(position, some))
        total = total + survival[position - 1] * (loss * counts).sum() / (some * length)
    total.backward()
    for name, values in head.weights.items():
        assert values.grad.abs().sum() > 0, name
        torch.testing.assert_close(found[name], values.grad, rtol=1e-3, atol=1e-6)


def test_a_head_begins_by_saying_what_the_target_said(data, plan):
    """Where the token says nothing yet, the first draft's law is the target's of the row before, also untied."""
    import torch

    from truedraw.distill.head import scaled
    from truedraw.distill.known import bridge, known_of

    known = known_of(tables(tied=True), np.arange(VOCAB))
    np.testing.assert_array_equal(bridge(known), np.eye(SHAPE.width))
    apart = known_of(tables(tied=False), np.arange(VOCAB))
    again = apart.readout @ torch.from_numpy(bridge(apart))
    nearest = np.linalg.lstsq(apart.readout.numpy(), apart.output.numpy(), rcond=None)
    assert float((again - apart.output).square().sum()) == pytest.approx(nearest[1].sum(), rel=1e-3)
    head, rows = untrained(data, plan), np.arange(20)
    starting.bridged(head)
    x = head.network.begin(head.weights, scaled(data, rows, head.scale))
    nothing = torch.zeros(20, SHAPE.width)
    final = data.features[rows, -1].astype(np.float32)
    for position in range(1, head.network.positions + 1):
        x, said = head.behind(x, nothing, position)
        said = said.detach().numpy()
        cosines = (said * final).sum(1) / np.linalg.norm(said, axis=1) / np.linalg.norm(final, axis=1)
        np.testing.assert_allclose(cosines, 1, atol=1e-4)


def test_a_loss_that_is_no_number_ends_it_and_keeps_the_last_good_checkpoint(data, tmp_path, monkeypatch):
    real, path = learner.gradient, tmp_path / "lk.checkpoint"

    def broken(head, *rest):
        found = real(head, *rest)
        if training.state.step == 25:
            training.learner.weights["up"].grad[0, 0] = float("nan")
        return found

    monkeypatch.setattr(learner, "gradient", broken)
    training = head_training(data, tables(), PLAN, path)
    with pytest.raises(TrainingError, match="no number any more after step 25; give a lower --learning-rate"):
        training.run(Limits(seconds=None, steps=40), None, quiet)
    again = head_training(data, tables(), PLAN, path)
    assert 0 < again.state.step <= 25
    assert all(values.isfinite().all() for values in again.learner.head.weights.values())
    assert all(np.isfinite(values).all() for values in training.best().values())


def test_the_best_weights_are_measured_anew_where_other_text_is_held_out(fill, tmp_path, monkeypatch, plan):
    before = trained(opened(fill(10, 12)), tmp_path, 20, plan=plan).state
    rewritten(tmp_path / "lk.checkpoint", stale=5)
    more = opened(fill(20, 12, start=10))
    training = head_training(more, tables(), plan, tmp_path / "lk.checkpoint")
    best = learner.HeadLearner(more, tables(), plan, training.best(), 0).look().tokens
    assert (training.state.best, training.state.stale) == (best, 0)
    assert before.best != best
    assert training.state.looks == before.looks
    monkeypatch.setattr(loop, "PROGRESS", 10.0)
    training.run(Limits(seconds=None, steps=40, patience=3), None, quiet)
    again = head_training(more, tables(), plan, tmp_path / "lk.checkpoint").state
    assert (again.best, again.stale) == (best, 3)


def test_a_first_look_at_other_text_that_was_broken_off_is_taken_again(fill, tmp_path, monkeypatch):
    data, more = opened(fill(10, 12)), opened(fill(20, 12, start=10))
    whole, parts, seen = tmp_path / "whole", tmp_path / "parts", loop.Training._seen
    for place in (whole, parts):
        place.mkdir()
        trained(data, place, 10)
    one = trained(more, whole, 20)

    def breaking(self, learner):
        if learner is self.learner:
            raise KeyboardInterrupt
        return seen(self, learner)

    monkeypatch.setattr(loop.Training, "_seen", breaking)
    with pytest.raises(KeyboardInterrupt):
        trained(more, parts, 20)
    monkeypatch.setattr(loop.Training, "_seen", seen)
    assert replace(trained(more, parts, 20).state, seconds=0.0) == replace(one.state, seconds=0.0)


def rewritten(path, **changes):
    """A checkpoint that says something else; None: nothing of it."""
    arrays, facts = read_checkpoint(path)
    facts |= changes
    write_checkpoint(path, arrays, {name: value for name, value in facts.items() if value is not None})


def test_a_checkpoint_that_does_not_name_what_was_held_out_goes_on(data, tmp_path):
    state, path = trained(data, tmp_path, 5).state, tmp_path / "lk.checkpoint"
    rewritten(path, stale=5)
    assert head_training(data, tables(), PLAN, path).state == replace(state, stale=5)
    rewritten(path, held_out=None)
    assert head_training(data, tables(), PLAN, path).state == replace(state, stale=0, held_out="")


def test_it_ends_where_nothing_gets_better(data, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "PROGRESS", 10.0)
    training = head_training(data, tables(), PLAN, tmp_path / "lk.checkpoint")
    training.run(Limits(seconds=None, steps=100, patience=3), None, quiet)
    assert training.state.stale == 3
    assert training.state.step < 30


def test_a_head_that_is_trained_further_has_patience_from_half_way_on(data, tmp_path, monkeypatch):
    """Its first looks are worse than where it began, as long as the rate is high."""
    monkeypatch.setattr(loop, "PROGRESS", 10.0)
    plan = replace(PLAN, init_from=exported(data, tmp_path))
    training = head_training(data, tables(), plan, tmp_path / "further.checkpoint")
    training.run(Limits(seconds=None, steps=100, patience=3), None, quiet)
    assert training.state.stale == 3
    assert 50 < training.state.step < 70


def test_a_head_whose_laws_are_no_numbers_is_not_trained(data, tmp_path, monkeypatch):
    plan = replace(PLAN, init_from=exported(data, tmp_path))
    training = head_training(data, tables(), plan, tmp_path / "further.checkpoint")
    training.learner.weights["output"].data *= 1e38
    with pytest.raises(TrainingError, match="laws are no numbers after step 0"):
        training.run(Limits(seconds=None, steps=10), None, quiet)
    assert not training.has_best


def exported(data, folder, plan=PLAN):
    """The file of a head that learnt a little."""
    from truedraw.distill.export import Target, export, figures

    learnt = trained(data, folder, 40, plan=plan).learner
    facts = figures(learnt.head, learnt.arrays(), data, seed=0)
    path, target = folder / "exported.safetensors", Target("none", "0" * 32, VOCAB, SHAPE.width, (4,))
    export(path, target, learnt.head, learnt.arrays(), {"model": "none", **facts})
    return path


def test_a_cut_checkpoint_is_refused(data, tmp_path):
    trained(data, tmp_path, 5)
    path = tmp_path / "lk.checkpoint"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BadFile, match=r"is cut or damaged.*move it to .*lk\.checkpoint to go on"):
        head_training(data, tables(), PLAN, path)


@pytest.mark.parametrize("lacking", ["weight.down", "mean.down", "square.gain", "tokens", "scale"])
def test_a_checkpoint_that_lacks_an_array_is_refused(data, tmp_path, lacking):
    trained(data, tmp_path, 5)
    path = tmp_path / "lk.checkpoint"
    arrays, facts = read_checkpoint(path)
    write_checkpoint(path, {name: values for name, values in arrays.items() if name != lacking}, facts)
    with pytest.raises(BadFile, match=rf"lk\.checkpoint is cut or damaged \(it lacks {lacking}\); .* move it"):
        head_training(data, tables(), PLAN, path)


@pytest.mark.parametrize(("damage", "said"), [
    ({"colour": "red"}, "it does not say where its training was"), ({"step": "x"}, "step is 'x'"),
    ({"kept": [0.1]}, "it has kept drafts at 1 positions of 3"),
])  # fmt: skip
def test_a_checkpoint_that_says_nonsense_is_refused(data, tmp_path, damage, said):
    trained(data, tmp_path, 5)
    path = tmp_path / "lk.checkpoint"
    arrays, facts = read_checkpoint(path)
    write_checkpoint(path, arrays, {**facts, **damage})
    with pytest.raises(BadFile, match=rf"lk\.checkpoint is cut or damaged \({said}\)"):
        head_training(data, tables(), PLAN, path)


def test_best_weights_that_are_gone_or_damaged_are_told_before_the_training_goes_on(data, tmp_path):
    best = trained(data, tmp_path, 5).best_path
    arrays, facts = read_checkpoint(best)
    write_checkpoint(best, {name: values for name, values in arrays.items() if name != "weight.down"}, facts)
    with pytest.raises(BadFile, match=r"lk\.best\.checkpoint is cut or damaged \(it lacks weight\.down\)"):
        head_training(data, tables(), PLAN, tmp_path / "lk.checkpoint")
    forget_checkpoints(best)
    with pytest.raises(BadFile, match=r"lk\.best\.checkpoint is gone, and .*; remove .*/lk\.checkpoint to train anew"):
        head_training(data, tables(), PLAN, tmp_path / "lk.checkpoint")


def test_a_checkpoint_before_the_first_step_has_no_moments(data, tmp_path, monkeypatch):
    def stop(_done):
        raise KeyboardInterrupt

    training = head_training(data, tables(), PLAN, tmp_path / "lk.checkpoint")
    monkeypatch.setattr(training, "_step", stop)
    with pytest.raises(KeyboardInterrupt):
        training.run(Limits(seconds=None, steps=5), None, quiet)
    again = head_training(data, tables(), PLAN, tmp_path / "lk.checkpoint")
    assert (again.state.step, len(again.state.looks)) == (0, 1)
    assert not again.learner.optimiser.state


def test_what_is_written_computes_what_was_measured(data, tmp_path, plan):
    """The file's graph and the network in torch, of the same rounded weights."""
    import torch

    from truedraw.distill.export import Target, as_read, export, figures
    from truedraw.distill.head import scaled
    from truedraw.draft.head.compiled import TargetRows
    from truedraw.draft.head.kinds import cell_of

    training = trained(data, tmp_path, 40, plan=plan)
    facts = figures(training.learner.head, training.best(), data, seed=0)
    assert list(facts["held_out"]) == ["1", "0.7", "0"]
    path, target = tmp_path / "head.safetensors", Target("none", "0" * 32, VOCAB, SHAPE.width, (4,))
    export(path, target, training.learner.head, training.best(), {"model": "none", **facts})
    file = HeadFile(path)
    assert (file.card.kind, file.card.heads) == (plan.kind, plan.heads)
    assert file.card.layers == (() if plan.kind == "medusa" else (4,))
    assert file.card.siblings == tuple(facts["siblings"])
    assert file.card.training["held_out"] == facts["held_out"]
    np.testing.assert_array_equal(file.tokens, training.best()["tokens"])
    rows, held = np.arange(8), Matrix(tables().embedding)
    cell = cell_of(file, TargetRows(held, held), threads=1)
    head = as_read(training.learner.head, training.best())
    features = data.features[rows].astype(np.float32)[:, -file.card.streams :]
    x, states = head.network.begin(head.weights, scaled(data, rows, head.scale)), np.zeros(0)
    for position in range(1, head.network.positions + 1):
        tokens = data.tokens[rows + position]
        x, out = head.behind(x, head.known.embedded[torch.from_numpy(tokens)], position)
        wanted = (out @ head.known.readout.T).numpy()
        states, logits = cell.begin(features, tokens) if position == 1 else cell.step(states, tokens)
        states = states.copy()
        np.testing.assert_allclose(logits, wanted, atol=0.03 * np.abs(wanted).max())


def test_a_head_that_is_trained_further_begins_where_it_was(data, tmp_path, plan):
    """With the rounded weights of its file, for features of another scale; and with the whole loss at once."""
    from truedraw.distill.export import Target, export, figures

    before = trained(data, tmp_path, 40, plan=plan).learner
    facts = figures(before.head, before.arrays(), data, seed=0)
    path, target = tmp_path / "head.safetensors", Target("none", "0" * 32, VOCAB, SHAPE.width, (4,))
    export(path, target, before.head, before.arrays(), {"model": "none", **facts})
    further = replace(plan, init_from=path, seed=8)
    data.features = np.ascontiguousarray(data.features) * np.float16(2)
    found = learner.HeadLearner(data, tables(), further, None, 0).head
    np.testing.assert_array_equal(found.known.tokens, before.head.known.tokens)
    np.testing.assert_allclose(found.scale, before.head.scale / 2, rtol=1e-3)
    written = as_written(before.head, before.arrays()).weights
    for name, values in found.weights.items():
        wanted = written[name]
        if name == "input":
            wanted = wanted * 2
        if plan.kind != "medusa":
            np.testing.assert_allclose(values.detach(), wanted, rtol=2e-3, atol=1e-5, err_msg=name)
    seen, real = [], learner.gradient

    def noted(head, where, blend, look):
        seen.append(blend.share)
        return real(head, where, blend, look)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learner, "gradient", noted)
        for each in (plan, further):
            head_training(data, tables(), each, tmp_path / f"{each.seed}.checkpoint").run(
                Limits(seconds=None, steps=2), None, quiet
            )
    assert seen == [0, 0, MOST_BLENDED, MOST_BLENDED]


def test_acceptance_is_that_of_the_laws(data, tmp_path):
    """A head that is handed the target's own law is always kept."""
    import torch

    from truedraw.distill import evaluation

    training = trained(data, tmp_path, 3, plan=replace(PLAN, vocabulary=VOCAB))
    found = evaluation.measured(training.learner.head, data, 1.0, 100)
    rows = data.held_out(1.0, 100, evaluation.CHAIN)
    assert found.rows == len(rows)
    logits = data.features[rows + 1, -1].astype(np.float32) @ tables().output.T
    p = torch.softmax(torch.from_numpy(logits), -1)
    torch.testing.assert_close(evaluation._p(training.learner.head.known, data, rows + 1, 0), p, rtol=1e-3, atol=1e-4)
    perfect = evaluation.chances(training.learner.head.known, torch.from_numpy(logits), data, rows + 1, 1.0)
    np.testing.assert_allclose(perfect, 1, atol=1e-4)


def test_a_training_that_is_given_more_steps_uses_them(data, tmp_path, monkeypatch):
    """Its rate is high once more, and it is worse for a while than it was, which is no want of progress."""
    seen = iter([1.5, 1.6, 1.7, 1.8, 1.9, 1.3, 1.35, 1.4, 1.45, 1.5])
    monkeypatch.setattr(loop, "LOOKS", 4)
    monkeypatch.setattr(loop.Training, "_seen", lambda *_: Measured((0.5,), next(seen), 7))

    def run(steps):
        training = head_training(data, tables(), PLAN, tmp_path / "lk.checkpoint")
        training.run(Limits(seconds=None, steps=steps, patience=2), None, quiet)
        return training.state

    first = run(4)
    assert (first.step, first.best, first.best_step) == (4, 1.9, 4)
    more = run(24)
    assert (more.step, more.stale, more.since, more.best_step, more.gave_up) == (24, 0, 5, 4, False)
    assert [look["step"] for look in more.looks] == [0, 1, 2, 3, 4, 6, 12, 18, 24]


def test_limits_that_were_lowered_are_no_reason_for_another_look(data, tmp_path):
    before = trained(data, tmp_path, 12).state
    for steps in (6, 11, 3):
        again = trained(data, tmp_path, steps).state
        assert (again.step, again.looks) == (12, before.looks)


def test_one_that_gave_up_goes_on_with_any_higher_limit(data, tmp_path, monkeypatch):
    monkeypatch.setattr(loop.Training, "_seen", lambda *_: Measured((0.5,), 1.4, 7))
    steps = []
    for limit in (60, 90, 90, 100, 600):
        training = head_training(data, tables(), PLAN, tmp_path / "lk.checkpoint")
        training.run(Limits(seconds=None, steps=limit, patience=3), None, quiet)
        assert training.state.gave_up
        steps.append(training.state.step)
    assert steps[0] < steps[1] == steps[2] < steps[3] < steps[4]


def test_one_that_had_all_its_steps_has_not_given_up(data, tmp_path, monkeypatch):
    seen = iter([1.5, 1.6, 1.7, 1.6, 1.5])
    monkeypatch.setattr(loop, "LOOKS", 4)
    monkeypatch.setattr(loop.Training, "_seen", lambda *_: Measured((0.5,), next(seen), 7))
    training = head_training(data, tables(), PLAN, tmp_path / "lk.checkpoint")
    training.run(Limits(seconds=None, steps=8, patience=2), None, quiet)
    assert (training.state.step, training.state.stale, training.state.gave_up) == (8, 2, False)
