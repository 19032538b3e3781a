"""A certificate as one HTML file that needs nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from html import escape
from typing import Any

from truedraw.page.document import document
from truedraw.page.svg import Axes, bars, curve, labelled_bars, level, plot
from truedraw.stats.check.records import Certificate, Finding, Section

MARKS = {True: ("passed", "passed"), False: ("failed", "FAILED"), None: ("open", "–")}
SMALLEST_P = 1e-40  # where the bars of p-values end
KS_99 = 1.628  # sqrt(n) times the Kolmogorov-Smirnov distance that 1 in 100 uniform samples exceeds
TITLE = "Exactness of "  # what follows is the model's name
BAND_99 = 2.576  # standard deviations, two-sided


def to_html(certificate: Certificate) -> str:
    """The page."""
    kind, word = MARKS[certificate.passed]
    title = f"{TITLE}{certificate.conditions['model']}"
    sections = "".join(_section(section, certificate) for section in certificate.sections)
    conditions = escape(json.dumps(certificate.conditions, indent=2, default=str))
    return document(
        title,
        f'<h1>{escape(title)}: <span class="{kind}">{word}</span></h1>'
        f"<p>Checked in {certificate.seconds:.0f} s: {_verdict(certificate)}. A passed statistic means: no bias as "
        f"large as the stated smallest one was found, never that there is none; only section (a) excludes a bias of "
        f"any size, in the rules themselves.</p>{sections}<h2>Conditions</h2><pre>{conditions}</pre>",
    )


def _verdict(certificate: Certificate) -> str:
    return "; ".join(filter(None, (certificate.verdict, certificate.doubt)))


def _section(section: Section, certificate: Certificate) -> str:
    rows = "".join(_row(finding) for finding in section.findings)
    shown = f'<div class="plots">{_plots(section, certificate)}</div>'
    return (
        f"<h2>({section.key}) {escape(section.title)}</h2><table><tr><th>what</th><th>result</th><th>numbers</th></tr>"
        f"{rows}</table>{shown}"
    )


def _row(finding: Finding) -> str:
    kind, word = MARKS[finding.passed]
    return f'<tr><td>{escape(finding.name)}</td><td class="{kind}">{word}</td><td>{escape(finding.says)}</td></tr>'


def _plots(section: Section, certificate: Certificate) -> str:
    plots, alpha = certificate.plots, float(certificate.conditions["alpha"])
    if section.key == "c":
        return _histogram(plots) + _gap(plots) + _evidence(plots, alpha)
    return _controls(section, alpha) if section.key == "f" else ""


def _histogram(plots: Mapping[str, Any]) -> str:
    counts, tokens = plots["pit_counts"], plots["tokens"]
    expected = tokens / len(counts)
    spread = BAND_99 * math.sqrt(expected * (1 - 1 / len(counts)))
    axes = Axes((0, 1), (0, max(*counts, expected + spread) * 1.1))
    lines = level(axes, expected, kind="middle") + level(axes, expected + spread) + level(axes, expected - spread)
    title = "Conditional probability integral transform of every token; uniform if exact (dashed: 99 % of a bar)"
    return plot(axes, bars(axes, counts) + lines, title, "F(token)")


def _gap(plots: Mapping[str, Any]) -> str:
    gap, limit = plots["pit_gap"], KS_99 / math.sqrt(plots["tokens"])
    largest = 1.2 * max(limit, *(abs(value) for value in gap))
    axes = Axes((0, 1), (-largest, largest))
    lines = level(axes, 0, kind="middle") + level(axes, limit) + level(axes, -limit)
    return plot(axes, curve(axes, gap) + lines, "Its distance from uniformity (dashed: 99 % of all curves)", "F(token)")


def _evidence(plots: Mapping[str, Any], alpha: float) -> str:
    path, alarm = plots["log10_e"], -math.log10(alpha)
    axes = Axes((0, plots["tokens"]), (min(-1.0, *path), max(alarm * 1.25, *path)))
    lines = level(axes, alarm, f"alarm at {alpha:g}") + level(axes, 0, kind="middle")
    return plot(axes, curve(axes, path) + lines, "Running e-value, log10: evidence against exactness", "tokens")


def _controls(section: Section, alpha: float) -> str:
    rows = []
    for finding in (each for each in section.findings if "p_value" in each.figures):
        p_value = float(finding.figures["p_value"])
        kind = {True: "seen", False: "missed", None: "small"}[finding.passed]
        rows.append((finding.name, _length(p_value), f"p = {p_value:.1g}", kind))
    return labelled_bars(rows, _length(alpha), "How clearly each planted bug was seen (-log10 p; dashed: the alarm)")


def _length(p_value: float) -> float:
    return math.log(max(p_value, SMALLEST_P)) / math.log(SMALLEST_P)
