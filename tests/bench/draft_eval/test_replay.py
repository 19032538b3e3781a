from types import SimpleNamespace

import numpy as np
import pytest

from bench.draft_eval.tables import DRAFT, KNOWN, toy_with_head
from truedraw import load
from truedraw.bench.draft_eval.places import NOT_DRAWN
from truedraw.bench.draft_eval.plan import TIMED, WRITTEN, Plan
from truedraw.bench.draft_eval.replay import Following, check, drafter_of, replay
from truedraw.bench.draft_eval.report import evaluated
from truedraw.bench.draft_eval.rounds import COUPLED, DEEPEST, Places, tree_tokens
from truedraw.bench.draft_eval.texts import said, write
from truedraw.bench.pairs import Task
from truedraw.errors import BadParameter, BadPrompt
from truedraw.generate.speculation import Speculation
from truedraw.models.toy import TOY_TABLE
from truedraw.protocol import Proposal, Purpose
from truedraw.sampling.params import SamplingParams

TODO = [Task("cats", (0, 1)), Task("dogs", (0, 2)), Task("dogs", (0, 2, 3))]
PARAMS = SamplingParams(seed=5, max_tokens=24, ignore_eos=True)
HEAD = Speculation("head")


def texts_of(model, params=PARAMS):
    return write(model, TODO, params, lambda: None)


def test_texts_are_plain_ones_and_are_scored_row_by_row(monkeypatch):
    monkeypatch.setattr("truedraw.bench.draft_eval.texts.MOST_ROWS", 5)
    model = toy_with_head()
    texts = texts_of(model)
    for number, (text, task) in enumerate(zip(texts, TODO, strict=True)):
        seeded = SamplingParams(seed=5 + number, max_tokens=24, ignore_eos=True)
        assert text.tokens == model.generate(task.tokens, seeded, speculative=False).choices[0].tokens
        found = said(model.engine, text)
        before = [text.prompt[-1], *text.tokens[:-1]]
        assert np.exp(found.logits) == pytest.approx(np.array([TOY_TABLE[(token,)] for token in before]), abs=1e-6)
        assert found.hidden.shape == (24, 2, 3)
        assert found.scores(3).logits.shape == (1, 6)


def test_the_laws_are_those_behind_the_texts_own_tokens():
    model = toy_with_head()
    texts = texts_of(model)
    places = Places.joined(list(replay(model, texts, HEAD)))
    assert len(places) == sum(len(text.tokens) - 1 for text in texts)
    assert {*places.category} == {"cats", "dogs"}
    for row in range(len(places)):
        text, index = texts[places.text[row]], int(places.index[row])
        left = min(DEEPEST, len(text.tokens) - 1 - index)
        assert places.is_drafted[row].sum() == left
        for depth in range(left):
            before, token = text.tokens[index + depth], text.tokens[index + depth + 1]
            p, q = np.array(TOY_TABLE[(before,)]), np.zeros(6)
            q[list(KNOWN)] = DRAFT[before]
            assert places.chances[row, depth, 0] == pytest.approx(np.minimum(p, q).sum(), abs=1e-6)
            assert places.shares[row, depth, 0] == pytest.approx(min(1, q[token] / p[token]), abs=1e-5)
            assert (places.ranks[row, depth] == NOT_DRAWN) or token in KNOWN


@pytest.mark.parametrize(("siblings", "shape"), [(1, [(0,), (0, 0), (0, 0, 0)]), (2, [(0,), (1,), (0, 0)])])
def test_with_a_seed_the_rounds_are_those_that_speculation_takes(siblings, shape):
    model = toy_with_head()
    texts = texts_of(model)
    places = Places.joined(list(replay(model, texts, HEAD)))
    (found,) = tree_tokens(places, COUPLED, [shape])
    real = Speculation("head", adaptive=False, num_speculative_tokens=3, draft_siblings=siblings,
                       draft_temperature="target")  # fmt: skip
    rounds = 0
    for number, task in enumerate(TODO):
        longer = SamplingParams(seed=5 + number, max_tokens=30, ignore_eos=True)  # so that nothing ends in sight
        (choice,) = model.generate(task.tokens, longer, speculative=real).choices
        assert choice.tokens[:24] == texts[number].tokens
        origins = choice.origins[:24]
        assert "draft" in origins
        rounds += sum(origin != "draft" for origin in origins) + (origins[-1] == "draft")
    assert found.mean == pytest.approx(3 * 24 / rounds)


def test_everything_at_one_temperature():
    model, heard = toy_with_head(), []
    plan = Plan(model, HEAD, TODO)
    found = evaluated(plan, PARAMS, heard.append)
    assert {name: heard.count(name) for name in plan.units()} == plan.units()
    assert plan.units()[TIMED] == 2 * plan.units()[WRITTEN] == 6
    assert found["places"] == 3 * 23
    assert [each["places"] for each in found["by_category"].values()] == [23, 46]
    assert {*found["measured"]} == {"head", "auto"}
    assert found["measured"]["head"]["identical_texts"] == {"count": 3, "of": 3}
    assert {*found["seconds"]["network"]} == {"begin", "step"}
    assert found["seconds"]["pass"] is None  # a table takes no time
    assert found["predicted_speedup"]["p/q"]["best"] == {"chain": None, "tree": None}
    for rule in ("p/q", "coupled"):
        tokens = found["tokens_per_round"][rule]
        assert (len(tokens["chain"]), len(tokens["tree"])) == (6, 12)
        assert 1 < tokens["chain"][0]["mean"] < tokens["chain"][5]["mean"] < 7
    assert evaluated(Plan(model, HEAD, TODO, repeats=0), PARAMS, heard.append)["measured"] == {}


def test_early_layers_draft_behind_every_token_of_a_long_text():
    early = Speculation("early-exit", early_exit_layers=2)
    with load("smollm2-135m") as model:
        task = Task("long", tuple(model.tokenizer.encode("the cat and the dog sat down. " * 8)))
        texts = write(model, [task], SamplingParams(seed=1, max_tokens=4, ignore_eos=True), lambda: None)
        (places,) = replay(model, texts, early)
        assert places.is_drafted.sum(axis=1).tolist() == [3, 2, 1]
        assert (places.chances[:, 0, 0] > 0).all()
        shallow, (whole,) = model.engine.shallow(2), [(*task.tokens, *texts[0].tokens)]
        assert shallow.open(whole).num_uncached == len(whole)  # nothing of it is held any more


def test_texts_that_end_at_once():
    plan = Plan(toy_with_head(), HEAD, TODO, repeats=0)
    with pytest.raises(BadPrompt, match="no text came to two tokens"):
        evaluated(plan, SamplingParams(seed=1, max_tokens=1), lambda name: None)


def test_what_cannot_be_compared():
    model = toy_with_head()
    with pytest.raises(BadParameter, match=r"method: ngram hands over certain tokens.*truedraw bench"):
        list(replay(model, texts_of(model), Speculation("ngram")))
    check(Proposal.chain(()), "ngram")
    bare = load("tabular")
    with pytest.raises(BadParameter, match=r"^method: .*hidden states"):
        drafter_of(HEAD, bare)
    with pytest.raises(BadParameter, match="method: 'own' is a plug-in"):
        drafter_of(SimpleNamespace(method="own"), bare)
    with pytest.raises(NotImplementedError):
        Following([1]).accept(1.0, 1.0, Purpose.ACCEPT, 0)
