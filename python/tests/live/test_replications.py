"""A running cascade that plays a replication's periods equals the reference engine's lane, in every digit."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import Any, ClassVar, Optional

import pytest

import pandora
from pandora import _core
from pandora.live import Members, RunningCascade, parse, text_of

T = 100
STUDY: dict[str, Any] = {
    "replications": 1,
    "periods": T,
    "T0": [0, 12],
    "environments": ["uniform"],
    "regimes": ["B"],
    "dimensions": {"context": 6, "reward_features": 4},
    "hyperparameters": {
        "c_rho": [0.1], "c_theta": [0.1], "c_b": [0.1], "c_shrunk": [0.2], "c_thompson": [0.1], "epsilon": [0.1],
    },
    "engine": {"kind": "reference"},
    "oracle": {"samples": 2000, "grid": [9, 5, 9], "order_contexts": 50},
}  # fmt: skip
STREAM = (1, 0, 1, 0)  # the stream of draws: seed, environment, regime, replication


def rules_of(policy: str, learns: bool, T0: int) -> dict[str, Any]:
    """The rules of the engine's policy, in the form for a cascade."""
    plain = "shrunk_weitzman" if policy == "shrunk_weitzman" else "dow"
    c = {"dow": 0.1, "shrunk_weitzman": 0.2, "thompson_weitzman": 0.1}.get(policy, 0.0)
    rules = json.loads(_core.lane_rules(plain, learns, c, T0, 0.1 if policy == "dow" else 0.0))
    if policy == "thompson_weitzman":
        rules["thompson"] = True
    if policy == "epsilon_greedy_weitzman":
        rules["epsilon"] = 0.1
    if policy == "linucb_online":
        rules.update(score=3, stop=2, c_b=0.1)
    return dict(rules)


class Live(pandora.Policy):
    """Plays a running cascade with the rules of the policy `twin_of`, and saves and loads it now and then."""

    twin_of: ClassVar[str]
    estimation: ClassVar[dict[str, Any]]
    saved_after = 0
    #: By T0 and reward setting: for each period the cascade's explanation, and the deployed box.
    told: ClassVar[dict[tuple[int, str], list[dict[str, Any]]]]
    not_in_digest = ("told",)

    def __init__(self, lane: pandora.LaneSetup) -> None:
        super().__init__(lane)
        learns = lane.reward == "unknown"
        members = Members(
            "indices", tuple(f"box{a + 1}" for a in range(lane.boxes)), 1.0, "column:phi" if learns else "quality",
            index_features=lane.index_features, reward_features=lane.reward_features if learns else 0,
            rules=rules_of(self.twin_of, learns, lane.T0), estimation=self.estimation, exploration=STREAM,
            random_order=STREAM,
        )  # fmt: skip
        self.cascade = RunningCascade(members)
        self.cascade.epoch = 0  # so that requests have the numbers 1, 2, ..., on which draws depend
        self.log = self.told.setdefault((lane.T0, lane.reward), [])
        self.steps = 0

    def seen(self, output: pandora.Output) -> Sequence[float]:
        return output.phi.tolist() if self.lane.reward == "unknown" else [output.mu]

    def calibrate(self, request: pandora.Request, output: pandora.Output, reward: Optional[float]) -> None:
        name = f"box{output.box + 1}"
        self.cascade.calibrate(request.period, request.psi, name, output.cost, self.seen(output), reward)

    def between(self) -> None:
        """Saves and loads the cascade, which is allowed between any two steps."""
        self.steps += 1
        if self.saved_after and self.steps % self.saved_after == 0:
            self.cascade = parse(text_of(self.cascade), "memory")
            self.cascade.epoch = 0  # a saved cascade does not keep it

    def begin(self, request: pandora.Request) -> None:
        self.between()
        self.request = self.cascade.begin(request.psi)
        self.between()

    def next(self) -> Optional[int]:
        model = self.cascade.next(self.request)
        return None if model is None else int(model[3:]) - 1

    def opened(self, output: pandora.Output) -> None:
        self.cascade.observe(self.request, f"box{output.box + 1}", output.cost, self.seen(output))
        self.between()

    def deploy(self) -> int:
        box = int(self.cascade.deploy(self.request)[3:])
        self.between()
        self.log.append(self.cascade.explain(self.request))
        return box - 1

    def learn(self, reward: float) -> None:
        self.cascade.feedback(self.request, reward)


