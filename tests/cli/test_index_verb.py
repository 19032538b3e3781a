"""truedraw index."""

import json
import subprocess
import sys

import numpy as np
import pytest

TOY = ("-m", "tabular")


@pytest.fixture
def text(tmp_path):
    (tmp_path / "x.txt").write_text("the cat sat. the dog ran.")
    return tmp_path / "x.txt"


def test_build_add_and_info(cli, tmp_path, text):
    out, index = tmp_path / "out.jsonl", tmp_path / "x.tdx"
    cli("generate", *TOY, "--input", "-", "-o", out, "-n", 3, "--max-tokens", 8, "--ignore-eos", "--seed", 1,
        stdin=b'{"prompt": "the"}\n{"prompt": ""}\n')  # fmt: skip
    assert "error" in out.read_text()
    built = cli("index", "build", index, out, *TOY, "--json")
    assert (built.code, built.err) == (0, "")
    facts = json.loads(built.out)
    assert facts["model"] == "tabular"
    assert (facts["texts"], facts["tokens"], facts["segments"]) == (3, 24, [24])
    assert facts["size_bytes"] == index.stat().st_size
    assert cli("index", "info", index, "--json").out == built.out
    added = cli("index", "add", index, text, text, *TOY)
    assert added.code == 0
    assert "texts         5\n" in added.out
    assert cli("index", "info", index).out == added.out


@pytest.mark.parametrize("verb", ["index build", "index add", "ngrams build"])
def test_ids_of_another_model_are_not_taken(cli, tmp_path, text, verb):
    own, made = tmp_path / "own.jsonl", tmp_path / "made"
    cli("index", "build", tmp_path / "made", text, *TOY) if verb == "index add" else None
    own.write_text('{"model": "smollm2-135m", "choices": [{"token_ids": [1, 2]}]}')
    refused = cli(*verb.split(), made, own, *TOY)
    assert (refused.code, refused.out) == (2, "")
    assert "own.jsonl, line 1: no text, and ids of the model 'smollm2-135m'" in refused.err
    own.write_text('{"model": "smollm2-135m", "choices": [{"token_ids": [99999], "text": "the cat"}]}')
    assert cli(*verb.split(), made, own, *TOY).code == 0


@pytest.mark.slow
def test_drafts_come_from_it_and_the_text_stays_the_same(cli, tmp_path, text):
    cli("index", "build", tmp_path / "x.tdx", text, *TOY)
    config = {"method": "suffix", "suffix_decoding_index": str(tmp_path / "x.tdx"), "adaptive": False}
    ask = ("generate", *TOY, "the", "--seed", 3, "--max-tokens", 6, "--json", "--speculative-config")
    plain, drafted = (json.loads(cli(*ask, json.dumps(c)).out) for c in ({"method": "none"}, config))
    assert plain["choices"][0]["text"] == drafted["choices"][0]["text"]
    assert drafted["stats"]["drafted"] > 0


def test_one_made_for_another_tokenizer_is_refused(cli, tmp_path):
    from truedraw.draft.index.header import Header
    from truedraw.draft.index.segments import Means
    from truedraw.draft.index.writing import build

    index = tmp_path / "x.tdx"
    build(index, [np.array([0, 1, -1], np.int32)], Header("big", "f00"), Means(1 << 20, tmp_path))
    config = json.dumps({"method": "suffix", "suffix_decoding_index": str(index)})
    for arguments in (("generate", "the", "--speculative-config", config), ("index", "add", index, __file__)):
        done = cli(*arguments, *TOY)
        assert (done.code, done.out) == (2, "")
        (line,) = done.err.splitlines()
        assert "made with the tokenizer of big" in line


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["build", "{x}", "{x}.txt"], "cannot be read"),
        (["build", "{text}", __file__], "there already"),
        (["build", "/dev/null", "{text}", "--overwrite"], "/dev/null cannot be written: it is no regular file"),
        (["add", "{x}", "{text}"], "is not there"),
        (["info", "{x}"], "is not there"),
        (["info", "{text}"], "no index of truedraw"),
        (["add", "{text}", __file__], "no index of truedraw"),
        (["build", "{x}", "{text}", "--format", "jsonl"], "line 1: not JSON"),
        (["build", "{x}", "{text}", "--memory", "much"], "--memory"),
        (["build", "{x}/no/folder/x.tdx", "{text}"], "cannot be written"),
    ],
)
def test_bad_use(cli, tmp_path, text, arguments, word):
    given = [each.format(x=tmp_path / "x.tdx", text=text) for each in arguments]
    done = cli("index", *given, *([] if given[0] == "info" else TOY))
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert word in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.txt"]


def test_a_bad_index_is_said_before_a_model_is_loaded(cli, text):
    config = json.dumps({"method": "suffix", "suffix_decoding_index": str(text)})
    done = cli("generate", "-m", "no such model", "the", "--speculative-config", config)
    assert done.code == 2
    assert "no index of truedraw" in done.err


def test_help_stays_light():
    code = (
        "import sys; from truedraw.cli.main import run; run(['index', '--help']); "
        "assert not {'numba', 'openvino', 'tokenizers'} & {*sys.modules}, 'heavy'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("verb", [("index", "build"), ("index", "add"), ("ngrams", "build")])
@pytest.mark.parametrize("link", ["itself", "symbolic", "hard"])
def test_no_text_is_written_over(cli, tmp_path, text, verb, link):
    made = tmp_path / "made"
    if link == "itself":
        made = text
    elif link == "symbolic":
        made.symlink_to(text)
    else:
        made.hardlink_to(text)
    before, more = text.read_bytes(), () if verb[1] == "add" else ("--overwrite",)
    done = cli(*verb, made, text, *TOY, *more)
    assert (done.code, done.out) == (2, "")
    assert "is also one of the texts; give a file of its own" in done.err
    assert text.read_bytes() == before
