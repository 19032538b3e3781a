"""The table of what passes take: how it is measured, on scripted costs; recorded, reused, doubted."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from engine.decoder import tiny_checkpoint, tiny_engine
from invariance import need_invariance
from truedraw.engine.cpu import CPUEngine, timing
from truedraw.engine.cpu.records import record_key
from truedraw.engine.cpu.timing import FURTHER, MIN_AGE_SECONDS, ROWS, TEXTS, Costs, measure
from truedraw.engine.numerics import NUMERICS
from truedraw.errors import EngineError, OutOfPages
from truedraw.protocol import KnowsCosts, PassTable

DAMAGED = ["", "{", "null", "[1]", "7", "{}", '{"rows": 3, "texts": 4}', '{"rows": {"1": 0.1}, "texts": {}}',
           '{"rows": {"1": 0.1, "2": 0}, "texts": {}}', '{"rows": {"1": 0.1, "2": NaN}, "texts": {}}',
           '{"rows": {"1": 0.1, "two": 1}, "texts": {}}', '{"rows": {"0": 0.1, "2": 1}, "texts": {}}',
           '{"rows": {"1": 0.1, "2": [1]}, "texts": {}}', '{"rows": {"1": 0.1, "2": 0.2}}', "\udcff",
           '{"rows": {"1": 0.1, "2": 0.2}, "texts": {}}', '{"rows": {"1": 0.1, "2": 0.2}, "texts": {}, "further": 1}',
           '{"rows": {"1": 0.1, "2": 0.2}, "texts": {}, "further": {"1": -1}}',
           '{"rows": {"1": 0.1, "2": 0.2}, "texts": {}, "further": {}}',
           '{"rows": {"1": 0.1, "2": 0.2}, "texts": {}, "further": {"0": 1}, "length": 9}',
           '{"rows": {"1": 0.1, "2": 0.2}, "texts": {}, "further": {}, "length": {}}']  # fmt: skip


usual_seconds = timing._seconds


@pytest.fixture(autouse=True)
def short_measurements(monkeypatch) -> None:
    """By a clock of the machine's a pass is measured once."""
    monkeypatch.setattr(timing, "_seconds", lambda engine, works, clock: usual_seconds(engine, works, clock, 0.0, 0.0))


def scripted(rows: int, texts: int) -> float:
    """Seconds."""
    return 0.001 + 0.0001 * rows + 0.00005 * (texts - 1)


def scripted_token(rows: int) -> float:
    """Seconds that each token of a text beyond a hundred takes."""
    return 1e-6 * (1 + rows)


class Scripted:
    """An engine whose clock is turned by its passes; one takes longer right behind another shape, and for a while."""

    def __init__(self, cost=scripted, context_length=1000, pages=1000, longest=9999):
        self.vocab_size, self.context_length, self.cost, self.pages = 50, context_length, cost, pages
        self.longest = longest  # text that there is room for
        self.of_token, self.lengths = scripted_token, set()
        self.now, self.passes, self.open_texts = 0.0, 0, 0
        self._shape, self._since = None, 0.0

    def clock(self):
        return self.now

    def open(self, tokens, *, alone=False):
        assert alone
        assert len(tokens) <= self.context_length
        self.open_texts += 1
        return SimpleNamespace(tokens=tokens, close=self._closed)

    def fork(self, sequence, n):
        return [self.open(sequence.tokens, alone=True) for _ in range(n)]

    def forget_row_counts(self):
        self._shape = None

    def forward(self, works, fills=()):
        assert all(len(work.sequence.tokens) + len(work.proposal) <= self.context_length for work in works)
        if len(works) > self.pages:
            raise OutOfPages("no room")
        if any(len(work.sequence.tokens) > self.longest for work in works):
            raise OutOfPages("no room")
        shape = sum(1 + len(work.proposal) for work in works), len(works), len(works[0].sequence.tokens)
        if shape != self._shape:
            self._shape, self._since = shape, self.now
        took = self.cost(*shape[:2]) + self.of_token(shape[0]) * max(0, shape[2] - 100)
        self.now += took * (1 if self.now - self._since > 0.03 else 2)
        self.lengths.add(shape[2])
        self.passes += 1
        return []

    def _closed(self):
        self.open_texts -= 1


def measured(engine):
    """By its own clock, as long as it takes."""
    with patch.object(timing, "_seconds", usual_seconds):
        return measure(engine, engine.clock)


def test_a_pass_that_is_held_up_now_and_then_is_not_what_its_shape_takes():
    engine = Scripted()
    engine.cost = lambda rows, texts: scripted(rows, texts) * (5 if engine.passes % 3 == 0 else 1)
    table = measured(engine)
    assert table.rows[1] == pytest.approx(scripted(1, 1))


def test_the_table_holds_what_passes_of_a_known_shape_take():
    engine = Scripted()
    table = measured(engine)
    assert table.rows == pytest.approx({rows: scripted(rows, 1) for rows in ROWS})
    assert table.texts == pytest.approx({texts: scripted(texts, texts) for texts in TEXTS})
    assert engine.open_texts == 0


