"""truedraw generate: samples of one prompt, or of many from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from truedraw.cli.flags import OUTPUT, AskingFlags, CountFlags, Explain, OutputFlags, Prompt, SpeculationFlags
from truedraw.cli.grouping import flag, with_flags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.offline import job_of, refuse_without_input, run_job
from truedraw.cli.one_prompt import run_one
from truedraw.cli.record_files import FileFlags
from truedraw.cli.sampling_flags import SamplingFlags
from truedraw.errors import BadParameter

EPILOG = """Examples:

truedraw generate "Once upon a time" --temperature 0.8 --seed 7

truedraw generate --chat "Name three rivers." --json

truedraw generate -m ./model.gguf -n 8 --null - < prompt.txt

truedraw generate --input prompts.jsonl --output samples.jsonl --seed 1

Every flag has a twin in the environment: --max-tokens is TRUEDRAW_MAX_TOKENS. (That of a flag that may be given several
times holds one value a line: TRUEDRAW_STOP.)
"""


@dataclass(frozen=True, slots=True)
class GenerateFlags(AskingFlags):
    """What only this verb has."""

    compare: Annotated[
        bool, flag("--compare", help="Afterwards measure the same plainly, and print what speculation gained.")
    ] = False
    explain: Explain = False
    input: Annotated[
        str | None,
        flag("--input", "-i", metavar="FILE", help="Many prompts instead, a JSON object a line; - reads stdin."),
    ] = None
    null: Annotated[
        bool, flag("--null", "-0", help="End each text with a NUL instead of a line break.", rich_help_panel=OUTPUT)
    ] = False


@with_flags
def generate(
    own: GenerateFlags,
    files: FileFlags,
    count: CountFlags,
    model: ModelFlags,
    sampling: SamplingFlags,
    spec: SpeculationFlags,
    output: OutputFlags,
    prompt: Prompt = None,
) -> None:
    """Continue a prompt, with exactly the model's distribution.

    The prompt is continued as it is; --chat asks it as a question. The text goes to stdout as it comes, statistics
    to stderr. With --n, each text is printed when complete. ctrl-C keeps the text so far. Of stdin, a byte order mark
    and the last line break are dropped; other line breaks stay as they are.

    --input FILE takes many prompts, one a line: {"prompt": text or token ids} or {"messages": [...]}, with "id" (or
    "custom_id"), "speculative" and any sampling parameter where wanted. Results go to --output FILE, a line each, in
    order of completion, with the number of their line and its seed; an error stays beside its line. A line without a
    seed has one made of --seed and its number: the first 8 bytes of the SHA-256 of "SEED:LINE"; with it,
    `truedraw generate --seed` writes the same text. Killed and run again, it goes on where it was; lines that failed
    for want of room in the cache, or by the engine, are tried again, and their results take the places of the errors.
    The exit code is 0 when every line was tried, even where some failed, and 2 where all did. With --output, --json
    prints one object about the run at its end.
    """
    if own.input is not None:
        _check_offline(own, prompt)
        run_job(job_of(own.input, files, own, (count, model, sampling, spec)), output)
        return
    refuse_without_input(files)
    if prompt is None:
        raise BadParameter("PROMPT", "give a text to continue, - for stdin, or --input FILE with many prompts")
    run_one(prompt, own, (count, model, sampling, spec), output)


def _check_offline(own: GenerateFlags, prompt: str | None) -> None:
    """Raises BadParameter for what has no meaning with many prompts."""
    alone = {"--null": own.null, "--compare": own.compare, "--explain": own.explain}
    for name, given in {"PROMPT": prompt is not None, **alone}.items():
        if given:
            raise BadParameter(name, "goes with one prompt, and --input reads many from a file; give one of them")
