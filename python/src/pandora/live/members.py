"""The members of a cascade, and its file: JSON whose members docs/serving.md lists."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Optional

import numpy as np

from .. import _core
from ..errors import UsageError
from ..offline.learners.isotonic import IsotonicMap
from ..offline.learners.predictors import Predictor, predictor_of
from ..offline.policies.order import Order
from ..spelling import option

#: The most models of a cascade, and plans of a router.
MOST_MODELS, MOST_PLANS = 16, 32
MOST_PRICE = 1e9
#: Without `psi_range`, numbers of psi lie between this and its negative. With larger ones designs lose the digits that
#: the estimates need.
MOST_PSI = 1000.0
#: The evaluator of a cascade that does not look at answers.
NO_EVALUATOR = "none"
KINDS = "router", "thresholds", "indices", "routed"

Json = dict[str, Any]


def refusal(problem: str) -> UsageError:
    """An error of a running cascade."""
    return UsageError(f"cascade: {problem}")


@dataclass(frozen=True)
class Members:
    """A cascade's file as an object. Models are identified by their positions, which never change.

    `plans` are the alternatives: the one order of `thresholds`, or the orders of `router` and `routed` (an empty one is
    a plan whose models were removed); `indices` has none.
    """

    kind: str
    models: tuple[str, ...]
    price: float
    evaluator: str
    removed: frozenset[int] = frozenset()
    plans: tuple[Order, ...] = ()
    predictor: Optional[Predictor] = None  #: predicts the plans' quality and dollars from psi
    calibration: tuple[
        IsotonicMap, ...
    ] = ()  #: for each model, quality from a score; empty: a score is its own quality
    features: Optional[Json] = None  #: of prompts; None: psi is given
    index_features: int = 1  #: m, without features
    reward_features: int = 0  #: d, with the evaluator column:NAME
    psi_range: Optional[np.ndarray] = None  #: m x 2, the least and the greatest number in the fit
    rules: Optional[Json] = None  #: for indices
    estimation: Json = field(default_factory=lambda: json.loads(_core.estimation()))
    exploration: tuple[int, ...] = (1, 0, 0, 0)
    random_order: tuple[int, ...] = (1, 0, 0, 0)
    most_requests: int = 65_536
    explore: float = 0.0
    failures_until_rest: int = 5
    requests_of_rest: int = 100
    trial_calls: int = 30
    about: Any = None

    # ---- what follows from them ----

    @property
    def learns(self) -> bool:
        """Whether it is of the kind indices."""
        return self.rules is not None

    @property
    def learns_reward(self) -> bool:
        """Whether quality is learned from the feedback."""
        return self.rules is not None and self.rules["reward"] == 1

    @property
    def needs_feedback(self) -> bool:
        """Whether anything is learned from the feedback."""
        return self.learns_reward or (self.rules is not None and self.rules["score"] == _LEARNED_PAYOFF)

    @property
    def reads_phi(self) -> bool:
        """Whether the evaluator shows several numbers of an answer rather than a score."""
        return self.evaluator.startswith("column:")

    @property
    def sees(self) -> bool:
        """Whether it looks at answers."""
        return self.evaluator != NO_EVALUATOR

    @property
    def m(self) -> int:
        """How many numbers psi has; as in a study's table, a context has at least one number besides the 1."""
        return self.index_features if self.features is None else 1 + max(1, len(self.features["columns"]))

    @property
    def d(self) -> int:
        """How many numbers phi has."""
        if not self.learns_reward:
            return 0
        return self.reward_features if self.reads_phi else 2 * len(self.models)

    @property
    def calls_one_model(self) -> bool:
        """Whether it never calls a second model."""
        return not self.learns and all(len(plan.order) <= 1 for plan in self.plans)

    def with_model(self, name: str) -> Members:
        """With another model at the end. Its scores count like those of the other models on average."""
        maps = self.calibration
        if maps:
            mean = IsotonicMap(np.empty(0), np.empty(0)) if self.learns_reward else _mean_map(maps)
            maps = (*maps, mean)
        return replace(self, models=(*self.models, name), calibration=maps)

    # ---- checks ----

    def __post_init__(self) -> None:
        if not 1 <= len(self.models) <= MOST_MODELS:
            raise refusal(f"{len(self.models)} models; give 1 to {MOST_MODELS}")
        for name in self.models:
            if not name or self.models.count(name) > 1:
                raise refusal(f'model "{name}" is empty or stands twice; give each model a name of its own')
        if not 0.0 <= self.price <= MOST_PRICE:
            raise refusal(f"price {self.price:g}: give utility per dollar, a number from 0 to 1e9")
        if self.learns != (self.kind == "indices") or self.kind not in KINDS:
            raise refusal(f'kind "{self.kind}": use {", ".join(KINDS)}, of which indices have rules')
        none = not self.sees and self.calls_one_model
        scored = self.evaluator in ("quality", "score") or (
            self.evaluator.startswith("score:") and len(self.evaluator) > len("score:")
        )
        if not (none or scored or (self.reads_phi and self.learns and len(self.evaluator) > len("column:"))):
            also = ", or column:NAME" if self.learns else ""
            raise refusal(f'evaluator "{self.evaluator}": use quality, score or score:NAME{also}')
        if self.features is None and not 1 <= self.index_features <= 16_384:
            raise refusal(f"index_features is {self.index_features}; give 1..16384")
        if not 0 <= self.reward_features <= 64:
            raise refusal("reward_features must lie in 0..64")
        require_probability(self.explore)
        if self.failures_until_rest < 0 or self.trial_calls < 0 or self.requests_of_rest < 0:
            raise refusal("failures_until_rest, requests_of_rest and trial_calls are 0 or more")
        if self.most_requests < 1:
            raise refusal("most_requests must be at least 1")
        if self.calibration and len(self.calibration) != len(self.models):
            raise refusal(
                f"{len(self.calibration)} calibrations for {len(self.models)} models; give each model one, or none at "
                "all"
            )
        for one in self.calibration:
            rising, steady = (np.diff(one.scores) > 0.0).all(), (np.diff(one.qualities) >= 0.0).all()
            finite = np.isfinite(one.scores).all() and np.isfinite(one.qualities).all()
            if not (len(one.scores) == len(one.qualities) and finite and rising and steady):
                raise refusal("a calibration needs ascending scores with as many qualities that do not fall")
        self._check_plans()
        if self.psi_range is not None:
            ends = self.psi_range
            if self.kind == "thresholds" or ends.shape != (self.m, 2):
                raise refusal(
                    f"{len(ends)} ranges for contexts of {self.m} numbers; give rules, and each number one, or none at "
                    "all"
                )
            if not (np.isfinite(ends).all() and (ends[:, 0] <= ends[:, 1]).all()):
                raise refusal("a range of psi is two finite numbers, the lesser one first")

    def _check_plans(self) -> None:
        if self.learns:
            if self.plans:
                raise refusal("give rules or an order with thresholds, not both")
            return
        if self.kind == "thresholds" and len(self.plans) != 1:
            raise refusal("thresholds have one order of models")
        if not 1 <= len(self.plans) <= MOST_PLANS or not any(plan.order for plan in self.plans):
            raise refusal(f"give 1 to {MOST_PLANS} plans, one of which calls a model")
        for plan in self.plans:
            if not plan.order and self.kind != "thresholds" and not plan.thresholds:
                continue
            if len(plan.thresholds) + 1 != len(plan.order):
                raise refusal("give rules, or an order of models with a threshold for each of them but the last")
            if len(set(plan.order)) < len(plan.order) or not all(0 <= a < len(self.models) for a in plan.order):
                raise refusal("the order must name positions of models, each at most once")
            if not all(math.isfinite(threshold) for threshold in plan.thresholds):
                raise refusal("a threshold must be a finite number")

    # ---- the file ----

    @staticmethod
    def of_json(given: Any, predictor: Optional[Predictor] = None) -> Members:
        """The members from an object as in a file; members other than kind, models, price and evaluator have defaults.

        UsageError for a member that is unknown, of another type or out of range. `predictor` replaces the file's router
        if that is a caller's estimator.
        """
        if not isinstance(given, Mapping):
            raise refusal("what it is made of is no object")
        for name in given:
            if name not in _MEMBERS:
                raise refusal(f'what it is made of has an unknown "{name}"')
        try:
            return _of_json({name: value for name, value in given.items() if value is not None}, predictor)
        except KeyError as missing:
            raise refusal(f"what it is made of has no {missing}") from None
        except (TypeError, ValueError, AttributeError, IndexError) as problem:
            raise refusal(f"what it is made of has a member of another type ({problem})") from None

    def described(self) -> Json:
        """As to_json(), but for a router that no file can hold it has the name of its learner."""
        return {**replace(self, predictor=None).to_json(), **self._router(described=True)}

    def _router(self, described: bool = False) -> Json:
        if self.predictor is None:
            return {}
        plans = [{"order": [self.models[a] for a in p.order], "thresholds": list(p.thresholds)} for p in self.plans]
        return {"plans": plans, "router": self.predictor.described() if described else self.predictor.to_json()}

    def to_json(self) -> Json:
        """The object as in a file, without version, state and digest."""
        one: Json = {"order": None, "thresholds": None}
        if self.kind == "thresholds":
            plan = self.plans[0]
            one = {"order": [self.models[a] for a in plan.order], "thresholds": list(plan.thresholds)}
        out: Json = {
            "kind": self.kind,
            "models": list(self.models),
            "removed": [self.models[a] for a in sorted(self.removed)],
            **one,
            "price": self.price,
            "evaluator": self.evaluator,
            "calibration": [one.to_json() for one in self.calibration] or None,
            "features": self.features,
            "index_features": self.index_features,
            "reward_features": self.reward_features,
            "rules": self.rules,
            "estimation": self.estimation,
            "exploration": list(self.exploration),
            "random_order": list(self.random_order),
            "most_requests": self.most_requests,
            "about": self.about,
        }
        out.update(self._router())
        if self.psi_range is not None:
            out["psi_range"] = self.psi_range.tolist()
        for name in ("explore", "failures_until_rest", "requests_of_rest", "trial_calls"):
            if (value := getattr(self, name)) != Members.__dataclass_fields__[name].default:
                out[name] = value
        return out


