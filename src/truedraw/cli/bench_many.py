"""truedraw bench many: many samples of one prompt, against one after the other and against other systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from truedraw.cli.flags import ReportFlags, SpeculationFlags
from truedraw.cli.found import print_found
from truedraw.cli.grouping import flag, with_flags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.sampling_flags import SamplingFlags
from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from truedraw.bench.peers.arms import Peer

SAMPLES, MAX_TOKENS, REPEATS = 32, 200, 3
PROMPT_TOKENS = 200
ENDS = ("stop", "stop_token_ids", "min_tokens")  # and grammars
SHARED = ("temperature", "max_tokens", "seed")
"""What other systems are measured with, too; a seed is ours alone."""
EPILOG = """Examples:

truedraw bench many

truedraw bench many -n 64 --max-tokens 100 --peers openvino-genai,transformers --json > many.json
"""


@dataclass(frozen=True, slots=True)
class ManyFlags:
    """What this verb has."""

    n: Annotated[int, flag("--n", "-n", help="Samples of the prompt.", min=2)] = SAMPLES
    prompt_tokens: Annotated[int, flag("--prompt-tokens", help="Length of the prompt, a text of our own.", min=1)] = (
        PROMPT_TOKENS
    )
    repeats: Annotated[int, flag("--repeats", help="Runs of everyone that count.", min=1)] = REPEATS
    peers: Annotated[str, flag("--peers", metavar="NAME,...", help="Other systems: openvino-genai, transformers.")] = ""


@with_flags
def many(
    own: ManyFlags, model: ModelFlags, sampling: SamplingFlags, spec: SpeculationFlags, output: ReportFlags
) -> None:
    """Measure many samples of one prompt drawn together.

    Plain and speculative, one after the other, and by other systems that are installed, everyone in turn. End tokens
    are ignored, so that every sample has --max-tokens tokens (200 if not given). Drafts are judged as in generate:
    without --seed by the rule that keeps most of them. A table goes to stderr (not with --json), one JSON object to
    stdout.
    """
    from truedraw.bench.many import Many, measured, report
    from truedraw.bench.provenance import drawn, machine
    from truedraw.cli.options import opened
    from truedraw.cli.speculating import speculation_of
    from truedraw.sampling.params import sampling_params

    given = {"max_tokens": MAX_TOKENS, **sampling.given(), "n": own.n}
    sampling_params(given)  # what is wrong should be said before the model is loaded
    sampling.refuse_logprobs()
    refuse_unused({**sampling.given(), **({"amateur": model.amateur} if model.amateur else {})}, own.peers)
    speculation = speculation_of(spec, model.amateur)
    others = model.amateur is not None or speculation.model is not None  # what they keep is not forgotten between runs
    with opened(model, apart=others, configs=[speculation]) as loaded:
        check_room(own.prompt_tokens, given["max_tokens"], loaded.engine.context_length)
        peers = peers_of(own.peers, model)
        plan = Many(loaded, prompt_of(loaded.tokenizer.encode, own.prompt_tokens), loaded.params(**given), speculation,
                    peers)  # fmt: skip
        found = {**report(measured(plan, own.repeats), plan), **drawn(plan.params, speculation), **machine()}
    print_found({"model": loaded.name, **found}, lines(found), output)


def refuse_unused(given: Mapping[str, Any], peers: str) -> None:
    """Raises BadParameter for what ends texts, which all have one length, and for what other systems are not given."""
    from truedraw.sampling.grammar import PARAMETERS

    for name in (*ENDS, *PARAMETERS):
        if name in given:
            raise BadParameter(f"--{name.replace('_', '-')}", "every sample has --max-tokens tokens here; leave it out")
    for name in given if peers.strip() else ():
        if name not in SHARED:
            raise BadParameter(f"--{name.replace('_', '-')}", "the other systems would not sample by it; leave it out")


def check_room(prompt: int, new: int, context: int) -> None:
    """Raises BadParameter where the context would end texts before they have all their tokens."""
    if prompt + new > context:
        raise BadParameter(
            "--max-tokens",
            f"{new} behind a prompt of {prompt} are more than the model's context of {context}; give fewer of either",
        )


def peers_of(names: str, model: ModelFlags) -> dict[str, Peer]:
    """The other systems with the model loaded; raises BadParameter for one that is unknown or not installed."""
    from truedraw.bench.peers.arms import peer
    from truedraw.models import open_checkpoint

    kinds = {name.strip(): peer(name.strip()) for name in names.split(",") if name.strip()}
    if not kinds:
        return {}
    checkpoint = open_checkpoint(model.model, cache=model.cache)
    return {name: kind(checkpoint) for name, kind in kinds.items()}


def prompt_of(encode: Any, length: int) -> tuple[int, ...]:
    """Token ids of our own prompts, one behind the other until there are enough."""
    from truedraw.bench.prompts import read_prompts

    text = "\n\n".join(prompt.text for prompt in read_prompts(None, None, None))
    ids = encode(text)
    return tuple((ids * -(-length // len(ids)))[:length])


def lines(found: Mapping[str, Any]) -> list[str]:
    """For people."""
    title = f"{found['n']} samples of {found['max_tokens']} tokens after {found['prompt_tokens']} of prompt"
    speeds = [
        f"  {name:<26}{value['median']:8.0f} tokens/s{_gain(found['gain_over'].get(name))}"
        for name, value in found["tokens_per_second"].items()
    ]
    other = ", ".join(f"{name} {share:.1%}" for name, share in found["other_fraction"].items())
    pages = found["pages"]
    memory = [f"pages held: {pages['held']}, {pages['held_over_needed']:.2f} of what is needed"] if pages else []
    return [title, *speeds, f"everything but engine and drafter, of the time: {other}", *memory]


def _gain(ratio: Mapping[str, float | None] | None) -> str:
    if ratio is None:
        return ""
    ends = "" if ratio["low"] is None else f" ({ratio['low']:.2f} to {ratio['high']:.2f})"
    return f"   together is {ratio['median']:.2f} times as fast{ends}"
