"""A run with a seed repeats its log probabilities bit for bit, whatever ran before and whoever drafted."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw import load

RUNS = 24
PARAMS = {
    "mirostat": {"mirostat": 2, "mirostat_tau": 1.1, "mirostat_eta": 0.5, "sampler_order": "vllm"},
    "penalties and truncations": {"repetition_penalty": 1.3, "typical_p": 0.9, "eta_cutoff": 0.02, "temperature": 1.3},
}
DRAFTS = {
    "model": "tabular",
    "method": "model",
    "adaptive": True,
    "num_speculative_tokens": 3,
    "draft_sample_method": "greedy",
}


@pytest.mark.parametrize("name", PARAMS)
def test_log_probabilities_of_equal_runs_are_equal(name: str) -> None:
    """Arrays of few numbers come to lie elsewhere in memory each time; no digit may depend on it."""
    kept, found = [], set()
    with load("tabular") as model:
        for run in range(RUNS):
            kept.append(np.empty(1 + 7 * run % 29))
            result = model.generate(
                "the", n=3, seed=789, max_tokens=30, ignore_eos=True, speculative=DRAFTS if run % 2 else False,
                **PARAMS[name],
            )  # fmt: skip
            found.add(tuple((choice.tokens, choice.logprobs, choice.sampling_logprobs) for choice in result.choices))
            del kept[: len(kept) - 5]
    assert len(found) == 1
