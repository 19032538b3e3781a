"""A certificate for people: a table, and a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from truedraw.cli.colour import wants_colour
from truedraw.stats.check import Certificate
from truedraw.whole_files import check_folder, write_text

MARKS = {True: "[green]passed[/]", False: "[bold red]FAILED[/]", None: "–"}


def print_certificate(certificate: Certificate, color: Literal["auto", "always", "never"]) -> None:
    """A row a finding, grouped by kind of evidence; to stderr."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(stderr=True, no_color=not wants_colour(color, sys.stderr), highlight=False)
    table = Table("", "", "", title=escape(f"Exactness of {certificate.conditions['model']}"), show_header=False)
    for section in certificate.sections:
        title = f"[bold]({section.key}) {escape(section.title)}[/]"
        table.add_row(title, MARKS[section.passed], f"{section.seconds:.1f} s")
        for finding in section.findings:
            table.add_row(f"    {escape(finding.name)}", MARKS[finding.passed], escape(finding.says))
        table.add_section()
    console.print(table)
    console.print(f"{certificate.verdict}; {certificate.seconds:.0f} s")
    if certificate.doubt is not None:
        console.print(certificate.doubt)


def check_report(path: Path) -> None:
    """Raises BadFile where none can be written, or something else would be lost."""
    from truedraw.page.document import check_ours
    from truedraw.stats.check.html import TITLE

    check_folder(path, f"--html {path}")
    check_ours(path, TITLE, "give another --html")


def write_report(certificate: Certificate, path: Path) -> None:
    """Whole or not at all."""
    from truedraw.stats.check.html import to_html

    write_text(path, to_html(certificate), f"--html {path}")
