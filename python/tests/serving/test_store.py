"""A store with one worker: requests, feedback, commands, sessions, and refusals that change nothing."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import pickle
import random
import sqlite3
import threading
import warnings
from collections import Counter
from typing import Any, Callable

import pytest
from stores import NAMES, deployed, in_order, learned, new, opened, require_replayed, rows, serve, text, until

import pandora
from pandora.live import text_of
from pandora.live.explaining import session_digest
from pandora.serving import FeedbackConflict, FeedbackRemoved, Store

pytest_plugins = ["database_fixtures"]
pytestmark = pytest.mark.usefixtures("quick")


def test_a_store_goes_on_where_it_was(database_url: str) -> None:
    with opened(database_url, new()) as store:
        for k in range(30):
            serve(store, k)
        assert store.flush()
        late = [request for kind, request, _ in rows(store) if kind == "decision"][:10]
        assert store.settle()
        before, state = text(store), learned(store)
    with pytest.raises(pandora.UsageError, match="is closed; open it again"):
        store.begin([1.0, 0.0])
    with opened(database_url, "ignored.json") as store:
        assert text(store) == before and learned(store) == state
        for number in late:
            assert store.feedback(number, 0.5)
        assert store.explain(late[0])["feedback"] == 0.5
        store.add_model("d")
        store.set_price(2.0)
        store.set_explore(0.5)
        store.remove_model("a")
        store.set_explore(0.0)
        metrics = store.metrics()
        assert metrics["feedbacks"] == 10 and metrics["requests"] == 30 and metrics["refused"] == 0
        assert [m["model"] for m in metrics["models"] if not m["removed"]] == ["b", "c", "d"]
        assert store.cascade.price == 2.0 == metrics["price"] and store.cascade_models() == ["b", "c", "d"]
        assert metrics["version"]["origin"] == "learner" and metrics["outbox"]["kept"] == 0 and metrics["away"] is None


def test_what_is_wrong_is_told(tmp_path: pathlib.Path, sqlite_url: str) -> None:
    with pytest.raises(pandora.UsageError, match="open: url ''"):
        opened("")
    with pytest.raises(pandora.UsageError, match="holds no cascade; give one"):
        opened(f"sqlite:///{tmp_path}/empty.db")
    with pytest.raises(pandora.DataError, match=r"none\.json"):
        opened(f"sqlite:///{tmp_path}/none.db", tmp_path / "none.json")
    for wrong, said in (
        ({"keep_days": 0.0}, "open: keep_days 0.0: give days above 0"),
        ({"monitor": 1}, "open: monitor 1: give a Monitor"),
        ({"budget": "2"}, "open: budget '2': give a Budget"),
        ({"sync_seconds": 0.0}, "sync_seconds 0.0: give a number above 0"),
    ):
        with pytest.raises(pandora.UsageError, match=said):
            opened(sqlite_url, new(), **wrong)
    with pytest.raises(pandora.UsageError, match="database mysql"):
        opened("mysql://here", new())
    with opened(sqlite_url, new()) as store:
        with pytest.raises(TypeError, match="pickle its `cascade`"):
            pickle.dumps(store)
        for psi, said in (
            ([1.0, 2.0, 3.0], "psi has 3 numbers"),
            ([1.0, float("nan")], "not finite"),
            ([{"role": "user", "content": "?"}], "chat messages"),
        ):
            with pytest.raises(pandora.UsageError, match=said):
                store.begin(psi)  # type: ignore[arg-type]
        request = store.begin([1.0, 0.5])
        with pytest.raises(pandora.UsageError, match="no model z"):
            request.observe(0.1, 0.5, model="z")
        assert store.request(request.number).next() == request.next()


def test_feedback_is_taken_once_of_requests_that_were_deployed(database_url: str) -> None:
    with opened(database_url, in_order()) as store:
        request = store.begin([1.0])
        with pytest.raises(pandora.UsageError, match="is not deployed yet"):
            store.feedback(request.number, 1.0)
        for _ in request:
            request.observe(0.01, 0.9)
        request.deploy()
        for wrong, said in ((1.5, "quality 1.5: give one in"), (float("nan"), "quality nan"), ("1", "quality '1'")):
            with pytest.raises(pandora.UsageError, match=said):
                store.feedback(request.number, wrong)  # type: ignore[arg-type]
        assert store.feedback(request.number, 1.0) and store.feedback(request.number, 1.0)
        with pytest.raises(FeedbackConflict, match=r"it has 1.0 already, and 0.5 is refused"):
            store.feedback(request.number, 0.5)
        cancelled = store.begin([1.0])
        cancelled.cancel()
        store.flush()
        with pytest.raises(pandora.UsageError, match="was cancelled"):
            store.feedback(cancelled.number, 1.0)
        with pytest.raises(pandora.UsageError, match="there is no request 7: nobody deployed it"):
            store.feedback(7, 1.0, seconds=0.1)
        for again in (request.deploy, request.cancel, lambda: request.observe(0.1, 0.5, model="small")):
            with pytest.raises(pandora.UsageError, match="is deployed already"):
                again()
        assert store.settle() and store.metrics()["feedbacks"] == 1
        assert [(kind, number) for kind, number, _ in rows(store) if kind == "feedback"] == [
            ("feedback", request.number)
        ]


def test_a_request_that_no_model_answers_ends_with_its_block(sqlite_url: str) -> None:
    with opened(sqlite_url, new(["small", "large"], psi=1)) as store:
        with pytest.raises(pandora.UsageError, match="it could call has failed"), store.begin([1.0]) as request:
            for _ in request:
                request.fail("down", dollars=0.5)
        assert store.settle()
        metrics = store.metrics()
        assert (metrics["cancelled"], metrics["failures"], metrics["dollars"], metrics["unlearned"]) == (1, 2, 1.0, 0)


def test_refused_calls_change_nothing(database_url: str) -> None:
    with opened(database_url, new()) as store:
        for k in range(10):
            serve(store, k)
        request = store.begin([1.0, 0.5])
        model = str(request.next())
        other = next(name for name in "abc" if name != model)
        over = serve_one(store)
        assert store.settle()
        before = learned(store), store.explain(request.number), len(rows(store)), store.metrics()["version"]
        refused: list[Callable[[], Any]] = [
            lambda: store.add_model("a"),
            lambda: store.add_model(""),
            lambda: store.remove_model("z"),
            lambda: store.set_price(0.0),
            lambda: store.set_price(float("inf")),
            lambda: store.set_explore(1.5),
            lambda: store.rollback(),
            lambda: store.watch("x"),  # type: ignore[arg-type]
            lambda: store.keep_to(1),  # type: ignore[arg-type]
            lambda: store.publish(__file__),
            lambda: store.begin([1.0]),
            lambda: store.begin("text"),
            lambda: store.cancel(12),
            lambda: store.request(-1),
            lambda: request.observe(-1.0, 0.5, model=model),
            lambda: request.observe(0.1, 1.5, model=model),
            lambda: request.observe(0.1, 0.5, model=other),
            lambda: request.fail(model=other),
            lambda: request.skip(dollars=-1.0, model=model),
            lambda: request.deploy(),
            lambda: store.feedback(request.number, 0.5),
            lambda: store.cancel(over),
        ]
        for call in refused:
            with pytest.raises((pandora.UsageError, pandora.DataError)):
                call()
        assert store.settle()
        assert (learned(store), store.explain(request.number), len(rows(store)), store.metrics()["version"]) == before
        for _ in request:
            request.observe(0.1, 0.5)
        request.deploy()


def serve_one(store: Store) -> int:
    return deployed(store, psi=[1.0, 0.25])


def test_models_come_and_go_with_requests_under_way(database_url: str) -> None:
    with opened(database_url, new(["old"])) as store:
        request = store.begin([1.0, 0.5])
        assert request.next() == "old"
        store.add_model("new")
        store.remove_model("old")
        assert request.next() == "new"
        with pytest.raises(pandora.UsageError, match="model old is not the one to call next, new"):
            request.observe(0.01, 0.5, model="old")
        request.observe(0.01, 0.5, model="new")
        assert request.deploy() == "new" and store.feedback(request.number, 0.5)
        store.add_model("old")
        assert store.cascade_models() == ["old", "new"]
        with pytest.raises(pandora.UsageError, match="model old is there already"):
            store.add_model("old")
        assert store.settle() and store.metrics()["unlearned"] == 0
        require_replayed(store)


def test_a_command_that_another_workers_came_before_says_so(sqlite_url: str) -> None:
    with opened(sqlite_url, new(["a", "b"])) as store, opened(sqlite_url) as other:
        other.remove_model("a")
        with pytest.raises(pandora.UsageError, match="there is no model a"):
            store._command("remove_model", {"model": "a"})
        with pytest.raises(pandora.UsageError, match="b is the only model that is left"):
            store._command("remove_model", {"model": "b"})
        store._command("set_price", {"price": 3.0})
        assert store.metrics()["refused"] == 2 and store.metrics()["price"] == 3.0


def test_what_was_explained_is_what_was_decided(sqlite_url: str) -> None:
    with opened(sqlite_url, new()) as store:
        request = store.begin([1.0, 0.5])
        under_way = store.explain(request.number)
        assert under_way["next"] == request.next() and under_way["calls"] == []
        for _ in request:
            request.observe(0.01, 0.5)
        last = request.explain()
        deployed = request.deploy()
        told = store.explain(request.number)
        assert told["deployed"] == deployed and told["calls"] == last["calls"] and told["models"] == under_way["models"]
        assert told["feedback"] is None and told["stopped"] and told["version"] >= 1
        assert store.feedback(request.number, 0.25)
        with opened(sqlite_url) as other:
            assert other.explain(request.number) == {**told, "feedback": 0.25} == store.explain(request.number)
            with pytest.raises(pandora.UsageError, match="there is no request 12"):
                other.explain(12)


# ---- sessions ----


def test_a_conversation_stays_with_its_model_unless_its_answers_fall(database_url: str) -> None:
    def turn(store: Store, session: str, scores: dict[str, float]) -> tuple[list[str], str]:
        request, called = store.begin([1.0], session=session), []
        for model in request:
            called.append(model)
            request.observe(0.01, scores[model])
        return called, request.deploy()

    with opened(database_url, in_order()) as store, opened(database_url) as other:
        weak = {"small": 0.2, "large": 0.8}
        assert turn(store, "anna", weak) == (["small", "large"], "large")
        for _ in range(7):  # the last turn's model is called first, although the prompt is easy
            assert turn(store, "anna", {"small": 0.9, "large": 0.8}) == (["large"], "large")
        assert turn(store, "ben", {"small": 0.9, "large": 0.8}) == (["small"], "small")
        assert store.flush()
        digest = session_digest("anna")
        until(lambda: digest in other._pins)  # another worker hears of it
        assert turn(other, "anna", {"small": 0.9, "large": 0.8}) == (["large"], "large")
        assert other.flush() and all("anna" not in payload for _, _, payload in rows(store))
        assert sum(f'"session":"{digest}"' in payload for _, _, payload in rows(store, "decision")) == 9
        with pytest.raises(pandora.UsageError, match="begin: session"):
            store.begin([1.0], session=7)  # type: ignore[arg-type]
        store.set_explore(0.0)
    with opened(database_url, learns=True) as again:  # also after a restart
        until(lambda: digest in again._pins)
        assert turn(again, "anna", {"small": 0.9, "large": 0.8}) == (["large"], "large")


# ---- versions ----


def test_another_cascade_is_published_with_requests_under_way_and_taken_back(
    database_url: str, tmp_path: pathlib.Path
) -> None:
    with opened(database_url, in_order()) as store, opened(database_url) as other:
        before = store.begin([1.0])
        numbers = [deployed(store) for _ in range(5)]
        assert store.settle()
        version = store.publish(new(["large", "huge"]))
        assert store.metrics()["version"]["number"] == version and store.metrics()["version"]["origin"] == "publish"
        with contextlib.suppress(pandora.UsageError):
            store.begin([1.0])
            raise AssertionError("its contexts have two numbers")
        assert before.next() == "small"  # by the cascade with which it began
        before.observe(0.01, 0.1)
        assert before.next() == "large"
        before.observe(0.01, 0.1)
        assert before.deploy() == "small" and store.feedback(before.number, 0.5) and store.feedback(numbers[0], 0.5)
        until(lambda: other.cascade_models() == ["large", "huge"])
        requests = [serve_one(other) for _ in range(20)]
        assert other.feedback(requests[0], 1.0) and other.settle()
        trained = learned(other)
        late = other.begin([1.0, 0.5])
        new().save(tmp_path / "third.json")
        assert store.publish(tmp_path / "third.json") > version
        assert store.cascade_models() == ["a", "b", "c"]
        assert store.rollback() > version  # with everything that the old version had learned
        found = store.learned()
        assert found.edition == 2 and found.learning is not None and found.period == 20
        assert b'"edition": 2' in trained and found.learning.estimator.saved() == saved_in(trained)
        for _ in late:
            late.observe(0.01, 0.5)
        late.deploy()
        assert store.rollback() and store.cascade_models() == NAMES and not store.metrics()["version"]["can_roll_back"]
        with pytest.raises(pandora.UsageError, match="no cascade was published"):
            store.rollback()
        assert store.settle() and other.flush() and deployed(store)
        assert store.settle() and store.learned().edition == 1
        assert store.metrics()["requests"] == 5 + 1 + 20 + 1 + 1
        require_replayed(store)


def saved_in(state: bytes) -> bytes:
    from pandora.serving.learned import Learned

    learning = Learned.restored(state).learning
    assert learning is not None
    return bytes(learning.estimator.saved())


def test_old_rows_are_removed_and_what_was_learned_of_them_stays(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pandora.serving.learning._KEEP_SECONDS", 0.0)
    with opened(database_url, new(), keep_days=1.0) as store:
        old = [serve_one(store) for _ in range(5)]
        waiting = serve_one(store)
        assert store.feedback(old[0], 1.0)
        store.save()
        assert len(rows(store, "decision")) == 6
        store._learning._keep_days = 1e-9  # type: ignore[union-attr]
    with opened(database_url, keep_days=1e-9) as store:
        store.save()
        until(lambda: not rows(store, "decision"))
        with pytest.raises(FeedbackRemoved, match="older than what is kept"):
            store._recent.clear()
            store.feedback(waiting, 1.0)
        assert store.settle() and store.metrics()["requests"] == 6 and store.metrics()["feedbacks"] == 1
        young = serve_one(store)
        assert store.feedback(young, 1.0) and store.settle() and store.metrics()["requests"] == 7
        assert store._database.begins > 1 and store._database.verify() == []
        store.save()
        newest = store._database.newest_state()
        assert newest is not None and learned(store) == newest.state
        until(lambda: store._database.begins == newest.number and not rows(store, "decision"))
        assert learned(store) == newest.state and store._database.verify() == []


# ---- threads, prompts, warnings ----


def test_threads_and_an_event_loop_share_a_store(sqlite_url: str) -> None:
    async def serving(store: Store) -> list[int]:
        return await asyncio.gather(*(asyncio.to_thread(serve, store, 1000 + k) for k in range(30)))

    with opened(sqlite_url, new()) as store:
        threads = [threading.Thread(target=lambda k=k: [serve(store, 50 * k + j) for j in range(50)]) for k in range(4)]
        for thread in threads:
            thread.start()
        store.save()
        for thread in threads:
            thread.join()
        assert len(set(asyncio.run(serving(store)))) == 30
        assert store.settle()
        kinds = Counter(kind for kind, _, _ in rows(store))
        metrics = store.metrics()
        assert metrics["requests"] == 230 == metrics["deployed"] + metrics["cancelled"]
        assert (kinds["decision"], kinds["cancelled"]) == (metrics["deployed"], metrics["cancelled"])
        log = pandora.Trace(rows_as_log(store))
        assert 0 < len(log.prompts) <= metrics["deployed"]


def rows_as_log(store: Store) -> Any:
    """The store's decisions as a file of a decision log."""
    path = pathlib.Path(store.url[10:]).with_suffix(".jsonl")
    path.write_text("".join(payload + "\n" for _, _, payload in rows(store, "decision")))
    return path


