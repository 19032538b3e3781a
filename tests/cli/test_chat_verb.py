import json
from pkgutil import resolve_name

import pytest

from truedraw.cli import chat
from truedraw.cli.conversation import Conversation
from truedraw.cli.flags import OutputFlags
from truedraw.cli.turns import talk
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadPrompt
from truedraw.generate.model import Model
from truedraw.generate.speculation import Speculation
from truedraw.models.toy import TOY_TABLE, toy_text
from truedraw.text import Tokenizer

pytestmark = pytest.mark.interrupts

TEMPLATE = "{% for message in messages %}{{ message.role }}:{{ message.content }};{% endfor %}"
QUIET = OutputFlags(stats=False)


def instruct(context_length=10_000):
    text = toy_text()
    tokenizer = Tokenizer(text.load_tokenizer(), eos_ids=text.eos_ids, chat_template=TEMPLATE)
    return Model("toy", TabularEngine(TOY_TABLE, context_length), tokenizer)


def conversation(context_length=10_000, system=None, **sampling):
    return Conversation(instruct(context_length), {"seed": 3, **sampling}, Speculation(), system)


def test_what_was_said_is_remembered_and_answered(capsys):
    talked = conversation(system="Be brief.")
    talk(talked, ["the cat", "", "  ", "the dog"], QUIET, at_terminal=False)
    answers = capsys.readouterr().out.splitlines()
    assert [message["role"] for message in talked.messages] == ["system", "user", "assistant", "user", "assistant"]
    assert [message["content"] for message in talked.messages[1::2]] == ["the cat", "the dog"]
    assert [message["content"] for message in talked.messages[2::2]] == answers


def test_the_model_reads_the_whole_conversation():
    talked = conversation()
    first = talked.ask("the cat").result()
    talked.remember("the cat", first)
    assert len(talked.ask("the cat").result().prompt_tokens) > len(first.prompt_tokens)


def test_commands(capsys):
    talked = conversation(system="Be brief.")
    talk(talked, ["the cat", "/help", "/rest", "/reset", "/exit", "never"], QUIET, at_terminal=False)
    said = capsys.readouterr().err
    assert talked.messages == [{"role": "system", "content": "Be brief."}]
    assert chat.HELP in said
    assert "no command is called /rest" in said
    assert "a new conversation" in said


def test_a_line_that_only_begins_like_a_command_is_a_question():
    talked = conversation()
    talk(talked, ["/home is where the cat sat"], QUIET, at_terminal=False)
    assert talked.messages[0]["content"] == "/home is where the cat sat"


def test_json_is_one_object_a_turn(capsys):
    talk(conversation(), ["the cat", "the dog"], OutputFlags(json=True, stats=False), at_terminal=False)
    turns = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [turn["choices"][0]["finish_reason"] for turn in turns] == ["stop", "stop"]


def test_a_full_context_is_told_and_not_remembered(capsys):
    talked = conversation(context_length=12, ignore_eos=True)
    talk(talked, ["a", "a", "/reset", "a"], QUIET, at_terminal=True)
    said = capsys.readouterr().err
    assert "the model's context is full; /reset starts anew" in said
    assert "tokens and the model's context 12; /reset starts anew" in said
    assert len(talked.messages) == 2
    talk(conversation(context_length=12), ["the cat sat " * 4], QUIET, at_terminal=True)
    assert "the model's context 12; ask something shorter\n" in capsys.readouterr().err
    talk(conversation(context_length=12, system="the cat sat " * 4), ["a"], QUIET, at_terminal=True)
    assert "ask something shorter, or start with a shorter system prompt\n" in capsys.readouterr().err
    with pytest.raises(BadPrompt, match="the model's context 12"):
        talk(conversation(context_length=12, ignore_eos=True), ["a", "a"], QUIET, at_terminal=False)


def test_a_turn_that_the_template_refuses_is_told_and_not_remembered(capsys):
    text = toy_text()
    refusing = "{% if messages[-1].content == 'the' %}{{ raise_exception('not this') }}{% endif %}" + TEMPLATE
    tokenizer = Tokenizer(text.load_tokenizer(), eos_ids=text.eos_ids, chat_template=refusing)
    talked = Conversation(Model("toy", TabularEngine(TOY_TABLE), tokenizer), {"seed": 3}, Speculation())
    talk(talked, ["the cat", "the", "the dog"], QUIET, at_terminal=True)
    assert [message["content"] for message in talked.messages[::2]] == ["the cat", "the dog"]
    assert "refused the conversation: not this" in capsys.readouterr().err
    with pytest.raises(BadPrompt):
        talk(talked, ["the"], QUIET, at_terminal=False)


