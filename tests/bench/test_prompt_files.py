import json
import os
from collections import Counter
from pathlib import Path

import pytest

from truedraw.bench.prompts import Prompt, parse, read_prompts
from truedraw.errors import BadFile


def write(path, *entries):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def test_prompt_and_category(tmp_path):
    file = write(tmp_path / "p.jsonl", {"prompt": "Grüße\n\u2028!", "category": "a", "id": 7}, {"prompt": "x"})
    assert read_prompts(file) == [Prompt("Grüße\n\u2028!", "a", 1), Prompt("x", "other", 2)]


def test_spec_bench_has_turns_and_the_first_counts(tmp_path):
    file = write(tmp_path / "q.jsonl", {"question_id": 81, "category": "writing", "turns": ["Compose.", "Rewrite."]})
    assert read_prompts(file) == [Prompt("Compose.", "writing", 1)]


@pytest.mark.parametrize(
    "entry",
    [
        {"question_id": 101, "category": "reasoning", "turns": ["Why?"], "reference": ["So."]},
        {"id": "curated-0", "category": "Creativity", "prompt": "Tell.", "prompt_paraphrases": ["Say."]},
        {"id": "w-1", "prompt": "Write.", "chosen": True, "original_prompt": "write", "safety": {}, "meta": None},
        {"custom_id": "a", "prompt": "Go on."},
    ],
)
def test_what_public_sets_of_prompts_note_besides_is_skipped(tmp_path, entry):
    assert len(read_prompts(write(tmp_path / "p.jsonl", entry))) == 1


def test_empty_lines_a_byte_order_mark_and_windows_line_ends(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"prompt": "one"}\r\n\r\n   \n{"prompt": "two"}')
    assert [(prompt.text, prompt.line) for prompt in read_prompts(file)] == [("one", 1), ("two", 4)]


def test_a_byte_order_mark_on_a_later_line_as_where_files_were_joined(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"prompt": "one"}\n\xef\xbb\xbf{"prompt": "two"}\n')
    assert [prompt.text for prompt in read_prompts(file)] == ["one", "two"]


def test_a_key_that_stands_twice(tmp_path):
    (tmp_path / "p.jsonl").write_text('{"prompt": "one"}\n{"prompt": "two", "prompt": "three"}\n')
    with pytest.raises(BadFile, match=r"p\.jsonl, line 2: prompt: the key stands there twice; give it once"):
        read_prompts(tmp_path / "p.jsonl")


@pytest.mark.skipif(os.name == "nt", reason="needs devices")
def test_a_device_is_not_read():
    with pytest.raises(BadFile, match=r"^/dev/zero cannot be read: it is a device; give a file, or a pipe$"):
        read_prompts(Path("/dev/zero"))


def test_limits(tmp_path):
    file = write(tmp_path / "p.jsonl", *({"prompt": f"{c}{i}", "category": c} for c in "ab" for i in range(5)))
    assert [p.text for p in read_prompts(file, limit=3)] == ["a0", "a1", "a2"]
    assert [p.text for p in read_prompts(file, per_category=2)] == ["a0", "a1", "b0", "b1"]
    assert [p.text for p in read_prompts(file, limit=3, per_category=2)] == ["a0", "a1", "b0"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'"text"', "give a JSON object"),
        (b"{}", "no prompt"),
        (b'{"prompt": ""}', "no prompt"),
        (b'{"prompt": 3}', "no prompt"),
        (b'{"turns": []}', "no prompt"),
        (b'{"turns": "text"}', "no prompt"),
        (b'{"turns": [null]}', "no prompt"),
        (b'{"prompt": "x", "category": 1}', "category is 1"),
        (b'{"prompt": "caf\xe9"}', "byte 16 is not UTF-8"),
        (b'{"prompt": "x", "zork": 1}', "no such key: 'zork'; valid ones are prompt, turns, category"),
        (b'{"prompt": "x", "temperature": 1}', "no such key: 'temperature'"),
    ],
)
def test_a_broken_line_is_named(line, problem):
    with pytest.raises(BadFile, match=f"given.jsonl, line 2: .*{problem}"):
        list(parse([b'{"prompt": "fine"}', line], "given.jsonl"))


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"prompt": "\ud800"}, "the prompt"),
        ({"turns": ["a\udfff"]}, "the prompt"),
        ({"prompt": "a", "category": "\ud83d"}, "category"),
    ],
)
def test_half_a_surrogate_pair_is_refused_by_its_line(tmp_path, entry, what):
    with pytest.raises(BadFile, match=f"line 2: {what} holds half of a surrogate pair"):
        read_prompts(write(tmp_path / "p.jsonl", {"prompt": "\U0001f600"}, entry))


def test_files_that_are_none(tmp_path):
    (tmp_path / "empty").write_bytes(b"\n\n")
    for name, problem in (("missing", "cannot be read"), ("", "cannot be read"), ("empty", "holds no prompt")):
        with pytest.raises(BadFile, match=problem):
            read_prompts(tmp_path / name)


def test_our_own_set():
    prompts = read_prompts()
    counts = Counter(prompt.category for prompt in prompts)
    assert len(prompts) >= 16
    assert len(counts) >= 4
    assert all(count >= 2 for count in counts.values())
    assert min(len(prompt.text) for prompt in prompts if prompt.category == "summary") > 1500
