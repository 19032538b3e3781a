"""Chat templates: the helpers that published ones use, the sandbox, the errors."""

import json
from datetime import datetime

import pytest

from truedraw.errors import BadInput, BadPrompt
from truedraw.text import Tokenizer
from truedraw.text.template import ChatTemplate

HI = [{"role": "user", "content": "hi <b> & 'é'"}]


def render(source, messages=HI, **variables):
    return ChatTemplate(source, now=lambda: datetime(2031, 5, 7)).render(messages, variables)


def test_the_tokenizer_renders_its_template(byte_level):
    assert byte_level.has_chat_template
    assert byte_level.chat([{"role": "user", "content": "hello"}]) == "<|im_start|>user\nhello<|im_end|>\n"


def test_variables(byte_level):
    tokenizer = Tokenizer(
        byte_level._tokenizer,
        bos_id=1,
        eos_ids=(2, 0),
        chat_template="{{ bos_token }}{{ eos_token }}{{ add_generation_prompt }}{{ tools }}{{ thinking }}",
    )
    said = tokenizer.chat(HI, add_generation_prompt=False, tools=[{"a": 1}], thinking="x")
    assert said == "<|im_start|><|im_end|>False[{'a': 1}]x"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ messages[0].content }}", HI[0]["content"]),  # nothing is escaped
        ("{{ messages | tojson }}", '[{"role": "user", "content": "hi <b> & \'é\'"}]'),
        ("{{ [1] | tojson(indent=1) }}", "[\n 1\n]"),
        ("{{ strftime_now('%d %b %Y') }}", "07 May 2031"),
        ("{% generation %}a{% endgeneration %}b", "ab"),
        ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        ("  {% if true %}\n  x\n  {% endif %}\n", "  x\n"),  # trim_blocks and lstrip_blocks
        ("{{ undefined_thing }}|", "|"),
        ("{% set ns = namespace(n=1) %}{% set ns.n = 2 %}{{ ns.n }}", "2"),
    ],
)
def test_what_published_templates_use(source, expected):
    assert render(source) == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ messages[0].content + 1 }}", "refused the conversation"),
        ("{{ messages.append(1) }}", "refused the conversation"),
        ("{{ ''.__class__.__mro__ }}", "refused the conversation"),
        ("{{ undefined_thing.x }}", "undefined"),
        ("{% for i in range(10**9) %}{% endfor %}", "refused the conversation"),
        ("{% include 'x' %}", "refused the conversation"),
    ],
)
def test_templates_that_fail(source, message):
    with pytest.raises(BadInput, match=message):
        render(source)


def test_a_template_for_tools_is_taken_where_there_are_some(byte_level):
    tokenizer = Tokenizer(byte_level._tokenizer, chat_template="plain", tool_template="{{ tools[0].name }}")
    assert (tokenizer.chat(HI), tokenizer.chat(HI, tools=[{"name": "f"}])) == ("plain", "f")
    assert byte_level.chat(HI, tools=[{"name": "f"}]) == byte_level.chat(HI)


def test_a_part_that_is_no_text_is_named():
    parts = [{"type": "text", "text": "Hello"}, {"type": "image_url", "image_url": {}}]
    with pytest.raises(
        BadInput, match=r"refused the conversation: message 0 has the part .*image_url.*; give .*text.* alone"
    ):
        ChatTemplate("{{ 'x' + messages[0].content }}").render([{"role": "user", "content": parts}], {})


def test_a_template_that_does_not_compile():
    with pytest.raises(BadInput, match="chat template is broken"):
        ChatTemplate("{% if %}")


@pytest.mark.parametrize("messages", [[], ["hi"], [{"content": "x"}], [{"role": 3}], [None]])
def test_conversations_that_are_none(messages):
    with pytest.raises(BadInput, match=r"role and content"):
        render("x", messages)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": 5},
        {"role": "assistant", "content": None, "tool_calls": []},
    ],
)
def test_a_message_without_content(message):
    with pytest.raises(BadInput, match=r"^message 1 is .*content.*; give a text$"):
        render("{{ messages[1].content + 'x' }}", [*HI, message])


def test_a_call_of_a_tool_needs_no_content():
    calls = {"role": "assistant", "tool_calls": [{"name": "f"}]}
    assert render("{{ messages[0].tool_calls[0].name }}", [calls]) == "f"


def text(*words):
    return [{"role": "user", "content": [{"type": "text", "text": word} for word in words]}]


@pytest.mark.parametrize("source", [
    "{{ messages[0].content }}", "{{ 'a' + messages[0].content }}", "{{ messages[0].content.split('x')[-1] }}",
    "{% if messages[0].content is string %}{% set content = messages[0].content %}{{ content }}{% endif %}",
    "{% for message in messages %}{{ message['content'] | trim }}{% endfor %}",
    "{% for message in messages if message.content %}{{ message.content }}{% endfor %}",
    "for a word in content {{ messages[0].content }}",
])  # fmt: skip
def test_a_template_that_looks_at_no_parts_is_shown_one_text(source):
    assert render(source, text("one", "two")).endswith("one\ntwo")
    assert render(source, text("<b>'é'"))[-6:] == "<b>'é'"