def test_one_disturbed_sweep_does_not_show():
    undisturbed, engine = measured(calm := Scripted()), Scripted()
    start, end = calm.now * 0.4, calm.now * 0.6
    engine.cost = lambda rows, texts: scripted(rows, texts) * (5 if start < engine.now < end else 1)
    table = measured(engine)
    assert table.rows == pytest.approx(undisturbed.rows)
    assert table.texts == pytest.approx(undisturbed.texts)


def test_neighbours_that_seem_to_fall_take_their_mean():
    odd = {6: 0.003, 8: 0.001}
    table = measured(Scripted(lambda rows, texts: odd.get(rows, scripted(rows, texts)) if texts == 1 else 1.0))
    assert table.rows[6] == table.rows[8] == pytest.approx(0.002)
    assert table.rows[4] == pytest.approx(scripted(4, 1))
    assert list(table.rows.values()) == sorted(table.rows.values())


def test_a_slow_model_is_measured_where_it_is_narrow():
    engine = Scripted(lambda rows, texts: 2.0 + rows)
    table = measured(engine)
    assert table == PassTable({rows: 2.0 + rows for rows in (1, 2, 4, 6, 8, 12, 16)}, {4: 6.0, 16: 18.0}, length=100)
    assert engine.passes == 2 * 9


def test_what_a_token_more_of_a_text_takes_is_measured_by_rows():
    engine = Scripted(context_length=9000)
    assert measured(engine).further == pytest.approx({rows: scripted_token(rows) for rows in FURTHER})
    engine.of_token = lambda rows: 0.0
    assert measured(engine).further == pytest.approx(dict.fromkeys(FURTHER, 0.0))


LONGEST = [(9000, 1e5, 2000), (3000, 1e5, 1500), (9000, 640, 1280), (1999, 1e5, 0), (9000, 400, 0), (9000, 20, 0)]


@pytest.mark.parametrize(("context_length", "rows_a_second", "longest"), LONGEST)
def test_a_long_text_is_as_long_as_there_is_context_and_time_for(context_length, rows_a_second, longest):
    """A machine that computes 640 rows a second reads 1,280 of them in two seconds."""
    engine = Scripted(lambda rows, texts: rows / rows_a_second, context_length)
    found = measured(engine).further
    assert max(engine.lengths) == pytest.approx(max(longest, 100), abs=1)
    assert (found == {}) is (longest == 0)


def test_a_long_text_takes_seconds_not_minutes_whatever_a_pass_takes():
    for once in (0.002, 0.02, 0.05, 0.2, 0.5):
        engine = Scripted(lambda rows, texts, once=once: once, context_length=9000)
        engine.of_token = lambda rows: 0.0
        table = measured(engine)
        engine.now = 0.0
        with patch.object(timing, "_seconds", usual_seconds):
            timing._further(engine, engine.open(list(range(100)), alone=True), table, engine.clock)
        assert engine.now < 5.0


def test_no_room_for_a_long_text_leaves_the_rest():
    engine = Scripted(longest=150)
    table = measured(engine)
    assert table.further == {}
    assert table.rows == pytest.approx({rows: scripted(rows, 1) for rows in ROWS})
    assert engine.open_texts == 0


def test_measuring_takes_seconds_not_minutes():
    engine = Scripted()
    measured(engine)
    assert 1 < engine.now < 6
    assert engine.passes > 2 * 3 * (len(ROWS) + len(TEXTS))


@pytest.mark.parametrize("context_length", [2, 4, 16, 40, 101, 163, 164, 165])
def test_texts_stay_within_the_context(context_length):
    rows = measured(Scripted(context_length=context_length)).rows
    room = context_length - min(100, context_length // 2)
    assert list(rows) == [count for count in ROWS if count <= room]


def test_a_cache_without_room_is_not_measured_nor_recorded(tmp_path):
    engine = Scripted(pages=8)
    costs = Costs(tmp_path / "costs.json")
    assert costs.table(engine) is None
    assert engine.open_texts == 0
    assert not list(tmp_path.iterdir())


def test_what_was_measured_is_recorded_and_read_again(tmp_path):
    costs, file = Costs(tmp_path / "new" / "costs.json"), tmp_path / "new" / "costs.json"
    first, again = Scripted(), Scripted()
    assert costs.table(first) == costs.table(again) == Costs(file).table(again)
    assert first.passes
    assert not again.passes
    assert list(file.parent.iterdir()) == [file]


def test_measured_anew_is_recorded(tmp_path):
    costs, engine = Costs(tmp_path / "costs.json"), Scripted()
    (tmp_path / "costs.json").write_text(
        '{"rows": {"1": 5.0, "2": 6.0}, "texts": {}, "further": {"1": 0.5}, "length": 7}'
    )
    assert costs.table(engine) == PassTable({1: 5.0, 2: 6.0}, {}, {1: 0.5}, 7)
    assert costs.table(engine, anew=True) == costs.table(engine) != PassTable({1: 5.0, 2: 6.0}, {}, {1: 0.5}, 7)
    assert engine.passes


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_record_is_measured_and_written_anew(tmp_path, content):
    file, engine = tmp_path / "costs.json", Scripted()
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    table = Costs(file).table(engine)
    assert engine.passes
    assert table == Costs(file).table(Scripted(lambda rows, texts: 9.0))


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "taken").write_text("a file")
    costs = Costs(tmp_path / "taken" / "costs.json")
    assert costs.table(Scripted()).rows.keys() == costs.table(Scripted()).rows.keys()
    costs.doubt()