def test_an_answer_that_is_interrupted_is_kept_as_far_as_it_came(capsys, interrupted_in_pass):
    interrupted_in_pass(6)
    talked = conversation(ignore_eos=True, max_tokens=40)
    talk(talked, ["the cat", "the dog"], QUIET, at_terminal=True)
    first, second = capsys.readouterr().out.splitlines()
    assert len(first) < len(second)
    assert [message["content"] for message in talked.messages[1::2]] == [first, second]


@pytest.fixture(
    params=[
        "truedraw.generate.model.Model.chat_prompt",
        "truedraw.generate.model.Model.start",
        "truedraw.generate.generation.Generation.result",
        "truedraw.cli.conversation.Conversation.remember",
        "truedraw.cli.turns.write",
        "truedraw.cli.turns.statistics_line",
        "truedraw.cli.conversation.Conversation.is_full",
    ]
)
def interrupted_beside_the_answer(monkeypatch, request):
    """ctrl-C comes at the end of the first call of a step before the answer or behind it."""
    step, left = resolve_name(request.param), [1]

    def interrupted(*arguments, **named):
        found = step(*arguments, **named)
        if left:
            left.clear()
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(request.param, interrupted)


@pytest.mark.usefixtures("interrupted_beside_the_answer")
def test_ctrl_c_before_an_answer_or_behind_it_drops_the_turn(capsys):
    talked = conversation(system="Be brief.")
    try:
        talk(talked, ["the cat", "the dog"], OutputFlags(), at_terminal=True)
    except KeyboardInterrupt:  # which would end all other tests, too
        pytest.fail("the conversation has ended")
    assert [message["content"] for message in talked.messages[:2]] == ["Be brief.", "the dog"]
    assert len(talked.messages) == 3
    assert capsys.readouterr().err.count("stopped; this turn is forgotten") == 1


@pytest.mark.usefixtures("interrupted_beside_the_answer")
def test_ctrl_c_ends_a_script_there():
    with pytest.raises(KeyboardInterrupt):
        talk(conversation(), ["the cat", "the dog"], OutputFlags(), at_terminal=False)


def test_the_verb_reads_a_pipe(cli, monkeypatch):
    monkeypatch.setattr("truedraw.generate.loading.load", lambda *_, **__: instruct())
    done = cli("chat", "--seed", 3, "--json", "--system", "Be brief.", stdin="the cat\r\nthe dög\n".encode())
    assert done.code == 0
    assert len(done.out.splitlines()) == 2
    assert done.err.count("tokens/s") == 2
    refused = cli("chat", stdin=b"fine\ncaf\xe9\n")
    assert refused.code == 2
    assert "line 2 of stdin is not UTF-8" in refused.err
    refused = cli("chat", "--system", b"caf\xe9".decode(errors="surrogateescape"), stdin=b"fine\n")
    assert (refused.code, refused.out) == (2, "")
    assert "--system is not UTF-8: byte 4 is 0xe9" in refused.err


def test_a_system_prompt_is_utf8_in_every_locale(cli, monkeypatch):
    monkeypatch.setattr("truedraw.generate.loading.load", lambda *_, **__: instruct())
    given = "é✓".encode().decode("ascii", errors="surrogateescape")
    done = cli("chat", "--system", given, "--no-stats", stdin=b"the cat\n")
    assert (done.code, done.err) == (0, "")


def test_a_model_without_a_template(cli):
    done = cli("chat", "-m", "tabular", stdin=b"hello\n")
    assert (done.code, done.out) == (2, "")
    assert "no chat template" in done.err


@pytest.fixture
def typed(monkeypatch):
    """typed("a line", an error, ...): what input() returns or raises, to its end."""

    def begin(*lines):
        left = iter([*lines, EOFError()])
        monkeypatch.setattr("builtins.input", lambda _prompt: said(next(left)))

    def said(line):
        if isinstance(line, BaseException):
            raise line
        return line

    return begin


def test_typed_lines(typed, capsys):
    typed("hello", KeyboardInterrupt(), "again")
    assert list(chat.typed()) == ["hello", "again"]
    assert chat.HELP in capsys.readouterr().err


def test_what_is_typed_is_utf8_in_every_locale(typed, capsys):
    typed("é✓".encode().decode("ascii", errors="surrogateescape"), "caf\udce9", "again")
    assert list(chat.typed()) == ["é✓", "again"]
    assert "that was not UTF-8; set the terminal to UTF-8" in capsys.readouterr().err
