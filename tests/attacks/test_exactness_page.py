"""docs/exactness.md: its examples run, its table and its picture are what the code says."""

from __future__ import annotations

import doctest
import importlib.util
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from attacks.run import NAMES
from truedraw.generate.guarded_drafter import GuardedDrafter
from truedraw.protocol import NOTHING, Proposal
from truedraw.registry import find
from truedraw.testing import Scenario, TableDrafter, law_of, random_table, text_law, total_variation
from truedraw.testing.runs import PROMPT, run

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "exactness.md").read_text(encoding="utf-8")


def tool(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_examples_give_what_the_page_says() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "exactness.md", None, None)
    assert len(test.examples) > 10
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)


class Breaks(TableDrafter):
    """Its law is none behind token 1, or where it has drawn token 1 itself."""

    def __init__(self, table, itself: bool) -> None:
        super().__init__(table)
        self.itself = itself

    def chain(self, state, budget, randomness):
        found = super().chain(state, budget, randomness)
        tokens = found.tokens.tolist()
        bad = [1 in tokens[i : i + 1] if self.itself else 1 in tokens[:i] for i in range(len(tokens))]
        return Proposal.chain(tokens, [q * np.nan if is_bad else q for q, is_bad in zip(found.laws, bad, strict=True)])


class DropsTheWhole(GuardedDrafter):
    """The bug: of a proposal that breaks its contract nothing is kept."""

    def _believed(self, proposal, budget):
        found = super()._believed(proposal, budget)
        return found if self.fault is None else NOTHING


def bias_and_faults(rule: str, guard: type[GuardedDrafter], itself: bool) -> tuple[float, float]:
    """(total variation of the text from the model's law, probability that the drafter was given up)."""
    scenario = Scenario("broken", random_table(3, 1, 50), random_table(3, 1, 51), draft_tokens=2, max_tokens=3)

    def text(walker):
        drafter = guard(Breaks(scenario.draft, itself), 3)
        return run(scenario, walker, find("verifiers", rule)(), drafter)[0], drafter.fault is not None

    law: dict = defaultdict(float)
    given_up = 0.0
    for (tokens, fault), weight in law_of(text).items():
        law[tokens] += weight
        given_up += weight * fault
    return total_variation(law, text_law(scenario, PROMPT)), given_up


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "coupled"])
def test_a_law_that_is_broken_behind_some_tokens_bends_nothing(rule: str) -> None:
    """Dropped whole it would, as far as the page says."""
    bias, given_up = bias_and_faults(rule, GuardedDrafter, itself=False)
    assert bias < 1e-12
    assert given_up > 0.01
    whole, _ = bias_and_faults(rule, DropsTheWhole, itself=False)
    assert whole == pytest.approx(0.0 if rule == "coupled" else 0.029, abs=5e-4)
    assert "the text is 0.029 from the model's law" in PAGE


@pytest.mark.parametrize(("rule", "far"), {"token": 0.065, "block": 0.061, "traversal": 0.061, "coupled": 0.0}.items())
def test_a_law_that_its_own_token_decides_bends_the_text_as_far_as_the_page_says(rule: str, far: float) -> None:
    """And no farther than it happens."""
    bias, given_up = bias_and_faults(rule, GuardedDrafter, itself=True)
    assert bias == pytest.approx(far, abs=5e-4)
    assert bias <= given_up == pytest.approx(0.26, abs=0.01)
    assert f"{far:.3f}" in PAGE or not far


def test_the_table_is_current() -> None:
    page = tool("exactness_page").with_table(PAGE)
    assert page == PAGE, "run: python tools/exactness_page.py"
    assert all(f"[{name}](../attacks/{name}.py)" in page for name in NAMES)


def test_the_picture_is_current_and_shows_the_numbers_of_the_page() -> None:
    drawing = tool("exactness_picture")
    assert drawing.PICTURE.read_text(encoding="utf-8") == drawing.picture(), "run: python tools/exactness_picture.py"
    assert "rejected 0.3" in drawing.picture()
    assert "residual 0.3" in drawing.picture()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(((?!http)[^)#]+)\)", PAGE))))
def test_links_inside_the_project_lead_somewhere(target: str) -> None:
    assert (ROOT / "docs" / target).exists()
