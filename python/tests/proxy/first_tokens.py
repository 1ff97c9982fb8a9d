"""Measures how much later the first token of an answer without a judge comes through a cascade than by LiteLLM alone.

usage: first_tokens.py [PAIRS=200]

Pairs are interleaved. It ends with 1 if the median is more than 5 ms.
"""

from __future__ import annotations

import http.client
import json
import pathlib
import statistics
import sys
import tempfile
import time

from made_up_proxy import KEY, Proxy, write_cascades, write_configuration
from upstream import Models

MOST_MS = 5.0


def first_token(proxy: Proxy, model: str) -> float:
    """The milliseconds until the first piece with text."""
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": True})
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    began = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", body, headers)
    answer = connection.getresponse()
    while b'"content":"small' not in answer.readline():
        pass
    took = 1000.0 * (time.perf_counter() - began)
    answer.read()
    connection.close()
    return took


def main(pairs: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        models = Models()
        proxy = Proxy(pathlib.Path(folder), models)
        write_cascades(proxy.folder)
        write_configuration(proxy.folder, models.url)
        proxy.start()
        try:
            for _ in range(20):
                first_token(proxy, "small"), first_token(proxy, "single")
            more, alone = [], []
            for k in range(pairs):
                names = ("small", "single") if k % 2 else ("single", "small")
                took = {name: first_token(proxy, name) for name in names}
                more.append(took["single"] - took["small"])
                alone.append(took["small"])
        finally:
            proxy.stop()
    median = statistics.median(more)
    print(f"first token after {statistics.median(alone):.1f} ms, by a cascade {median:.1f} ms later ({pairs} pairs)")
    return median > MOST_MS


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
