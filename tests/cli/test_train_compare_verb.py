"""truedraw train compare: tables, a kill, what is done stays done, bad input."""

import json
from typing import get_args

import pytest

from models.tiny_models import tiny_config, write_gguf
from training import error, is_quiet, kill_once, some_tensors
from truedraw.cli.train_flags import LossName
from truedraw.distill.comparison.page import to_html
from truedraw.distill.losses import LOSSES

parity = pytest.mark.parity
LOOK = {"tokens": 9, "acceptance": [0.5], "tokens_a_round": 1.5}
SMALL = ("--tokens", 2500, "--hidden", 16, "--vocabulary", 200, "--answer-tokens", 40)
STEPS = (*SMALL, "--steps", 24)


@pytest.fixture
def flags(tmp_path):
    """What all runs share."""
    config = tiny_config()
    tensors = some_tensors(config)
    return ("-m", write_gguf(tmp_path / "tiny.gguf", config, tensors), "--cache", tmp_path / "cache",
            "-o", tmp_path / "losses.html", "--threads", 1)  # fmt: skip


def results(folder):
    (path,) = folder.glob("losses.work/comparison-*/results.jsonl")
    return path


def test_flags_name_the_losses_that_there_are():
    assert get_args(LossName) == tuple(LOSSES)


def test_losses_that_there_are_not_and_where_they_stand(cli, flags, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_LOSSES", "zz")
    assert cli("train", "compare", *flags).err.rstrip().endswith("(from TRUEDRAW_LOSSES)")


@parity
def test_losses_beside_one_another(cli, tmp_path, flags):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "hello"}\n{"turns": ["what is 12?"]}\n{"prompt": "world"}\n')
    done = cli("train", "compare", *flags, *STEPS, "--losses", "kl,tvd++", "--test-prompts", prompts, "--limit", 2)
    assert done.code == 0
    told = json.loads(done.out.splitlines()[-1])
    assert {name: each["steps"] for name, each in told["trainings"].items()} == {"kl": 24, "tvd++": 24}
    found = [(each["texts_of"], each["temperature"]) for each in told["sections"]]
    assert found == [(kind, at) for kind in ("held-out texts", "test prompts") for at in (1.0, 0.7, 0.0)]
    assert {each["texts"] for each in told["sections"][3:]} == {2}
    for section in told["sections"]:
        for each in section["losses"].values():
            assert all(value["low"] <= value["mean"] <= value["high"] for value in each["acceptance"] if value["low"])
        assert section["losses"][section["best"]]["to_the_best"]["tokens_per_round"]["mean"] == 0
    for said in ("T = 0.7, held-out texts: ", "T = 0, test prompts: 2 texts", "a round", "the best", "tvd++: 24 steps"):
        assert said in done.err
    page = (tmp_path / "losses.html").read_text()
    assert page.count("<table") == 6
    assert not [*results(tmp_path).parent.glob("*.checkpoint*")]  # nothing large is left behind


@parity
def test_what_is_done_stays_done(cli, tmp_path, flags, monkeypatch):
    """A further loss is trained on the same texts, and those that are there are not trained again."""
    assert cli("train", "compare", *flags, *STEPS, "--losses", "kl", "--json").code == 0
    before, work = results(tmp_path).read_bytes(), tmp_path / "losses.work"
    texts = {name: (work / name).read_bytes() for name in ("texts.jsonl", "features.f16", "rows.bin")}
    found = cli("train", "compare", *flags, *STEPS, "--losses", "js,kl", "--json")
    assert is_quiet(found)
    told = json.loads(found.out)
    assert [*told["trainings"]] == ["js", "kl"]
    assert results(tmp_path).read_bytes().startswith(before)
    assert {name: (work / name).read_bytes() for name in texts} == texts
    monkeypatch.setattr("truedraw.distill.learner.gradient", None)  # nobody trains now
    again = cli("train", "compare", *flags, *STEPS, "--losses", "js,kl", "--json")
    assert (again.code, again.out) == (0, found.out)
    one = cli("train", "compare", *flags, *STEPS, "--losses", "js", "--json")
    assert [*json.loads(one.out)["sections"][0]["losses"]] == ["js"]