def of_engine(period: dict[str, Any]) -> Any:
    policy = period["policy"]
    boxes = [[box[name] for name in ("prediction", "width", "bonus", "score")] for box in period["boxes"]]
    return boxes, [(one["box"], one["cost"], one["estimate"]) for one in policy["queries"]], policy["deployed"]


def of_cascade(told: dict[str, Any]) -> Any:
    boxes = [[box[name] for name in ("prediction", "width", "bonus", "score")] for box in told["models"]]
    calls = [(int(one["model"][3:]), one["dollars"], one["quality"]) for one in told["calls"]]
    return boxes, calls, int(told["deployed"][3:])


def play(
    tmp_path: pathlib.Path, policies: list[str], refit: str, saved_after: int = 0, **estimation: Any
) -> tuple[pandora.Results, dict[str, type[Live]]]:
    """Runs a study of the engine's policies and their twins."""
    study = {**STUDY, "policies": policies, "estimation": {"refit": refit, "eta_index": 0.4, "eta_reward": 2.0}}
    study["estimation"].update(estimation)
    given = {**json.loads(_core.estimation(refit, estimation.get("forget", 0.0), 0)), "eta_1": 0.4, "eta_0": 2.0}
    for ours, theirs in (("eta_slopes", "eta_slopes"), ("radius_rho", "radius_rho"), ("radius_theta", "radius_theta")):
        if theirs in estimation:
            given[ours] = estimation[theirs]
    twins = {
        policy: type(f"live_{policy}", (Live,), {
            "twin_of": policy, "estimation": given, "told": {}, "saved_after": saved_after,
            "rewards": ("known",) if policy == "linucb_online" else ("known", "unknown"), "__module__": __name__,
        })
        for policy in policies
    }  # fmt: skip
    results = pandora.run(study, out=tmp_path / "r", policies=list(twins.values()), progress=False, threads=1)
    assert len(results.failures) == 0, results.failures
    return results, twins


def require_equal(results: pandora.Results, twins: dict[str, type[Live]]) -> int:
    """Compares lanes period by period, and returns how many."""
    lanes = 0
    for policy, twin in twins.items():
        for (T0, reward), told in twin.told.items():
            setting = "none" if policy == "linucb_online" else reward
            row = next(r for r in results.summary(policy, hyperparameter="all").rows()
                       if (r["T0"], r["reward"]) == (T0, setting))  # fmt: skip
            lane = f"uniform/B/0/{T0}/{policy}/{setting}/{row['hyperparameter']}".rstrip("/")
            wanted = results.lane(lane).explain(1, T)["periods"]
            assert len(told) == len(wanted) == T
            for own, theirs in zip(told, wanted):
                mine, engines = of_cascade(own), of_engine(theirs)
                if setting == "none":  # it sees no rewards of outputs
                    mine, engines = (mine[0], mine[2]), (engines[0], engines[2])
                assert mine == engines, (policy, T0, reward, theirs["period"])
            lanes += 1
    return lanes


POLICIES = ["dow", "shrunk_weitzman", "online_plugin"]
DRAWING = ["linucb_online", "epsilon_greedy_weitzman", "thompson_weitzman"]


@pytest.mark.parametrize(
    ("refit", "policies"), [("geometric:1.5", [*POLICIES, *DRAWING]), ("tracking", POLICIES), ("every:5", ["dow"])]
)
def test_it_decides_and_estimates_as_the_engine(tmp_path: pathlib.Path, refit: str, policies: list[str]) -> None:
    lanes = require_equal(*play(tmp_path, policies, refit))
    assert lanes == 4 * len(policies) - 2 * ("linucb_online" in policies)


def test_saved_and_loaded_at_a_hundred_places_it_goes_on_to_the_same(tmp_path: pathlib.Path) -> None:
    require_equal(*play(tmp_path, ["dow", "shrunk_weitzman", "linucb_online"], "tracking", saved_after=4))


def test_ridges_on_slopes_balls_and_forgetting_are_the_engines(tmp_path: pathlib.Path) -> None:
    require_equal(*play(tmp_path, ["dow"], "geometric:1.5", eta_slopes=3.0, radius_rho=0.5, radius_theta=1.0))
    (tmp_path / "second").mkdir()
    require_equal(*play(tmp_path / "second", ["dow"], "geometric:1.5", forget=40.0))
