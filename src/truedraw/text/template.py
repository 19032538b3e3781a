"""Chat templates: jinja2 in a sandbox, with the helpers that Hugging Face templates expect."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn, TypeGuard

from jinja2 import TemplateError, UndefinedError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from truedraw.errors import BadInput, BadPrompt
from truedraw.handlers import pass_on
from truedraw.text.characters import check_characters

THOUGHTS = "reasoning_content", "thinking", "reasoning"  # names of one thing, the first one counts
CONTENT = "content"
DEEPEST = 64  # levels of lists and objects in a message
Clock = Callable[[], datetime]


class GenerationTag(Extension):
    """{% generation %} ... {% endgeneration %} marks words for training; here it is transparent."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 declares it so

    def parse(self, parser: Parser) -> nodes.Node:
        """The statements between the two tags; what they set is theirs alone."""
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


class ChatTemplate:
    """A compiled template; raises BadInput where it does not compile."""

    def __init__(self, source: str, now: Clock = datetime.now) -> None:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, "jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = lambda layout: now().strftime(layout)
        try:
            tree = environment.parse(source)
            self._template, self._looks_at_parts = environment.from_string(tree), _looks_at_parts(tree)
        except Exception as error:  # it came with the model, and not all that it can be wrong in is jinja's to find
            pass_on(error)
            raise BadInput(f"the model's chat template is broken: {_why(error)}") from error

    def render(self, messages: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> str:
        """The text of a conversation; raises BadInput, BadPrompt with what the template complained of.

        It is shown copies, of nothing but JSON's kinds: what a template calls can touch nothing of the caller's.
        """
        if not isinstance(messages, Sequence) or isinstance(messages, str):
            raise BadInput(f"the conversation is {messages!r:.60}; give a list of messages with role and content")
        for i, message in enumerate(messages):
            _check(i, message)
        if not messages:
            raise BadInput("the conversation is empty; give at least one message with role and content")
        given = {name: plain(value, name) for name, value in variables.items()}
        whole = [plain(message, f"message {i}") for i, message in enumerate(messages)]
        whole = [self._as_read(_with_thought(message)) for message in whole]
        told = [{key: value for key, value in message.items() if value is not None} for message in whole]
        try:
            return self._rendered(given, told, whole)
        except Exception as error:  # a template can fail in any way, and it came with the model
            pass_on(error)
            said = self._strange(whole) or _why(error)
            raise BadPrompt(f"the model's chat template refused the conversation: {said}") from error

    def _strange(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Which part of a message is no text, where the template looks at no parts, or that there is none; else ""."""
        for i, message in enumerate(messages):
            content = message.get(CONTENT)
            if content == [] and not self._looks_at_parts and not message.get("tool_calls"):
                return f"message {i} has no parts; give a text"
            parts = content if isinstance(content, list) and not self._looks_at_parts else []
            if strange := [part for part in parts if not _is_text(part)]:
                return f'message {i} has the part {strange[0]!r:.60}; give {{"type": "text", "text": "..."}} alone'
        return ""

    def _as_read(self, message: dict[str, Any]) -> dict[str, Any]:
        """Content in parts of text as one text, where the template looks at no parts; a line break between them, as in
        vLLM."""
        content = message.get(CONTENT)
        if self._looks_at_parts or not isinstance(content, list) or not content or not all(map(_is_text, content)):
            return message
        return {**message, CONTENT: "\n".join(part["text"] for part in content)}

    def _rendered(self, given: Mapping[str, Any], told: list[Any], whole: list[Any]) -> str:
        """Without what is null, as in transformers 5; some older templates need it and fail without."""
        try:
            return self._template.render({**given, "messages": told})
        except UndefinedError:
            return self._template.render({**given, "messages": whole})


def _check(number: int, message: object) -> None:
    """Raises BadInput, BadPrompt for characters that are none. A message that calls tools may do without content."""
    what = f"message {number} is {message!r:.60}"
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise BadInput(f"{what}; a message is an object with role and content")
    content = message.get("content")
    if content is None and not message.get("tool_calls"):
        raise BadInput(f"{what}, without content; give a text")
    if not isinstance(content, str | list | None):
        raise BadInput(f"{what}, whose content is no text; give a text")


def _looks_at_parts(tree: nodes.Template) -> bool:
    """Whether it goes through the content of a message, perhaps by another name."""
    names = {CONTENT}
    for found in tree.find_all(nodes.Assign):
        if isinstance(found.target, nodes.Name) and _names_in(found.node) & {CONTENT}:
            names.add(found.target.name)
    return any(_names_in(loop.iter) & names for loop in tree.find_all(nodes.For))


def _names_in(expression: nodes.Node) -> set[object]:
    """Of variables, attributes and items, also those that are asked for by `get`."""
    found = [expression, *expression.find_all((nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Call))]
    items = [each.arg for each in found if isinstance(each, nodes.Getitem)]
    items += [each.args[0] for each in found if _is_get(each)]
    constants = {each.value for each in items if isinstance(each, nodes.Const)}
    attributes = {each.attr for each in found if isinstance(each, nodes.Getattr)}
    return constants | attributes | {each.name for each in found if isinstance(each, nodes.Name)}


def _is_get(node: nodes.Node) -> TypeGuard[nodes.Call]:
    return isinstance(node, nodes.Call) and bool(node.args) and getattr(node.node, "attr", None) == "get"


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)


def plain(value: Any, what: str, depth: int = 0) -> Any:
    """A copy of JSON's kinds alone; raises BadInput for others and for what holds itself, BadPrompt for half a pair."""
    if depth > DEEPEST:
        raise BadInput(f"{what} is nested more than {DEEPEST} deep, or holds itself; give it flatter")
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        check_characters(value, what)
        return str.__str__(value)
    if isinstance(value, Mapping):
        return {str(plain(key, what)): plain(each, what, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each, what, depth + 1) for each in value]
    raise BadInput(f"{what} holds {value!r:.60}; templates are given texts, numbers, lists and objects alone")


def _with_thought(message: dict[str, Any]) -> dict[str, Any]:
    """A thought by both names that templates read, as in transformers 5."""
    thought = next((message[name] for name in THOUGHTS if message.get(name) is not None), None)
    return message if thought is None else {THOUGHTS[1]: thought, **message, THOUGHTS[0]: thought}


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    """Plain JSON: jinja2's own filter escapes characters for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)
