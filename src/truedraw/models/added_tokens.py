"""Tokens that tokenizer_config.json names: transformers takes its word for them, whatever tokenizer.json says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import AddedToken, Tokenizer

SWITCHES = "special", "lstrip", "rstrip", "single_word", "normalized"  # of an added token
FURTHER = "extra_special_tokens", "additional_special_tokens"  # the first that names any counts
OWN = "_token"  # how the keys end that name special tokens of one model, image_token say
LONGEST_ID = 12  # digits


def add_described(tokenizer: Tokenizer, added: Any, vocab_size: int) -> None:
    """Those of `added_tokens_decoder`, as it describes them; one that would not get its id stays what it was."""
    entries, known = added.items() if isinstance(added, dict) else (), tokenizer.get_added_tokens_decoder()
    for i, entry in sorted(((int(key), each) for key, each in entries if is_id(key)), key=itemgetter(0)):
        text = content(entry) if isinstance(entry, dict) else None
        if not text or i >= vocab_size or not _gets(tokenizer, text, i):
            continue
        token = _token(text, entry)
        if i not in known or not _are_alike(known[i], token):  # each that is added takes as long as all others together
            tokenizer.add_tokens([token])


def add_named(tokenizer: Tokenizer, settings: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Words of the vocabulary that these keys name, of which the last one counts, and those listed without a name.

    A text holds each of them whole.
    """
    known = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    named = [*_named(settings, keys)]
    special = {text: {"special": True} for text, _ in named}
    for text, entry in (*named, *_listed(settings)):
        if text not in known and tokenizer.token_to_id(text) is not None:
            tokenizer.add_tokens([_token(text, entry, **special.get(text, {}))])


def mark_named(tokenizer: Tokenizer, settings: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Tokens that these keys name are special, also where their own description says otherwise."""
    entries, names = settings.get("added_tokens_decoder"), {text for text, _ in _named(settings, keys)}
    if isinstance(entries, dict):  # else tokenizer.json is what describes them
        names &= {content(each) for each in entries.values()}
    for token in tokenizer.get_added_tokens_decoder().values():
        if token.content in names and not token.special:
            switches = {name: getattr(token, name) for name in SWITCHES}
            tokenizer.add_tokens([_token(token.content, switches, special=True)])


def is_id(key: str) -> bool:
    """Whether a key of a table of tokens is an id."""
    return key.isascii() and key.isdecimal() and len(key) < LONGEST_ID


def content(token: Any) -> str | None:
    """The text of a special token, which a file gives as it is or as an object."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None


def _named(settings: Mapping[str, Any], keys: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Those of a model's own names come last."""
    more, own = settings.get(FURTHER[0]), [key for key in settings if key.endswith(OWN) and key not in keys]
    entries = [settings.get(key) for key in (*keys, *own)]
    for entry in [*entries, *more.values()] if isinstance(more, dict) else entries:
        if text := content(entry):
            yield text, entry


def _listed(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Special tokens without a name; what describes one there says itself whether it is special."""
    found = next((found for key in FURTHER if (found := settings.get(key))), None)
    for entry in found if isinstance(found, list) else ():
        if text := content(entry):
            yield text, entry if isinstance(entry, dict) else {"special": True}


def _token(text: str, entry: Any, **more: bool) -> AddedToken:
    from tokenizers import AddedToken

    given = entry if isinstance(entry, dict) else {}
    return AddedToken(text, **{name: given[name] for name in SWITCHES if isinstance(given.get(name), bool)} | more)


def _are_alike(one: AddedToken, other: AddedToken) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in ("content", *SWITCHES))


def _gets(tokenizer: Tokenizer, text: str, i: int) -> bool:
    """Whether a token that is added gets this id: the one it has as a word, or the next."""
    has = tokenizer.token_to_id(text)
    return has == i or (has is None and tokenizer.get_vocab_size() == i)
