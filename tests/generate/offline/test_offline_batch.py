import gc
import json
import tracemalloc

import pytest

from truedraw import Model, load
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadFile, BadInput, BadPrompt
from truedraw.generate.offline.batch import run_lines
from truedraw.generate.offline.done import Done, may_pass
from truedraw.generate.offline.lines import Defaults, Line, numbered
from truedraw.models.toy import TOY_TABLE, toy_text
from truedraw.text import Tokenizer

RUNNING = 4


@pytest.fixture(scope="module")
def model():
    with load("tabular") as loaded:
        yield loaded


def defaults(model, **params):
    return Defaults({"max_tokens": 6, **params}, None, 7, model.chat_prompt)


def run(model, lines, max_running=RUNNING, **params):
    found = []
    run_lines(model.batch(max_running=max_running), numbered(lines), defaults(model, **params), found.append)
    return found


LINES = [
    b'{"prompt": "the cat"}\n', b"\n", b"nonsense\n", b'{"prompt": "the", "n": 3, "temperature": 0.2, "id": 5}\n',
    b'{"prompt": "the", "temperature": -1, "custom_id": "c"}\n', b'{"prompt": ""}\n', b'{"messages": []}\n',
    b'{"prompt": "the dog", "seed": 3, "ignore_eos": true, "speculative": false}\n', b'{"prompt": [99]}\n',
    b'{"prompt": "the", "speculative": {"speed": 1}}\n', b'{"prompt": "the", "max_tokens": 1}',
]  # fmt: skip