def new_members(
    models: Sequence[str],
    price: float,
    evaluator: str,
    policy: str = "shrunk_weitzman",
    c: float = 0.2,
    c_theta: float = 1.0,
    features: str = "",
    psi: int = 1,
    refit: str = "geometric:1.5",
    forget: float = 0.0,
    most_samples: int = 100_000,
    explore: float = 0.0,
) -> Members:
    """The members of a cascade that has learned nothing yet; the arguments are those of `Cascade.new`.

    UsageError for invalid arguments. The cascade begins with a query of every model (alg:DOW).
    """
    if not evaluator:
        raise UsageError(
            "no evaluator is given, which says what is seen of an answer at run time: score and score:NAME are "
            "judges', and quality is a yardstick, a free and perfect judge that needs the truth at run time; give "
            f"{option('evaluator', 'score')}"
        )
    for name, value in (("forget", forget), ("c", c), ("c_theta", c_theta)):
        if not 0.0 <= value < math.inf:
            raise refusal(f"{name} is {value:g}; give a finite number, not negative")
    rules = json.loads(_core.lane_rules(policy, evaluator != "quality", c, 0, c_theta, 1))
    if features:
        try:
            read = json.loads(features)
        except ValueError:
            raise refusal("the features are not JSON") from None
        parsed = json.loads(_core.FeatureMap.parse(json.dumps(read)).json)
    return Members(
        "indices", tuple(models), price, evaluator, features=parsed if features else None, index_features=psi,
        rules=rules, estimation=json.loads(_core.estimation(refit, forget, most_samples)), explore=explore,
    )  # fmt: skip


