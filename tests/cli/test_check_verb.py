import json
import sys
from functools import cache

import pytest

from truedraw.cli.check import CheckFlags, _reference, settings_of
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.sampling_flags import SamplingFlags
from truedraw.errors import BadParameter
from truedraw.registry import BUILT_IN
from truedraw.stats.check.enumerated import enumeration

FAST = ("-m", "tabular", "--quick", "--raw", "--samples", 8)
known_enumeration = cache(enumeration)


@pytest.fixture(autouse=True)
def enumerated_once(monkeypatch, few_rules):
    """The same code has the same law in every test; tests/stats has all rules."""
    monkeypatch.setattr(sys.modules["truedraw.stats.check"], "enumeration", known_enumeration)


@pytest.fixture
def prompts(tmp_path):
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "the cat sat"}\n{"prompt": "the dog ran"}\n')
    return file


def test_a_report_about_a_model_whose_file_has_no_name_in_utf8(tmp_path):
    """It is written behind minutes of work."""
    from truedraw.cli.certificate import write_report
    from truedraw.stats.check import Certificate

    page = tmp_path / "report.html"
    write_report(Certificate((), {"model": "m\udcff.gguf", "alpha": 0.01}, {}, 1.0), page)
    assert "Exactness of m?.gguf" in page.read_text(encoding="utf-8")


def test_a_certificate_for_people_and_programs(cli, prompts, tmp_path):
    page = tmp_path / "report.html"
    done = cli("check", *FAST, "--prompts", prompts, "--html", page, "--temperature", 1.2, "--spec-tokens", 2)
    assert done.code == 0
    found = json.loads(done.out.splitlines()[-1])
    assert found["passed"] is True
    assert [section["key"] for section in found["sections"]] == list("abcdef")
    assert (found["prompts"], found["alpha"], found["samples"]) == (2, 0.01, 8)
    assert (found["sampling"]["temperature"], found["speculation"]["num_speculative_tokens"]) == (1.2, 2)
    assert [found[name] for name in ("numerics", "weights", "threads")] == [None] * 3  # of a table
    assert "nothing failed" in done.err
    assert "planted bugs" in done.err
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_no_page_but_an_earlier_report_is_written_over(cli, prompts, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("notes")
    done = cli("check", *FAST, "--prompts", prompts, "--html", page)
    assert (done.code, page.read_text()) == (2, "notes")
    assert "report.html is there already and is no report of ours; give another --html" in done.err


@pytest.mark.parametrize("given", [("--min-tokens", 30, "--max-tokens", 32), ("--min-tokens", 9)])
def test_a_least_length_is_no_obstacle(cli, prompts, given):
    """Some of the texts are shorter than asked for."""
    done = cli("check", *FAST, "--prompts", prompts, *given)
    assert done.code == 0, done.err


def test_json_alone_is_quiet_and_can_be_repeated(cli, prompts):
    runs = [cli("check", *FAST, "--prompts", prompts, "--json", "--seed", 5) for _ in range(2)]
    assert runs[0].err == ""
    one, other = (json.loads(run.out)["sections"][2]["findings"] for run in runs)
    assert one == other


def test_what_fails_is_told_by_the_exit_code(cli, prompts, monkeypatch):
    monkeypatch.setitem(BUILT_IN["verifiers"], "planted", "generate.mutants:ArgmaxMatch")
    done = cli("check", *FAST, "--prompts", prompts, "--speculative-config", '{"rejection_sample_method": "planted"}')
    assert done.code == 1
    assert json.loads(done.out.splitlines()[-1])["passed"] is False
    assert "FAILED" in done.err
    assert "refused" in done.err


def test_a_check_that_proves_nothing_is_not_passed(cli, prompts):
    """The least that can be looked at, and hardly any false alarms."""
    done = cli("check", *FAST, "--prompts", prompts, "--samples", 2, "--max-tokens", 2, "--alpha", 1e-6)
    assert done.code == 1
    found = json.loads(done.out.splitlines()[-1])
    assert (found["passed"], found["verdict"]) == (False, "nothing was proven")
    assert "raise" in done.err
    assert done.err.splitlines()[-1].startswith("nothing was proven; ")


@pytest.mark.parametrize(("samples", "expected"), [(64, 64), (2, 16)])
def test_the_controls_have_no_fewer_texts_than_the_check(samples, expected):
    assert settings_of(CheckFlags(samples=samples), SamplingFlags()).control_samples == expected


@pytest.mark.slow
def test_a_draft_model_and_a_grammar_are_checked(cli, prompts):
    knobs = '{"draft_temperature": 0.5, "draft_siblings": 2}'
    done = cli("check", *FAST, "--prompts", prompts, "--spec-model", "tabular", "--spec-tokens", 2,
               "--speculative-config", knobs, "--regex", "[a-z ]{12,300}")  # fmt: skip
    assert done.code == 0
    found = json.loads(done.out.splitlines()[-1])
    assert found["speculation"] | {"method": "model", "model": "tabular", "draft_siblings": 2} == found["speculation"]
    assert found["sampling"]["regex"]
    assert "inside the grammar" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--alpha", 0), "alpha"),
        (("--alpha", "x"), "--alpha"),
        (("--samples", 1), "--samples"),
        (("--max-tokens", 1), "max_tokens"),
        (("--html", "/no/such/folder/report.html"), "--html"),
        (("--prompts", "/no/such/file"), "/no/such/file"),
        (("--spec-method", "psychic"), "psychic"),
        (("--spec-method", "model"), "--spec-model"),
        (("--spec-method", "none", "--spec-tokens", 3), "num_speculative_tokens"),
        (("--spec-model", "tabular", "--spec-method", "ngram"), "does not use model"),
        (("--regex", "("), "regex"),
        (("--temperature", -1), "temperature"),
        (("--frobnicate",), "--frobnicate"),
    ],
)
def test_bad_use_is_one_line(cli, arguments, said):
    done = cli("check", "-m", "tabular", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert said in done.err


def test_the_reference_is_loaded_without_a_head(monkeypatch):
    asked = []
    monkeypatch.setattr("truedraw.generate.loading.load", lambda name, **options: asked.append(options["draft"]))
    _reference(ModelFlags())
    assert asked == ["none"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [((), {"fixed_after": 0}), (("--fixed-after", 9), {}), (("--engine", "pytorch"), {}), (("-m", "tabular"), {})],
    ids=["default", "asked for", "another engine", "toy"],
)
def test_graphs_of_a_fixed_shape_are_checked_from_the_start(cli, prompts, monkeypatch, flags, expected):
    """They take over in the middle of a long run, and a certificate is about long runs, too."""
    asked = []

    def seen(_model, **more):
        asked.append({name: value for name, value in more.items() if name != "configs"})
        raise BadParameter("model", "seen")

    monkeypatch.setattr("truedraw.cli.options.opened", seen)
    assert cli("check", *flags, "--prompts", prompts).code == 2
    assert asked == [expected]
