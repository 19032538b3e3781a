"""The scenarios of known law, under the name that tests use."""

from truedraw.testing.scenarios import (
    DISJOINT,
    SCENARIOS,
    ZEROS,
    Scenario,
    Table,
    TableDrafter,
    TableState,
    lookup,
    normalised,
    random_row,
    random_table,
    text_law,
    transformed,
    until,
)

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
