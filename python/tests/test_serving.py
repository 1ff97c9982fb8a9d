"""Cascades in folders."""

from __future__ import annotations

import asyncio
import copy
import os
import pathlib
import pickle
import random
import shutil
import signal
import subprocess
import sys
import threading

import pytest

import pandora
from pandora.serving import Store


def new(price: float = 1.0) -> pandora.Cascade:
    return pandora.Cascade.new(["a", "b", "c"], price=price, evaluator="score", psi=2)


def serve(store: Store, seed: int) -> int:
    """A request, as its seed says; its number."""
    draw = random.Random(seed)
    request = store.begin([1.0, draw.uniform(-1, 1)])
    for _ in request:
        if draw.random() < 0.1:
            request.fail("busy")
        else:
            request.observe(dollars=0.01 * draw.random(), score=draw.random(), latency=draw.random())
    if request.explain()["calls"]:
        request.deploy()
    else:
        request.cancel()
    return request.number


def test_a_store_goes_on_where_it_was(tmp_path: pathlib.Path) -> None:
    with Store(tmp_path / "kept", new()) as store:
        assert not store.resumed
        numbers = [serve(store, k) for k in range(30)]
        late = [n for n in numbers if n in numbers[:10] and store.request(n).explain()["deployed"]]
        waiting = store.begin([1.0, 0.0])
        store.save()
        text = store.cascade._live.text()
        with pytest.raises(pandora.UsageError, match=f"of process {os.getpid()}"):
            Store(tmp_path / "kept")
    with pytest.raises(pandora.UsageError, match="is closed"):
        store.begin([1.0, 0.0])
    with Store(tmp_path / "kept", tmp_path / "ignored.json") as store:
        assert store.resumed and store.cascade._live.text() == text and store.calls_made_again == 0
        for number in late:
            store.feedback(number, 0.5)
        with pytest.raises(pandora.UsageError, match="has had its feedback"):
            store.feedback(late[0], 0.5)
        again = store.request(waiting.number)
        assert again.next() in ("a", "b", "c")
        again.cancel()
        store.add_model("d")
        store.set_price(2.0)
        store.set_explore(0.5)
        store.remove_model("a")
        store.set_explore(0.0)
        metrics = store.metrics()
        assert metrics["feedbacks"] == len(late) and metrics["cancelled"] >= 1
        assert [m["model"] for m in metrics["models"] if not m["removed"]] == ["b", "c", "d"]
        assert store.cascade.price == 2.0


def test_what_is_wrong_is_told(tmp_path: pathlib.Path) -> None:
    with pytest.raises(pandora.UsageError, match="holds no cascade"):
        Store(tmp_path / "empty")
    with pytest.raises(pandora.DataError):
        Store(tmp_path / "none", tmp_path / "none.json")
    with pytest.raises(pandora.UsageError, match="decisions"):
        Store(tmp_path / "kept", new(), decisions=1)  # type: ignore[arg-type]
    with pytest.raises(pandora.UsageError, match="inline"):
        Store(tmp_path / "kept", new(), refit="later")
    with Store(tmp_path / "kept", new()) as store:
        with pytest.raises(TypeError, match="pickle its `cascade`"):
            pickle.dumps(store)
        with pytest.raises(pandora.UsageError, match="psi has 3 numbers"):
            store.begin([1.0, 2.0, 3.0])
        with pytest.raises(pandora.UsageError, match="psi nan: give finite numbers"):
            store.begin([1.0, float("nan")])
        with pytest.raises(pandora.UsageError, match="chat messages"):
            store.begin([{"role": "user", "content": "?"}])  # type: ignore[list-item]
        request = store.begin([1.0, 0.5])
        with pytest.raises(pandora.UsageError, match="no model z"):
            request.observe(0.1, 0.5, model="z")


KILLED = """
import contextlib, sys
import pandora
sys.path.insert(0, sys.argv[2])
from test_serving import Store, new, serve
store = Store(sys.argv[1], new(), refit=sys.argv[4])
for k in range(int(sys.argv[3]), 10**6):
    number = serve(store, k)
    print(k, number, flush=True)
    with contextlib.suppress(pandora.UsageError):  # it was cancelled
        store.feedback(number, k % 2)
"""


