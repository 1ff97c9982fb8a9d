"""Policies that are written in Python."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Optional

import numpy as np
import pytest

import pandora
from conftest import Program, toml_of


class DowTwin(pandora.IndexPolicy):
    """DOW from the building blocks."""

    name = "dow_twin"
    rewards: ClassVar[Sequence[str]] = ("known", "unknown")
    hyperparameters = {"c_rho": (0.1,), "c_theta": (0.1,)}  # noqa: RUF012

    def __init__(self, lane: pandora.LaneSetup, c_rho: float, c_theta: float) -> None:
        super().__init__(lane)
        self.estimator = pandora.WeitzmanEstimator(lane, c_rho=c_rho, c_theta=c_theta)

    def calibrate(self, request: pandora.Request, output: pandora.Output, reward: Optional[float]) -> None:
        self.estimator.calibrate(request, output, reward)

    def prepare(self, request: pandora.Request) -> None:
        self.estimator.begin(request)

    def score(self, box: int) -> float:
        return self.estimator.index(box)

    def reward_of(self, output: pandora.Output) -> float:
        return self.estimator.reward(output)

    def learn_from(self, opened: Sequence[pandora.Output], deployed: int, reward: float) -> None:
        self.estimator.learn(list(opened), deployed, reward)


FIELDS = (
    "utility", "realised_utility", "quality", "cost", "queries_of_box", "deployments_of_box", "depth", "wrong_order",
    "too_early", "too_many", "wrong_deployment", "wrong_order_gap", "too_early_gap", "cumulative_regret",
)  # fmt: skip


@pytest.mark.parametrize("refit", ["geometric:1.5", "tracking"])
def test_a_twin_of_dow_is_dow_in_every_digit(refit: str, single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    study = {**single, "engine": {"kind": "reference"}, "estimation": {"refit": refit}, "periods": 120}
    study["dimensions"] = {"context": 30}
    study["hyperparameters"] = {**study["hyperparameters"], "dow_twin": {"c_rho": [0.1, 1]}}
    r = pandora.run(study, out=tmp_path / "r", policies=[DowTwin], progress=False)
    checked = 0
    for row in r.summary("dow", hyperparameter="all").rows():
        values = row["hyperparameter"].split(";")
        twin = ";".join(values if len(values) == 2 else [*values, "c_theta=0.1"])
        where = (row["reward"], row["environment"], row["regime"], row["T0"])
        for field in FIELDS:
            ours, theirs = (
                r.numbers(field, "dow_twin", *where, twin),
                r.numbers(field, "dow", *where, row["hyperparameter"]),
            )
            assert np.isfinite(ours).all()
            np.testing.assert_array_equal(ours, theirs)
            checked += 1
    assert checked == len(FIELDS) * 2 * 4


class Cheapest(pandora.Policy):
    """Opens the box that was cheapest so far, and no other."""

    hyperparameters = {"first": [0, 1]}  # noqa: RUF012

    def __init__(self, lane: pandora.LaneSetup, first: float) -> None:
        super().__init__(lane)
        self.cost = np.zeros(self.boxes)
        self.count = np.zeros(self.boxes)
        self.cost[int(first)] = -1.0

    def begin(self, request: pandora.Request) -> None:
        self.open: list[int] = []

    def next(self) -> Optional[int]:
        return None if self.open else int(np.argmin(self.cost / np.maximum(self.count, 1.0)))

    def opened(self, output: pandora.Output) -> None:
        self.open.append(output.box)
        self.cost[output.box] += output.cost
        self.count[output.box] += 1

    def deploy(self) -> int:
        return self.open[0]


def test_a_study_with_a_policy_of_its_own_resumes_extends_and_compares(
    single: dict[str, Any], program: Program, tmp_path: pathlib.Path
) -> None:
    folder = tmp_path / "r"
    pandora.run(single, out=folder, progress=False)
    alone = (folder / "parts").glob("*")
    assert len(list(alone)) == 2
    r = pandora.run(single, out=folder, policies=[Cheapest], progress=False)  # results can grow by a policy
    assert r.policies == ["oracle", "dow", "Cheapest"]
    assert sorted(set(r.summary("Cheapest", hyperparameter="all")["hyperparameter"])) == ["first=0", "first=1"]
    np.testing.assert_array_equal(r.boxes("Cheapest", T0=0)["queries_per_period"].sum(), 1.0)
    before = (folder / "summary.csv").read_bytes()
    pandora.run(single, out=folder, policies=[Cheapest], progress=False)
    assert (folder / "summary.csv").read_bytes() == before
    r = pandora.run({**single, "replications": 4}, out=folder, policies=[Cheapest], progress=False)
    assert len(r.compare("dow", "Cheapest", T0=0)) == 1  # only variants that see mu*
    assert r.regret("Cheapest", T0=0).shape == (4,)
    found = r.lane(policy="Cheapest", T0=0).explain(5)
    assert found["periods"][0]["policy"]["stopped"] == "its code said so"
    at_once = pandora.run({**single, "replications": 4}, out=tmp_path / "at_once", policies=[Cheapest], progress=False)
    assert (folder / "summary.csv").read_bytes() == pathlib.Path(at_once.path, "summary.csv").read_bytes()
    with pytest.raises(pandora.MismatchError, match="hyperparameters"):
        pandora.run(
            {**single, "replications": 4, "hyperparameters": {**single["hyperparameters"], "first": [2]}},
            out=folder,
            policies=[Cheapest],
            progress=False,
            mode="resume",
        )
    assert "Cheapest" in program("show", folder)


def test_results_know_the_code_that_made_them(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    def policy(choice: int, note: str) -> type[pandora.Policy]:
        class Fixed(pandora.Policy):
            __doc__ = note
            opens = choice
            is_open = False

            def begin(self, request: pandora.Request) -> None:
                self.is_open = False

            def next(self) -> Optional[int]:
                return None if self.is_open else self.opens

            def opened(self, output: pandora.Output) -> None:
                self.is_open = True

            def deploy(self) -> int:
                return self.opens

        return Fixed

    study = {**single, "T0": [0], "policies": ["query_all"]}
    r = pandora.run(study, out=tmp_path / "r", policies=[policy(1, "one")], progress=False)
    np.testing.assert_array_equal(r.boxes("Fixed")["deployments_per_period"], [0, 1, 0])
    pandora.run(study, out=tmp_path / "r", policies=[policy(1, "another docstring")], progress=False)
    with pytest.raises(pandora.MismatchError, match=r"build\.policy\.Fixed"):
        pandora.run(study, out=tmp_path / "r", policies=[policy(2, "one")], progress=False)
    np.testing.assert_array_equal(pandora.open(tmp_path / "r").boxes("Fixed")["deployments_per_period"], [0, 1, 0])
    with pytest.raises(pandora.MismatchError, match="made by code"):
        r.lane(policy="Fixed").explain(1)
    pandora.register(policy(1, "one"))
    assert r.lane(policy="Fixed").explain(1)["periods"][0]["policy"]["deployed"] == 2


def test_registered_policies_leave_other_studies_alone(
    single: dict[str, Any], program: Program, tmp_path: pathlib.Path
) -> None:
    pandora.register(Cheapest)
    (tmp_path / "study.toml").write_text(toml_of(single))
    program("run", "study.toml", "--out", "line", "--quiet", cwd=tmp_path)
    pandora.run(single, out=tmp_path / "own", progress=False)
    for name in ("study.toml", "summary.csv", "results.h5"):
        assert (tmp_path / "own" / name).read_bytes() == (tmp_path / "line" / name).read_bytes()
    assert pandora.run(single, out=tmp_path / "line", progress=False).replications == 2  # the same identity


def test_hyperparameters_belong_to_their_policy(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    class Mine(Cheapest):
        hyperparameters = {"c_rho": [5], "how": ["least", "last"]}  # noqa: RUF012

        def __init__(self, lane: pandora.LaneSetup, c_rho: float, how: str) -> None:
            assert (c_rho, type(how)) == (5.0, str)
            super().__init__(lane, 0)
            self.how = how

        def next(self) -> Optional[int]:
            return super().next() if self.how == "least" else None if self.open else 2

    def lanes(r: pandora.Results, policy: str) -> set[str]:
        return set(r.summary(policy, hyperparameter="all")["hyperparameter"])

    study = {**single, "T0": [0], "replications": 1, "hyperparameters": {"dow": {"c_rho": [0.1]}, "c_theta": [0.1]}}
    unsaid = {**study, "hyperparameters": {"c_theta": [0.1]}}
    r = pandora.run(study, out=tmp_path / "r", policies=[Mine], progress=False)
    assert len(r.failures) == 0
    assert lanes(r, "dow") == {"c_rho=0.1", "c_rho=0.1;c_theta=0.1"}
    assert lanes(r, "Mine") == {"c_rho=5;how=least", "c_rho=5;how=last"}
    assert r.boxes("Mine", hyperparameter="c_rho=5;how=last")["queries_per_period"].tolist() == [0, 0, 1]
    told = r.lane("uniform/B/0/0/Mine/known/c_rho=5;how=last").explain(1)["periods"][0]
    assert told["policy"]["deployed"] == 3
    assert r.summary("Mine", hyperparameter="all")["how"].tolist() == ["least", "last"]
    assert "[hyperparameters.Mine]" in r.study
    pandora.run(study, out=tmp_path / "r", policies=[Mine], progress=False, mode="resume")
    r = pandora.run(unsaid, out=tmp_path / "r", policies=[Mine], progress=False)  # three values of c_rho for dow
    assert "c_rho=0.001" in lanes(r, "dow") and lanes(r, "Mine") == {"c_rho=5;how=least", "c_rho=5;how=last"}
    both = {**unsaid, "hyperparameters": {"c_rho": [0.1], "c_theta": [0.1]}}
    with pytest.raises(
        pandora.UsageError, match=r"dow and Mine each have a c_rho.*hyperparameters\.Mine\.c_rho instead"
    ):
        pandora.run(both, out=tmp_path / "r", policies=[Mine], progress=False)
    alone = {**unsaid, "policies": ["query_all"]}
    stored = pandora.run(alone, out=tmp_path / "alone", progress=False)
    r = pandora.run(stored, out=tmp_path / "alone", policies=[Mine], progress=False)  # its study holds c_rho's default
    assert lanes(r, "Mine") == {"c_rho=5;how=least", "c_rho=5;how=last"}
    found = pandora.tune({**alone, "policies": ["query_all"]}, 60, policies=[Mine], progress=False)
    assert "--set hyperparameters.Mine.how=" in found.details["races"][-1]["run_options"]


class Raises(Cheapest):
    """Raises in the tenth period of the second replication."""

    hyperparameters = {}  # noqa: RUF012

    def __init__(self, lane: pandora.LaneSetup) -> None:
        super().__init__(lane, 0)

    def begin(self, request: pandora.Request) -> None:
        super().begin(request)
        if request.period == 10 and self.lane.replication == 1:
            raise ValueError("period ten")


def test_an_exception_ends_its_lane_alone(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    with pytest.warns(pandora.PandoraWarning, match="lanes failed|period ten"):
        r = pandora.run(single, out=tmp_path / "r", policies=[Raises], progress=False)
    assert len(r.failures) == 2  # at T0 = 0 and 50
    failure = next(r.failures.rows())
    assert failure["period"] == 10 and failure["replication"] == 1
    assert "the policy failed: ValueError: period ten (test_policies.py:" in failure["failure"]
    assert r.summary("Raises", hyperparameter="all")["failed"].tolist() == [1, 1]
    assert r.summary("dow", hyperparameter="all")["failed"].sum() == 0
    assert np.isnan(r.regret("Raises", T0=0)).tolist() == [False, True]


@pytest.mark.parametrize(
    ("returns", "said"),
    [
        (7, "next() returned 7, and the indices of boxes are 0 to 2"),
        ("one", "next() returned 'one'; give the index of a box, from 0 to A - 1, or None to stop"),
        (None, "next() stopped before any box was open"),
    ],
)
def test_a_policy_that_breaks_the_rules_fails(
    returns: Any, said: str, single: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    class Breaks(pandora.Policy):
        opens = returns

        def next(self) -> Optional[int]:
            return self.opens  # type: ignore[no-any-return]

        def deploy(self) -> int:
            return 0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pandora.PandoraWarning)
        r = pandora.run({**single, "T0": [0]}, out=tmp_path / "r", policies=[Breaks], progress=False)
    assert all(said in text for text in r.failures["failure"])
    assert len(r.failures) == 2


def test_what_a_lane_is_told(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    seen: list[Any] = []

    class Looks(Cheapest):
        hyperparameters = {}  # noqa: RUF012
        rewards = ("unknown",)

        def __init__(self, lane: pandora.LaneSetup) -> None:
            super().__init__(lane, 0)
            seen.append((
                lane.boxes, lane.index_features, lane.reward_features, lane.periods, lane.T0, lane.reward, lane.regime,
                lane.environment, lane.replication,
            ))  # fmt: skip
            assert len(lane.random_words) > 0
            self.kept: list[Any] = []

        def calibrate(self, request: pandora.Request, output: pandora.Output, reward: Optional[float]) -> None:
            assert (request.period == 0) == (reward is None) and request.sigma.shape == (0,)
            seen.append(request.period)

        def opened(self, output: pandora.Output) -> None:
            super().opened(output)
            assert np.isnan(output.mu) and output.phi.shape == (10,) and output.cost > 0
            with pytest.raises(ValueError, match="read-only"):
                output.phi[0] = 1.0

        def begin(self, request: pandora.Request) -> None:
            super().begin(request)
            self.kept.append(request)
            assert request.psi.shape == (101,) and request.psi[0] == 1.0
            assert request.sigma.shape == (3,) and np.isnan(request.sigma).all()

        def learn(self, reward: float) -> None:
            assert reward in (0.0, 1.0)
            seen.append(self.kept[-1].psi[1] if self.lane.T0 == 0 and len(self.kept) == 5 else None)

    r = pandora.run(
        {**single, "replications": 1, "periods": 20, "T0": [0, 6]},
        out=tmp_path / "r",
        policies=[Looks],
        progress=False,
        threads=1,
    )
    assert len(r.failures) == 0
    assert [x for x in seen if isinstance(x, tuple)] == [
        (3, 101, 10, 20, T0, "unknown", "B", "uniform", 0) for T0 in (0, 6)
    ]
    assert [x for x in seen if isinstance(x, int)] == [0, 0, 0, 1, 2, 3, 4, 5, 6]


def test_what_cannot_be_registered_is_refused() -> None:
    with pytest.raises(pandora.UsageError, match="no class derived"):
        pandora.register(int)  # type: ignore[arg-type]
    for attributes, said in (
        ({"name": "dow"}, "the name is taken"),
        ({"name": "a b"}, "use letters"),
        ({"rewards": ("some",)}, "use some of known"),
        ({"hyperparameters": {"x": []}}, "hyperparameter x .*: give different finite numbers, or different texts"),
        ({"hyperparameters": {"x": ["a", 1]}}, "hyperparameter x 'a': give a number"),
        ({"hyperparameters": {"x": "ab"}}, "hyperparameter x 'ab': give a list"),
        ({"hyperparameters": {"x": ["a", "a"]}}, "give different finite numbers, or different texts"),
        ({"hyperparameters": {"x": ["a/b"]}}, "use at most 64 letters"),
    ):
        with pytest.raises(pandora.UsageError, match=said):
            pandora.register(type("Own", (pandora.Policy,), attributes))


def test_estimators_refuse_what_they_cannot_do(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    said: list[str] = []

    class Asks(Cheapest):
        hyperparameters = {}  # noqa: RUF012
        rewards = ("none",)
        kept: Any = None

        def __init__(self, lane: pandora.LaneSetup) -> None:
            super().__init__(lane, 0)
            for call in (
                lambda: pandora.WeitzmanEstimator(lane, c_rho=0.1),
                lambda: pandora.WeitzmanEstimator(lane, reward="unknown").index(0),
                lambda: pandora.WeitzmanEstimator(lane, reward="unknown", learning="never"),
            ):
                try:
                    call()
                except pandora.UsageError as error:
                    said.append(str(error))
            Asks.kept = lane

    pandora.run(
        {**single, "replications": 1, "periods": 5, "T0": [0]}, out=tmp_path / "r", policies=[Asks], progress=False
    )
    assert len(said) == 3
    assert "does not show" in said[0] and "begin(request) first" in said[1] and "none, calibration, online" in said[2]
    with pytest.raises(pandora.UsageError, match="the lane has ended"):
        pandora.WeitzmanEstimator(Asks.kept, reward="unknown")


class Listener(pandora.IndexPolicy):
    """Opens boxes by number, and records which rewards it is told, and when."""

    name = "listener"
    told: ClassVar[list[tuple[int, int]]] = []
    seen: ClassVar[list[bool]] = []

    def score(self, box: int) -> float:
        return 1.0 - 0.1 * box

    def begin(self, request: pandora.Request) -> None:
        super().begin(request)
        self.seen.append(request.is_there(2))

    def learn(self, reward: Optional[float]) -> None:
        if reward is not None:
            self.told.append((self.request.period, self.request.period))

    def learn_late(self, period: int, reward: float) -> None:
        self.told.append((period, self.request.period))


def test_rewards_that_come_late_and_boxes_that_come(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    study = {**single, "periods": 30, "replications": 1, "feedback": {"delay": 7}, "T0": [0]}
    study["environment"] = {
        "uniform": {**study.get("environment", {}).get("uniform", {}), "arrives": {"box_number": 3, "at": 10}}
    }
    Listener.told.clear()
    Listener.seen.clear()
    pandora.run(study, out=tmp_path / "r", policies=[Listener], progress=False, threads=1)
    assert Listener.told[:23] == [(t, t + 7) for t in range(1, 24)]
    assert Listener.seen[:30] == [False] * 9 + [True] * 21


class Lazy(pandora.Policy):
    """Opens nothing: deploys the first box unopened, or in every second period takes the outside option."""

    def begin(self, request: pandora.Request) -> None:
        self.period = request.period

    def next(self) -> Optional[int]:
        return None

    def opened(self, output: pandora.Output) -> None:
        raise AssertionError("nothing is opened")

    def deploy(self) -> Optional[int]:
        return 0 if self.period % 2 == 0 else None


def test_a_policy_may_open_nothing_where_the_study_allows_it(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    wider = {**single, "policies": [], "actions": {"uninspected": True, "outside": 0.5}, "periods": 20}
    results = pandora.run(wider, out=tmp_path / "wider", policies=[Lazy], progress=False)
    row = next(iter(results.summary("Lazy").rows()))
    where = (row["reward"], row["environment"], row["regime"], row["T0"])
    assert results.numbers("queries_of_box", "Lazy", *where).sum() == 0
    assert results.numbers("deployments_of_box", "Lazy", *where)[0].tolist() == [10, 0, 0]
    with pytest.warns(pandora.PandoraWarning) as told:
        pandora.run({**wider, "actions": {}}, out=tmp_path / "plain", policies=[Lazy], progress=False)
    assert "stopped before any box was open" in str(told[0].message)
