"""What came of a training, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truedraw.distill.outlook_page import sentence


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it."""

    output: Path
    page: Path
    training: dict[str, Any]  # as the card has it
    all_texts: bool  # False: there were more texts than features could be kept of

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {"output": str(self.output), "report": str(self.page), "all_texts": self.all_texts, **self.training}

    def lines(self) -> list[str]:
        """For people."""
        found = self.training
        by_temperature = [
            f"  temperature {temperature}: {', '.join(f'{each:.3f}' for each in row['acceptance'])}; "
            f"{row['tokens_a_round']:.2f} tokens a round"
            for temperature, row in found["held_out"].items()
        ]
        seconds = ", ".join(f"{stage} {each:,.0f} s" for stage, each in found["seconds"].items())
        more = self._ending()
        more += [] if self.all_texts else ["  features of some texts had no room or time: see --feature-bytes"]
        if count := found.get("prompts_left_out"):
            more.append(f"  prompts that are too long for the model's context and were left out: {count:,}")
        return [
            f"trained on {found['tokens']:,} tokens of {found['texts']:,} texts, {found['trained_tokens']:,} with "
            f"repetitions ({seconds})",
            *more,
            "kept on held-out text, by position of a chain:",
            *by_temperature,
            *([sentence(found["outlook"])] if found.get("outlook") else []),
            f"written: {self.output}, {self.page}",
        ]

    def _ending(self) -> list[str]:
        """What a run that went through does not say of itself."""
        found = self.training
        best = f"what is written is the draft of step {found['best_step']:,}"
        if found.get("ended_by_patience"):
            return [f"  ended after {found['steps']:,} steps, as looks at held-out text got no better; {best}: "
                    "see --patience"]  # fmt: skip
        if found["steps"] and not found["best_step"]:
            return ["  no step made held-out text better kept; what is written is what it began with"]
        return []
