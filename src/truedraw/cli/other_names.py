"""Flags of other command lines (llama.cpp, ollama, transformers, vLLM) for what is ours under another name."""

from __future__ import annotations

from typing import Any

from truedraw.sampling.their_names import OURS

THEIRS = {
    "--cache": ("--cache-dir", "--download-dir"),
    "--grammar": ("--grammar-file",),
    "--input": ("--input-file",),
    "--json-schema": ("--json-schema-file",),
    "--logprobs": ("--n-probs", "--top-logprobs"),
    "--max-tokens": ("--max-new-tokens", "--predict"),
    "--model": ("--hf-repo", "--model-path", "--model-name-or-path"),
    "--n": ("--best-n", "--num"),
    "--no-repeat-ngram": ("--no-repeat-ngram-size",),
    "--output": ("--output-file", "--out"),
    "--prompt": ("-p",),
    "--repetition-penalty": ("--repeat-penalty",),
    "--sampler-order": ("--samplers", "--sampling-seq"),
    "--seed": ("-s",),
    "--spec-model": ("--model-draft", "--speculative-model", "--assistant-model", "--draft-model"),
    "--spec-tokens": ("--draft-max", "--draft-n", "--spec-draft-n-max", "--num-speculative-tokens",
                      "--num-assistant-tokens", "--prompt-lookup-num-tokens"),
    "--stop": ("--reverse-prompt",),
    "--system": ("--system-prompt",),
    "--threads": ("--num-threads", "--num-thread"),
    "--top-n-sigma": ("--top-nsigma",),
}  # fmt: skip
MANY = ("--input", "--prompts")
"""A file of prompts, of a verb that draws from them and of one that measures."""
FLAGS = {theirs: ours for ours, names in THEIRS.items() for theirs in names}


def meant(error: Any) -> str:
    """Behind the message that there is no such option, which of the command's own is meant; empty where none is."""
    theirs, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if theirs is None or context is None:
        return ""
    ours = ours_of(theirs)
    named = {name for flag in context.command.params if flag.param_type_name == "option" for name in flag.opts}
    arguments = {flag.metavar for flag in context.command.params if flag.param_type_name == "argument"}
    for name in (ours, *(MANY if theirs in MANY else ())):
        if name in named:
            return f" (did you mean {name}?)"
    return " (give PROMPT without a flag)" if ours == "--prompt" and "PROMPT" in arguments else ""


def ours_of(theirs: str) -> str:
    """The flag, be it the other program's or a parameter's name there."""
    dashed = theirs.replace("_", "-")
    parameter = dashed.removeprefix("--").replace("-", "_")
    return FLAGS.get(dashed) or "--" + OURS.get(parameter, parameter).replace("_", "-")
