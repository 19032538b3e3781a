"""Rounds that every rule is shown by themselves: long chains, wide and deep trees, drafts of all kinds, large laws."""

from __future__ import annotations

from truedraw.protocol import ROOT
from truedraw.testing.lone_rounds import LoneRound

Nodes = tuple[tuple[int, str], ...]


def chain(sources: str, start: int = ROOT, first: int = 0) -> Nodes:
    """Each node behind the one before, the first behind `start`; `first`: its own place."""
    return tuple((first + i - 1 if i else start, source) for i, source in enumerate(sources))


def siblings(sources: str, parent: int = ROOT) -> Nodes:
    """All of them behind one."""
    return tuple((parent, source) for source in sources)


def floors(*sources: str) -> Nodes:
    """A tree, floor by floor: each node of one floor has the next one's drafts behind it."""
    nodes: list[tuple[int, str]] = []
    above = [ROOT]
    for floor in sources:
        first = len(nodes)
        nodes += [(parent, source) for parent in above for source in floor]
        above = list(range(first, len(nodes)))
    return tuple(nodes)


CHAINS = (
    LoneRound("no drafts, far into a text", (), position=100_003),
    LoneRound("a chain of eight", chain("qqqqqqqq"), position=41),
    LoneRound("a chain of twenty", chain("111q1111q111111q111q"), position=300),
    LoneRound("sampled drafts and certain ones by turns", chain("qtqtqtqu"), position=70_001),
    LoneRound("a chain under a certain target", chain("qqqqq"), greedy=True),
    LoneRound("a chain by laws all but the target's", chain("nnn"), possible=3),
    LoneRound("a chain under a target of faint tokens", chain("qtq"), faint=True),
    LoneRound("a chain over nine tokens", chain("qq"), vocab=9, drafted=4, possible=9),
    LoneRound("a law of seventy tokens", chain("q"), vocab=70, drafted=70, possible=70),
    LoneRound("a chain over 300 tokens", chain("qqq"), vocab=300, drafted=3, possible=6),
    LoneRound("a chain over 70000 tokens", chain("qq"), vocab=70_000, possible=5),
)
TREES = (
    LoneRound("four siblings", siblings("qqqq"), drafted=3),
    LoneRound("seven siblings", siblings("qqqqqqq"), position=65),
    LoneRound("four siblings without replacement", siblings("wwww"), drafted=4, possible=5),
    LoneRound("siblings from two laws", siblings("qoqo"), position=129),
    LoneRound("a certain draft before sampled ones", siblings("tqq")),
    LoneRound("a certain draft between sampled ones", siblings("qtqu"), position=41),
    LoneRound("certain drafts", siblings("tut")),
    LoneRound("three siblings behind four drafts", (*chain("qqqq"), *siblings("qqq", 3)), position=300),
    LoneRound("a certain sibling behind four drafts", (*chain("qqqq"), *siblings("qtq", 3))),
    LoneRound("two paths of six", (*chain("q1q11q"), *chain("q1q11q", first=6)), position=41),
    LoneRound("three paths of three", (*chain("q1q"), *chain("q1q", first=3), *chain("q1q", first=6))),
    LoneRound("three floors", floors("ww", "ww", "qt")),
    LoneRound("five floors", floors("tq", "q", "q", "1", "q"), position=1025),
    LoneRound("siblings that cannot come", siblings("qqqq"), excluding=1.0),
    LoneRound("a certain draft that cannot come", siblings("qxq"), drafted=3, excluding=1.0),
    LoneRound("an uneven tree behind a draft", ((ROOT, "q"), (0, "q"), (0, "q"), (1, "q"), (1, "q"))),
    LoneRound("siblings under a certain target", floors("qqq", "qq"), greedy=True),
    LoneRound("siblings by laws all but the target's", floors("nn", "n"), possible=3),
    LoneRound("siblings under a target of faint tokens", floors("qt", "q"), drafted=3, faint=True),
    LoneRound("siblings over twelve tokens", floors("qqq"), vocab=12, drafted=4, possible=12),
    LoneRound("siblings over 300 tokens", floors("qq", "qt"), vocab=300, drafted=3),
    LoneRound("siblings over 70000 tokens", siblings("qq"), vocab=70_000),
)
LARGE = (
    LoneRound("a chain of drafts of 1000 tokens", chain("qqqqqq"), 1000, 1000, 1000, alike=True),
    LoneRound("siblings of 1000 tokens", floors("qqq", "qq"), 1000, 1000, 1000, alike=True),
)
"""Drawn by chance: they have too many branches."""
