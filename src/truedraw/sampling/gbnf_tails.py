"""Rules of GBNF that end in themselves, as repetitions.

    list ::= item | item "," list          list ::= (item ",")* item
    text ::= char ("." text | "!")?        text ::= (char ".")* char "!"?

R ::= A R | B and R ::= A* B have the same texts, also where R stands in A or B. What reads the former keeps something
for each turn until the text ends, and looks at all of it at every character; the latter leaves nothing behind.
"""

from __future__ import annotations

from typing import NamedTuple

Word = tuple[str, str]
"""Kind and text of a part of a rule, as gbnf.py has them."""
Words = list[Word]
OPEN, CLOSE, OR, MAYBE, OFTEN = ("mark", "("), ("mark", ")"), ("mark", "|"), ("times", "?"), ("times", "*")
DEEPEST = 32  # groups within each other that are taken apart


class Tails(NamedTuple):
    """Alternatives without the rule itself, which followed these turns, and behind which these ends have nothing."""

    turns: list[Words]
    ends: list[Words]


def without_tail(name: str, words: Words) -> Words:
    """The right side of a rule, whose parentheses are in pairs; as it is where no alternative ends in the rule, or
    all do."""
    turns, ends = _tails(alternatives(words), ("name", name), DEEPEST)
    turns = [turn for turn in turns if turn]  # R ::= R says nothing
    return [*group(turns), OFTEN, *group(ends)] if turns and ends else words


def _tails(found: list[Words], itself: Word, depth: int) -> Tails:
    parts = [_apart(each, itself, depth) for each in found]
    return Tails([turn for part in parts for turn in part.turns], [end for part in parts for end in part.ends])


def _apart(alternative: Words, itself: Word, depth: int) -> Tails:
    """An alternative whose last part is the rule itself, or a group with it, either of which may be left out."""
    maybe = alternative[-1:] == [MAYBE]
    before = alternative[:-1] if maybe else alternative
    start = last_part(before)
    first, part = before[:start], before[start:]
    if part == [itself]:
        return Tails([first], [first] if maybe else [])
    if part[-1:] != [CLOSE] or itself not in part or not depth:
        return Tails([], [alternative])
    turns, ends = _tails(alternatives(part[1:-1]), itself, depth - 1)
    if maybe:
        ends = [*ends, []]
    return Tails([[*first, *group(turns)]] if turns else [], [[*first, *group(ends)]] if ends else [])


def last_part(words: Words) -> int:
    """Where the last word begins, or the group that it ends."""
    depth = 0
    for place in range(len(words) - 1, -1, -1):
        depth += (words[place] == CLOSE) - (words[place] == OPEN)
        if depth <= 0:
            return place
    return len(words)


def alternatives(words: Words) -> list[Words]:
    """What stands between the bars that are in no group."""
    found: list[Words] = [[]]
    depth = 0
    for word in words:
        depth += (word == OPEN) - (word == CLOSE)
        if word == OR and not depth:
            found.append([])
        else:
            found[-1].append(word)
    return found


def group(parts: list[Words]) -> Words:
    """Any of these."""
    return [OPEN, *[word for part in parts for word in (OR, *part)][1:], CLOSE]
