"""Counts of n-grams that come with a model: it writes prompts for itself, answers them, and the answers are counted.

    python tools/own_counts.py --model smollm2-135m OUT.tdn

Prompts are what the model writes in the user's place of its chat template, at temperature 1 with top_p 0.95; answers
are drawn at temperatures 1, 0.7 and 1 in turn. All chance comes from the seeds below: two runs write the same file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from truedraw import Model, Request, load
from truedraw.draft.ngram_lm_counts import count_ngrams, without_rare
from truedraw.draft.ngram_lm_file import Origin, write_counts

PLACE = "\x00"  # stands for the user's words while the template is looked at
PROMPTS, PROMPT_TOKENS, PROMPT_SEED = 2400, 60, 11
SHORTEST, LONGEST = 8, 400  # characters of a prompt
TEMPERATURES, ANSWER_TOKENS, FIRST_SEED = (1.0, 0.7, 1.0), 300, 1000
ORDER, LEAST = 5, 2  # longest n-grams; what is longer than a pair and occurs only once is left out


def prompts(model: Model) -> list[str]:
    """What users might say, by the model's own guess; each once."""
    head = model.tokenizer.chat([{"role": "user", "content": PLACE}]).partition(PLACE)[0]
    opening = model.tokenizer.encode(head, add_special=False)
    drawn = model.generate(opening, n=PROMPTS, temperature=1.0, top_p=0.95, max_tokens=PROMPT_TOKENS, seed=PROMPT_SEED)
    texts = [choice.text.strip() for choice in drawn.choices if choice.finish_reason == "stop"]
    return list(dict.fromkeys(text for text in texts if SHORTEST < len(text) < LONGEST))


def answers(model: Model, asked: list[str]) -> list[tuple[int, ...]]:
    """Token ids of one answer to each."""
    requests = [
        Request(
            model.chat_prompt([{"role": "user", "content": text}]),
            {
                "temperature": TEMPERATURES[i % len(TEMPERATURES)],
                "max_tokens": ANSWER_TOKENS,
                "seed": FIRST_SEED + i,
            },
        )
        for i, text in enumerate(asked)
    ]
    results = (result for _, result in model.generate_many(requests, logits_cache_bytes=0))
    return [result.choices[0].tokens for result in results if not isinstance(result, Exception)]


def main() -> None:
    """Takes some minutes a hundred thousand tokens on two cores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", default="smollm2-135m")
    given = parser.parse_args()
    with load(given.model) as model:
        texts = answers(model, prompts(model))
        tokenizer = model.tokenizer
        counts = without_rare(count_ngrams(texts, ORDER), LEAST)
        write_counts(given.output, counts, Origin(model.name, tokenizer.fingerprint, tokenizer.vocab_size))
    print(f"{counts.num_tokens} tokens of {counts.num_texts} texts, {given.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
