"""Tables show names as they are: brackets in them mean nothing."""

from __future__ import annotations

import pytest

from truedraw.cli.certificate import print_certificate
from truedraw.cli.table import print_table
from truedraw.cli.train_compare_table import print_tables
from truedraw.stats.check import Certificate, Finding, Section

NAME = "[/x][q8]"
SECTION = {
    "prompts": 1,
    "speedup": {"median": 1.0, "low": None, "high": None},
    "identical_texts": {"count": 1, "of": 1},
    **dict.fromkeys(("plain_tokens_per_second", "speculative_tokens_per_second"), 1.0),
    **dict.fromkeys(("tokens_per_second", "tokens_per_round", "acceptance_rate"), 1.0),
    **dict.fromkeys(("overhead_fraction", "overhead_fraction_speculative"), 0.0),
    "batch": [],
}


@pytest.mark.parametrize("color", ["never", "always"])
def test_the_certificate(capsys, color) -> None:
    section = Section("a", "of all", (Finding("rule", True, "fine"),))
    print_certificate(Certificate((section,), {"model": NAME, "alpha": 0.01}, {}, 1.0), color)
    assert NAME in capsys.readouterr().err


@pytest.mark.parametrize("color", ["never", "always"])
def test_the_benchmark(capsys, color) -> None:
    found = {**SECTION, "model": NAME, "speculation": {"method": "ngram"}, "by_category": {NAME: SECTION}}
    print_table(found, color)
    assert capsys.readouterr().err.count(NAME) == 2


def test_the_comparison(capsys) -> None:
    print_tables({"sections": [], "trainings": {}, "report": f"{NAME}.html"})
    assert capsys.readouterr().err == f"written: {NAME}.html\n"