@pytest.mark.parametrize(("age", "kept"), [(0.0, True), (MIN_AGE_SECONDS - 1, True), (MIN_AGE_SECONDS, False),
                                           (-10.0, False)])  # fmt: skip
def test_a_doubted_record_is_dropped_unless_it_is_fresh(tmp_path, age, kept):
    file = tmp_path / "costs.json"
    costs = Costs(file)
    costs.doubt()
    costs.table(Scripted())
    costs.doubt(now=file.stat().st_mtime + age)
    assert file.exists() is kept


# --------------------------------------------------------------------------------------------- the paged engine


def records(cache):
    return list(cache.rglob("passes-*.json"))


def with_room(cache, **options):
    return tiny_engine(cache, cache_bytes=64 << 20, **options)


@pytest.mark.parametrize("numerics", ["runtime", "reference"])
def test_an_engine_is_measured_when_it_is_first_asked(tmp_path, numerics):
    engine = with_room(tmp_path, numerics=numerics)
    assert isinstance(engine, KnowsCosts)
    assert not records(tmp_path)
    table = engine.pass_costs()
    assert tuple(table.rows) == ROWS
    assert tuple(table.texts) == TEXTS
    assert min(table.rows.values()) > 0
    (file,) = records(tmp_path)
    assert {int(count): seconds for count, seconds in json.loads(file.read_text())["rows"].items()} == table.rows
    assert with_room(tmp_path, numerics=numerics).pass_costs() == table
    use = engine.cache_use()
    assert use.pages_free == use.pages_total
    assert use.tokens_asked == 0


def asked(threads: int) -> SimpleNamespace:
    return SimpleNamespace(threads=threads, arithmetic=NUMERICS["runtime"])


def test_kernels_of_ours_are_another_record():
    """They go by what numba compiles for, and do not ask the runtime."""
    keys = {record_key(tiny_checkpoint(), SimpleNamespace(threads=1, arithmetic=each)) for each in NUMERICS.values()}
    assert len(keys) == len(NUMERICS)


def test_the_wrong_machine_options_or_model_is_another_record(tmp_path, monkeypatch):
    base = record_key(tiny_checkpoint(), options := asked(1))
    assert record_key(tiny_checkpoint(), options) == base
    keys = {base, record_key(tiny_checkpoint(name="other"), options),
            record_key(tiny_checkpoint(), asked(2))}  # fmt: skip
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(99)), raising=False)
    keys.add(record_key(tiny_checkpoint(), options))
    monkeypatch.setattr("truedraw.engine.cpu.records._processor_flags", lambda: "flags: none")
    keys.add(record_key(tiny_checkpoint(), options))
    assert len(keys) == 5


def test_other_threads_are_measured_apart(tmp_path):
    for threads in (1, 2):
        with_room(tmp_path, threads=threads).pass_costs()
    assert len(records(tmp_path)) == 2


def test_doubt_drops_an_old_record(tmp_path):
    engine = with_room(tmp_path)
    engine.pass_costs()
    (file,) = records(tmp_path)
    engine.doubt_costs()
    assert file.exists()
    os.utime(file, (0, 0))
    engine.doubt_costs()
    assert not file.exists()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.pass_costs()


def test_a_small_cache_is_not_measured_and_nothing_is_lost(tmp_path):
    engine = tiny_engine(tmp_path, cache_bytes=256 << 10)
    assert engine.pass_costs() is None
    use = engine.cache_use()
    assert use.pages_free == use.pages_total
    assert not records(tmp_path)


def test_the_first_layers_alone_have_no_table(tmp_path):
    assert not isinstance(with_room(tmp_path).shallow(1), KnowsCosts)


def test_measuring_leaves_the_logits_as_they_are(tmp_path):
    from engine.pages import rows

    before, after = with_room(tmp_path, numerics="runtime"), with_room(tmp_path, numerics="runtime")
    need_invariance(before)
    after.pass_costs(anew=True)
    assert (rows(before, [1, 2, 3]) == rows(after, [1, 2, 3])).all()


@pytest.mark.model
@pytest.mark.slow
def test_the_real_model_has_a_table(tmp_path, monkeypatch):
    from truedraw.models import open_checkpoint

    monkeypatch.setattr(timing, "_seconds", usual_seconds)
    engine = CPUEngine.load(open_checkpoint("smollm2-135m"))
    table = engine.pass_costs()
    engine.close()
    assert {1, 2, 4, 6, 8, 12, 16} <= table.rows.keys()
    assert list(table.rows.values()) == sorted(table.rows.values())
    assert all(0 < seconds < 100 for seconds in [*table.rows.values(), *table.texts.values()])
