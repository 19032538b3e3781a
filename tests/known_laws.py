"""The scenarios of known law, under the name that tests use."""

from truedraw.testing.scenarios import DISJOINT, SCENARIOS, ZEROS, Scenario, TableDrafter, TableState, text_law
from truedraw.testing.tables import Table, lookup, normalised, random_row, random_table, transformed, until

__all__ = [
    "DISJOINT",
    "SCENARIOS",
    "ZEROS",
    "Scenario",
    "Table",
    "TableDrafter",
    "TableState",
    "lookup",
    "normalised",
    "random_row",
    "random_table",
    "text_law",
    "transformed",
    "until",
]