@parity
def test_a_killed_comparison_is_the_one_it_would_have_been(cli, tmp_path, flags):
    given = ("train", "compare", *flags, *STEPS, "--losses", "rkl,lk", "--json")
    kill_once(tmp_path, "losses.work/comparison-*/lk.checkpoint", given)
    found = cli(*given)
    assert found.code == 0
    whole = cli(*given, "--work", tmp_path / "another")
    one, other = (json.loads(each.out) for each in (found, whole))
    assert one["sections"] == other["sections"]


@parity
def test_time_is_shared_and_taken_in_turns(cli, tmp_path, flags):
    turns = []
    from truedraw.distill import training

    real = training.Training.run

    def counted(self, limits, seconds, tell, until):
        turns.append((self.path.stem, until))
        real(self, limits, seconds, tell, until)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training.Training, "run", counted)
        prompts = tmp_path / "prompts.jsonl"
        prompts.write_text('{"prompt": "hello"}\n{"prompt": "what is 12?"}\n')
        given = ("train", "compare", *flags, "--hidden", 16, "--vocabulary", 200, "--answer-tokens", 40)
        texts = ("--prompts", prompts, "--tokens", 400)
        found = cli(*given, *texts, "--budget", "8s", "--losses", "kl,tv", "--json")
    assert found.code == 0
    told = json.loads(found.out)
    share = told["each"]["seconds"]
    assert 0 < share <= 4
    for each in told["trainings"].values():
        assert each["seconds"] >= share - 0.1
        assert each["steps"] > 0
    assert turns[0][0] == "kl"
    assert {each[0] for each in turns[:2]} == {"kl", "tv"}
    assert turns[-1][1] == 1
    assert len(turns) > 4


@parity
def test_a_loss_that_is_no_number_ends_alone(cli, flags, monkeypatch):
    from truedraw.distill import learner

    real = learner.gradient

    def broken(head, where, blend, *rest):
        found = real(head, where, blend, *rest)
        if blend.loss == "tv":
            head.weights["down"].grad += float("nan")
        return found

    monkeypatch.setattr(learner, "gradient", broken)
    found = cli("train", "compare", *flags, *STEPS, "--losses", "tv,kl")
    assert found.code == 0
    told = json.loads(found.out.splitlines()[-1])["trainings"]
    assert told["tv"]["stopped"] == "the loss is no number any more after step 0"
    assert (told["kl"]["stopped"], told["kl"]["steps"]) == (None, 24)
    assert "no number any more" in found.err


@parity
def test_texts_that_grew_are_not_compared_on(cli, tmp_path, flags):
    work = tmp_path / "losses.work"
    assert cli("train", "compare", *flags, *STEPS, "--losses", "kl").code == 0
    more = ("--tokens", 4000, "--hidden", 16, "--vocabulary", 200, "--answer-tokens", 40, "--steps", 3, "--work", work)
    head = ("-o", tmp_path / "own.safetensors")
    assert cli("train", "draft", *flags[:4], "--threads", 1, *head, *more, "--no-stats").code == 0
    assert "the comparison began with" in error(cli("train", "compare", *flags, *STEPS, "--losses", "kl,lk"))
    results(tmp_path).write_text("{}\n")
    assert "holds a line that is not ours" in error(cli("train", "compare", *flags, *STEPS, "--losses", "kl"))


@parity
def test_test_prompts_that_no_context_holds(cli, tmp_path, flags):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(json.dumps({"prompt": "hello 12 wolves " * 20_000}) + "\n")
    said = error(cli("train", "compare", *flags, *STEPS, "--losses", "kl", "--test-prompts", prompts))
    assert "no text to the prompts of --test-prompts came to more than 4 tokens" in said


