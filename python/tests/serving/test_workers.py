"""Several workers with one database: versions, rests, feedback that comes early, forks, and the learner."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from typing import Any

import pytest
from stores import deployed, in_order, new, opened, require_replayed, rows, serve, until

import pandora
from pandora.serving import DatabaseAway, Store
from pandora.serving import database as db

pytest_plugins = ["database_fixtures"]


def test_workers_adopt_versions_within_two_seconds(database_url: str) -> None:
    with opened(database_url, new(), sync_seconds=1.0) as store, opened(database_url, sync_seconds=1.0) as other:
        for k, worker in enumerate((store, other)):
            begun = time.monotonic()
            worker.add_model(f"new{k}")
            until(lambda k=k: all(f"new{k}" in one.cascade_models() for one in (store, other)))  # type: ignore[misc]
            assert time.monotonic() - begun < 2.0 + 3.0  # 3 seconds are for a busy machine
        assert [one.metrics()["learner"]["learns"] for one in (store, other)] == [True, False]


@pytest.mark.usefixtures("quick")
def test_another_process_learns_when_the_one_that_did_is_gone(database_url: str) -> None:
    store = opened(database_url, new())
    with opened(database_url) as other, opened(database_url, learns=False) as third:
        number = serve(store, 1)
        assert other.settle() and not other.metrics()["learner"]["learns"] and third.metrics()["learner"] is None
        store.close()
        until(lambda: other.metrics()["learner"]["learns"])
        assert other.explain(number) and third.settle() and third.metrics()["requests"] == 1
        third.set_price(2.0)
        assert other.settle() and other.metrics()["price"] == 2.0
        require_replayed(other)


@pytest.mark.usefixtures("quick")
def test_without_anyone_who_learns_a_command_waits_and_decisions_go_on(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("pandora.serving.store._OPEN_SECONDS", 0.2)
        with pytest.raises(DatabaseAway, match="no process has published a cascade"):
            opened(database_url, new(), learns=False)
    opened(database_url, in_order()).close()
    with opened(database_url, learns=False) as store:
        monkeypatch.setattr("pandora.serving.store._COMMAND_SECONDS", 0.5)
        with pytest.raises(DatabaseAway, match="set_explore is written, and no process has learned of it yet"):
            store.set_explore(0.1)
        assert store.feedback(deployed(store), 1.0) and not store.settle(0.2)
    monkeypatch.undo()
    with opened(database_url) as store:
        assert store.settle() and store.metrics()["feedbacks"] == 1 and store.cascade.explore == 0.1


@pytest.mark.usefixtures("quick")
def test_a_model_that_fails_in_one_process_rests_in_all(database_url: str) -> None:
    cascade = in_order(failures_until_rest=3, requests_of_rest=20)
    with opened(database_url, cascade) as store, opened(database_url) as other:
        for _ in range(3):
            with store.begin([1.0]) as request:
                for model in request:
                    request.fail("down") if model == "small" else request.observe(0.01, 0.5)
        assert next(m for m in store.metrics()["models"] if m["model"] == "small")["rests"]
        assert store.flush() and len(rows(store, "rest")) == 1
        until(lambda: next(m for m in other.metrics()["models"] if m["model"] == "small")["rests"])
        request = other.begin([1.0])
        assert request.next() == "large"  # it does not try the resting model
        request.cancel()
        tried = [store.begin([1.0]).next() for _ in range(21)]
        assert tried == ["large"] * 20 + ["small"]
        with store.begin([1.0]) as request:
            assert request.next() == "large"  # another request is trying it
            request.observe(0.01, 0.5)


@pytest.mark.usefixtures("quick")
def test_feedback_that_stands_before_its_decision_is_learned_when_that_comes(database_url: str) -> None:
    """This happens if another worker's clock is behind."""
    with opened(database_url, new(psi=1)) as store, opened(database_url, sync_seconds=3600.0) as late:
        number = deployed(late)
        store._put("feedback", 0.25, number)
        assert store.settle() and store.metrics()["feedbacks"] == 0 and len(store.learned().early) == 1
        store.save()
        assert late.settle() and store.settle()
        assert store.metrics()["feedbacks"] == 1 and store.metrics()["quality"] == 0.25 and not store.learned().early
        with pytest.raises(pandora.serving.FeedbackConflict):
            late.feedback(number, 1.0)
        require_replayed(store)


CHILD_SECONDS = 60


def child_of(store: Store, url: str) -> int:
    """The exit code of a child, which finds its parent's store closed and opens its own."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            threading.Timer(CHILD_SECONDS, lambda: os._exit(9)).start()  # in case it hangs
            for call in (lambda: store.begin([1.0]), store.metrics, lambda: store.explain(1), lambda: store.cascade):
                with contextlib.suppress(pandora.UsageError):
                    call()
                    os._exit(2)
            store.close()
            with opened(url) as own:
                number = deployed(own)
                code = 0 if own.feedback(number, 1.0, seconds=30.0) else 3
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # from Python 3.12 on
@pytest.mark.usefixtures("quick")
def test_a_forked_child_has_a_store_only_where_it_opens_one(database_url: str) -> None:
    """Other threads of the parent decide, learn and save meanwhile. Each decision is there once."""
    enough = threading.Event()
    done: list[int] = []

    def works(store: Store) -> None:
        while not enough.is_set():
            number = deployed(store)  # not done[-1], which may be the other thread's
            done.append(number)
            store._put("feedback", 0.5, number)
            time.sleep(0.001)

    with opened(database_url, new(psi=1)) as store:
        threads = [threading.Thread(target=works, args=[store]) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            codes = [child_of(store, database_url) for _ in range(4)]
            store.save()
        finally:
            enough.set()
            for thread in threads:
                thread.join()
        assert codes == [0] * 4
        assert store.settle()
        found: Any = Counter((kind, request) for kind, request, _ in rows(store) if kind in ("decision", "feedback"))
        assert set(found.values()) == {1} and len(found) == 2 * len(done) + 8
        assert store.metrics()["feedbacks"] == len(done) + 4 == store.metrics()["deployed"]
        require_replayed(store)


def test_a_lost_learners_state_is_one_that_another_level_goes_on_from(sqlite_url: str, quick: None) -> None:
    """The store reports this."""
    opened(sqlite_url, in_order()).close()
    with db.open(sqlite_url) as kept, db.Learner(kept) as learner:
        assert learner.state is not None
        learner.save(learner.state.state, "another level")
    with opened(sqlite_url) as store:
        deployed(store)
        assert store.settle() and store.metrics()["requests"] == 1
        assert "another level" in store.metrics()["learner"]["level_changed"]