@pytest.mark.parametrize("prompts", [False, True])
def test_prompts_are_not_kept_unless_that_is_asked_for(sqlite_url: str, prompts: bool) -> None:
    texts = [f"{what} number {k}" for k in range(30) for what in ("add the", "a poem of")]
    features = pandora.Features.fit(texts, ["text:3", "source"], columns={"source": ["x", "y"] * 30})
    with opened(sqlite_url, new(["a", "b"], psi=1, features=features), prompts=prompts) as store:
        with pytest.raises(pandora.UsageError, match="made of the column source"):
            store.begin("a poem of number 3")
        with store.begin("a confidential sentence", {"source": "unheardof"}) as request:
            for _ in request:
                request.observe(0.01, 0.5)
        assert store.flush()
        ((_, _, payload),) = rows(store, "decision")
        assert all((word in payload) == prompts for word in ("confidential", "unheardof")) and '"psi":[' in payload
        where = pathlib.Path(sqlite_url[10:])
        kept = b"".join(file.read_bytes() for file in where.parent.glob("kept.db*"))
        assert (b"confidential" in kept) == prompts
        assert all(file.stat().st_mode & 0o777 == 0o600 for file in where.parent.glob("kept.db*"))


def test_a_database_that_goes_on_with_another_cascade_says_so(sqlite_url: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened(sqlite_url, new()).close()
        opened(sqlite_url, new(price=2.0)).close()  # a given price may differ, because the store's may have moved
    for other, said in (
        (new([*"abc", "more"]), "has another model, more"),
        (new(evaluator="quality"), "sees quality, not score"),
        (in_order(models=["a", "b", "c"], order=["a", "b"]), "is of the kind thresholds"),
    ):
        with pytest.warns(pandora.PandoraWarning, match=f"goes on with the cascade that it has; the one .* {said}"):
            opened(sqlite_url, other).close()
    with opened(sqlite_url.replace("kept", "truth"), new(evaluator="quality")) as store:
        with pytest.warns(pandora.PandoraWarning, match="must be the true quality"):
            store.begin([1.0, 0.5])
        store.begin([1.0, 0.5])


def test_a_store_that_cannot_be_opened_leaves_the_database_to_others(sqlite_url: str) -> None:
    wrong = pandora.serving.Monitor(["a", "z"], 1.0)
    with pytest.raises(pandora.UsageError, match="the monitor's model z is none of the cascade's, a, b, c"):
        opened(sqlite_url, new(), monitor=wrong)
    with opened(sqlite_url) as store:
        serve_one(store)
        assert store.settle() and store.metrics()["learner"]["learns"]


def test_a_command_says_that_the_database_is_damaged(sqlite_url: str) -> None:
    with opened(sqlite_url, new()) as store:
        serve(store, 0)
        assert store.settle()
        with contextlib.closing(sqlite3.connect(sqlite_url[len("sqlite:///") :])) as kept:
            kept.execute("CREATE TRIGGER damage AFTER INSERT ON pandora_events WHEN new.kind = 'decision' BEGIN "
                         "UPDATE pandora_events SET payload = '{}' WHERE rowid = new.rowid; END")  # fmt: skip
            kept.commit()
        serve(store, 1)
        assert store.flush()
        with pytest.raises(pandora.DataError, match="is damaged: .*; save is written, and takes no effect there"):
            store.save()


def test_a_new_database_begins_with_what_a_damaged_one_had_saved(sqlite_url: str, tmp_path: pathlib.Path) -> None:
    with opened(sqlite_url, new()) as store:
        for k in range(20):
            serve(store, k)
        assert store.settle()
        store.save()
        told = [m["prediction"] for m in store.explain(store.begin([1.0, 0.5]).number)["models"]]
        numbers = [number for kind, number, _ in rows(store) if kind == "decision"]
        serve(store, 20)
        assert store.flush()
        store.save()
    with contextlib.closing(sqlite3.connect(sqlite_url[len("sqlite:///") :])) as kept:
        kept.execute("UPDATE pandora_events SET payload = '{}' WHERE request = ?", [numbers[3]])
        kept.execute("UPDATE pandora_states SET state = 'x' WHERE number = (SELECT max(number) FROM pandora_states)")
        kept.commit()
    with pytest.raises(pandora.DataError, match=r"is damaged: .* pandora.serving.saved_cascade\(\)"):
        opened(sqlite_url)
    pandora.serving.saved_cascade(sqlite_url).save(tmp_path / "learned.json")
    with opened(f"sqlite:///{tmp_path}/new.db", tmp_path / "learned.json") as store:
        assert store.metrics()["requests"] == 20
        assert [m["prediction"] for m in store.explain(store.begin([1.0, 0.5]).number)["models"]] == told
    with pytest.raises(pandora.DataError, match="there is no such file"):
        pandora.serving.saved_cascade(f"sqlite:///{tmp_path}/none.db")
    assert not (tmp_path / "none.db").exists()


def test_a_saved_cascade_of_a_store_goes_on_alone(sqlite_url: str, tmp_path: pathlib.Path) -> None:
    with opened(sqlite_url, new()) as store:
        for k in range(40):
            if random.Random(k).random() < 0.5:
                with contextlib.suppress(pandora.UsageError):
                    store.feedback(serve(store, k), 0.5)
        assert store.settle()
        cascade = store.cascade
        cascade.save(tmp_path / "saved.json")
        told = store.explain(store.begin([1.0, 0.5]).number)["models"]
    again = pandora.Cascade.load(tmp_path / "saved.json")
    assert text_of(again._live) == text_of(cascade._live)
    own = again.begin([1.0, 0.5]).explain()["models"]
    assert [m["prediction"] for m in own] == [m["prediction"] for m in told]
