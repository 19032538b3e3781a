"""GBNF, in which llama.cpp reads grammars, written as Lark, which llguidance reads.

In GBNF a text belongs to the grammar if there is any way to read it so. Lark's terminals are greedy: as far as one can
go, it goes, and what would have to stop sooner is lost. So each terminal is one character here.

    root ::= word "s"          start: r1 /[\\x{73}]/
    word ::= [a-z]+            r1: /[\\x{61}-\\x{7a}]/+
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise

from truedraw.sampling.gbnf_tails import Word, without_tail

WORD = re.compile(
    r"""(?P<blank>[ \t\r\n]+|\#[^\r\n]*)
      | (?P<rule>[\w-]+)\s*::=
      | (?P<name>[\w-]+)
      | "(?P<string>(?:\\.|[^"\\])*)"
      | (?P<set>\[(?:\\.|[^\]\\])*\])
      | (?P<times>[*+?]|\{\s*\d+\s*(?:,\s*\d*\s*)?\})
      | (?P<mark>[().|])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
ESCAPED = r"""\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[trn\\"\[\]-])"""
CHARACTER = re.compile(rf"{ESCAPED}|[^\\]", re.DOTALL)
RANGE = re.compile(rf"({ESCAPED}|[^\\])(?:-({ESCAPED}|[^\\]))?", re.DOTALL)
NEWLINE = "\n"
NAMED = {"t": "\t", "r": "\r", "n": "\n"}
ESCAPES = r"""\x12, \u1234, \U00012345, \t, \r, \n, \\, \", \[, \] and \-"""
EMPTY = '""'  # Lark's empty string
OPENING = (("mark", "("), ("mark", "|"))  # behind these an alternative begins
CLOSING = (("mark", ")"), ("mark", "|"))  # before these it ends


def to_lark(gbnf: str) -> str:
    """Lark of the same language; raises ValueError that says what cannot be read."""
    rules = _rules(gbnf)
    if "root" not in rules:
        raise ValueError("it has no rule `root`, which the whole text is to match")
    names = {name: f"r{i}" for i, name in enumerate(rules)} | {"root": "start"}
    return "".join(f"{names[name]}: {_rewritten(name, words, names)}\n" for name, words in rules.items())


def _rewritten(name: str, words: list[Word], names: Mapping[str, str]) -> str:
    _body(words, names)  # as it stands it is to be right
    return _body(without_tail(name, words), names)


def _rules(gbnf: str) -> dict[str, list[Word]]:
    rules: dict[str, list[Word]] = {}
    words: list[Word] | None = None
    for kind, text in _words(gbnf):
        if kind == "rule":
            if text in rules:
                raise ValueError(f"the rule `{text}` stands twice")
            words = rules[text] = []
        elif words is None:
            raise ValueError(f"`{text}` stands before the first rule; begin with `root ::=`")
        else:
            words.append((kind, text))
    return rules


def _words(gbnf: str) -> Iterator[Word]:
    at = 0
    while at < len(gbnf):
        found = WORD.match(gbnf, at)
        if found is None:
            line = gbnf.count("\n", 0, at) + 1
            raise ValueError(f"`{gbnf[at : at + 20].partition(NEWLINE)[0]}` in line {line} is no part of GBNF")
        kind = str(found.lastgroup)
        if kind == "rule" and gbnf[:at].rpartition(NEWLINE)[2].strip():
            raise ValueError(f"the rule `{found[kind]}` begins within a line; give each rule a line of its own")
        at = found.end()
        if kind != "blank":
            yield kind, found[kind]


def _body(words: list[Word], names: Mapping[str, str]) -> str:
    """The right side of a rule; an alternative of nothing is Lark's empty string."""
    written: list[str] = []
    for before, word in pairwise([("mark", "("), *words, ("mark", ")")]):
        if before in OPENING and word in CLOSING:
            written.append(EMPTY)
        if word[0] == "times":
            written.append(_repeated(before, written.pop() if written else "", word[1]))
        else:
            written.append(_symbol(*word, names))
    _check_pairs(written[:-1])
    return " ".join(written[:-1])


def _repeated(before: Word, written: str, times: str) -> str:
    if before in OPENING:
        raise ValueError(f"`{times}` stands behind nothing that it repeats")
    if before[0] == "times":
        raise ValueError(f"`{times}` stands behind another repetition; put that into parentheses")
    bounds = [int(number) for number in re.findall(r"\d+", times)]
    if bounds and bounds[-1] < bounds[0]:
        raise ValueError(f"`{times}` ends before it begins")
    if bounds and not bounds[-1] and not times.rstrip(" }").endswith(","):
        raise ValueError(f"`{times}` repeats nothing; leave out what it stands behind")
    return (f"({written})" if before[0] == "string" else written) + "".join(times.split())


def _check_pairs(written: list[str]) -> None:
    depths = list(accumulate((word == "(") - word.startswith(")") for word in written))
    if depths and (min(depths) < 0 or depths[-1]):
        raise ValueError("the parentheses of a rule are not in pairs")


def _symbol(kind: str, text: str, names: Mapping[str, str]) -> str:
    """One part of a rule in Lark."""
    if kind == "name":
        if text not in names:
            raise ValueError(f"there is no rule `{text}`")
        return names[text]
    if kind == "string":
        return _string([_code(found[0]) for found in _all(CHARACTER, text)])
    if kind == "set":
        return _set(text[1:-1])
    return "/(?s:.)/" if text == "." else text


def _string(codes: list[int]) -> str:
    return " ".join(f"/{_written(code)}/" for code in codes) or EMPTY


def _set(text: str) -> str:
    """A set of characters; `^` in front inverts it."""
    inverted = text.startswith("^")
    ranges = [_range(found) for found in _all(RANGE, text[inverted:])]
    if not ranges:
        raise ValueError(f"the set `[{text}]` is empty")
    return f"/[{'^' * inverted}{''.join(ranges)}]/"


def _range(found: re.Match[str]) -> str:
    ends = [_code(end) for end in found.groups() if end]
    if ends[-1] < ends[0]:
        raise ValueError(f"the range `{found[0]}` ends before it begins")
    return "-".join(map(_written, ends))


def _all(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches, one behind the other, that make up the whole text."""
    at = 0
    while at < len(text):
        found = pattern.match(text, at)
        if found is None:
            raise ValueError(f"`{text[at : at + 2]}` is no escape; there are {ESCAPES}")
        at = found.end()
        yield found


def _code(character: str) -> int:
    """The number of a character that may be escaped."""
    kind = character[1:2]
    code = int(character[2:], 16) if kind and kind in "xuU" else ord(NAMED.get(kind, kind or character))
    if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        raise ValueError(f"`{character}` is no character of Unicode")
    return code


def _written(code: int) -> str:
    return f"\\x{{{code:x}}}"
