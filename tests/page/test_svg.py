import pytest

from truedraw.page.svg import HUES, MOST_TICKS, Axes, curve_kind, key, plot, rounded, steps, ticks


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-6.754, 0.0, [-6, -4, -2, 0]),
        (0.244, 6.4, [2, 4, 6]),
        (-0.0031, 0.0031, [-0.002, 0, 0.002]),
        (0.0, 123456.0, [0, 50000, 100000]),
        (3.0, 3.0, [3]),
    ],
)
def test_steps_are_round_numbers_inside(low, high, expected):
    assert steps(low, high) == pytest.approx(expected)


@pytest.mark.parametrize("size", [1e-7, 0.03, 0.99, 1.0, 7.3, 12345.6])
@pytest.mark.parametrize("low", [-3.3, 0.0, 1e4])
def test_steps_are_few_and_a_rounded_range_holds_what_it_was_made_of(low, size):
    assert 2 <= len(steps(low, low + size)) <= MOST_TICKS
    first, last = rounded(low, low + size)
    assert first <= low + 1e-9 * size
    assert last >= low + size - 1e-9 * size
    assert last - first < 2 * size


def test_values_below_an_axis_leave_each_other_room():
    axes = Axes((0.0, 1.0), (0.0, 1.0))
    many = [i / 100 for i in range(101)]
    assert 5 < ticks(axes, many).count("<text") < 14
    assert ticks(axes, [0.0, 0.5, 1.0]).count("<text") == 1
    assert ticks(axes, [0.0, 0.01, 1.0]) == ""


def test_a_range_of_one_value_has_one_mark():
    picture = plot(Axes((0.7, 0.7), (0.0, 1.0)), "", "title <", "x")
    assert picture.count(">0.7<") == 1
    assert "title &lt;" in picture


def test_a_colour_that_comes_again_is_dashed():
    kinds = [curve_kind(i) for i in range(2 * len(HUES))]
    assert len(set(kinds)) == len(kinds)
    assert "again" not in kinds[len(HUES) - 1]
    assert key(["a"] * (len(HUES) + 1)).count("again") == 1
