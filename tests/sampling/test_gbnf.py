"""GBNF means here what it means to llama.cpp: a text is in the language if there is any way to read it so."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import numpy as np
import pytest

from guided import END, llguidance_step
from truedraw.errors import BadParameter
from truedraw.sampling.gbnf import to_lark
from truedraw.sampling.gbnf_tails import without_tail
from truedraw.sampling.grammar import Grammar

LONGEST = 5
CHARACTERS = "abc"


@dataclass(frozen=True)
class Expression:
    """A piece of GBNF, and by `words` what it means: its words of at most LONGEST characters, where rules have those
    in `known`."""

    text: str
    kind: str
    parts: tuple = ()

    def words(self, known) -> frozenset[str]:
        if self.kind == "rule":
            return known[self.parts[0]]
        if self.kind == "either":
            return frozenset().union(*(part.words(known) for part in self.parts))
        if self.kind == "sequence":
            found = frozenset({""})
            for part in self.parts:
                found = joined(found, part.words(known))
            return found
        if self.kind == "times":
            return self._repeated(known)
        return frozenset(self.parts)

    def _repeated(self, known) -> frozenset[str]:
        part, least, most = self.parts
        once, last, found = part.words(known), frozenset({""}), frozenset()
        for times in range(most + 1):
            found |= last if times >= least else frozenset()
            last = joined(last, once)
        return found


def joined(left, right) -> frozenset[str]:
    return frozenset(a + b for a in left for b in right if len(a + b) <= LONGEST)


TIMES = {
    "*": (0, LONGEST),
    "+": (1, LONGEST + 1),
    "?": (0, 1),
    "{2}": (2, 2),
    "{1,}": (1, LONGEST + 1),
    "{0, 2}": (0, 2),
    "{1,3}": (1, 3),
}


def written(chance: random.Random, depth: int, rules) -> Expression:
    kind = chance.choice(["leaf", "sequence", "either", "times"] if depth else ["leaf"])
    if kind == "leaf":
        return leaf(chance, rules)
    if kind == "times":
        part, times = written(chance, depth - 1, rules), chance.choice(list(TIMES))
        return Expression(f"({part.text}){times}", kind, (part, *TIMES[times]))
    parts = tuple(written(chance, depth - 1, rules) for _ in range(chance.randint(2, 3)))
    between = " | " if kind == "either" else " "
    return Expression(f"({between.join(part.text for part in parts)})", kind, parts)


def leaf(chance: random.Random, rules) -> Expression:
    some = sorted({chance.choice(CHARACTERS) for _ in range(2)})
    string = "".join(chance.choice(CHARACTERS) for _ in range(chance.randint(0, 3)))
    name = chance.choice(rules)
    return chance.choice(
        [
            Expression(f'"{string}"', "words", (string,)),
            Expression(f"[{''.join(some)}]", "words", tuple(some)),
            Expression(f"[^{some[0]}]", "words", tuple(set(CHARACTERS) - {some[0]})),
            Expression(".", "words", tuple(CHARACTERS)),
            Expression(name, "rule", (name,)),
        ]
    )


def meaning(rules) -> frozenset[str]:
    """The words of `root`: what is left when the rules say no more."""
    known = dict.fromkeys(rules, frozenset())
    while (more := {name: body.words(known) for name, body in rules.items()}) != known:
        known = more
    return known["root"]


def language(step: Grammar) -> frozenset[str]:
    """The words after which the text may end, by walking along all that is legal."""
    found, waiting = set(), [("", step)]
    while waiting:
        text, here = waiting.pop()
        legal = set(np.flatnonzero(here.legal()).tolist())
        if END in legal:
            found.add(text)
        if len(text) < LONGEST:
            waiting += [(text + CHARACTERS[i], here.after(i, None)) for i in legal - {END}]
    return frozenset(found)


@pytest.mark.parametrize("seed", range(120))
def test_the_language_is_that_of_any_way_to_read_it(seed: int) -> None:
    chance, names = random.Random(seed), ["root", "x-1", "Y_y"]
    rules = {name: written(chance, 3, names) for name in names}
    expected = meaning(rules)
    if not expected:
        pytest.skip("no word is that short")
    gbnf = "\n".join(f"{name} ::= {body.text}" for name, body in rules.items())
    assert language(llguidance_step("grammar", gbnf)) == expected, gbnf


def row(*parts: Expression) -> Expression:
    return Expression(" ".join(part.text for part in parts), "sequence", parts)


def either(*parts: Expression) -> Expression:
    return Expression(f"({' | '.join(part.text for part in parts)})", "either", parts)


def maybe(part: Expression) -> Expression:
    return Expression(f"{part.text}?", "times", (part, 0, 1))


def ended(chance: random.Random, name: str, other: str) -> Expression:
    """What ends in the rule itself, or may, or has it elsewhere."""
    some = [Expression(f'"{letter}"', "words", (letter,)) for letter in CHARACTERS]
    first, second, third = (chance.choice(some) for _ in range(3))
    itself, rule = Expression(name, "rule", (name,)), Expression(other, "rule", (other,))
    nothing = Expression("", "words", ("",))
    behind = [
        itself,
        maybe(itself),
        either(itself),
        maybe(either(itself)),
        either(second, row(third, itself)),
        maybe(either(row(second, rule), row(third, either(itself, nothing)))),
        either(row(second, maybe(itself)), third, nothing),
        row(itself, second),
        row(rule, maybe(itself)),
        nothing,
    ]
    return row(first, chance.choice(behind))


@pytest.mark.parametrize("seed", range(80))
def test_rules_that_end_in_themselves_are_their_repetitions(seed: int) -> None:
    chance, names = random.Random(seed), ["root", "other"]
    rules = {}
    for name, other in zip(names, names[::-1], strict=True):
        parts = [ended(chance, name, other) for _ in range(chance.randint(1, 3))]
        parts.append(Expression('"b"', "words", ("b",)))
        rules[name] = Expression(" | ".join(part.text for part in parts), "either", tuple(parts))
    gbnf = "\n".join(f"{name} ::= {body.text}" for name, body in rules.items())
    assert language(llguidance_step("grammar", gbnf)) == meaning(rules), gbnf


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ('item | item "," list', '( item "," ) * ( item )'),
        ('item ("," list)?', '( item ( "," ) ) * ( item ( ) )'),
        ('item ("," (list | "x" list | "y"))?', '( item ( "," ( | "x" ) ) ) * ( item ( "," ( "y" ) | ) )'),
        ('"(" list ")" list | "x"', '( "(" list ")" ) * ( "x" )'),
        ("item list | ", "( item ) * ( )"),
        ("list | item", "list | item"),
        ("item list", "item list"),
        ('(item list | "b")+', '( item list | "b" ) +'),
        ('list? "x"', 'list ? "x"'),
    ],
)
def test_how_a_tail_is_written(body: str, written: str) -> None:
    marks = {"item": "name", "list": "name", "?": "times", "*": "times", "+": "times"}
    words = [(marks.get(word, "mark"), word) for word in re.findall(r'"[^"]*"|[a-z]+|[()|?+*]', body)]
    assert " ".join(text for _, text in without_tail("list", words)) == written


@pytest.mark.parametrize(
    "gbnf", ['root ::= [a-z] root | ""', "root ::= [a-z] (root | [.])?", 'root ::= a "x"\na ::= ([a-w] a)?']
)
def test_long_texts_are_read_by_rules_that_end_in_themselves(gbnf: str) -> None:
    assert accepts(gbnf, "a" * 3000 + "x")


def test_groups_without_number_stay_as_they_are() -> None:
    deep = [("mark", "(")] * 3000 + [("name", "root")] + [("mark", ")")] * 3000
    words = [("string", "a"), *deep, ("mark", "|"), ("string", "b")]
    assert without_tail("root", words) == words


def test_what_stands_before_a_group_is_written_twice_at_most() -> None:
    prefix, behind = "[a-z]" * 900, " | ".join(f'"{number:03}" root' for number in range(160))
    assert len(to_lark(gbnf := f'root ::= {prefix} ({behind} | "!")')) < 3 * len(gbnf) * len("/[\\x{61}-\\x{7a}]/") / 5
    assert accepts(gbnf, 2 * ("q" * 900 + "007") + "z" * 900 + "!")


@pytest.mark.parametrize(
    ("gbnf", "said"),
    [
        ('root ::= "a" ) ( root | "b"', "not in pairs"),
        ('root ::= "x" ( * root ) | "b"', r"`\*` stands behind nothing"),
        ('root ::= "x" ({2} root | "c") | "b"', r"`\{2\}` stands behind nothing"),
        ('root ::= "a" (* | root) | "b"', r"`\*` stands behind nothing"),
        ('root ::= ("a" ? ? root) | "b"', r"`\?` stands behind another repetition"),
    ],
)
def test_what_is_wrong_in_a_rule_that_ends_in_itself_is_told_as_ever(gbnf: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        to_lark(gbnf)


def accepts(gbnf: str, text: str) -> bool:
    """Whether the text may be the whole one."""
    tokens = (*(bytes([code]) for code in sorted({*text.encode()})), b"<end>")
    end = len(tokens) - 1
    step = llguidance_step("grammar", gbnf, tokens, end)
    for byte in text.encode():
        token = tokens.index(bytes([byte]))
        if not step.legal()[token]:
            return False
        step = step.after(token, None)
    return bool(step.legal()[end])


@pytest.mark.parametrize(
    ("gbnf", "text"),
    [
        ('root ::= [a-z]+ "end"', "bend"),
        ('root ::= "x" ws "\\n"\nws ::= [ \\t\\n]*', "x \n\n"),
        ('root ::= ("int" | name) "(" | "in" name\nname ::= [a-z]+', "into"),
        ('root ::= "a" "b" | "ab" "c"', "ab"),
        ('root ::= "<" .+ ">"', "<\n\r>"),
        ("root ::= [a&&b]+", "a&b"),
        ("root ::= [+--]+", "+,-"),
        ("root ::= [--/]+", "./-"),
        ("root ::= [a~~b] [-x] [x-]", "~--"),
        ("root ::= [^x^]", "a"),
        ("root ::= [a^/]+", "^/"),
        ('root ::= "/\\\\\\"" [\\\\"\\[\\]]+', '/\\"\\"[]'),
        ('root ::= "\\xe9" "\\u00e9é\\U0001F600"', "ééé\U0001f600"),
        ("root ::= [ぁ-ゟ]+ [^ぁ-ゟ]", "こんにちは世"),
        ('root ::= | "a" # or nothing', ""),
        ('root ::= ("a" |\n # two\n "b" # "c"\n)*\n', "abba"),
        ('root ::= "ab"{2}', "abab"),
        ('root ::= ("ab"){0,} [c-d]{0, 1}', "ababd"),
        ("start ::= root\nroot ::= digits\ndigits ::= [0-9]{2,3}", "123"),
    ],
)
def test_what_llama_cpp_reads_is_read(gbnf: str, text: str) -> None:
    assert accepts(gbnf, text)
    assert not accepts(gbnf, text + "!")


def test_a_choice_of_thousands_of_words() -> None:
    words = [f"{i:x}" for i in range(5000)]
    gbnf = "root ::= " + " | ".join(f'"{word}"' for word in words)
    assert accepts(gbnf, "1387")
    assert not accepts(gbnf, "1388")


@pytest.mark.parametrize(
    ("gbnf", "said"),
    [
        ('a ::= "b"', "no rule `root`"),
        ("root ::= b", "no rule `b`"),
        ('root ::= "a', '`"a` in line 1 is no part of GBNF'),
        ('root ::= "a"\n  <think>', "`<think>` in line 2 is no part of GBNF"),
        ('root ::= ("a"', "not in pairs"),
        ('root ::= "a") | ("b"', "not in pairs"),
        ("root ::= *", r"`\*` stands behind nothing"),
        ('root ::= "a"+{2}', r"`\{2\}` stands behind another repetition"),
        ('root ::= ("a"){0} | "b"', r"`\{0\}` repeats nothing"),
        ("root ::= [a]{0, 0}", r"`\{0, 0\}` repeats nothing"),
        ('root ::= "a"{3,2}', r"`\{3,2\}` ends before it begins"),
        ('root ::= "a" | b ::= "c"', "the rule `b` begins within a line"),
        ('root ::= "\ud800"', "no character of Unicode"),
        ('root ::= "\\q"', r"`\\q` is no escape"),
        ("root ::= [z-a]", "`z-a` ends before it begins"),
        ("root ::= [^]", r"the set `\[\^\]` is empty"),
        ('root ::= "a"\nroot ::= "b"', "`root` stands twice"),
        ('root ::= "\\ud800"', "no character of Unicode"),
        ('other root ::= "a"', "`other` stands before the first rule"),
    ],
)
def test_what_cannot_be_read_is_told_in_its_own_words(gbnf: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        to_lark(gbnf)
    with pytest.raises(BadParameter, match="does not compile"):
        llguidance_step("grammar", gbnf)
