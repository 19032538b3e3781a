import json

import pytest

from truedraw.errors import BadInput, BadParameter, BadPrompt
from truedraw.generate.derived_seeds import derived_seed
from truedraw.generate.offline.lines import Defaults, Line, numbered, parsed, request_of
from truedraw.sampling.params import sampling_params


def chat(messages):
    return [len(messages), *(len(message["content"]) for message in messages)]


DEFAULTS = Defaults({"temperature": 0.5, "max_tokens": 9}, False, 7, chat)


def request(entry, number=3, defaults=DEFAULTS):
    text = entry if isinstance(entry, bytes) else json.dumps(entry).encode()
    return request_of(Line(number, text), defaults)


def test_what_a_line_does_not_say_is_as_the_run_says():
    plain = request({"prompt": "a"})
    assert (plain.prompt, plain.speculative) == ("a", False)
    assert plain.params == {"temperature": 0.5, "max_tokens": 9, "seed": derived_seed(7, 3)}
    own = request({"prompt": [1, 2], "temperature": 0, "seed": 4, "speculative": "ngram", "id": "x", "top_k": None})
    assert (own.prompt, own.speculative) == ([1, 2], "ngram")
    assert own.params == {"temperature": 0, "max_tokens": 9, "seed": 4}
    assert own.key.head() == {"line": 3, "digest": own.key.head()["digest"], "id": "x"}
    assert request({"prompt": "a", "speculative": True}).speculative is True
    assert request({"prompt": "a", "speculative": None}).speculative is False


def test_a_parameter_by_another_name_takes_the_place_of_the_default():
    defaults = Defaults({"no_repeat_ngram": 3}, None, 0, chat)
    assert request({"prompt": "a", "no_repeat_ngram_size": 2}, defaults=defaults).params["no_repeat_ngram"] == 2


def test_conversations():
    messages = [{"role": "user", "content": "four"}, {"role": "assistant", "content": "six"}]
    assert request({"messages": messages}).prompt == [2, 4, 3]
    asked = Defaults({}, None, 0, chat, as_chat=True)
    assert request({"prompt": "four"}, defaults=asked).prompt == [1, 4]
    assert request({"prompt": [4]}, defaults=asked).prompt == [4]
    assert request({"prompt": ""}, defaults=asked).prompt == ""
    behind = Defaults({}, None, 0, chat, as_chat=True, system="s")
    assert request({"prompt": "four"}, defaults=behind).prompt == [2, 1, 4]
    assert request({"messages": messages}, defaults=behind).prompt == [2, 4, 3]


@pytest.mark.parametrize(
    ("entry", "kind", "words"),
    [
        (b"nonsense", BadInput, "not JSON"),
        (b"[" * 100_000, BadInput, "not JSON"),
        (b'"text"', BadInput, "JSON object"),
        (b'{"prompt": "caf\xe9"}', BadInput, "byte 16 is not UTF-8"),
        (b'{"prompt": "a", "prompt": "b"}', BadParameter, "prompt: the key stands there twice"),
        (b'{"logit_bias": {"4": 100, "4": -100}}', BadParameter, r"^logit_bias\.4: the key stands there twice"),
        (b'{"a": {"b": 1, "b": 2}, "a": [0, {"c": 1, "c": 2}]}', BadParameter, "^a: the key stands there twice"),
        (b'{"a": [0, {"c": {}, "c": 2}]}', BadParameter, r"^a\.1\.c: the key stands there twice"),
        (b'{"prompt": "a", "logit_bias": {"1": 2, "1": 3}}', BadParameter, "twice"),
        (
            {"prompt": "a", "temprature": 1},
            BadParameter,
            "key \\(did you mean temperature\\?\\); valid ones are prompt, ",
        ),
        (
            {"prompt": "a", "n_predict": 1},
            BadParameter,
            "n_predict: no such key \\(did you mean max_tokens\\?\\); valid ",
        ),
        ({}, BadPrompt, "either prompt"),
        ({"prompt": "a", "messages": []}, BadPrompt, "either prompt"),
        ({"prompt": {"text": "a"}}, BadPrompt, "prompt is {'text'"),
        ({"prompt": True}, BadPrompt, "prompt is True"),
        ({"prompt": "a\ud800b"}, BadPrompt, "surrogate"),
        ({"messages": "hello"}, BadPrompt, "messages is 'hello'"),
        ({"prompt": "a", "id": [1]}, BadParameter, "id: got"),
        ({"prompt": "a", "id": 1, "custom_id": "b"}, BadParameter, "the same thing"),
    ],
)
def test_what_is_no_request(entry, kind, words):
    with pytest.raises(kind, match=words):
        request(entry)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_only_utf_8_is_read(encoding):
    text = '{"prompt": "one"}\n{"prompt": "two"}\n'.encode(encoding)
    found = [*numbered(text.splitlines(keepends=True)), Line(1, '{"prompt": "alone"}'.encode(encoding)), Line(1, b"\0")]
    for line in found:
        with pytest.raises(BadInput, match=r"byte \d+ is .*not UTF-8.*; save the file as UTF-8"):
            parsed(line)