@pytest.mark.parametrize("refit", ["inline", "beside"])
def test_a_kill_loses_nothing_that_was_answered(tmp_path: pathlib.Path, refit: str) -> None:
    """And what is made again is the same each time, also where refits were adopted beside the calls."""
    done, draw = 0, random.Random(1)
    numbers = []
    here = str(pathlib.Path(__file__).parent)
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path / "kept"), here, str(done), refit],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for _ in range(draw.randrange(1, 40)):
            done, number = map(int, process.stdout.readline().split())
            numbers.append(number)
        os.kill(process.pid, signal.SIGKILL)
        rest = process.communicate()[0].split("\n")
        for line in rest[:-1]:
            done, number = map(int, line.split())
            numbers.append(number)
        done += 1
        shutil.rmtree(tmp_path / "twin", ignore_errors=True)
        shutil.copytree(tmp_path / "kept", tmp_path / "twin")
        with Store(tmp_path / "twin") as twin:
            made_again = twin.cascade._live.text()
        with Store(tmp_path / "kept") as store:
            assert store.cascade._live.text() == made_again
            counts = store.metrics()
            assert counts["deployed"] + counts["cancelled"] in (done, done + 1)
            assert counts["requests"] in (done, done + 1)
            for request in store.cascade._live.open_requests():  # the one that the kill broke off
                store.request(request).cancel()
            done = store.metrics()["requests"]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("refit", ["inline", "beside"])
def test_threads_share_a_store(tmp_path: pathlib.Path, refit: str) -> None:
    with Store(tmp_path / "kept", new(), decisions=True, refit=refit) as store:
        threads = [threading.Thread(target=lambda k=k: [serve(store, 50 * k + j) for j in range(50)]) for k in range(4)]
        for thread in threads:
            thread.start()
        store.save()
        for thread in threads:
            thread.join()
        assert store.metrics()["requests"] == 200
        deployed = store.metrics()["deployed"]
    log = tmp_path / "kept" / "decisions"
    assert sum('"calls"' in line for file in log.iterdir() for line in file.read_text().splitlines()) == deployed
    some = pandora.Trace(log)  # without those in which a model failed
    assert 0 < len(some.prompts) < deployed and any("a model failed" in note for note in some.notes)


def test_a_cascade_is_copied_and_pickled() -> None:
    cascade = new()
    with cascade.begin([1.0, 0.5]) as request:
        for _ in request:
            request.observe(0.1, 0.5)
    for twin in (copy.copy(cascade), copy.deepcopy(cascade), pickle.loads(pickle.dumps(cascade))):
        assert twin._live.text() == cascade._live.text()
        twin.remove_model("a")
    assert cascade.models == ["a", "b", "c"]


def test_a_request_that_no_model_answers_ends_with_its_block(tmp_path: pathlib.Path) -> None:
    cascade = pandora.Cascade.new(["small", "large"], price=1.0, evaluator="score")
    with Store(tmp_path / "kept", cascade) as store:
        with pytest.raises(pandora.UsageError), store.begin([1.0]) as request:
            for _ in request:
                request.fail("down")
        assert store.metrics()["cancelled"] == 1


def test_an_event_loop_goes_on_beside_a_store(tmp_path: pathlib.Path) -> None:
    threads, turns = set(), 0

    def noted(store: Store, k: int) -> int:
        threads.add(threading.get_ident())
        return serve(store, k)

    async def serving(store: Store) -> list[int]:
        nonlocal turns
        all_of_them = asyncio.gather(*(store.aside(noted, store, k) for k in range(30)))
        while not all_of_them.done():
            turns += 1
            await asyncio.sleep(0)
        return await all_of_them

    with Store(tmp_path / "kept", new(), refit="beside") as store:
        assert len(set(asyncio.run(serving(store)))) == 30 == store.metrics()["requests"]
        with pytest.raises(pandora.UsageError, match="psi has 1 numbers"):
            asyncio.run(store.aside(store.begin, [1.0]))
    assert len(threads) == 1 and threading.get_ident() not in threads and turns > 1
