import pytest

from truedraw.cli.sizes import bytes_of, values_of
from truedraw.errors import BadParameter


@pytest.mark.parametrize(
    ("text", "size"),
    [("512M", 512 << 20), ("2G", 2 << 30), ("2g", 2 << 30), ("1.5 GiB", 3 << 29), ("64KB", 65536), ("1000", 1000)],
)
def test_amounts_of_memory(text, size):
    assert bytes_of("--cache-bytes", text) == size


@pytest.mark.parametrize("text", ["", "2X", "-1G", "0", "0.1", "G", "1e9", "٣M", "2G2"])
def test_what_is_no_amount(text):
    with pytest.raises(BadParameter, match="--cache-bytes"):
        bytes_of("--cache-bytes", text)


def test_values():
    assert values_of("--top-p", "0.9, 1,1e-3") == [0.9, 1.0, 0.001]
    assert values_of("--top-k", "-1,5", whole=True) == [-1, 5]
    assert values_of("--top-p", None) == []


@pytest.mark.parametrize("text", ["", "1,,2", "a", "1;2", "1,1.0"])
def test_what_are_no_values(text):
    with pytest.raises(BadParameter, match="--top-p"):
        values_of("--top-p", text)
