"""One tokenizer for every kind of model file: text to ids, ids to bytes and text, chats to text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from truedraw.errors import BadInput, BadPrompt
from truedraw.models import Checkpoint
from truedraw.models.tokenizer_errors import raising
from truedraw.text.shortening import num_kept_bytes
from truedraw.text.token_bytes import byte_table, decoding_rule

if TYPE_CHECKING:
    import tokenizers

    from truedraw.text.template import ChatTemplate

MOST_UTF8_BYTES = 4  # of a character
MOST_ENDS = 4  # sets of end tokens whose guidance is kept: for fifty thousand tokens it takes 30 MB
TO_DO = "leave out characters that its vocabulary lacks, or fetch the model again"


class Tokenizer:
    """Ids and text of one model.

    Text is defined by bytes: a sequence of ids stands for the bytes of its tokens, one after the other, read
    as UTF-8. So text can be streamed token by token and equals the text of the whole.
    """

    def __init__(
        self,
        tokenizer: tokenizers.Tokenizer,
        *,
        eos_ids: Iterable[int] = (),
        bos_id: int | None = None,
        pad_id: int | None = None,
        chat_template: str | None = None,
        tool_template: str | None = None,
        template_names: Mapping[str, str] | None = None,
    ) -> None:
        rule = decoding_rule(tokenizer)
        self._tokenizer = tokenizer
        self._bytes = byte_table(tokenizer, rule)
        self._special = {i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special}
        self._chat_template, self._tool_template = chat_template, tool_template
        self._template_names = template_names or {}
        self._compiled: dict[str, ChatTemplate] = {}
        self._guidance: dict[tuple[int, ...], Any] = {}
        self.drops_first_space = rule.drops_first_space
        self.eos_ids = tuple(eos_ids)
        self.bos_id = bos_id
        self.pad_id = pad_id

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> Tokenizer:
        """The checkpoint's own; raises BadModelFile and UnsupportedModel."""
        parts = checkpoint.text
        return cls(
            parts.load_tokenizer(),
            eos_ids=parts.eos_ids,
            bos_id=parts.bos_id,
            pad_id=parts.pad_id,
            chat_template=parts.chat_template,
            tool_template=parts.tool_template,
            template_names=parts.template_names,
        )

    @property
    def vocab_size(self) -> int:
        """Ids that stand for something; a model may have more rows than that."""
        return len(self._bytes)

    @property
    def chat_template(self) -> str | None:
        """Its jinja source."""
        return self._chat_template

    @property
    def has_chat_template(self) -> bool:
        """Whether `chat` works."""
        return self._chat_template is not None

    def to_json(self) -> str:
        """What a tokenizer.json holds, from which the same ids come."""
        return str(self._tokenizer.to_str())

    def encode(self, text: str, add_special: bool = True) -> list[int]:
        """Ids of a text; `add_special` frames it as the model was trained (a BOS token, for many nothing).

        Control tokens written out in the text become those tokens. A lone surrogate, which is no character,
        becomes U+FFFD. Where a vocabulary lacks a byte (SmolLM2 lacks a few control characters), that byte is
        left out, as the model's own tokenizer does. Raises BadPrompt where that one has no way to write a text.
        """
        clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        with raising(lambda said: BadPrompt(f"the model's tokenizer cannot read the text: {said}; {TO_DO}")):
            return list(self._tokenizer.encode(clean, add_special_tokens=add_special).ids)

    def check_length(self, text: str, context: int) -> None:
        """Raises BadPrompt for a text that is certain to have as many tokens as the context, before it is tokenized.

        A long text takes minutes and gigabytes to be cut into tokens; its bytes are counted at once.
        """
        if len(text) * MOST_UTF8_BYTES <= context * self._longest:
            return
        least = -(-num_kept_bytes(self._tokenizer, text, self._bytes) // self._longest)
        if least >= context:
            raise BadPrompt(
                f"the prompt has at least {least} tokens and the model's context {context}; "
                f"shorten it to {context - 1} tokens, so that there is room for one more"
            )

    @cached_property
    def _longest(self) -> int:
        """Bytes of the longest token."""
        return max(map(len, self._bytes), default=0) or 1

    def decode(self, ids: Iterable[int], *, skip_special: bool = True, continues: bool = False) -> str:
        """The text of ids, bytes that are not UTF-8 replaced by U+FFFD.

        `skip_special` leaves control tokens out. `continues` says that text stands before, so that a leading
        space belongs to the text.
        """
        hidden = self._special if skip_special else ()
        data = b"".join(self.token_bytes(i) for i in ids if i not in hidden)
        if self.drops_first_space and not continues:
            data = data.removeprefix(b" ")
        return data.decode("utf-8", "replace")

    def token_bytes(self, token: int) -> bytes:
        """The raw bytes of one token, perhaps a part of a character; nothing for a row without a token."""
        if token < 0:
            raise BadInput(f"a token id is {token}; ids count from 0")
        return self._bytes[token] if token < len(self._bytes) else b""

    def is_special(self, token: int) -> bool:
        """Whether it is a control token, which no reader wants to see."""
        return token in self._special

    def token_id(self, token: str) -> int | None:
        """The id of a token by its written form, for instance "<|im_end|>"."""
        return self._tokenizer.token_to_id(token)

    def guidance(self, vocab_size: int, end_ids: Sequence[int]) -> Any:
        """This tokenizer as an llguidance.LLTokenizer over `vocab_size` rows; those of the last few ends are kept."""
        key = (vocab_size, *end_ids)
        made = self._guidance.pop(key, None)
        if made is None:
            from truedraw.text.guidance import guidance_tokenizer

            made = guidance_tokenizer(self, self._tokenizer, vocab_size, end_ids)
        self._guidance[key] = made
        for oldest in tuple(self._guidance)[:-MOST_ENDS]:
            self._guidance.pop(oldest, None)
        return made

    def same_ids(self, other: Tokenizer) -> bool:
        """Whether every id stands for the same bytes in both, so that one model's laws speak of the other's tokens."""
        return self._bytes == other._bytes and self._special == other._special

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits, the same where `same_ids` is true; they name the table in a file."""
        digest = blake2b(f"{len(self._bytes)} {sorted(self._special)}".encode(), digest_size=16)
        digest.update(b"".join(len(each).to_bytes(4, "little") + each for each in self._bytes))
        return digest.hexdigest()

    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        add_generation_prompt: bool = True,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **variables: Any,
    ) -> str:
        """The text of a conversation by the model's own template, with tools by the one it has for them, if any; encode
        it with add_special=False.

        A message has "role" and "content". `variables` go to the template as well; all are of JSON's kinds. Raises
        BadInput.
        """
        source = self._chat_template if tools is None else self._tool_template or self._chat_template
        if source is None:
            raise BadInput("the model has no chat template; give a plain prompt, or choose an instruct model")
        if source not in self._compiled:
            from truedraw.text.template import ChatTemplate

            self._compiled[source] = ChatTemplate(source)
        given = {"tools": tools, "documents": None, "add_generation_prompt": add_generation_prompt}
        eos = self._text(next(iter(self.eos_ids), None))
        names = {"bos_token": self._text(self.bos_id), "eos_token": eos, **self._template_names}
        return self._compiled[source].render(messages, {**given, **names, **variables})

    def _text(self, token: int | None) -> str:
        return "" if token is None else self.token_bytes(token).decode("utf-8", "replace")
