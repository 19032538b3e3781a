"""The kernels against float64 references over rows that break careless code, and against each other, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from from_python import from_python
from truedraw.protocol import Purpose
from truedraw.sampling.kernels import DRAWN
from truedraw.sampling.kernels.edges import ties_needed, top_k_mask, top_p_mask
from truedraw.sampling.kernels.entry import draw_one, memory
from truedraw.sampling.kernels.softmax import excess_into, keep, log_normaliser, softmax_into, weights_into
from truedraw.sampling.race import race
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.transform import Transform
from truedraw.threads import NOBODY
from truedraw.verify.residual import residual

INF = np.inf
RELATIVE = 1e-12  # the promised accuracy of every p
SUBNORMAL = np.finfo(np.float64).smallest_normal
SIZES = (1, 2, 63, 64, 65, 2047, 2048, 2049, 5000, 49152)


def rows() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    found = {f"normal {size}": rng.normal(0, 3, size) for size in SIZES}
    banned = rng.normal(0, 3, 5000)
    banned[rng.random(5000) < 0.99] = -INF
    return found | {
        "flat": np.zeros(5003),  # no truncation below lands between two of its tokens
        "three values": rng.choice([-2.0, 0.0, 3.5], 5000),
        "one-hot": np.where(np.arange(5000) == 4321, 0, -INF),
        "nearly one-hot": np.where(np.arange(3000) == 17, 100.0, -100.0),
        "banned": banned,
        "huge range": rng.normal(0, 1e30, 3000),
        "wide range": np.linspace(-800, 0, 4096),
        "tiny logits": rng.normal(0, 1e-40, 3001),
        "peaked": np.concatenate(([12.0, 11.5], rng.normal(-5, 2, 3000))),
    }


ROWS = {name: row.astype(np.float32) for name, row in rows().items()}


def law(logits: np.ndarray, how: Transform) -> np.ndarray:
    """The definition, step by step, with sorting and in extended precision."""
    z = logits.astype(np.longdouble)
    z -= z.max()
    if how.temperature == 0:
        return np.eye(1, z.size, int(z.argmax()))[0]
    with np.errstate(over="ignore", under="ignore"):
        p = np.exp(z / how.temperature).astype(np.float64).astype(np.longdouble)
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    if 0 < how.top_k < p.size:
        p[order[how.top_k :]] = 0
        p /= p.sum()
    if how.top_p < 1:
        p[order[int(np.argmax(np.cumsum(p[order]) >= how.top_p)) + 1 :]] = 0
        p /= p.sum()
    p[p < how.min_p * p.max()] = 0
    return (p / p.sum()).astype(np.float64)


def named(rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(counter, key) of a draw of so many samples."""
    samples = [PhiloxRandomness(3, sample) for sample in range(rows)]
    return [(sample.counter(Purpose.TARGET, 5, 0), sample.key) for sample in samples]