def test_a_byte_order_mark_of_utf_8_is_no_error_on_any_line():
    assert parsed(Line(3, b'\xef\xbb\xbf{"prompt": "a"}')) == {"prompt": "a"}


def test_lines_are_counted_as_an_editor_does():
    found = list(numbered([b'\xef\xbb\xbf{"prompt": "a"}\r\n', b"\n", b"  \r\n", b"\xef\xbb\xbfx\n", b"last"]))
    assert [(line.number, line.text) for line in found if line] == [
        (1, b'{"prompt": "a"}'), (4, b"\xef\xbb\xbfx"), (5, b"last"),
    ]  # fmt: skip


def test_the_digest_is_that_of_the_content():
    assert Line(1, b"a").digest == Line(9, b"a").digest != Line(1, b"b").digest


def test_a_parameter_under_both_its_names_is_refused():
    with pytest.raises(BadParameter, match="no_repeat_ngram: given twice"):
        request({"prompt": "a", "no_repeat_ngram": 1, "no_repeat_ngram_size": 50})


@pytest.mark.parametrize(
    ("run", "own", "left"),
    [
        ({"temperature": 0.5}, {"schedule": {"temperature": [[0, 1.0], [4, 0.5]]}}, {}),
        ({"schedule": {"temperature": [[0, 1.0]], "top_p": [[0, 0.9]]}}, {"temperature": 0.5},
         {"schedule": {"top_p": [[0, 0.9]]}}),
        ({"top_p": 0.9}, {"mirostat": 2}, {}),
        ({"regex": "a+"}, {"grammar": 'start: "a"'}, {}),
        ({"ignore_eos": True, "top_k": 3}, {"regex": "a+"}, {"top_k": 3}),
        ({"xtc_probability": 0.5, "xtc_threshold": 0.2}, {"mirostat": 2}, {}),
        ({"xtc_probability": 0.5, "xtc_threshold": 0.2}, {"xtc_probability": 0}, {}),
        ({"mirostat": 2, "mirostat_tau": 3.0}, {"mirostat": 0}, {}),
        ({"mirostat": 2, "mirostat_tau": 3.0}, {"mirostat_eta": 0.2}, {"mirostat": 2, "mirostat_tau": 3.0}),
        ({"mirostat": 2, "mirostat_tau": 3.0}, {"top_p": 0.9}, {}),
        ({"mirostat": 2, "mirostat_tau": 3.0}, {"schedule": {"top_p": [[0, 0.9]]}}, {}),
        ({"schedule": {"temperature": [[0, 0.9]], "top_p": [[0, 0.9]]}}, {"mirostat": 2},
         {"schedule": {"temperature": [[0, 0.9]]}}),
    ],
)  # fmt: skip
def test_what_a_line_says_takes_the_place_of_what_contradicts_it(run, own, left):
    params = request({"prompt": "a", **own}, defaults=Defaults(run, None, 0, chat)).params
    assert params == {**left, **own, "seed": derived_seed(0, 3)}
    sampling_params(params)


def test_a_schedule_that_is_none_is_told_as_such():
    params = request({"prompt": "a", "schedule": 5}, defaults=Defaults({"mirostat": 2}, None, 0, chat)).params
    with pytest.raises(BadParameter, match="schedule: got 5; give a mapping"):
        sampling_params(params)