def test_every_line_has_one_record_with_what_became_of_it(model):
    found = {record["line"]: record for record in run(model, LINES)}
    assert sorted(found) == [1, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert sorted(line for line, record in found.items() if "error" in record) == [3, 5, 6, 7, 9, 10]
    assert found[5]["error"] == {
        "type": "BadParameter", "param": "temperature",
        "message": "temperature: got -1; give a number from 0 to 1000000",
    }  # fmt: skip
    assert found[5]["custom_id"] == "c"
    assert (found[4]["id"], len(found[4]["choices"])) == (5, 3)
    assert "speed" in found[10]["error"]["message"]
    assert found[8]["seed"] == 3
    assert len(found[8]["choices"][0]["token_ids"]) == 6
    json.dumps(list(found.values()), allow_nan=False)


@pytest.mark.parametrize(("given", "speculative", "words"), [
    ({"stop_token_ids": [99]}, None, "stop_token_ids"), ({"logit_bias": {999: 1.0}}, False, "logit_bias"),
    ({}, {"method": "model", "model": "nobody"}, "no model 'nobody'"), ({}, "head", "hidden states"),
    ({"temperature": -1}, None, "temperature"),
])  # fmt: skip
def test_what_no_line_could_be_sampled_with_is_one_error(model, given, speculative, words):
    found, batch = [], model.batch()
    settings = Defaults({"max_tokens": 6, **given}, speculative, 7, model.chat_prompt)
    with pytest.raises(BadInput, match=words):
        run_lines(batch, numbered(LINES), settings, found.append)
    assert found == []
    with pytest.raises(BadInput, match="closed"):
        batch.add("the")


def test_a_line_that_says_otherwise_is_sampled_whatever_the_run_says(model):
    found = []
    own = ("false", '"ngram"')
    lines = [f'{{"prompt": "the", "speculative": {each}}}'.encode() for each in own]
    lines.insert(1, b'{"prompt": ""}')
    settings = Defaults({"max_tokens": 6}, {"method": "model", "model": "nobody"}, 7, model.chat_prompt)
    run_lines(model.batch(), numbered(lines), settings, found.append)
    assert [("error" in each, each["line"]) for each in sorted(found, key=lambda each: each["line"])] == [
        (False, 1), (True, 2), (False, 3),
    ]  # fmt: skip
    run_lines(model.batch(), [], settings, found.append)


def test_what_needs_a_seed_has_that_of_each_line(model):
    found = []
    spec = {"method": "model", "model": "tabular", "draft_sample_method": "gumbel"}
    run_lines(model.batch(), numbered(LINES[:1]), Defaults({"max_tokens": 6}, spec, 7, model.chat_prompt), found.append)
    assert "error" not in found[0]


def test_every_result_can_be_drawn_again_alone_from_its_seed(model):
    for record in run(model, LINES):
        if "error" not in record:
            entry = json.loads(LINES[record["line"] - 1])
            own = {name: entry[name] for name in ("n", "temperature", "max_tokens", "ignore_eos") if name in entry}
            again = model.generate(entry["prompt"], **{"max_tokens": 6, **own, "seed": record["seed"]})
            assert [choice["token_ids"] for choice in record["choices"]] == [list(c.tokens) for c in again.choices]


def test_neither_company_nor_order_changes_a_text(model):
    def texts(found):
        return {r["line"]: [c["text"] for c in r["choices"]] for r in found if "choices" in r}

    together = texts(run(model, LINES, max_running=64))
    assert texts(run(model, LINES, max_running=1)) == together
    alone = [b"\n"] * 3 + LINES[3:4]
    assert texts(run(model, alone)) == {4: together[4]}


def prompts(count, counter):
    for number in range(count):
        counter[0] += 1
        yield b'{"prompt": "the cat", "n": %d}\n' % (1 + number % 2)


def test_lines_are_read_only_as_fast_as_they_are_done(model):
    read, done, ahead = [0], [0], []

    def emit(_record):
        done[0] += 1
        ahead.append(read[0] - done[0])

    run_lines(model.batch(max_running=RUNNING), numbered(prompts(300, read)), defaults(model), emit)
    assert done[0] == 300
    assert max(ahead) <= 2 * RUNNING  # and four prompts that are computed ahead


@pytest.mark.slow
def test_four_thousand_prompts_need_no_more_memory_than_five_hundred(model):
    held = []

    def emit(record):
        if record["line"] % 500 == 0:
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        lines, settings = numbered(prompts(4000, [0])), defaults(model, max_tokens=2)
        run_lines(model.batch(max_running=RUNNING), lines, settings, emit)
    finally:
        tracemalloc.stop()
    assert len(held) == 8
    assert max(held) < held[0] + 500_000  # a kept result has thousands of bytes, Python's cache of names 250,000


def test_what_is_done_is_not_done_again(model):
    first = run(model, LINES[:5])
    done = Done(first)
    assert (done.count, done.failed) == (4, 2)
    assert [line.number for line in done.remaining(numbered(LINES)) if line] == [6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize(
    ("kind", "passes"),
    [
        ("OutOfPages", True), ("PullError", True), ("BadProposal", True), ("TruedrawError", True),
        ("BadInput", False), ("BadModelFile", False), ("LacksWeights", False),
    ],
)  # fmt: skip
def test_only_faults_of_a_line_stay(kind, passes):
    record = {"line": 1, "digest": "ff", "error": {"type": kind, "message": "so it is"}}
    assert may_pass(record) == passes
    assert Done([record]).count == (not passes)


def test_a_line_that_has_changed_since_is_one_error(model, tmp_path):
    done = Done(run(model, LINES[:1]), tmp_path / "out.jsonl")
    with pytest.raises(BadFile, match=r"line 1 of the prompts is not what it was when .*out\.jsonl"):
        list(done.remaining([Line(1, b'{"prompt": "the dog"}')]))


def test_lines_that_are_gone_are_one_error(model, tmp_path):
    done = Done(run(model, LINES[:5]), tmp_path / "out.jsonl")
    assert sum(map(bool, done.remaining(numbered(LINES)))) == 6
    done.check_all_met()
    for _ in range(2):  # what was met before does not count
        assert not any(done.remaining(numbered(LINES[:3])))
        with pytest.raises(BadFile, match=r"fewer: 2 of the 4 that .*out\.jsonl has results of are gone"):
            done.check_all_met()


@pytest.mark.parametrize("record", [
    {}, {"line": 1}, {"line": 1, "digest": "x"}, {"line": 0, "digest": "ff"}, {"line": 1.5, "digest": "ff"},
    {"line": True, "digest": "ff"}, {"line": "1", "digest": "ff"},
])  # fmt: skip
def test_records_of_another_kind(record):
    with pytest.raises(BadFile, match="without a line of prompts"):
        Done([record])


def test_half_a_surrogate_pair_is_refused_in_a_message_as_in_a_prompt():
    text = toy_text()
    tokenizer = Tokenizer(text.load_tokenizer(), eos_ids=text.eos_ids, chat_template="{{ messages[-1].content }}")
    lines = [
        b'{"messages": [{"role": "user", "content": "the \\ud800 cat"}], "id": 1}\n', b'{"prompt": "the \\ud800"}\n',
        b'{"messages": [{"role": "user", "content": "the cat"}]}\n',
        b'{"messages": [{"role": "user", "content": ' + b"[" * 900 + b"]" * 900 + b"}]}\n",
    ]  # fmt: skip
    with Model("toy", TabularEngine(TOY_TABLE), tokenizer) as own:
        found = {record["line"]: record for record in run(own, lines)}
        with pytest.raises(BadPrompt, match="message 0 holds half of a surrogate pair"):
            own.chat_prompt([{"role": "user", "content": "\udfff"}])
    for line, what in ((1, "message 0"), (2, "prompt")):
        assert found[line]["error"]["type"] == "BadPrompt"
        assert f"{what} holds half of a surrogate pair" in found[line]["error"]["message"]
    assert found[1]["id"] == 1
    assert "choices" in found[3]
    assert sorted(found) == [1, 2, 3, 4]


def test_two_results_of_a_line_are_refused(tmp_path):
    record = {"line": 2, "digest": "ff"}
    with pytest.raises(BadFile, match=r"out\.jsonl holds two results of line 2 of the prompts"):
        Done([record, record], tmp_path / "out.jsonl")
