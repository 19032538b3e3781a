"""Sampling parameters for runs of a known length."""

from __future__ import annotations

from dataclasses import replace

from truedraw.sampling.params import SamplingParams

WARM_UP_TOKENS = 16  # enough for every kernel and every row count to have run once


def short(params: SamplingParams) -> SamplingParams:
    """For a run that only warms up."""
    most = min(WARM_UP_TOKENS, params.max_tokens)
    return replace(params, max_tokens=most, min_tokens=min(most, params.min_tokens))


def whole(params: SamplingParams) -> SamplingParams:
    """Nothing ends a text before max_tokens, so that every sample is as long as the others."""
    return replace(params, ignore_eos=True, stop=(), stop_token_ids=())
