"""An evaluation of drafts that read the whole text: they know all of a prompt that was just written behind."""

from draft.eagle.random_eagles import Shape, write
from generate.one_text import CONFIG, likely
from models.tiny_models import write_folder
from truedraw import load
from truedraw.bench.draft_eval.texts import said
from truedraw.bench.draft_eval.texts import write as write_texts
from truedraw.bench.pairs import Task
from truedraw.sampling.params import SamplingParams

LENGTH = 70  # tokens: more than two pages, which the engine would find again
EAGLE = Shape("eagle3", vocab=CONFIG.vocab_size, target=CONFIG.hidden_size, width=CONFIG.hidden_size, layer_ids=(1, 2))


def test_drafts_are_shown_all_of_a_prompt(tmp_path):
    folder = write_folder(tmp_path / "tiny", CONFIG, likely())
    draft = write(tmp_path / "eagle", EAGLE)
    todo = [Task("", tuple(range(3, 3 + LENGTH))), Task("", tuple(range(3, 5 + LENGTH)))]
    with load(folder, draft=draft, cache=tmp_path / "cache", threads=1) as model:
        texts = write_texts(model, todo, SamplingParams(seed=1, max_tokens=4, ignore_eos=True), lambda: None)
        for task, text in zip(todo, texts, strict=True):
            rows = said(model.engine, text).scores(0).text
            assert rows[0].first == 0
            assert sum(len(each.hidden) for each in rows) == len(task.tokens) - 1
