"""Rules of GBNF that end in themselves, as repetitions.

    list ::= item | item "," list          list ::= (item ",")* item
    text ::= char text?                    text ::= (char)* char

R ::= A R | B and R ::= A* B have the same texts, also where R stands in A or B. What reads the former keeps something
for each turn until the text ends, and looks at all of it at every character; the latter leaves nothing behind.
"""

from __future__ import annotations

Word = tuple[str, str]
"""Kind and text of a part of a rule, as gbnf.py has them."""
OPEN, CLOSE, OR, MAYBE, OFTEN = ("mark", "("), ("mark", ")"), ("mark", "|"), ("times", "?"), ("times", "*")
MOST = 256  # steps that it may take to bring a rule's ends to light


def without_tail(name: str, words: list[Word]) -> list[Word]:
    """The right side of a rule; as it is where no alternative ends in the rule, or all do."""
    itself = "name", name
    found = endings(alternatives(words), itself)
    turns = [each[:-1] for each in found if each[-1:] == [itself] and len(each) > 1]
    ends = [each for each in found if each[-1:] != [itself]]
    return [*group(turns), OFTEN, *group(ends)] if turns and ends else words


def endings(waiting: list[list[Word]], itself: Word) -> list[list[Word]]:
    """Alternatives, each of which ends in the rule itself or has it at no end; none where they are too many."""
    waiting = waiting[::-1]
    found: list[list[Word]] = []
    for _ in range(MOST):
        if not waiting:
            return found
        each = waiting.pop()
        parts = apart(each, itself)
        if parts == [each]:
            found.append(each)
        else:
            waiting += parts[::-1]
    return []


def apart(alternative: list[Word], itself: Word) -> list[list[Word]]:
    """An alternative whose last part is a group with the rule itself, or may be left out, as several."""
    maybe = alternative[-1:] == [MAYBE]
    before = alternative[:-1] if maybe else alternative
    start = last_part(before)
    part = before[start:]
    if part[-1:] == [CLOSE] and itself in part:
        inside = alternatives(part[1:-1])
    elif part == [itself]:
        inside = [part]
    else:
        return [alternative]
    return [[*before[:start], *each] for each in ([*inside, []] if maybe else inside)]


def last_part(words: list[Word]) -> int:
    """Where the last word begins, or the group that it ends."""
    depth = 0
    for place in range(len(words) - 1, -1, -1):
        depth += (words[place] == CLOSE) - (words[place] == OPEN)
        if depth <= 0:
            return place
    return len(words)


def alternatives(words: list[Word]) -> list[list[Word]]:
    """What stands between the bars that are in no group."""
    found: list[list[Word]] = [[]]
    depth = 0
    for word in words:
        depth += (word == OPEN) - (word == CLOSE)
        if word == OR and not depth:
            found.append([])
        else:
            found[-1].append(word)
    return found


def group(parts: list[list[Word]]) -> list[Word]:
    """Any of these."""
    return [OPEN, *[word for part in parts for word in (OR, *part)][1:], CLOSE]
