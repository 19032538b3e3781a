"""truedraw ngrams: from texts and samples to a file that drafts, and what cannot be."""

import json

import pytest

TOY = ("-m", "tabular")


def config(path, **more):
    return "--speculative-config", json.dumps({"method": "ngram-lm", "ngram_lm_path": str(path), **more})


@pytest.fixture
def texts(tmp_path):
    file = tmp_path / "own.txt"
    file.write_bytes(b"\xef\xbb\xbfthe cat sat the dog ran. the cat sat.")
    return file


def test_texts_are_counted_and_shown(cli, tmp_path, texts):
    out = tmp_path / "own.tdn"
    built = cli("ngrams", "build", out, texts, *TOY, "--order", 3)
    assert (built.code, built.err) == (0, "")
    assert "tokens" in built.out
    shown = cli("ngrams", "info", out)
    assert (shown.code, shown.out) == (0, built.out)
    facts = json.loads(cli("ngrams", "info", out, "--json").out)
    assert facts["model"] == "tabular"
    assert (facts["texts"], facts["tokens"], facts["order"]) == (1, 11, 3)
    assert facts["ngrams"] == [6, 8, 8]
    assert facts["size_bytes"] == out.stat().st_size


def test_samples_are_counted_as_they_were_drawn(cli, tmp_path):
    samples, out = tmp_path / "samples.jsonl", tmp_path / "own.tdn"
    grid = ("--temperature", "0.5,1", "-n", 6, "--max-tokens", 20)
    assert cli("sweep", "the cat", *TOY, *grid, "--output", samples, "--no-stats").code == 0
    (tmp_path / "p.jsonl").write_text('{"prompt": "the dog"}\n')
    more = tmp_path / "more.jsonl"
    assert cli("generate", "--input", tmp_path / "p.jsonl", *TOY, "-n", 3, "--output", more, "--no-stats").code == 0
    facts = json.loads(cli("ngrams", "build", out, samples, more, *TOY, "--json").out)
    ids = [json.loads(line)["token_ids"] for line in samples.read_text().splitlines()]
    ids += [each["token_ids"] for line in more.read_text().splitlines() for each in json.loads(line)["choices"]]
    assert (facts["texts"], facts["tokens"]) == (len(ids), sum(map(len, ids)))


def test_what_was_counted_drafts_and_changes_no_text(cli, tmp_path, texts):
    out = tmp_path / "own.tdn"
    cli("ngrams", "build", out, texts, *TOY)
    ask = ("generate", "the cat", *TOY, "--seed", 4, "--ignore-eos", "--max-tokens", 60, "--json")
    plain = json.loads(cli(*ask, "--spec-method", "none").out)
    for more in ({}, {"ngram_lm_online": "none"}, {"ngram_lm_online": "prompt", "draft_temperature": 0.7}):
        drafted = json.loads(cli(*ask, *config(out, adaptive=False, **more)).out)
        assert drafted["choices"][0]["text"] == plain["choices"][0]["text"]
        assert drafted["stats"]["accepted"] > 10
        assert "fallback" not in drafted


@pytest.mark.parametrize("overwrite", [False, True])
def test_another_process_is_faster(cli, tmp_path, monkeypatch, texts, overwrite):
    from truedraw.draft import ngram_lm_counts

    out, count = tmp_path / "own.tdn", ngram_lm_counts.count_ngrams

    def meanwhile(*given):
        out.write_text("theirs")
        return count(*given)

    monkeypatch.setattr(ngram_lm_counts, "count_ngrams", meanwhile)
    built = cli("ngrams", "build", out, texts, *TOY, *(["--overwrite"] if overwrite else []))
    assert (built.code, out.read_bytes() == b"theirs") == ((0, False) if overwrite else (2, True))
    assert ("another process was faster" in built.err) is not overwrite
    assert {each.name for each in tmp_path.iterdir()} == {out.name, texts.name}


def test_nothing_is_lost_by_mistake(cli, tmp_path, texts):
    out = tmp_path / "own.tdn"
    cli("ngrams", "build", out, texts, *TOY)
    whole = out.read_bytes()
    again = cli("ngrams", "build", out, texts, *TOY, "--order", 2)
    assert again.code == 2
    assert "--overwrite" in again.err
    assert out.read_bytes() == whole
    onto = cli("ngrams", "build", texts, texts, *TOY, "--overwrite")
    assert onto.code == 2
    assert "one of the texts" in onto.err
    assert cli("ngrams", "build", out, texts, *TOY, "--order", 2, "--overwrite").code == 0
    assert out.read_bytes() != whole


def test_counts_that_could_not_be_written_are_refused_before_the_texts_are_read(cli, tmp_path):
    refused = cli("ngrams", "build", tmp_path / "lacking" / "own.tdn", tmp_path / "absent.txt", *TOY)
    assert refused.code == 2
    assert "own.tdn cannot be written: give a file in a folder that exists" in refused.err


@pytest.mark.parametrize(("data", "words"), [
    (b"", "no text"), (b"\xff", "not UTF-8"), (None, "cannot be read"),
], ids=repr)  # fmt: skip
def test_texts_that_cannot_be_counted(cli, tmp_path, data, words):
    file, out = tmp_path / "a.txt", tmp_path / "own.tdn"
    if data is not None:
        file.write_bytes(data)
    done = cli("ngrams", "build", out, file, *TOY)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert len(done.err.splitlines()) == 1
    assert not out.exists()


def test_a_file_that_is_none_is_refused_in_one_line(cli, tmp_path, texts):
    for path, words in ((texts, "holds no counts"), (tmp_path / "none.tdn", "cannot be read")):
        for done in (cli("ngrams", "info", path), cli("generate", "the", *TOY, *config(path))):
            assert (done.code, done.out) == (2, "")
            assert words in done.err
            assert len(done.err.splitlines()) == 1


def test_settings_are_checked(cli):
    for setting, words in (({"ngram_lm_order": 9}, "1 to 5"), ({"ngram_lm_online": "x"}, "prompt")):
        given = json.dumps({"method": "ngram-lm", **setting})
        done = cli("generate", "the", *TOY, "--speculative-config", given)
        assert done.code == 2
        assert words in done.err


def test_a_prediction_is_followed(cli):
    ask = ("generate", "the cat", *TOY, "--seed", 4, "--ignore-eos", "--max-tokens", 40, "--json")
    plain = json.loads(cli(*ask, "--spec-method", "none").out)
    text, ids = plain["choices"][0]["text"], plain["choices"][0]["token_ids"]
    for prediction in (text, ids, ids[:10] + ids[12:]):
        given = json.dumps({"method": "prediction", "prediction": prediction, "adaptive": False})
        drafted = json.loads(cli(*ask, "--speculative-config", given).out)
        assert drafted["choices"][0]["text"] == text
        assert drafted["stats"]["accepted"] > 20
    empty = cli("generate", "the", *TOY, "--spec-method", "prediction")
    assert empty.code == 2
    assert "prediction" in empty.err


def test_what_never_held_counts_is_not_written_over(cli, tmp_path, texts):
    """Such as the model's own file."""
    (tmp_path / "m.gguf").write_bytes(b"GGUF and more")
    done = cli("ngrams", "build", tmp_path / "m.gguf", texts, "-m", "tabular", "--overwrite")
    assert (done.code, done.out) == (2, "")
    assert "holds no counts of n-grams, so none are written in its place; give another file" in done.err
    assert (tmp_path / "m.gguf").read_bytes() == b"GGUF and more"
