"""Our steps against the logits processors of transformers on random rows. Run by make parity."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.step import Opening

pytestmark = pytest.mark.parity
VOCAB, ROWS = 2000, 12
FLOAT32 = 2e-6  # theirs are computed in float32


def processors():
    import transformers.generation.logits_process as theirs

    def bad(words):
        return theirs.NoBadWordsLogitsProcessor(words)

    return [
        ({"repetition_penalty": 1.4}, [theirs.RepetitionPenaltyLogitsProcessor(1.4)]),
        ({"repetition_penalty": 0.7}, [theirs.RepetitionPenaltyLogitsProcessor(0.7)]),
        ({"no_repeat_ngram_size": 1}, [theirs.NoRepeatNGramLogitsProcessor(1)]),
        ({"no_repeat_ngram_size": 2}, [theirs.NoRepeatNGramLogitsProcessor(2)]),
        ({"no_repeat_ngram_size": 3}, [theirs.NoRepeatNGramLogitsProcessor(3)]),
        ({"bad_words": [[7], [1, 2], [3, 1, 5]]}, [bad([[7], [1, 2], [3, 1, 5]])]),
        ({"logit_bias": {3: 2.5, 8: -4.0}}, [theirs.SequenceBiasLogitsProcessor({(3,): 2.5, (8,): -4.0})]),
        ({"min_tokens": 40}, [theirs.MinNewTokensLengthLogitsProcessor(5, 40, [0, 1], device="cpu")]),
        ({"min_tokens": 10}, [theirs.MinNewTokensLengthLogitsProcessor(5, 10, [0, 1], device="cpu")]),
        ({"temperature": 0.6}, [theirs.TemperatureLogitsWarper(0.6)]),
        ({"top_k": 40}, [theirs.TopKLogitsWarper(40)]),
        ({"top_p": 0.8}, [theirs.TopPLogitsWarper(0.8)]),
        ({"min_p": 0.07}, [theirs.MinPLogitsWarper(0.07)]),
        ({"typical_p": 0.7}, [theirs.TypicalLogitsWarper(0.7)]),
        ({"epsilon_cutoff": 3e-3}, [theirs.EpsilonLogitsWarper(3e-3)]),
        ({"epsilon_cutoff": 0.9}, [theirs.EpsilonLogitsWarper(0.9)]),
        ({"eta_cutoff": 3e-2}, [theirs.EtaLogitsWarper(3e-2)]),
        (
            {"repetition_penalty": 1.2, "no_repeat_ngram_size": 2, "temperature": 1.3, "top_k": 200, "top_p": 0.9,
             "min_p": 0.02, "typical_p": 0.95, "epsilon_cutoff": 1e-3, "eta_cutoff": 2e-3},
            [theirs.RepetitionPenaltyLogitsProcessor(1.2), theirs.NoRepeatNGramLogitsProcessor(2),
             theirs.TemperatureLogitsWarper(1.3), theirs.TopKLogitsWarper(200), theirs.TopPLogitsWarper(0.9),
             theirs.MinPLogitsWarper(0.02), theirs.TypicalLogitsWarper(0.95), theirs.EpsilonLogitsWarper(1e-3),
             theirs.EtaLogitsWarper(2e-3)],
        ),
    ]  # fmt: skip


def test_a_law_is_that_of_transformers() -> None:
    import torch

    rng = np.random.default_rng(5)
    for given, theirs in processors():
        for _ in range(ROWS):
            text = rng.integers(9, size=30).tolist()
            row = (rng.normal(0, 3, VOCAB) + np.isin(np.arange(VOCAB), range(9)) * 4).astype(np.float32)
            law = SamplingLaw(sampling_params(given), Opening(tuple(text[:5]), VOCAB, (0, 1)))
            for token in text[5:]:
                law = law.after(token)
            scores = torch.tensor(row)[None]
            for each in theirs:
                scores = each(torch.tensor([text]), scores)
            wanted = torch.softmax(scores.double(), dim=-1)[0].numpy()
            p = law(row)
            assert ((p > 0) == (wanted > 0)).all(), given
            assert np.abs(p - wanted).max() < FLOAT32, given


def test_the_order_is_that_of_transformers() -> None:
    """The default order, read off the list that generate() itself builds."""
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    names = {"TemperatureLogitsWarper": "temperature", "TopKLogitsWarper": "top_k", "TopPLogitsWarper": "top_p",
             "MinPLogitsWarper": "min_p", "TypicalLogitsWarper": "typical_p", "EpsilonLogitsWarper": "epsilon_cutoff",
             "EtaLogitsWarper": "eta_cutoff"}  # fmt: skip
    tiny = LlamaConfig(
        vocab_size=20, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, eos_token_id=0
    )
    config = GenerationConfig(do_sample=True, temperature=0.5, top_k=5, top_p=0.9, min_p=0.1, typical_p=0.9,
                              epsilon_cutoff=0.1, eta_cutoff=0.1, eos_token_id=0)  # fmt: skip
    config._eos_token_tensor = torch.tensor([0])
    built = LlamaForCausalLM(tiny)._get_logits_processor(config, input_ids_seq_length=1, device="cpu")
    found = [names[type(each).__name__] for each in built if type(each).__name__ in names]
    from truedraw.sampling.order import PRESETS

    assert found == [name for name in PRESETS["huggingface"] if name in found]
    assert len(found) == len(names)