_LEARNED_PAYOFF = 3  # in the enumeration Score (kernels/rules/spec.hpp)
_MEMBERS = {name for name in Members.__dataclass_fields__ if name != "predictor"} | {"router", "order", "thresholds"}


def _of_json(given: Json, predictor: Optional[Predictor]) -> Members:
    models, kind = tuple(_text(name) for name in given["models"]), _text(given["kind"])
    positions = {name: position for position, name in enumerate(models)}

    def order_of(plan: Json) -> Order:
        try:
            order = tuple(positions[name] for name in plan["order"])
        except KeyError as name:
            raise refusal(f"what it is made of has an order with {name}, which is not among its models") from None
        return Order(order, tuple(float(x) for x in plan["thresholds"]))

    plans: tuple[Order, ...] = ()
    if kind == "thresholds":
        plans = (order_of(given),)
    elif kind in ("router", "routed"):
        plans = tuple(order_of(plan) for plan in given["plans"])
    features = given.get("features")
    if features is not None:  # this also checks them
        features = json.loads(_core.FeatureMap.parse(json.dumps(features)).json)
    numbers = {name: _whole(given[name]) for name in _WHOLE if name in given}
    rules = given.get("rules")
    if rules is not None and not {"reward", "score", "order", "stop", "epsilon"} <= set(rules):
        raise refusal("what it is made of has rules that are not whole")
    members = Members(
        kind, models, float(given["price"]), _text(given["evaluator"]),
        frozenset(positions[name] for name in given.get("removed", ())), plans, predictor,
        tuple(IsotonicMap(_array(one["scores"]), _array(one["qualities"])) for one in given.get("calibration", ())),
        features, psi_range=_array(given["psi_range"], np.float32) if "psi_range" in given else None,
        rules=rules, estimation=given.get("estimation", json.loads(_core.estimation())),
        exploration=tuple(_whole(x) for x in given.get("exploration", (1, 0, 0, 0))),
        random_order=tuple(_whole(x) for x in given.get("random_order", (1, 0, 0, 0))),
        explore=float(given.get("explore", 0.0)), about=given.get("about"), **numbers,
    )  # fmt: skip
    router = given.get("router")
    if isinstance(router, Mapping) and "file" in router and predictor is None:
        raise refusal(f"its router is a {router['learner']}, which another file holds; give one of JSON")
    if plans and kind != "thresholds" and predictor is None:
        members = replace(members, predictor=predictor_of(given["router"], len(plans), members.m - 1))
    return members


_WHOLE = "index_features", "reward_features", "most_requests", "failures_until_rest", "requests_of_rest", "trial_calls"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _array(values: Sequence[Any], dtype: Any = np.float64) -> np.ndarray:
    return np.array(values, dtype)


def _mean_map(maps: Sequence[IsotonicMap]) -> IsotonicMap:
    """The mean of all models' maps, at the knots of all."""
    knots = np.unique(np.concatenate([one.scores for one in maps]))
    return IsotonicMap(knots, np.mean([one(knots) for one in maps], axis=0))


def require_probability(explore: float) -> None:
    """UsageError unless `explore` is a probability."""
    if not 0.0 <= explore <= 1.0:
        raise refusal(f"explore {explore:g}: give a probability, from 0 to 1")


def digest_of(file: Any) -> str:
    """SHA-256 of a file's members without the digest. Numbers count as they are written."""
    return sha256(_compact(file).encode()).hexdigest()


class _Literal(float):
    """A number as it is written in a file: other programs may write it differently from Python."""

    text: str


def literal(text: str) -> _Literal:
    """For json.loads(parse_float=literal)."""
    made = _Literal(text)
    made.text = text
    return made


def _compact(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{_compact(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    return value.text if isinstance(value, _Literal) else json.dumps(value)
