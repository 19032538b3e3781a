"""Tools for proving that an engine, a drafter or a verifier keeps its contract; docs/plugins.md shows them at work.

Three conformance suites, each a list of checks to be called from a test:

    @pytest.mark.parametrize("check", drafter_checks(MyDrafter), ids=str)
    def test_my_drafter(check):
        check()

`engine_checks`, `drafter_checks` and `verifier_checks` know what protocol/ asks for. Where a law is at stake they do
not sample: `law_of` runs the production loop on every branch of its randomness and adds up the exact law. It is here
for tests of one's own, with `Scenario` (a target, a draft and parameters), `TableDrafter`, `text_law` (the law by
definition) and `total_variation`; `definitions.Definition` says what p is under any sampling parameters. Nothing here
needs pytest.
"""

from truedraw.testing.checks import Check
from truedraw.testing.drafters import drafter_checks
from truedraw.testing.engines import engine_checks
from truedraw.testing.enumeration import KeyReused, Walker, law_of, total_variation
from truedraw.testing.runs import run
from truedraw.testing.scenarios import SCENARIOS, Scenario, TableDrafter, text_law
from truedraw.testing.tables import random_table
from truedraw.testing.verifiers import verifier_checks

__all__ = [
    "SCENARIOS",
    "Check",
    "KeyReused",
    "Scenario",
    "TableDrafter",
    "Walker",
    "drafter_checks",
    "engine_checks",
    "law_of",
    "random_table",
    "run",
    "text_law",
    "total_variation",
    "verifier_checks",
]
