"""A certificate as a table for people."""

from __future__ import annotations

import sys
from typing import Literal

from truedraw.cli.colour import wants_colour
from truedraw.stats.check import Certificate

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