@parity
def test_test_prompts_whose_answers_have_no_room(cli, tmp_path, flags):
    """The short ones end first, and would be measured without the others."""
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": f"hello {number}"}) + "\n" for number in range(20)))
    tests = tmp_path / "tests.jsonl"
    tests.write_text(prompts.read_text().replace("hello", "world"))
    some = ("--prompts", prompts, "--limit", 15, "--tokens", 400, "--steps", 3)
    given = ("train", "compare", *flags, *SMALL[2:], *some, "--losses", "kl", "--test-prompts", tests)
    said = error(cli(*given, "--feature-bytes", 136_000))
    assert "--feature-bytes: 136,000 bytes do not hold the answers to --test-prompts; give 1M or more" in said
    assert json.loads(cli(*given, "--feature-bytes", "1M", "--json").out)["sections"][3]["texts"] > 10


def test_no_test_prompt_is_trained_on(cli, tmp_path, flags, has_torch):
    prompts, tests = tmp_path / "prompts.jsonl", tmp_path / "tests.jsonl"
    prompts.write_text('{"prompt": "hello"}\n{"prompt": "world"}\n{"prompt": "a wolf"}\n')
    tests.write_text('{"prompt": "12"}\n{"turns": ["world"]}\n{"prompt": "a wolf"}\n')
    given = ("train", "compare", *flags, "--prompts", prompts, "--test-prompts", tests)
    assert "--test-prompts: 2 of them stand in --prompts, too, and would be trained on" in error(cli(*given))


@parity
def test_heads_of_another_kind_with_fewer_drafts(cli, flags):
    kind = ("--kind", "parallel", "--heads", 2)
    told = json.loads(cli("train", "compare", *flags, *STEPS, *kind, "--losses", "kl,js", "--json").out)
    assert {len(each["acceptance"]) for section in told["sections"] for each in section["losses"].values()} == {2}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--losses", "kl,mse,l2"), "--losses: got 'mse', 'l2'; choose any of: kl, rkl, js, tv, tvd++, lk"),
        (("--losses", ""), "--losses: got ''; choose any of"),
        (("--losses", "kl,kl"), "--losses: kl stands there twice"),
        (("--test-prompts", "none.jsonl"), "none.jsonl cannot be read"),
        (("--output", "nowhere/losses.html"), "--output nowhere/losses.html cannot be written"),
        (("--output", "."), "is there already"),
        (("--budget", "soon"), "--budget: got 'soon'"),
        (("--amateur", "x.gguf"), "--amateur: a head learns one model"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(cli, flags, has_torch, given, said):
    assert said in error(cli("train", "compare", *flags, *given))


def test_nothing_is_asked_of_files_that_nobody_writes(cli, tmp_path, flags, has_torch):
    """A comparison writes its report alone."""
    for name in ("own.safetensors", "own.html"):
        (tmp_path / name).mkdir()
    said = error(cli("train", "compare", "-m", "tabular", *flags[2:4], "-o", tmp_path / "own.htm", "--losses", "kl"))
    assert "tabular is a table without hidden states" in said


def test_torch_is_asked_for(cli, flags, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "training needs torch, which is not installed" in error(cli("train", "compare", *flags))


@pytest.fixture
def unopened(monkeypatch):
    """Nothing is compared."""

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("truedraw.cli.train_compare.compared", stopped)


def test_what_is_no_report_of_ours_is_kept(cli, tmp_path, flags, has_torch, unopened):
    page = tmp_path / "keep.txt"
    page.write_text("years of work")
    given = (*flags[:4], "-o", page)
    assert f"{page} is there already and is no report of ours; give another" in error(cli("train", "compare", *given))
    assert "goes on with" in cli("train", "compare", *given, "--overwrite").err
    page.write_text(to_html({"model": "a model", "sections": []}, {"kl": [LOOK]}))
    assert "goes on with" in cli("train", "compare", *given).err


@pytest.mark.parametrize(("output", "work"), [("a.html", "a.work"), ("run.a", "run.a.work"), ("run.b", "run.b.work")])
def test_each_name_has_a_work_folder_of_its_own(cli, tmp_path, flags, has_torch, unopened, output, work):
    found = cli("train", "compare", *flags[:4], "-o", tmp_path / output)
    assert found.err == f"interrupted; the same command goes on with {tmp_path / work}\n"
