"""Names that other programs have for what is ours under another one, with other values or another meaning."""

from __future__ import annotations

from collections.abc import Iterable

from truedraw.errors import did_you_mean

THEIRS = {
    "allowed_token_ids": ("token_ids", "allowed_tokens"),
    "bad_words": ("suppress_tokens", "banned_tokens", "banned_words", "ban_tokens"),
    "grammar": ("gbnf", "guided_choice", "choice"),
    "json_schema": ("guided_json", "response_format", "structured_outputs", "format", "guided_decoding"),
    "logit_bias": ("sequence_bias",),
    "max_tokens": ("max_completion_tokens", "n_predict", "num_predict", "max_gen_len"),
    "min_tokens": ("min_length",),
    "mirostat": ("mirostat_mode",),
    "mirostat_eta": ("mirostat_lr",),
    "mirostat_tau": ("mirostat_ent",),
    "n": ("num_return_sequences", "num_samples", "n_samples"),
    "prompt": ("input_ids", "inputs", "prompts"),
    "repetition_penalty": ("penalty_repeat",),
    "regex": ("guided_regex", "pattern"),
    "seed": ("random_seed",),
    "speculative": ("speculative_config", "assistant_model", "draft_model", "num_assistant_tokens", "draft_max",
                    "num_speculative_tokens", "prompt_lookup_num_tokens", "spec_method"),
    "stop": ("stop_strings", "stop_sequences", "stop_words"),
    "temperature": ("temp", "do_sample"),
    "top_n_sigma": ("nsigma",),
    "typical_p": ("typical", "typ_p"),
}  # fmt: skip
OURS = {theirs: ours for ours, names in THEIRS.items() for theirs in names}


def meant_by(name: object, known: Iterable[str]) -> str:
    """As `did_you_mean`, for whoever comes from another program, too."""
    ours = OURS.get(str(name))
    return f" (did you mean {ours}?)" if ours is not None else did_you_mean(name, known)
