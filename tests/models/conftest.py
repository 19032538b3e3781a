"""A hub that serves one tiny model."""

import threading
from http.server import ThreadingHTTPServer

import pytest
from hub_stub import Hub
from tiny_models import random_tensors, tiny_config, write_folder


@pytest.fixture
def hub(tmp_path):
    config = tiny_config("qwen2")
    Hub.folder = write_folder(tmp_path / "served", config, random_tensors(config))
    (Hub.folder / "README.md").write_text("not needed")
    Hub.log, Hub.broken, Hub.refusals, Hub.busy, Hub.instead, Hub.stored = [], set(), [], {}, {}, {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