@pytest.mark.parametrize("source", [
    "{% for part in messages[0].content %}{{ part.text or part.image }};{% endfor %}",
    "{{ bos_token + '[INST]' }}{% for m in messages %}{% for p in m['content'] %}{{ p.text }};{% endfor %}{% endfor %}",
    "{%- set c = messages[0]['content'] -%}\n{%- for p in c -%}{{ p.text }};{% endfor %}",
    "{% macro shown(content) %}{% for p in content %}{{ p.text }};{% endfor %}{% endmacro %}"
    "{{ shown(messages[0].content) }}",
    "{% set c = messages[0].get('content') %}{% for p in c %}{{ p.text }};{% endfor %}",
    "{% for p in messages[0].get('content', []) %}{{ p.text }};{% endfor %}",
])  # fmt: skip
def test_a_template_that_looks_at_parts_is_shown_them(source):
    assert render(source, text("one", "two"), bos_token="").endswith("one;two;")


@pytest.mark.parametrize("content", [[], ["Paris", "Rome"], [{"city": "Paris"}], [{"type": "text"}],
                                     [{"type": "text", "text": "a"}, {"type": "image", "image": "a.png"}]])  # fmt: skip
def test_other_lists_are_shown_as_they_are(content):
    assert render("{{ messages[0].content | tojson }}", [{"role": "tool", "content": content}]) == json.dumps(content)


def test_no_parts_are_no_text():
    with pytest.raises(BadInput, match="refused the conversation: message 1 has no parts; give a text"):
        render("{{ messages[0].content + messages[1].content }}", [*HI, {"role": "user", "content": []}])


@pytest.mark.parametrize("look", ["", "{% for part in messages[1].content %}{{ part.type }}{% endfor %}"])
def test_a_call_of_a_tool_needs_no_parts(look):
    said = [*HI, {"role": "assistant", "content": [], "tool_calls": [{"id": "1"}]}]
    with pytest.raises(BadInput, match="refused the conversation: no tools"):
        render(look + "{{ raise_exception('no tools') }}", said)


def test_a_model_without_template(byte_level):
    with pytest.raises(BadInput, match="no chat template"):
        Tokenizer(byte_level._tokenizer).chat(HI)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "a\ud800b"},
        {"role": "user", "content": [{"type": "text", "text": "\udc00"}]},
        {"role": "assistant", "tool_calls": [{"function": {"arguments": {"x\udbff": 1}}}]},
        {"role": "user", "content": "x", "name": "\udfff\ud800"},
    ],
)
def test_half_a_surrogate_pair_is_no_character(message):
    with pytest.raises(BadPrompt, match=r"^message 1 holds half of a surrogate pair .*; leave it out$"):
        render("x", [*HI, message])


def test_two_halves_side_by_side_are_one():
    assert render("{{ messages[0].content }}", [{"role": "user", "content": "\ud83d\ude00"}]) == "\ud83d\ude00"


BROKEN = {
    "break outside a loop": "{% break %}",
    "loops too deep": "{% for a in [1] %}" * 25 + "{% endfor %}" * 25,
    "ifs too deep": "{% if 1 %}" * 120 + "{% endif %}" * 120,
    "too long a number": "{{ 10 ** 100000 }}",
}


@pytest.mark.parametrize("source", BROKEN.values(), ids=BROKEN)
def test_whatever_is_wrong_with_a_template_is_one_clear_error(source):
    with pytest.raises(BadInput, match=r"chat template (is broken|refused the conversation): \S"):
        render(source)


def test_what_is_nothing_is_left_out():
    said = render("{{ messages[0].content }}{{ 'content' in messages[0] }}", CALL)
    assert said == "False"


CALL = [{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}]


@pytest.mark.parametrize("name", ["reasoning_content", "thinking", "reasoning"])
@pytest.mark.parametrize("read", ["reasoning_content", "thinking"])
def test_a_thought_is_known_by_the_names_that_templates_read(name, read):
    """As in transformers 5."""
    template = ChatTemplate("{% for m in messages %}{{ m." + read + " or '-' }}|{{ m.content }};{% endfor %}")
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", name: "so"}]
    assert template.render(messages, {}) == "-|a;so|b;"


def test_a_thought_is_there_beside_what_is_null():
    source = "{% set m = messages[0] %}{% if m.content is not none %}{{ '<' + m.content }}{% endif %}"
    assert render(source + "{{ m.reasoning_content }}", [CALL[0] | {"thinking": "so"}]) == "so"


def test_a_template_that_needs_what_is_null_has_it():
    """As those of DeepSeek, which fail where the key is missing."""
    source = "{% set m = messages[0] %}{% if m.content is not none %}{{ '<' + m.content }}{% else %}call{% endif %}"
    assert render(source, CALL) == "call"


def test_without_documents_there_are_none(byte_level):
    tokenizer = Tokenizer(byte_level._tokenizer, chat_template="{{ documents is none }} {{ tools is none }}")
    assert tokenizer.chat(HI) == "True True"


def test_what_is_set_for_training_stays_there():
    source = "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}"
    assert render(source) == "21"


def test_templates_touch_nothing_of_the_callers(tmp_path):
    file, words = tmp_path / "mine", ["a"]
    file.write_text("mine")
    with pytest.raises(
        BadInput, match=r"message 0 holds PosixPath.*; templates are given texts, numbers, lists and objects"
    ):
        render("{{ messages[0].file.unlink() }}", [{**HI[0], "file": file}])
    with pytest.raises(BadInput, match="thing holds <object"):
        render("x", thing=object())
    assert file.read_text() == "mine"
    render("{% set x = words.__class__ %}x", words=words)
    assert words == ["a"]


def test_a_message_that_holds_itself_is_refused():
    message = {"role": "user", "content": "hi"}
    message["more"] = [message]
    with pytest.raises(BadInput, match="message 0 is nested more than 64 deep, or holds itself"):
        render("x", [message])


def test_a_text_in_the_place_of_a_conversation():
    with pytest.raises(BadInput, match=r"^the conversation is 'hi'; give a list"):
        render("x", "hi")
