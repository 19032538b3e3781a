"""The tiny models of tests/models serve here too."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))


@pytest.fixture(scope="session")
def byte_level():
    """Byte-level BPE over all 256 bytes; 0 to 2 are control tokens, of which 2 ends a text."""
    from tiny_models import TEMPLATE, byte_tokenizer

    from truedraw.text import Tokenizer

    return Tokenizer(byte_tokenizer(), eos_ids=(2,), bos_id=1, chat_template=TEMPLATE)


@pytest.fixture(scope="session")
def pieces(tmp_path_factory):
    """SentencePiece BPE from a GGUF's tables: <unk>, <s>, </s>, 256 bytes, pieces with scores."""
    from sentence_piece import tokenizer_of

    return tokenizer_of(tmp_path_factory.mktemp("pieces") / "m.gguf")
