"""Under which conditions an evaluation was made: figures of others are no temperatures of the same set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from truedraw.bench.pairs import Task
from truedraw.generate.speculation import DEFAULTS
from truedraw.sampling.params import SamplingParams

USUAL = asdict(SamplingParams())
NAMED = ("temperature", "max_tokens", "seed")  # by a set itself
OF_HEAD = ("method", "head_path")
LETTERS = 12  # of a digest


def conditions(found: Mapping[str, Any]) -> dict[str, Any]:
    """What temperatures of one set have in common, as a card gives it back."""
    sampling, spec = found["sampling"], found["speculation"]
    unusual = {name: value for name, value in sampling.items() if name not in NAMED and value != USUAL[name]}
    drafting = {name: value for name, value in spec.items() if name not in OF_HEAD and value != DEFAULTS.get(name)}
    mine = {
        "prompts": found["prompts"],
        "digest": found["prompts_digest"],
        "max_tokens": sampling["max_tokens"],
        "seed": sampling["seed"],
        "numerics": found.get("numerics"),
        "settings": {**unusual, **drafting},
    }
    return dict(json.loads(json.dumps(mine)))


def digest_of(todo: Sequence[Task]) -> str:
    """The same for the same prompts, as the model gets them."""
    return sha256(json.dumps([[each.category, each.tokens] for each in todo]).encode()).hexdigest()[:LETTERS]
