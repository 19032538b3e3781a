"""What a check hands back: findings in sections, and the numbers behind its plots."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. passed None: nothing was claimed, so nothing could fail.

    too_little: it fails because too little was looked at, not because something is wrong. by_chance: it is a statistic
    of the family that fails with probability alpha where nothing is wrong.
    """

    name: str
    passed: bool | None
    says: str  # one line for people
    figures: dict[str, Any] = field(default_factory=dict)  # the same for programs
    too_little: bool = False
    by_chance: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """One kind of evidence."""

    key: str  # "a" to "f"
    title: str
    findings: tuple[Finding, ...]
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """No finding failed."""
        return all(finding.passed is not False for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Certificate:
    """The whole of a check. `conditions` says of what and where; `plots` holds series for the report."""

    sections: tuple[Section, ...]
    conditions: dict[str, Any]
    plots: dict[str, Any]
    seconds: float

    @property
    def passed(self) -> bool:
        """No section failed."""
        return all(section.passed for section in self.sections)

    @property
    def verdict(self) -> str:
        """In words; what failed because too little was looked at has neither found an error nor proven anything."""
        failed = self._failed
        if not failed:
            return "nothing failed"
        return "nothing was proven" if all(each.too_little for each in failed) else "the certificate is refused"

    @property
    def doubt(self) -> str | None:
        """What to do where nothing but statistics refuses it, which chance alone may do; else None."""
        failed = [each for each in self._failed if not each.too_little]
        if not failed or not all(each.by_chance for each in failed):
            return None
        alpha = self.conditions["alpha"]
        return (
            f"only statistics failed: where nothing is wrong that happens with probability {alpha:g} at most, all of "
            "them together; look again with another --seed"
        )

    @property
    def _failed(self) -> list[Finding]:
        return [each for section in self.sections for each in section.findings if each.passed is False]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        sections = [{**asdict(section), "passed": section.passed} for section in self.sections]
        return {
            "passed": self.passed,
            "verdict": self.verdict,
            "doubt": self.doubt,
            "sections": sections,
            "plots": self.plots,
            "seconds": self.seconds,
            **self.conditions,
        }