def draw(logits: np.ndarray, how: Transform, names) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and logarithms of rows, one after the other in the same memory."""
    scratch = memory(logits.shape[1], NOBODY)
    found = [draw_one(row, tuple(how), (*name, True, DRAWN), scratch) for row, name in zip(logits, names, strict=True)]
    return np.array([token for token, *_ in found]), np.array([logs for _, *logs in found])


WORST = [float.fromhex(x) for x in ("-0x1.e0ae6d210a02ep+8", "-0x1.cfaeddda06765p+7", "-0x1.c811ca76d4462p+6")]
"""Where an error is near the largest that was found, here or of a polynomial nearly as good."""


def test_exp_is_exp_to_the_last_places() -> None:
    """Against extended precision, from 1 down through the subnormal numbers to 0."""
    x = np.concatenate(
        [np.linspace(-750, 0, 200_003), -np.logspace(-300, 2.87, 50_001), WORST, [-0.0, -INF, -745.13, -745.14]]
    )
    found = np.empty(x.size)
    from_python(weights_into)(x, 0.0, 1.0, found)
    exact = np.exp(x.astype(np.longdouble))
    units = np.abs(found - exact) / np.spacing(exact.astype(np.float64))
    assert units.max() < 1
    assert found[-4:].tolist() == [1.0, 0.0, 2.0**-1074, 0.0]


@pytest.mark.parametrize("temperature", [5e-324, 1e-300, 0.05, 0.7, 1.0, 3.0, 1e6])
@pytest.mark.parametrize("name", ROWS)
def test_softmax_and_its_normaliser(name: str, temperature: float) -> None:
    logits = ROWS[name]
    expected = law(logits, Transform(temperature))
    p = np.empty(logits.size)
    assert softmax_into(logits, temperature, p) == logits.max()
    normal = expected > SUBNORMAL * 1e10
    np.testing.assert_allclose(p[normal], expected[normal], rtol=RELATIVE)
    np.testing.assert_allclose(p[~normal], expected[~normal], atol=SUBNORMAL * 1e10, rtol=0)
    z = logits.astype(np.longdouble)
    assert log_normaliser(logits) == pytest.approx(float(z.max() + np.log(np.exp(z - z.max()).sum())), rel=RELATIVE)


@pytest.mark.parametrize("bad", [np.nan, -np.nan, INF])
@pytest.mark.parametrize("place", [0, 700, 4999])
def test_a_row_without_a_law_is_refused(bad: float, place: int) -> None:
    row = np.zeros(5000, dtype=np.float32)
    row[place] = bad
    assert not np.isfinite(softmax_into(row, 1.0, np.empty(5000)))
    assert not np.isfinite(log_normaliser(row))
    for how in (Transform(), Transform(top_p=0.5), Transform(0.0)):
        assert (draw(np.stack([np.zeros_like(row), row]), how, named(2))[0] >= 0).tolist() == [True, False]
        assert draw(np.full((1, 9), -INF, np.float32), how, named(1))[0] < 0


HOWS = [
    Transform(),
    Transform(temperature=0.0),
    Transform(temperature=0.3),
    Transform(top_k=1),
    Transform(top_k=40, temperature=1.3),
    Transform(top_k=3000),
    Transform(top_p=0.9),
    Transform(top_p=0.2, temperature=2.0),
    Transform(min_p=0.02),
    Transform(min_p=1.0),
    Transform(top_p=0.97, min_p=0.001),
    Transform(temperature=0.8, top_k=50, top_p=0.95, min_p=0.05),
    Transform(temperature=1e-200, top_p=0.5),
]


@pytest.mark.parametrize("how", HOWS, ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_a_draw_is_the_race_over_the_law(name: str, how: Transform) -> None:
    """The same clocks decide, whether p was written down or not; and the logarithm is that of p."""
    logits = ROWS[name]
    p = law(logits, how)
    batch = np.repeat(logits[None], 6, axis=0)
    tokens, logs = draw(batch, how, named(6))
    expected = [race(p, *each) for each in named(6)]
    assert tokens.tolist() == expected
    np.testing.assert_allclose(logs[:, 0], np.log(p[tokens]), atol=1e-9)
    np.testing.assert_allclose(logs[:, 1], np.log(law(logits, Transform())[tokens]), atol=1e-9)


@pytest.mark.parametrize("how", HOWS, ids=str)
def test_a_row_is_the_same_in_fresh_memory_and_in_used(how: Transform) -> None:
    logits = np.random.default_rng(9).normal(0, 3, (40, 4500)).astype(np.float32)
    tokens, logs = draw(logits, how, named(40))
    again, same = draw(logits[::-1].copy(), how, named(40)[::-1])
    assert (again[::-1] == tokens).all()
    assert (same[::-1] == logs).all()
    for row in (0, 13, 39):
        alone, own = draw(logits[row : row + 1], how, named(40)[row : row + 1])
        assert (tokens[row], *logs[row]) == (alone[0], *own[0])


@pytest.mark.parametrize("how", [Transform(), Transform(top_k=40), Transform(top_p=0.9), Transform(0.0)], ids=str)
@pytest.mark.parametrize("size", [7, 65, 100, 2047])
def test_what_lies_behind_a_row_is_not_looked_at(size: int, how: Transform) -> None:
    wide = np.full((300, size + 100), 1e30, np.float32)
    logits = wide[:, :size]
    logits[:] = np.random.default_rng(size).normal(size=size)
    tokens, logs = draw(logits, how, named(300))
    again, same = draw(logits.copy(), how, named(300))
    assert (tokens == again).all()
    assert (logs == same).all()


def reference_mask(weights: np.ndarray, count: int) -> np.ndarray:
    mask = np.zeros(weights.size, dtype=bool)
    mask[np.argsort(-weights, kind="stable")[:count]] = True
    return mask & (weights > 0)


dyadic = st.lists(st.sampled_from([0, 1, 1, 2, 3, 8, 64]), min_size=1, max_size=700).filter(any)


@settings(max_examples=300, deadline=None)
@given(dyadic, st.integers(1, 800), st.integers(1, 64))
def test_edges_are_those_of_a_stable_sort(counts, k, share) -> None:
    """Sums of these weights are exact, so a mass that is met exactly has one answer."""
    weights = np.array(counts, dtype=np.float64) / 1024
    mass = weights.sum() * share / 64
    needed = int(np.argmax(np.cumsum(np.sort(weights)[::-1]) >= mass)) + 1
    assert (top_p_mask(weights, mass) == reference_mask(weights, needed)).all()
    assert (top_k_mask(weights, k) == reference_mask(weights, k)).all()


@pytest.mark.parametrize("name", ROWS)
def test_edges_on_long_rows(name: str) -> None:
    p = law(ROWS[name], Transform())
    total = np.cumsum(np.sort(p)[::-1])
    for mass in (1e-6, 0.31, 0.9, 0.9999):
        kept = top_p_mask(p, mass)
        needed = int(np.argmax(total >= mass)) + 1
        assert abs(int(kept.sum()) - min(needed, int((p > 0).sum()))) <= (abs(total - mass) < 1e-12).sum()
        assert (kept == reference_mask(p, int(kept.sum()))).all()
    for k in (1, 2, 127, 128, 129, 1000, p.size - 1, p.size, p.size + 5):
        assert (top_k_mask(p, max(k, 1)) == reference_mask(p, max(k, 1))).all()


def test_of_equal_weights_the_fewest_are_kept_that_reach_the_mass_where_sums_round_too() -> None:
    """Weights near the last place of a sum, whose number a division tells wrongly to either side."""
    rng, fewest = np.random.default_rng(3), from_python(ties_needed)
    last = np.spacing(0.5)
    for _ in range(5000):
        reached, each, equal = rng.uniform(0.5, 0.9), float(rng.uniform(0.1, 3) * last), int(rng.integers(1, 12))
        goal = reached + float(rng.integers(0, 9)) * last
        enough = [ties for ties in range(1, equal) if reached + ties * each >= goal]
        assert fewest(goal, reached, each, equal) == min(enough, default=equal)


def test_a_mass_that_rounding_never_reaches_keeps_everything() -> None:
    p = np.full(1000, 0.1 / 100)
    assert top_p_mask(p, 1.5).all()


def test_keep_and_excess() -> None:
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.full(5000, 0.1), 2)
    kept = rng.random(5000) < 0.3
    expected = np.where(kept, p, 0) / p[kept].sum()
    cut = p.copy()
    assert keep(cut, kept) == pytest.approx(p[kept].sum(), rel=RELATIVE)
    np.testing.assert_allclose(cut, expected, rtol=RELATIVE)
    left = np.empty(5000)
    assert excess_into(0.7, p, q, left) == pytest.approx(np.maximum(0.7 * p - q, 0).sum(), rel=RELATIVE)
    assert (left == np.maximum(0.7 * p - q, 0)).all()


def test_what_is_left_of_a_law_is_drawn_from_without_writing_it_down() -> None:
    rng = np.random.default_rng(4)
    p, q = rng.dirichlet(np.full(3000, 0.2), 60), rng.dirichlet(np.full(3000, 0.2), 60)
    p[40:, :2990] = 0.0  # little is left
    q[50:] = p[50:]  # and here nothing, so that p itself is drawn from
    for row in range(60):
        chance, name = PhiloxRandomness(3, row), (Purpose.RESIDUAL, 5, 2)
        assert chance.choose_left(p[row], q[row], *name) == chance.choose(residual(p[row], q[row], 0), *name)
    one, other = np.array([0.0, 0.25, 0.75]), np.array([0.5, 0.25, 0.25])
    assert PhiloxRandomness(1).choose_left(one, other, Purpose.RESIDUAL, 0) == 2
    assert PhiloxRandomness(1).choose_left(one, one, Purpose.RESIDUAL, 0) > 0
