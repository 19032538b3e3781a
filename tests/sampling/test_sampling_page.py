"""docs/sampling.md: its example runs, and it names every step, parameter and order there is."""

import doctest
import re
from pathlib import Path

import pytest

from truedraw.sampling.contradictions import DETAILS
from truedraw.sampling.order import PRESETS, SWITCHES

PAGE = Path(__file__).parents[2] / "docs" / "sampling.md"


def test_its_example_runs() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried
    assert not failed


def test_it_names_every_parameter_of_a_step() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))
    wanted = {name for names in SWITCHES.values() for name in names} | {*DETAILS}
    assert wanted <= named


@pytest.mark.parametrize("preset", PRESETS)
def test_its_orders_are_the_orders(preset: str) -> None:
    line = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{preset}`"))
    assert line.split(" | ")[1].strip(" |") == ", ".join(PRESETS[preset])
