"""truedraw train draft: from a model to a head that drafts for it, kills and bad input included."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from models.tiny_models import tiny_config, write_gguf
from training import error, is_quiet, kill_once, some_tensors
from truedraw.distill.folders import worked_in
from truedraw.distill.store import ROW
from truedraw.distill.texts import read_texts
from truedraw.draft.head.file import read_card
from truedraw.errors import BadFile
from truedraw.generate.loading import load

parity = pytest.mark.parity
SMALL = ("--tokens", 2500, "--steps", 40, "--hidden", 16, "--vocabulary", 200, "--answer-tokens", 40, "--patience", 99,
         "--json")  # fmt: skip
AS_TRAINED = {"draft_temperature": 1.0}  # without it is tuned, and twice as many drafts of such a head are kept


def write_model(folder, name="tiny.gguf", **changes):
    config = tiny_config(**changes)
    tensors = some_tensors(config)
    return write_gguf(folder / name, config, tensors)


@pytest.fixture
def flags(tmp_path):
    """What all runs share."""
    return ("-m", write_model(tmp_path), "--cache", tmp_path / "cache", "-o", tmp_path / "own.safetensors",
            "--threads", 1)  # fmt: skip


def contents(path):
    return read_card(path), {name: values.tobytes() for name, values in load_file(path).items()}


@parity
def test_a_head_is_trained_and_drafts(cli, tmp_path, flags):
    found = cli("train", "draft", *flags, *SMALL)
    assert is_quiet(found)
    (line,) = found.out.splitlines()
    told = json.loads(line)
    card = read_card(tmp_path / "own.safetensors")
    assert (card.tokens, card.layers, card.width) == (200, (1,), 64)
    assert card.training["tokens"] == told["tokens"] >= 2500
    assert card.training["steps"] == 40
    assert set(card.training["held_out"]) == {"1", "0.7", "0"}
    assert card.siblings == tuple(told["siblings"])
    page = (tmp_path / "own.html").read_text()
    assert page.count("<svg viewBox") == 5
    assert "Extrapolated, not measured" in page
    assert card.training["looks"][-1]["step"] == 40
    assert card.training["outlook"]["looks"] > 10
    assert card.training["settings"]["limits"]["steps"] == 40
    assert "acceptance by position, held-out text" in page
    with load(flags[1], cache=tmp_path / "cache", draft=tmp_path / "own.safetensors") as model:
        prompt = model.chat_prompt([{"role": "user", "content": "hello"}])
        how = {"method": "head", "num_speculative_tokens": 1, "adaptive": False, **AS_TRAINED}
        drawn = model.generate(prompt, n=20, max_tokens=40, temperature=1.0, speculative=how).stats
    assert drawn.drafted > 300
    kept = card.training["held_out"]["1"]["acceptance"][0]
    assert abs(drawn.accepted / drawn.drafted - kept) < 0.1


@parity
@pytest.mark.parametrize(("kind", "own"), [
    ("medusa", ("--heads", 3)), ("parallel", ("--heads", 2, "--hidden", 16)), ("hydra", ("--hidden", 16)),
    ("attentive", ("--hidden", 16)),
])  # fmt: skip
def test_every_kind_is_trained_and_drafts(cli, tmp_path, flags, kind, own):
    small = ("--tokens", 2500, "--steps", 40, "--vocabulary", 200, "--answer-tokens", 40, "--json")
    found = cli("train", "draft", *flags, *small, "--kind", kind, *own)
    assert is_quiet(found)
    told, card = json.loads(found.out), read_card(tmp_path / "own.safetensors")
    heads = {"medusa": 3, "parallel": 2, "hydra": 4}.get(kind)
    assert (card.kind, card.heads, card.layers) == (kind, heads, () if kind == "medusa" else (1,))
    assert [len(row["acceptance"]) for row in told["held_out"].values()] == [heads or 4] * 3
    with load(flags[1], cache=tmp_path / "cache", draft=tmp_path / "own.safetensors") as model:
        prompt = model.chat_prompt([{"role": "user", "content": "hello"}])
        for drafts, law in ((1, AS_TRAINED), (9, {})):
            how = {"method": "head", "num_speculative_tokens": drafts, "adaptive": False, **law}
            drawn = model.generate(prompt, n=20, max_tokens=40, temperature=1.0, speculative=how)
            assert drawn.fallback is None
            if drafts == 1:
                kept = card.training["held_out"]["1"]["acceptance"][0]
                assert abs(drawn.stats.accepted / drawn.stats.drafted - kept) < 0.1
            plain, fast = (
                model.generate(prompt, n=3, max_tokens=40, seed=1, speculative=each) for each in (False, how)
            )
            assert [each.tokens for each in plain.choices] == [each.tokens for each in fast.choices]


@parity
def test_kinds_train_on_the_same_features_and_none_goes_on_as_another(cli, tmp_path, flags):
    texts = tmp_path / "own.txt"
    texts.write_text("hello world, hello 12 wolves. " * 200)
    given = ("--documents", texts, "--steps", 3, "--tokens", 2000, "--hidden", 16, "--json")
    assert cli("train", "draft", *flags, *given).code == 0
    work = tmp_path / "own.work"
    features = (work / "features.f16").read_bytes()
    assert cli("train", "draft", *flags, *given, "--kind", "hydra").code == 0
    assert read_card(tmp_path / "own.safetensors").kind == "hydra"
    assert (work / "features.f16").read_bytes() == features
    assert "heads was 4, is 2" in error(cli("train", "draft", *flags, *given, "--kind", "hydra", "--heads", 2))
    assert {path.name for path in work.glob("*-lk.checkpoint")} == {"recurrent-lk.checkpoint", "hydra-lk.checkpoint"}


@parity
@pytest.mark.parametrize("engine", [(), ("--engine", "pytorch")])
def test_no_document_is_held_out_of_which_a_copy_is_learnt_from(cli, tmp_path, flags, engine):
    texts = tmp_path / "texts.jsonl"
    lines = [json.dumps({"text": f"hello {number} wolves, " * 3}) + "\n" for number in range(10)]
    texts.write_text("".join(lines * 3))
    ends = ("--steps", 1, "--budget", "60s", "--hidden", 16, "--json")
    found = cli("train", "draft", *flags, *engine, "--documents", texts, *ends)
    told, (*_, last) = json.loads(found.out), read_texts(tmp_path / "own.work")
    assert (told["texts"], told["held_out_tokens"]) == (30, 3 * len(last.answer))


@parity
@pytest.mark.parametrize("kind", ["recurrent", "eagle3"])
def test_a_document_that_is_too_short_to_measure_on_is_not_all_that_is_held_out(cli, tmp_path, flags, kind):
    texts = tmp_path / "texts.jsonl"
    lines = [f"hello {number} wolves, " * 3 for number in range(30)]
    texts.write_text("".join(json.dumps({"text": "12" if line is lines[24] else line}) + "\n" for line in lines))
    ends = ("--steps", 1, "--budget", "60s", "--hidden", 16, "--json")
    found = cli("train", "draft", *flags, "--documents", texts, *ends, "--kind", kind)
    assert json.loads(found.out)["held_out_tokens"] > 20


@parity
def test_a_killed_run_goes_on(cli, tmp_path, flags):
    words = [str(each) for each in ("train", "draft", *flags, *SMALL)]
    work = tmp_path / "own.work"
    kill_once(work, "recurrent-lk.checkpoint", words)
    before = {name: (work / name).read_bytes() for name in ("texts.jsonl", "features.f16", "rows.bin")}
    found = cli(*words)
    assert found.code == 0
    assert {name: (work / name).read_bytes() for name in before} == before
    assert json.loads(found.out)["steps"] == 40
    head = contents(tmp_path / "own.safetensors")
    again = cli(*words)  # nothing is left to do
    assert again.code == 0
    assert again.out == found.out
    assert contents(tmp_path / "own.safetensors") == head


@parity
def test_a_head_is_trained_further(cli, tmp_path, flags):
    assert cli("train", "draft", *flags, *SMALL, "--learning-rate", 0.02).code == 0  # learns enough to be seen
    first, further = tmp_path / "own.safetensors", tmp_path / "further.safetensors"
    before = first.read_bytes()
    given = (*flags[:4], "-o", further, "--threads", 1, "--init-from", first, "--seed", 5, "--tokens", 2500,
             "--answer-tokens", 40)  # fmt: skip
    found = cli("train", "draft", *given, "--steps", 30, "--json")
    assert found.code == 0
    told, old = json.loads(found.out), read_card(first).training
    assert told["init_from"] == {"file": "own.safetensors", **{
        name: old[name] for name in ("texts", "tokens", "trained_tokens", "seed")}}  # fmt: skip
    assert (told["rate"], told["hidden"], told["seed"]) == (0.001, 16, 5)
    assert read_card(further).tokens == 200
    assert abs(told["looks"][0]["acceptance"][0] - old["held_out"]["1"]["acceptance"][0]) < 0.1
    assert told["looks"][0]["acceptance"][0] > 1.5 * old["looks"][0]["acceptance"][0]
    assert told["final_loss"] < old["final_loss"]
    assert first.read_bytes() == before
    shown = cli("train", "show", further).out
    assert f"begun from own.safetensors ({old['tokens']:,} tokens, {old['texts']} texts" in shown
    again = cli("train", "draft", *given, "--steps", 30, "--json")  # nothing is left to do
    assert again.out == found.out
    once_more = (*flags[:4], "-o", tmp_path / "third.safetensors", "--threads", 1, "--init-from", further)
    assert cli("train", "draft", *once_more, "--tokens", 500, "--answer-tokens", 40, "--steps", 2).code == 0
    assert "begun from further.safetensors" in (shown := cli("train", "show", tmp_path / "third.safetensors").out)
    assert ", begun from own.safetensors (" in shown
    assert cli("train", "draft", *flags, *SMALL, "--loss", "js").code == 0  # another head of the same name
    assert "init_from was" in error(cli("train", "draft", *given, "--steps", 30))


@parity
def test_a_recurrent_head_goes_on_as_an_attentive_one(cli, tmp_path, flags):
    assert cli("train", "draft", *flags, *SMALL, "--learning-rate", 0.02).code == 0
    first, grown = tmp_path / "own.safetensors", tmp_path / "grown.safetensors"
    given = (*flags[:4], "--threads", 1, "--tokens", 2500, "--answer-tokens", 40, "--steps", 4, "--json")
    asked = ("-o", grown, "--work", tmp_path / "grown.work")
    found = cli("train", "draft", *given, *asked, "--init-from", first, "--kind", "attentive", "--seed", 5)
    assert found.code == 0
    told, card = json.loads(found.out), read_card(grown)
    assert (card.kind, card.tokens, card.training["init_from"]["file"]) == ("attentive", 200, "own.safetensors")
    once = read_card(first).training
    assert abs(told["looks"][0]["acceptance"][0] - once["held_out"]["1"]["acceptance"][0]) < 0.1
    assert told["looks"][0]["acceptance"][0] > 1.5 * once["looks"][0]["acceptance"][0]
    more = ("-o", tmp_path / "more.safetensors", "--init-from", grown)
    for kind in ("recurrent", "attentive", "hydra"):
        assert f"--kind: got {kind} with --init-from" in error(cli("train", "draft", *given, *more, "--kind", kind))
    assert cli("train", "draft", *given, *more).code == 0
    assert read_card(tmp_path / "more.safetensors").kind == "attentive"


@parity
def test_only_a_head_of_the_model_is_trained_further(cli, tmp_path, flags):
    given = ("--tokens", 500, "--answer-tokens", 40, "--steps", 2, "--hidden", 16, "--vocabulary", 50)
    assert cli("train", "draft", *flags, *given).code == 0
    first = tmp_path / "own.safetensors"
    wider = ("-m", write_model(tmp_path, "wider.gguf", hidden_size=128, head_dim=32), *flags[2:4])
    there = ("-o", tmp_path / "new.safetensors", "--threads", 1)
    said = error(cli("train", "draft", *wider, *there, "--init-from", first))
    assert "reads hidden states of 64 numbers" in said
    said = error(cli("train", "draft", *flags[:4], *there, "--init-from", "shipped"))
    assert "smollm2-135m.safetensors reads layers (15, 26), and this model has 2" in said
    assert not (tmp_path / "new.work" / "texts.jsonl").exists()
    assert f"own.safetensors would write over what --init-from {first} reads; give another file" in error(
        cli("train", "draft", *flags, "--init-from", first)
    )


@parity
def test_another_model_or_head_does_not_go_on(cli, tmp_path, flags):
    texts = tmp_path / "own.txt"
    texts.write_text("hello world, hello 12 wolves. " * 200)
    given = ("--documents", texts, "--steps", 3, "--tokens", 2000, "--hidden", 16, "--no-stats")
    assert cli("train", "draft", *flags, *given).code == 0
    work, head = tmp_path / "own.work", (tmp_path / "own.safetensors").read_bytes()
    before = {path.name: path.read_bytes() for path in work.iterdir()}
    wider = ("-m", write_model(tmp_path, "wider.gguf", hidden_size=128, head_dim=32), *flags[2:])
    assert "hidden_size was 64, is 128" in error(cli("train", "draft", *wider, *given))
    assert "hidden was 16, is 32" in error(cli("train", "draft", *flags, *given, "--hidden", 32))
    assert "seed was 0, is 1" in error(cli("train", "draft", *flags, *given, "--seed", 1))
    (work / "recurrent-lk.checkpoint").write_bytes(before["recurrent-lk.checkpoint"][:-9])
    assert "lk.checkpoint is cut or damaged" in error(cli("train", "draft", *flags, *given))
    (work / "recurrent-lk.checkpoint").write_bytes(before["recurrent-lk.checkpoint"])
    assert {path.name: path.read_bytes() for path in work.iterdir()} == before
    assert (tmp_path / "own.safetensors").read_bytes() == head
    assert cli("train", "draft", *flags, *given, "--loss", "js").code == 0  # beside the other, on the same features
    assert read_card(tmp_path / "own.safetensors").training["loss"] == "js"
    assert cli("train", "draft", *flags, *given, "--hidden", 32, "--overwrite").code == 0


@parity
def test_a_loss_that_is_no_number_leaves_the_best_head(cli, tmp_path, flags, monkeypatch):
    from truedraw.distill import learner

    real = learner.gradient

    def broken(head, *rest):
        found = real(head, *rest)
        if len(steps) == 20:
            head.weights["down"].grad += float("inf")
        steps.append(0)
        return found

    steps = []
    monkeypatch.setattr(learner, "gradient", broken)
    said = error(cli("train", "draft", *flags, *SMALL))
    assert "the loss is no number any more after step 20" in said
    assert f"the best head before is written: {tmp_path / 'own.safetensors'}" in said
    assert read_card(tmp_path / "own.safetensors").training["steps"] == 20


@parity
@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_no_head_whose_figures_are_no_numbers_is_written(cli, tmp_path, flags, wrong):
    assert cli("train", "draft", *flags, *SMALL).code == 0
    head, page = (tmp_path / name for name in ("own.safetensors", "own.html"))
    before = head.read_bytes(), page.read_bytes()
    path = tmp_path / "own.work" / "features.f16"
    features = np.fromfile(path, np.float16)
    np.full_like(features, wrong).tofile(path)
    said = error(cli("train", "draft", *flags, *SMALL))
    assert "a figure of the new draft is no finite number, as damaged features in" in said
    assert f"what stands at {head} is as it was" in said
    assert (head.read_bytes(), page.read_bytes()) == before


@parity
def test_a_work_that_gets_more_text_ends_with_better_weights(cli, tmp_path, flags):
    given = (*flags, *SMALL[4:])
    assert cli("train", "draft", *given, "--tokens", 300, "--steps", 20).code == 0
    found = cli("train", "draft", *given, "--tokens", 3000, "--steps", 60)
    assert found.code == 0
    assert json.loads(found.out)["best_step"] > 20


@parity
def test_a_card_names_the_temperatures_that_were_drawn(cli, tmp_path, flags):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "hello"}\n{"prompt": "world"}\n')
    given = ("--prompts", prompts, "--steps", 2, "--hidden", 16, "--answer-tokens", 40)
    found = cli("train", "draft", *flags, *given, "--temperatures", "0", "--tokens", 5000, "--json")
    told = json.loads(found.out)
    assert (told["texts"], told["temperatures"]) == (2, [0.0])
    texts = tmp_path / "own.txt"
    texts.write_text("hello world, hello 12 wolves. " * 200)
    given = ("--documents", texts, "--steps", 2, "--hidden", 16, "--tokens", 500, "--overwrite", "--json")
    assert json.loads(cli("train", "draft", *flags, *given).out)["temperatures"] == []


@parity
def test_a_budget_of_time_is_shared_by_the_stages(cli, tmp_path, flags):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "hello"}\n{"turns": ["what is 12?"]}\n')
    found = cli("train", "draft", *flags, "--prompts", prompts, "--budget", "6s", "--hidden", 16, "--json")
    assert found.code == 0
    told = json.loads(found.out)
    assert told["source"] == "its answers to given prompts"
    assert min(told["seconds"][stage] for stage in ("texts", "training")) > 0  # features come with the texts
    assert told["steps"] > 0


@parity
@pytest.mark.parametrize(("kind", "row_bytes"), [("recurrent", 272), ("eagle3", 400)])
def test_no_more_is_written_than_features_have_room_for(cli, tmp_path, flags, kind, row_bytes):
    given = ("--kind", kind, "--tokens", 5000, "--answer-tokens", 20, "--steps", 1, "--hidden", 16)
    told = json.loads(cli("train", "draft", *flags, *given, "--feature-bytes", "200K", "--json").out)
    *learnt, last = [len(text.answer) for text in read_texts(tmp_path / "own.work")]
    room = (200 << 10) // row_bytes
    assert sum(learnt) <= room < sum(learnt) + last
    assert not told["all_texts"]
    told = json.loads(cli("train", "draft", *flags, *given, "--feature-bytes", "16M", "--json").out)
    assert sum(len(text.answer) for text in read_texts(tmp_path / "own.work")) >= 5000
    assert told["all_texts"]


def test_torch_is_asked_for(cli, flags, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert error(cli("train", "draft", *flags)) == (
        "truedraw: error: train: training needs torch, which is not installed; run: pip install 'truedraw[torch]'"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--temperatures", "warm"), "--temperatures: got 'warm'; give numbers"),
        (("--temperatures", "-1"), "--temperatures: got -1"),
        (("--temperatures", "0,2e6"), "--temperatures: got 2000000.0; give a number from 0 to 1000000"),
        (("--budget", "soon"), "--budget: got 'soon'; give a time, as 90s, 2m or 1h"),
        (("--feature-bytes", "much"), "--feature-bytes: got 'much'; give an amount of memory"),
        (("--seed", 2**64), "--seed: got 18446744073709551616; give a whole number from 0 to 2**64 - 1"),
        (("--hidden", 10**20), "Invalid value for '--hidden'"),
        (("--layers", "0,9"), "--layers: got [0, 9]; give layers of the model, 0 to 1"),
        (("--layers", "low"), "--layers: got 'low'; give whole numbers"),
        (("--loss", "mse"), "'mse'"),
        (("--kind", "eagle"), "'eagle'"),
        (("--heads", 3), "--heads: a recurrent head drafts any number of tokens; leave it out"),
        (("--kind", "attentive", "--heads", 3), "--heads: an attentive head drafts any number of tokens"),
        (("--kind", "hydra", "--heads", 7), "--heads: got 7; give 1 to 6: drafts go no deeper"),
        (("--kind", "medusa", "--hidden", 16), "--hidden: the blocks of a medusa head are as wide as the model"),
        (("--init-from", "none.safetensors"), "none.safetensors cannot be read as a draft head"),
        (("--init-from", "shipped", "--kind", "recurrent"), "--kind: got recurrent with --init-from shipped, whose"),
        (("--init-from", "shipped", "--kind", "hydra"), "--kind: got hydra with --init-from shipped, whose network"),
        (("--init-from", "shipped", "--layers", "1"), "--layers: got 1 with --init-from shipped"),
        (("--init-from", "shipped", "--hidden", 16), "--hidden: got 16 with --init-from shipped"),
        (("--init-from", "shipped", "--vocabulary", 8192), "--vocabulary: got 8192 with --init-from shipped"),
        (("--init-from", "shipped", "--heads", 2), "--heads: got 2 with --init-from shipped"),
        (("--init-from", "shipped", "--kind", "attentive"), "--kind: got attentive with --init-from shipped, whose"),
        (("--init-from", "shipped", "--width", 2), "--width: an attentive head has the model's sizes"),
        (("--draft", "x.safetensors"), "--draft: x.safetensors would not be trained further; leave it out, and give"),
        (("--amateur", "x.gguf"), "--amateur: a head learns one model; leave it out"),
        (("--prompts", "none.jsonl"), "none.jsonl cannot be read"),
        (("--documents", "none.txt"), "none.txt cannot be read"),
        (("--output", "own.html"), "--output: own.html is what the report would be called"),
        (("--output", "nowhere/own.safetensors"), "cannot be written; give a file in a folder that exists"),
        (("--output", "."), "--output: . is a folder that is there already; give another name"),
        (("--output", "/dev/full"), "--output /dev/full cannot be written: it is no regular file"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(cli, flags, has_torch, given, said):
    assert said in error(cli("train", "draft", *flags, *given))


@pytest.fixture
def unopened(monkeypatch):
    """No model may be loaded."""

    def opened(*_args, **_kwargs):
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("truedraw.cli.options.opened", opened)


@pytest.mark.parametrize("kind", ["recurrent", "attentive", "medusa", "hydra", "parallel", "transformer", "eagle3"])
def test_what_cannot_be_written_at_last_is_told_at_first(cli, tmp_path, flags, has_torch, unopened, kind):
    given = (*flags[:4], "--kind", kind)
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    for output in (folder, "/dev/full"):
        said = error(cli("train", "draft", *given, "-o", output))
        assert str(output) in said
        assert "it is no regular file" in said or "is there already and is no draft of ours" in said
    (tmp_path / "own.html").mkdir()
    said = error(cli("train", "draft", *given, "-o", tmp_path / "own"))
    assert "own.html, the report beside --output, cannot be written: it is no regular file" in said
    said = error(cli("train", "draft", *given, "-o", tmp_path / "all.work", "--work", tmp_path / "all.work"))
    assert "all.work is worked in; give another --work" in said


def test_what_is_no_report_of_ours_is_kept(cli, tmp_path, flags, has_torch, unopened):
    page = tmp_path / "own.html"
    page.write_text("years of work")
    assert f"{page} is there already and is no report of ours; give another" in error(cli("train", "draft", *flags))
    assert page.read_text() == "years of work"


@pytest.mark.parametrize(("output", "work"), [
    ("dr.a", "dr.a.work"), ("dr.b", "dr.b.work"), ("own.safetensors", "own.work"), ("own", "own.work"),
])  # fmt: skip
def test_each_name_has_a_work_folder_of_its_own(cli, tmp_path, flags, has_torch, monkeypatch, output, work):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("truedraw.cli.train_draft.trained", stopped)
    found = cli("train", "draft", *flags[:4], "-o", tmp_path / output)
    assert found.err == f"interrupted; the same command goes on with {tmp_path / work}\n"


def test_a_seed_is_looked_at_before_a_model_is_loaded(cli, flags, has_torch, unopened):
    assert "--seed: got 18446744073709551616" in error(cli("train", "draft", *flags, "--seed", 2**64))


@pytest.mark.parametrize(("document", "said"), [
    (".", "it is no regular file"), ("/dev/null", "it is no regular file"), ("none.txt", "there is no such file")
])  # fmt: skip
def test_documents_that_are_no_files(cli, flags, has_torch, document, said):
    found = error(cli("train", "draft", *flags, "--documents", document))
    assert f"{document} cannot be read: {said}; give files with text" in found


@pytest.mark.parametrize(("draft", "said"), [("folder", "a folder"), ("/dev/null", "no regular file")])
def test_a_head_to_begin_from_that_is_no_file(cli, tmp_path, flags, has_torch, draft, said):
    (tmp_path / "folder").mkdir()
    found = error(cli("train", "draft", *flags, "--init-from", tmp_path / draft))
    assert f"cannot be read as a draft head: it is {said}; `truedraw train draft` makes one, a file" in found


@pytest.mark.parametrize(("given", "said"), [("1K", "1,024 bytes hold 3 tokens"), ("9K", "9,216 bytes hold 33 tokens")])
def test_features_without_room_are_told_by_their_flag(cli, tmp_path, flags, has_torch, given, said):
    texts = tmp_path / "own.txt"
    texts.write_text("hello world, hello 12 wolves. " * 200)
    found = error(cli("train", "draft", *flags, "--documents", texts, "--feature-bytes", given))
    assert f"--feature-bytes: {said} of text at 272 bytes each, too few to train on" in found
    assert "give 1M, which holds all that is there, or more; the texts are kept" in found
    assert (tmp_path / "own.work" / "texts.jsonl").stat().st_size > 1000


def test_documents_in_the_environment_stand_a_line_each(cli, flags, has_torch, tmp_path, monkeypatch):
    (tmp_path / "my own: texts.txt").write_text("the cat sat on the dog")
    monkeypatch.setenv("TRUEDRAW_DOCUMENTS", f"{tmp_path / 'my own: texts.txt'}\n{tmp_path / 'not there.txt'}\n")
    assert f"{tmp_path / 'not there.txt'} cannot be read" in error(cli("train", "draft", *flags))


def test_documents_and_prompts_exclude_each_other(cli, tmp_path, flags, has_torch):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "hello"}\n')
    assert "--documents: goes without --prompts" in error(
        cli("train", "draft", *flags, "--prompts", prompts, "--documents", prompts)
    )


def test_documents_of_zero_tokens_are_refused(cli, tmp_path, flags, has_torch):
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    assert "there is no text to train on, zero tokens" in error(cli("train", "draft", *flags, "--documents", empty))


def test_documents_of_a_few_tokens_are_refused(cli, tmp_path, flags, has_torch):
    blank = tmp_path / "blank.txt"
    blank.write_text("   \n\n")
    said = error(cli("train", "draft", *flags, "--documents", blank, "--tokens", 200, "--steps", 2))
    assert "there is too little text to train on: 1 texts with " in said


def test_documents_that_tokens_end_too_soon(cli, tmp_path, flags, has_torch):
    texts = tmp_path / "own.txt"
    texts.write_text("hello world, hello 12 wolves. " * 2000)
    said = error(cli("train", "draft", *flags, "--documents", texts, "--tokens", 30))
    assert "--tokens: 30 are reached with too few texts, 1: at least two of more than 5 tokens are needed; give" in said


def test_prompts_that_are_all_too_long(cli, tmp_path, flags, has_torch):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(f'{{"prompt": "{"hello 12 wolves " * 2000}"}}\n' * 2)
    said = error(cli("train", "draft", *flags, "--prompts", prompts))
    assert "--prompts: none of them can be answered, 2 in all: the prompt has " in said
    assert " tokens and the model's context " in said


@parity
def test_prompts_that_are_too_long_are_counted(cli, tmp_path, flags):
    prompts = tmp_path / "prompts.jsonl"
    long = json.dumps({"prompt": "hello 12 wolves " * 2000})
    prompts.write_text(f'{long}\n{{"prompt": "hello"}}\n{{"prompt": "world"}}\n{long}\n')
    found = cli("train", "draft", *flags, *SMALL[2:-1], "--tokens", 400, "--prompts", prompts)
    assert json.loads(found.out)["prompts_left_out"] == 2
    assert "  prompts that are too long for the model's context and were left out: 2\n" in found.err
    assert read_card(tmp_path / "own.safetensors").training["prompts_left_out"] == 2


@pytest.mark.parametrize("given", [("draft",), ("draft", "--kind", "eagle3"), ("draft", "--kind", "transformer"),
                                   ("compare", "--losses", "kl")], ids=str)  # fmt: skip
def test_one_process_at_a_time_works_in_a_folder(cli, tmp_path, flags, has_torch, given):
    texts, work = tmp_path / "own.txt", tmp_path / "shared.work"
    texts.write_text("hello world, hello 12 wolves. " * 200)
    flags = (*flags[:4], "--documents", texts, "--work", work, "-o", tmp_path / "own", "--overwrite")
    with worked_in(work):
        before = {path.name: path.read_bytes() for path in work.iterdir()}
        said = error(cli("train", *given, *flags))
    assert f"{work / 'lock'} is being written by another process; wait for it, or give another --work" in said
    assert {path.name: path.read_bytes() for path in work.iterdir()} == before
    with worked_in(work):
        pass


def test_one_greedy_answer_is_too_little(cli, tmp_path, flags, has_torch):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "hello"}\n')
    given = ("--prompts", prompts, "--temperatures", "0,0", "--tokens", 200, "--steps", 2, "--answer-tokens", 20)
    assert "there is too little text to train on: 1 texts with 20 tokens" in error(
        cli("train", "draft", *flags, *given)
    )


@pytest.mark.parametrize("kind", ["recurrent", "transformer", "eagle3"])
def test_a_damaged_row_is_told(cli, tmp_path, flags, has_torch, kind):
    texts = tmp_path / "own.txt"
    texts.write_text("hello world, hello 12 wolves. " * 200)
    given = ("--documents", texts, "--steps", 3, "--tokens", 2000, "--hidden", 16, "--kind", kind)
    given = (*flags[:4], "-o", tmp_path / "own", "--threads", 1, *given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("truedraw.distill.preparing.enough", stop)
        assert "stopped here" in error(cli("train", "draft", *given))
    path = next((tmp_path / "own.work").rglob("whole/rows.bin" if kind == "eagle3" else "rows.bin"))
    rows = np.fromfile(path, ROW)
    rows["token"][40] = 1 << 30
    rows.tofile(path)
    assert f"{path} is damaged: it has token 1073741824, and the voc" in error(cli("train", "draft", *given))


@pytest.mark.parametrize("spoilt", ["rows.bin", "texts.jsonl"])
def test_features_of_other_tokens_than_the_texts_are_not_trained_on(cli, tmp_path, flags, has_torch, spoilt):
    texts = tmp_path / "own.txt"
    texts.write_text("hello world, hello 12 wolves. " * 200)
    given = (*flags, "--documents", texts, "--steps", 3, "--tokens", 2000, "--hidden", 16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("truedraw.distill.preparing.enough", stop)
        assert "stopped here" in error(cli("train", "draft", *given))
    path = tmp_path / "own.work" / spoilt
    if spoilt == "rows.bin":
        path.write_bytes(bytes(path.stat().st_size))  # as a loss of power leaves a file
    else:
        path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    assert f"the texts in {path.parent} are not those that its features are of" in error(cli("train", "draft", *given))


def stop(*_):
    raise BadFile("stopped here")


def test_the_toy_has_no_hidden_states(cli, tmp_path, has_torch):
    said = error(cli("train", "draft", "-m", "tabular", "-o", tmp_path / "own.safetensors"))
    assert "--model: tabular is a table without hidden states" in said
