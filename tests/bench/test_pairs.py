from dataclasses import replace

import pytest

from generate.one_text import CONFIG, likely
from models.tiny_models import write_folder
from truedraw import load
from truedraw.bench.batch import batch_speeds
from truedraw.bench.gain import measure
from truedraw.bench.pairs import PLAIN, Arms, Task, pairs, tasks
from truedraw.bench.prompts import Prompt, read_prompts
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadPrompt
from truedraw.generate.model import Model
from truedraw.generate.speculation import Speculation
from truedraw.models.toy import TOY_TABLE, toy_text
from truedraw.sampling.params import SamplingParams
from truedraw.text import Tokenizer

PARAMS = SamplingParams(seed=4, max_tokens=30, ignore_eos=True)
DRAFTS = Speculation(num_speculative_tokens=3, adaptive=False)


class Recorder:
    """A model that notes what it is asked for."""

    def __init__(self):
        self.model, self.calls = load("tabular"), []
        self.engine, self.drafts = self.model.engine, self.model.drafts

    def generate(self, tokens, params, speculative):
        self.calls.append((tuple(tokens), params, speculative))
        return self.model.generate(tokens, params, speculative=speculative)


def test_arms_alternate_after_a_warm_up_and_repeats_have_their_own_seeds():
    recorder = Recorder()
    todo = [Task("a", (0, 1)), Task("b", (0, 2))]
    found = list(pairs(Arms(recorder, PARAMS, DRAFTS), todo, repeats=2))
    measured = [call for call in recorder.calls if call[1].max_tokens == PARAMS.max_tokens]
    assert [call[1].max_tokens for call in recorder.calls[:2]] == [16, 16]
    assert len(measured) == len(recorder.calls) - 2
    assert [call[2] is PLAIN for call in measured] == [True, False, False, True, True, False, False, True]
    assert [call[1].seed for call in measured] == [4, 4, 4, 4, 5, 5, 5, 5]
    assert [call[0][1] for call in measured] == [1, 1, 2, 2, 1, 1, 2, 2]
    assert [(pair.task, pair.category) for pair in found] == [(0, "a"), (1, "b"), (0, "a"), (1, "b")]


def test_each_arm_computes_the_prompt_whoever_came_before(tmp_path):
    prompt, rows = tuple(range(3, 83)), list[int]()
    with load(write_folder(tmp_path / "tiny", CONFIG, likely()), cache=tmp_path / "cache", threads=1) as model:
        forward = model.engine.forward

        def counted(works, fills=()):
            rows.append(sum(work.sequence.num_uncached for work in works) + sum(fill.count for fill in fills))
            return forward(works, fills)

        model.engine.forward = counted
        list(pairs(Arms(model, replace(PARAMS, max_tokens=2), DRAFTS), [Task("a", prompt)], repeats=2))
    assert [count for count in rows if count >= 16] == [len(prompt)] * 6  # the warm-up is two


@pytest.mark.parametrize("amateur", [False, True])
def test_nothing_of_a_prompt_is_found_in_the_cache_of_a_second_model(tmp_path, amateur):
    prompt, target, other = tuple(range(3, 83)), tmp_path / "tiny", tmp_path / "other"
    for folder in (target, other):
        write_folder(folder, CONFIG, likely())
    beside, drafts = ({"amateur": other}, DRAFTS) if amateur else ({}, DRAFTS.but(method="model", model=str(other)))
    with load(target, cache=tmp_path / "cache", threads=1, **beside) as model:
        list(pairs(Arms(model, replace(PARAMS, max_tokens=8), drafts), [Task("a", prompt)], repeats=2))
        second = model.engine.amateur.engine if amateur else model.drafts.engine(str(other))
        use = second.cache_use()
    assert (use.tokens_asked >= 3 * len(prompt), use.tokens_found) == (True, 0)


def test_behind_the_last_seed_comes_the_first():
    recorder = Recorder()
    last = replace(PARAMS, seed=2**64 - 1)
    assert len(list(pairs(Arms(recorder, last, DRAFTS), [Task("a", (0, 1))], repeats=2))) == 2
    assert [call[1].seed for call in recorder.calls[2:]] == [2**64 - 1, 2**64 - 1, 0, 0]


def test_with_a_seed_both_arms_draw_the_same_text_and_only_one_drafts():
    (pair,) = pairs(Arms(load("tabular"), PARAMS, DRAFTS), [Task("a", (0, 1))])
    assert pair.identical
    assert pair.plain.tokens == pair.speculative.tokens == 30
    assert (pair.plain.drafted, pair.plain.rounds) == (0, 30)
    assert pair.speculative.drafted > 0


def test_without_a_seed_every_run_draws_anew_by_the_rule_that_keeps_most():
    recorder = Recorder()
    found = list(pairs(Arms(recorder, replace(PARAMS, seed=None), DRAFTS), [Task("a", (0, 1))], repeats=2))
    assert [call[1].seed for call in recorder.calls] == [None] * 6
    assert [pair.identical for pair in found] == [None, None]


def test_texts_that_differ_are_seen():
    uncoupled = DRAFTS.but(rejection_sample_method="token")
    found = pairs(Arms(load("tabular"), PARAMS, uncoupled), [Task("a", (0, 1))], repeats=8)
    assert not all(pair.identical for pair in found)


def test_an_instruct_model_gets_its_template_unless_raw():
    text = toy_text()
    template = "the{% for message in messages %} {{ message.content }}{% endfor %}"
    tokenizer = Tokenizer(text.load_tokenizer(), eos_ids=text.eos_ids, chat_template=template)
    model = Model("toy", TabularEngine(TOY_TABLE, context_length=5), tokenizer)
    cat = Prompt(" cat", "x", 1)
    assert len(tasks(model, [cat])[0].tokens) > len(tasks(model, [cat], raw=True)[0].tokens) == 1
    with pytest.raises(BadPrompt, match=r"line 9 has 6 tokens; this model takes 1 to 4"):
        tasks(model, [Prompt("the cat sat the cat sat", "x", 9)], raw=True)
    with pytest.raises(BadPrompt, match=r"line 1 of the built-in prompts has \d+ tokens"):
        tasks(model, read_prompts(), raw=True)


def test_batches_are_full_and_relative_to_one():
    params = replace(PARAMS, ignore_eos=False, stop=(" cat",), max_tokens=5)
    speeds = list(batch_speeds(load("tabular"), (0,), params, [4, 2, 4]))
    assert [speed.n for speed in speeds] == [1, 2, 4]
    assert speeds[0].relative == 1.0
    for speed in speeds:
        assert speed.relative == speed.tokens_per_second / speeds[0].tokens_per_second


def test_gain_on_one_prompt():
    found = measure(load("tabular"), "the cat", PARAMS, DRAFTS)
    assert found["identical_texts"]
    assert found["speedup"] > 0
    assert (found["runs"], found["seed"]) == (2, 4)
