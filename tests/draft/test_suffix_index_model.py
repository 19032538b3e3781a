"""Suffix decoding with an index on the default model: its own samples of before draft for the next ones."""

from __future__ import annotations

import json

import pytest

from truedraw import load
from truedraw.cli.main import run

pytestmark = pytest.mark.model

PROMPT = "Question: why is the sky blue? Answer:"
SETTINGS = {"max_tokens": 40, "ignore_eos": True}


def test_a_seed_gives_one_text_and_old_samples_are_kept(tmp_path, capsys) -> None:
    samples, index = tmp_path / "samples.jsonl", tmp_path / "own.tdx"
    spec = {"method": "suffix", "suffix_decoding_scope": "text", "adaptive": False}
    with load("smollm2-135m") as model:
        old = model.generate(PROMPT, n=8, seed=1, temperature=0.7, speculative=False, **SETTINGS)
        samples.write_text(json.dumps(old.to_dict()) + "\n")
        assert run(["index", "build", str(index), str(samples)]) == 0
        assert "tokens        320\n" in capsys.readouterr().out
        for temperature in (0.0, 0.7):
            ask = {"seed": 2, "temperature": temperature, "n": 2, **SETTINGS}
            plain, alone, known = (
                model.generate(PROMPT, speculative=config, **ask)
                for config in (False, spec, {**spec, "suffix_decoding_index": str(index)})
            )
            for found in (alone, known):
                assert [c.tokens for c in found.choices] == [c.tokens for c in plain.choices]
                assert found.fallback is None
            assert known.stats.rounds < alone.stats.rounds
