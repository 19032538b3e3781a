import pytest

from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.options import memory_of
from truedraw.cli.sizes import bytes_of, seconds_of, sizes_of, values_of
from truedraw.errors import BadParameter


@pytest.mark.parametrize(
    ("text", "size"),
    [("512M", 512 << 20), ("2G", 2 << 30), ("2g", 2 << 30), ("1.5 GiB", 3 << 29), ("64KB", 65536), ("1000", 1000)],
)
def test_amounts_of_memory(text, size):
    assert bytes_of("--cache-bytes", text) == size


@pytest.mark.parametrize("text", ["", "2X", "-1G", "0", "0.1", "G", "1e9", "٣M", "2G2", "9" * 5000])
def test_what_is_no_amount(text):
    with pytest.raises(BadParameter, match="--cache-bytes"):
        bytes_of("--cache-bytes", text)


def test_nothing_is_an_amount_where_that_is_said():
    assert bytes_of("--prefix-cache-bytes", "0", least=0) == 0
    with pytest.raises(BadParameter, match="or 0 for none"):
        bytes_of("--prefix-cache-bytes", "-1", least=0)


def test_runs_whose_times_are_compared_share_no_prefixes():
    assert memory_of(ModelFlags(model="x"), apart=True) == {"prefix_cache_bytes": 0}
    assert memory_of(ModelFlags(model="x")) == memory_of(ModelFlags(model="tabular"), apart=True) == {}


@pytest.mark.parametrize("read", [bytes_of, sizes_of, lambda name, text: values_of(name, text, whole=True)])
def test_a_number_of_thousands_of_digits(read):
    with pytest.raises(BadParameter) as caught:
        read("--flag", "9" * 5000)
    assert len(str(caught.value)) < 200


def test_a_number_larger_than_any_is_left_to_its_parameter():
    assert values_of("--temperature", "9" * 5000) == [float("inf")]


def test_values():
    assert values_of("--top-p", "0.9, 1,1e-3") == [0.9, 1.0, 0.001]
    assert values_of("--top-k", "-1,5", whole=True) == [-1, 5]
    assert values_of("--top-p", None) == []


@pytest.mark.parametrize("text", ["", "1,,2", "a", "1;2", "1,1.0"])
def test_what_are_no_values(text):
    with pytest.raises(BadParameter, match="--top-p"):
        values_of("--top-p", text)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("2m", 120), ("1.5 H", 5400), ("0.1s", 0.1)])
def test_times(text, seconds):
    assert seconds_of("--budget", text) == seconds


@pytest.mark.parametrize("text", ["", "m", "-1s", "0", "2d", "1e3", "2m30", "٣m", "9" * 5000])
def test_what_is_no_time(text):
    with pytest.raises(BadParameter, match="--budget"):
        seconds_of("--budget", text)
