"""The examples of docs/plugins.md, run as they stand there."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text()
BLOCKS = re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, flags=re.DOTALL)
NAMES: dict = {}
for name, code in BLOCKS:  # each a file of its own, as the page says
    sys.modules[name] = ModuleType(name)
    exec(compile(code, f"docs/plugins.md: {name}", "exec"), vars(sys.modules[name]))
    NAMES |= vars(sys.modules[name])

test_of_the_drafter = NAMES["test_bigram_drafter"]
test_of_the_verifier = NAMES["test_matching_verifier"]
test_of_the_engine = NAMES["test_engine"]


def test_every_example_is_run() -> None:
    assert [name for name, _ in BLOCKS] == ["bigrams", "test_bigrams", "matching", "test_matching", "test_engine"]
    assert PAGE.count("```python") == len(BLOCKS)


def test_the_wrong_law_that_the_page_warns_of_fails_where_it_says() -> None:
    class Likeliest(NAMES["BigramDrafter"]):
        def chain(self, state, budget, randomness):
            proposal = super().chain(state, budget, randomness)
            tokens = [int(law.argmax()) for law in proposal.laws[:1]]
            return type(proposal).chain(tokens, proposal.laws[:1])

    checks = {check.name: check for check in NAMES["drafter_checks"](lambda: Likeliest(3))}
    with pytest.raises(AssertionError, match="total variation"):
        checks["exact law, plain"]()


def test_the_entry_point_is_valid_toml_of_a_known_group() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    groups = tomllib.loads(block)["project"]["entry-points"]
    assert groups == {"truedraw.verifiers": {"matching": "matching:MatchingVerifier"}}
