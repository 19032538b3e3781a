"""The kernel benchmark compares like with like, and says what it did."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from dataclasses import replace
from textwrap import dedent
from time import perf_counter, sleep
from types import SimpleNamespace

import numpy as np
import pytest

from truedraw.bench import kernels as measure
from truedraw.bench.kernel_arms import draw_arms, residual_arms
from truedraw.bench.kernel_peers import numpy_draw, numpy_judge
from truedraw.bench.kernel_rows import laws, made_up_rows
from truedraw.bench.kernel_works import RESIDUAL, WORKS
from truedraw.bench.kernels import Case, Plan, gather, kernel_report, measured
from truedraw.cli.kernel_table import cells, print_kernels
from truedraw.threads.crew import Crew

VOCAB = 700
SMALL = Plan(vocab_sizes=(VOCAB,), row_counts=(1, 3), repeats=2, cold_bytes=1)


@pytest.fixture(scope="module")
def rows():
    return made_up_rows(40, VOCAB, total_bytes=1)


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_numpy_and_the_kernel_draw_from_one_law(work, rows) -> None:
    """The tokens differ, as they are drawn in different ways; the log probabilities of one token do not."""
    told = replace(work, logprobs=True)
    drawn = draw_arms(told, rows)["kernel"](0)
    tokens, after, before = np.array(drawn).T
    if not work.logprobs:
        np.testing.assert_array_equal(np.array(draw_arms(work, rows)["kernel"](0))[:, 0], tokens)
    edits = rows if work.edited else None
    seen = 0
    for u in np.linspace(0.01, 0.99, 60):
        others, *expected = numpy_draw(rows.at(0), told, np.full(40, u), edits)
        same = others == tokens
        for found, wanted in zip((before, after), expected, strict=True):
            np.testing.assert_allclose(found[same], wanted[same], atol=1e-9)
        seen += same.sum()
    assert seen > 20


def test_numpy_and_the_kernel_judge_alike(rows) -> None:
    p, q, tokens = laws(rows.at(0))
    np.testing.assert_allclose([p.sum(axis=1), q.sum(axis=1)], 1)
    sure = numpy_judge((p, q, tokens), np.zeros(40))
    assert (sure == tokens).all()
    ends = numpy_judge((p, q, tokens), np.full(40, 0.9999))
    assert (p[np.arange(40), ends] > q[np.arange(40), ends])[ends != tokens].all()
    ends = np.array(residual_arms(rows)["kernel"](0))
    kept = ends == tokens
    assert 0 < kept.sum() < 40
    assert (p[np.arange(40), ends] > q[np.arange(40), ends])[~kept].all()


def test_everyone_is_called_in_turn_on_rows_not_just_seen() -> None:
    calls: list[tuple[str, int]] = []
    arms = {name: lambda call, name=name: calls.append((name, call)) for name in ("kernel", "numpy", "pass")}
    seconds = measured(arms, repeats=4)
    assert [name for name, _ in calls] == ["kernel", "numpy", "pass"] * (4 + measure.WARM_UP)
    assert [call for _, call in calls] == list(range(1, len(calls) + 1))
    assert {name: len(times) for name, times in seconds.items()} == dict.fromkeys(arms, 4)


def test_ratios_are_of_neighbouring_calls() -> None:
    """A machine that gets slower half-way does not change them."""
    case = Case(WORKS[0].name, 10, 2, {"kernel": [1, 10, 1], "numpy": [6, 60, 6], "pass": [0.5, 5, 0.5]})
    found = kernel_report([case], SMALL)
    (told,) = found["cases"]
    assert told["speedup_over"] == {"numpy": {"median": 6, "low": 6, "high": 6}}
    assert told["passes"]["median"] == told["passes_on_one_thread"]["median"] == 2
    assert told["microseconds_per_row"]["kernel"]["median"] == 5e5
    assert found["goals"]["speedup_over_numpy"] == {"goal": 5.0, "least": 6, "most": 6}
    for name in ("", "_on_one_thread"):
        assert found["goals"][f"passes_of_temperature_alone{name}"] == {"goal": 1.5, "least": 2, "most": 2}


def test_the_time_on_one_thread_is_told_apart() -> None:
    seconds = {"kernel": [1.0, 1.0], "kernel alone": [3.0, 3.0], "numpy": [6.0, 6.0], "pass": [2.0, 2.0]}
    (told,) = kernel_report([Case(WORKS[0].name, 10, 2, seconds)], SMALL)["cases"]
    assert told["passes"]["median"] == 0.5
    assert told["passes_on_one_thread"]["median"] == 1.5
    assert {name: ratio["median"] for name, ratio in told["speedup_over"].items()} == {"kernel alone": 3, "numpy": 6}


def test_helpers_look_before_the_kernels_are_called() -> None:
    """Whatever was done meanwhile; and an arm that needs nobody is called at once."""
    crew, found = Crew(2), []
    arms = {"kernel": lambda _: found.append(crew.is_awake()), "numpy": lambda _: sleep(0.01)}
    measured(arms, 20, {"kernel": lambda: gather(crew)})
    assert sum(found) > len(found) / 2
    calls: list[str] = []
    measured({"a": lambda _: calls.append("a"), "b": lambda _: calls.append("b")}, 1, {"a": lambda: calls.append("A")})
    assert calls == ["A", "a", "b"] * (1 + measure.WARM_UP)


def test_kernels_with_helpers_and_without_come_behind_the_same(monkeypatch) -> None:
    """Whoever came right behind the other would find all code at hand."""
    turns: list[list[str]] = []

    def noted(arms, _, before=measure.NOTHING):
        turns.append([])
        for name in arms:
            before.get(name, measure.nothing)()
            turns[-1].append(name)
        return {name: [1.0] for name in arms}

    monkeypatch.setattr(measure, "measured", noted)
    monkeypatch.setattr(measure, "numpy_draw", lambda *_: turns[-1].append("numpy"))
    list(measure.cases(SMALL))
    for turn in turns[: len(WORKS)]:
        assert turn[:3] == ["kernel", "numpy", "kernel alone"]
        assert turn[-2:] == ["numpy", "pass"]


def test_nobody_is_waited_for_on_one_thread() -> None:
    begun = perf_counter()
    gather(Crew(1))
    assert perf_counter() - begun < measure.LONGEST_WAIT / 2


def test_without_torch_it_says_so(monkeypatch) -> None:
    monkeypatch.setattr("truedraw.bench.kernel_peers.torch_version", lambda: None)
    monkeypatch.setattr(measure, "torch_version", lambda: None)
    done = list(measure.cases(SMALL))
    assert [(case.work, case.rows) for case in done] == [
        (name, count) for count in (1, 3) for name in (*(work.name for work in WORKS), RESIDUAL)
    ]
    own = {"kernel", "kernel alone"}
    assert all({*case.seconds} | own == {*own, "numpy", "pass"} for case in done)
    assert kernel_report(done, SMALL)["torch"] == "not installed, so not measured"


def test_torch_is_measured_on_one_thread_too(monkeypatch) -> None:
    """Where processors are shared, its threads wait for one another; the table shows who is faster."""
    called: list[int] = []
    threads = SimpleNamespace(get_num_threads=lambda: 7, set_num_threads=called.append)
    monkeypatch.setitem(sys.modules, "torch", threads)
    monkeypatch.setattr(measure, "torch_version", lambda: "2.0")
    with measure.torch_threads(4) as before:
        for name in ("torch", "torch alone"):
            before[name]()
    assert called == [4, 1, 7]
    seconds = {"kernel": [1.0], "pass": [1.0], "numpy": [9.0], "torch": [400.0], "torch alone": [4.0]}
    assert cells(Case("temperature", 10, 1, seconds).to_dict())[-2:] == ["9.0", "4.0"]


@pytest.mark.parametrize("torch", [[0.0996, 0.2, 0.03], [0.0036, 0.0026, 0.004]])
def test_the_table_fits_eighty_columns(capsys, monkeypatch, torch) -> None:
    """With everyone there and long numbers, no name is cut and no line wraps."""
    monkeypatch.setenv("COLUMNS", "80")
    seconds = {"kernel": [9e-5, 1e-4, 1.1e-4] * 5, "pass": [1e-5] * 15}
    numpy = [0.02, 0.012, 0.011] if max(torch) > 0.01 else [0.0015, 0.0012, 0.0014]
    others = {"numpy": numpy * 5, "torch": torch * 5}
    done = [Case(work.name, 151936, 64, {**seconds, **others}) for work in WORKS]
    report = {**kernel_report(done, Plan()), "torch": "2.0"}
    print_kernels(report, "never")
    shown = capsys.readouterr().err.splitlines()
    assert max(map(len, shown)) <= 80
    for work in WORKS:
        (line,) = [line for line in shown if line.strip().startswith(f"{work.name}  ")]
        assert line.count("–") == 2
        assert "…" not in line
    assert len(shown) <= len(WORKS) + 10


@pytest.mark.parametrize("work", WORKS[1::4], ids=lambda work: work.name)
def test_an_arm_holds_the_rows_that_it_draws_from(work) -> None:
    rows = made_up_rows(3, 49152, 8 << 20)
    arm = draw_arms(work, made_up_rows(3, 49152, 8 << 20))["kernel"]
    others = [np.full((3, 49152), 7.0, np.float32) for _ in range(20)]
    assert [arm(call) for call in range(4)] == [draw_arms(work, rows)["kernel"](call) for call in range(4)]
    assert len(others) == 20


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="another allocator than glibc's")
def test_numpy_takes_no_fresh_pages_for_the_largest_steps() -> None:
    program = """
    import numpy as np, resource
    from truedraw.bench.kernels import keep_memory
    keep_memory()
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        steps = [np.ones(10 << 20) for _ in range(3)]
        del steps
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """
    done = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20
