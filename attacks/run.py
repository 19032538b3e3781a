"""Runs the attacks and prints a table: name, what goes wrong, where it was seen in public, total variation."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

if __package__ in (None, ""):  # run as a file: python attacks/run.py
    sys.path.insert(0, str(Path(__file__).parent.parent))

from attacks.attack import Attack
from truedraw.cli.pipe import quiet_pipe

NAMES = (
    "residual_from_p",
    "argmax_match",
    "greedy_draft_as_sample",
    "best_of_two_drafts",
    "dropped_by_its_own_confidence",
    "draft_law_before_truncation",
    "draft_law_in_bfloat16",
    "target_before_truncation",
    "unmasked_bonus",
    "row_of_the_rejected_draft",
    "block_without_its_residual",
    "block_stops_at_first_failure",
    "block_uncapped_at_the_end",
    "block_with_certain_drafts_as_ones",
    "siblings_sorted",
    "duplicates_merged",
    "too_small_rho",
    "one_number_twice",
    "sample_copied_to_its_sibling",
    "stale_cache",
    "lenience",
    "typical_acceptance",
    "skipped_verification",
)
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
Z_SCORES = 4.75 + 3.09  # one-sided: false alarms of 1e-6, detection with probability 0.999


def attacks(names: Iterable[str] = NAMES) -> Iterator[tuple[str, Attack]]:
    """The attacks of these names."""
    for name in names:
        yield name, import_module(f"attacks.{name}").ATTACK


def samples_to_see(tv: float) -> float:
    """Texts with which a test that knows where to look surely sees it.

    Its event, what the attack emits too often, has a variance of at most 1/4: n = (z / (2 TV))^2.
    """
    return (Z_SCORES / (2 * tv)) ** 2


def rows(names: Iterable[str] = NAMES) -> Iterator[tuple[str, str, str, str, str]]:
    """(name, what, seen, TV, texts to see it)."""
    for name, attack in attacks(names):
        tv = attack.tv()
        yield name, attack.what, attack.seen or "–", f"{tv:.2g}", f"{float(f'{samples_to_see(tv):.1g}'):,.0f}"


def markdown(names: Iterable[str] = NAMES) -> str:
    """The table of docs/exactness.md."""
    lines = ["| attack | what goes wrong | seen in public | TV | texts |", "|---|---|---|---:|---:|"]
    lines += [
        f"| [{name}](../attacks/{name}.py) | {what} | {seen} | {tv} | {texts} |"
        for name, what, seen, tv, texts in rows(names)
    ]
    return "\n".join(lines) + "\n"


def plain(names: Iterable[str]) -> Iterator[str]:
    """Lines for a terminal, as they are found."""
    for name, what, seen, tv, texts in rows(names):
        yield f"{name}: TV {tv} (to see it, up to {texts} texts)\n    {what}"
        if seen != "–":
            yield "    public: " + LINK.sub(r"\1", seen)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m attacks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--markdown", action="store_true", help="the table of docs/exactness.md")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in NAMES]
    if unknown:
        parser.error(f"no attack is called {unknown[0]!r}; choose from {', '.join(NAMES)}")
    names = given.names or NAMES
    with quiet_pipe():
        for line in markdown(names).splitlines() if given.markdown else plain(names):
            print(line, flush=True)


if __name__ == "__main__":
    main()
