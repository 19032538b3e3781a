import json

import pytest

from truedraw.bench.kernels import Plan

SMALL = ("--vocab-sizes", "300", "--rows", "1,2", "--repeats", 2)


@pytest.fixture(autouse=True)
def few_bytes(monkeypatch):
    monkeypatch.setattr(Plan.__init__, "__defaults__", (*Plan.__init__.__defaults__[:-1], 1))


def test_a_table_and_one_object(cli):
    done = cli("bench", "kernels", *SMALL)
    assert done.code == 0
    found = json.loads(done.out.splitlines()[-1])
    assert {(case["vocab_size"], case["rows"]) for case in found["cases"]} == {(300, 1), (300, 2)}
    assert {"goals", "torch", "cpu", "versions", "complete", "pass"} <= {*found}
    assert found["complete"]
    assert "top_p 0.95" in done.err
    assert "goal 1.5" in done.err


def test_json_alone_is_quiet(cli):
    done = cli("bench", "kernels", *SMALL, "--json")
    assert done.err == ""
    assert json.loads(done.out)["repeats"] == 2


def test_ctrl_c_reports_the_cases_so_far(cli, monkeypatch):
    from truedraw.bench import kernels

    whole = kernels.cases

    def interrupted(plan):
        yield next(whole(plan))
        raise KeyboardInterrupt

    monkeypatch.setattr(kernels, "cases", interrupted)
    done = cli("bench", "kernels", *SMALL, "--json")
    assert done.code == 130
    found = json.loads(done.out)
    assert (len(found["cases"]), found["complete"]) == (1, False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("kernels", "--rows", "0"), ("--rows", "whole numbers")),
        (("kernels", "--vocab-sizes", "many"), ("--vocab-sizes", "whole numbers")),
        (("--limit", 2, "kernels"), ("--limit", "before kernels")),
    ],
)
def test_bad_use(cli, arguments, words):
    done = cli("bench", *arguments)
    assert done.code == 2
    assert all(word in done.err for word in words)
    assert "Traceback" not in done.err


@pytest.mark.parametrize("sizes", ["1", "255", "300,10", "0"])
def test_too_small_a_vocabulary(cli, sizes):
    done = cli("bench", "kernels", "--vocab-sizes", sizes, "--rows", "1")
    assert (done.code, done.out) == (2, "")
    assert "give whole numbers from 256" in done.err
