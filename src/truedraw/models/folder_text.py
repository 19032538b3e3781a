"""The text side of a folder: tokenizer.json, chat template, special tokens, defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models.added_tokens import add_described, add_named, content, is_id, mark_named
from truedraw.models.checkpoint import TextParts
from truedraw.models.fields import read_json, read_json_if_there
from truedraw.models.tokenizer_errors import raising

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NO_TOKEN = -1
MANY = 1 << 31
SPECIAL = "special_tokens_map.json"  # of older transformers; tokenizer_config.json counts first
GENERATION = "generation_config.json"
TEMPLATES = "additional_chat_templates"  # the one folder within a model's that belongs to it
NAMED = tuple(
    f"{kind}_token" for kind in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
)  # special tokens that chat templates write, in the order of transformers, where the last one counts
SAMPLING_KEYS = (
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "typical_p",
    "epsilon_cutoff",
    "eta_cutoff",
    "repetition_penalty",
)


def folder_text(folder: Path, config: dict[str, Any], vocab_size: int) -> TextParts:
    """`config` is config.json's content; raises BadModelFile and UnsupportedModel."""
    if not (folder / "tokenizer.json").is_file():
        raise UnsupportedModel(f"{folder} has no tokenizer.json; save one with transformers' fast tokenizer")
    tokenizer = read_json_if_there(folder / SPECIAL) | read_json_if_there(folder / "tokenizer_config.json")
    generation = read_json_if_there(folder / GENERATION)
    known = cache(partial(_special_tokens, folder / "tokenizer.json"))
    special = _SpecialIds(
        tokenizer, known, {folder / GENERATION: generation, folder / "config.json": config}, vocab_size
    )
    return TextParts(
        load_tokenizer=partial(_whole_tokenizer, folder, tokenizer, vocab_size),
        chat_template=_chat_template(folder, tokenizer, "default"),
        tool_template=_chat_template(folder, tokenizer, "tool_use"),
        bos_id=next(iter(special.ids("bos")), None),
        eos_ids=special.ids("eos"),
        pad_id=next(iter(special.ids("pad")), None),
        description="tokenizer.json",
        template_names={key: content(tokenizer[key]) or "" for key in NAMED if key in tokenizer},
    )


def load_tokenizer(path: Path) -> Tokenizer:
    """Parse the file; raises BadModelFile."""
    from tokenizers import Tokenizer

    read_json(path)  # names a broken encoding or syntax better than the parser behind it
    with raising(lambda said: BadModelFile(f"{path} is not a tokenizer: {said}")):
        found = Tokenizer.from_str(path.read_text("utf-8-sig"))  # of a path, names that are no UTF-8 are refused
    found.no_truncation()  # what its training was cut and filled up to is no part of the vocabulary
    found.no_padding()
    return found


def _whole_tokenizer(folder: Path, settings: Mapping[str, Any], vocab_size: int) -> Tokenizer:
    """That of tokenizer.json, with what the settings say of its tokens, as in transformers."""
    found = load_tokenizer(folder / "tokenizer.json")
    add_described(found, settings.get("added_tokens_decoder"), vocab_size)
    mark_named(found, settings, NAMED)
    add_named(found, settings, NAMED)
    return found


def sampling_defaults(folder: Path) -> dict[str, Any]:
    """The numbers of generation_config.json that a request falls back to; raises BadModelFile for other values.

    A model that is said not to be sampled from takes the likeliest token, as in transformers.
    """
    values = read_json_if_there(folder / GENERATION)
    found = {key: values[key] for key in SAMPLING_KEYS if values.get(key) is not None}
    for key, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadModelFile(
                f"{folder / GENERATION}: {key} is {value!r:.60}, not a number; correct it or take it out"
            )
    return found | ({"temperature": 0.0} if values.get("do_sample") is False else {})


def token_ids(what: str, value: Any, vocab_size: int) -> list[int]:
    """One id, a list of them or none, which -1 stands for too; raises BadModelFile for what is no id."""
    ids = value if isinstance(value, list) else [value]
    for i in ids:
        if i is not None and (isinstance(i, bool) or not isinstance(i, int) or not NO_TOKEN <= i < vocab_size):
            raise BadModelFile(f"{what} is {i!r:.60}; token ids are 0 to {vocab_size - 1}, fetch the model again")
    return [i for i in ids if i is not None and i != NO_TOKEN]


class _SpecialIds:
    """Where a folder names its special tokens: by id in two files, by text in a third."""

    def __init__(
        self, tokenizer: dict[str, Any], known: Callable[[], Mapping[str, int]],
        sources: Mapping[Path, Mapping[str, Any]], vocab_size: int,
    ) -> None:  # fmt: skip
        self.tokenizer, self.known, self.sources, self.vocab_size = tokenizer, known, sources, vocab_size

    def ids(self, kind: str) -> tuple[int, ...]:
        """All of them: chat models often end a turn with another token than a document; raises BadModelFile."""
        found: list[int] = []
        limit = MANY if kind == "pad" else self.vocab_size  # many models pad with a token past the vocabulary
        for where, source in self.sources.items():
            found += token_ids(f"{where}: {kind}_token_id", source.get(f"{kind}_token_id"), limit)
        text = content(self.tokenizer.get(f"{kind}_token"))
        named = None if text is None else self._named(text)
        return tuple(dict.fromkeys(found + ([named] if named is not None and 0 <= named < limit else [])))

    def _named(self, text: str) -> int | None:
        """By tokenizer_config.json, or by tokenizer.json where that is silent, as of transformers 5."""
        added = self.tokenizer.get("added_tokens_decoder")
        entries = added.items() if isinstance(added, dict) else ()
        found = [
            int(key) for key, each in entries if isinstance(each, dict) and each.get("content") == text and is_id(key)
        ]
        return found[0] if found else self.known().get(text)


def _special_tokens(path: Path) -> dict[str, int]:
    """Ids by text, of tokenizer.json."""
    values = read_json(path)
    model, listed = values.get("model"), values.get("added_tokens")
    words = model.get("vocab") if isinstance(model, dict) else None
    found = {text: i for text, i in words.items() if type(i) is int} if isinstance(words, dict) else {}
    special = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    pairs = [(each.get("content"), each.get("id")) for each in special]
    return found | {text: i for text, i in pairs if isinstance(text, str) and type(i) is int}


def text_files(folder: Path) -> list[Path]:
    """Of a model's folder, those that say how a text becomes tokens, and tokens a text; none of a file."""
    names = "tokenizer.json", "tokenizer_config.json", SPECIAL, GENERATION, "chat_template.jinja"
    found = [*(folder / name for name in names), *(folder / TEMPLATES).glob("*.jinja")]
    return [file for file in found if file.is_file()]


def _chat_template(folder: Path, tokenizer: dict[str, Any], name: str) -> str | None:
    """By its name, of files first; a single one is the default."""
    files = {
        "default": folder / "chat_template.jinja",
        "tool_use": folder / TEMPLATES / "tool_use.jinja",
    }
    if files[name].exists():
        return _text_of(files[name])
    listed = None if files["default"].exists() else tokenizer.get("chat_template")
    entries = listed if isinstance(listed, list) else [{"name": "default", "template": listed}]
    named = (entry for entry in entries if isinstance(entry, dict) and entry.get("name") == name)
    template = next(named, {}).get("template")
    return template if isinstance(template, str) else None


def _text_of(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadModelFile(f"{file} cannot be read as UTF-8 text: {error}") from error
