"""Changed problems: their indices, compared with integrations outside of the library, and messages on them."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import pandora

Numbers = npt.NDArray[np.float64]
Request = pandora.ReplicationRequest
SWITCH = 250

seen: dict[tuple[str, int], Request] = {}


def own(study: dict[str, Any]) -> dict[str, Any]:
    """The study with only the environments that are given beside it."""
    return {key: value for key, value in study.items() if key != "environments"}


def logistic(z: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-z)))


class HalfPrice(pandora.Environment):
    """The paper's model at half its costs after the first 250 periods."""

    name, stream = "half_price", 120
    not_in_digest = ("seen",)

    def draw(self, request: Request) -> Mapping[str, Any]:
        seen[request.regime, request.replication] = request
        drawn, expected = request.model(), request.expected_cost.copy()
        later = slice(request.calibration_periods + SWITCH + 1, None)
        drawn["cost"][later] /= 2
        expected[later] /= 2
        drawn["sigma"] = request.indices(cost=expected)
        return drawn


class Stale(HalfPrice):
    """The same, but the oracle goes on as if nothing had changed."""

    name, stream = "stale", 121
    part = 2.0

    def draw(self, request: Request) -> Mapping[str, Any]:
        drawn = request.model()
        drawn["cost"][request.calibration_periods + SWITCH + 1 :] /= self.part
        return drawn


class Shocks:
    """Fresh draws of xi for every box, from numpy: w = theta_*' D xi and beta_{1,a}' |xi|."""

    def __init__(self, request: Request, count: int) -> None:
        random = np.random.default_rng(7)
        self.w = np.empty((count, request.boxes))
        self.magnitude = np.empty((count, request.boxes))
        direction = request.theta @ request.D
        for first in range(0, count, 10_000):
            for box in range(request.boxes):
                xi = random.uniform(-1, 1, (min(10_000, count - first), 100))
                self.w[first : first + len(xi), box] = xi @ direction
                self.magnitude[first : first + len(xi), box] = np.abs(xi) @ request.beta1[box]


def index_by_bisection(value: Numbers, cost: float) -> tuple[float, float]:
    """sigma with E[(V - sigma)^+] = cost over a sample, and its standard error."""
    low, high = float(value.min()) - cost - 1, float(value.max())
    for _ in range(60):
        middle = (low + high) / 2
        if np.maximum(value - middle, 0).mean() > cost:
            low = middle
        else:
            high = middle
    excess = np.maximum(value - low, 0)
    return low, float(excess.std() / ((value > low).mean() * np.sqrt(len(value))))


def utilities(sigma: Numbers, mu: Numbers, cost: Numbers) -> tuple[Numbers, Numbers]:
    """The utilities of Weitzman's rule with these indices, and of opening every box, for each row of mu and cost."""
    order = np.argsort(-sigma, kind="stable")
    best, paid, going = np.full(len(mu), -np.inf), np.zeros(len(mu)), np.ones(len(mu), dtype=bool)
    for box in order:
        going &= best < sigma[box]
        paid += np.where(going, cost[:, box], 0)
        best = np.where(going, np.maximum(best, mu[:, box]), best)
    return best - paid, mu.max(axis=1) - cost.sum(axis=1)


@pytest.fixture(scope="module")
def half_price(tmp_path_factory: pytest.TempPathFactory) -> pandora.Results:
    study = {
        "replications": 3,
        "periods": 20_000,
        "T0": [0],
        "regimes": ["A"],
        "policies": ["query_all"],
        "oracle": {"samples": 100_000},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandora.PandoraWarning)  # these indices are right, so there is no warning
        return pandora.run(study, out=tmp_path_factory.mktemp("h") / "r", environments=[HalfPrice], progress=False)


def test_half_price_is_what_an_independent_integration_says(half_price: pandora.Results) -> None:
    T, draws = 20_000, 200_000
    utility = half_price.numbers("utility", "oracle", environment="half_price") / T
    regret = half_price.regret("query_all", environment="half_price") / 1000
    for replication in range(3):
        request = seen["A", replication]
        shocks, cost = Shocks(request, draws), (request.c0 + request.c1) / 2
        mu = logistic(shocks.w)
        expected, variance, expected_regret, regret_variance = 0.0, 0.0, 0.0, 0.0
        for part, share in ((1.0, SWITCH / T), (0.5, 1 - SWITCH / T)):
            sigma = np.array([index_by_bisection(mu[:, box], part * cost[box])[0] for box in range(3)])
            weitzman, everything = utilities(sigma, mu, np.broadcast_to(part * cost, mu.shape))
            expected += share * float(weitzman.mean())
            expected_regret += share * float((weitzman - everything).mean())
            variance += share * float(weitzman.var())
            regret_variance += share * float((weitzman - everything).var())
        per_draw = np.sqrt(1 / T + 1 / draws)
        assert abs(utility[replication] - expected) < 2 * np.sqrt(variance) * per_draw
        assert abs(regret[replication] - expected_regret) < 2 * np.sqrt(regret_variance) * per_draw


@pytest.mark.parametrize("regime", ["A", "B"])
def test_indices_agree_with_an_independent_integration(
    regime: str, single: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    found: dict[str, Numbers] = {}

    class Kept(pandora.Environment):
        name, stream = f"kept_{regime}", 122 + ord(regime) % 2
        not_in_digest = ("seen",)
        sigma_is_meant = True

        def draw(self, request: Request) -> Mapping[str, Any]:
            seen["kept", 0] = request
            found["half"] = request.indices(cost=request.expected_cost / 2)
            found["capped"] = request.indices(cost=lambda c, rows: np.minimum(c, 0.12))
            found["model"] = request.indices()
            found["by_function"] = request.indices(cost=lambda c, rows: c, mu=lambda z, rows: logistic(z))
            found["worse"] = request.indices(mu=lambda z, rows: 0.9 * logistic(z) - 0.001 * (rows[:, None, None] % 2))
            found["moved"] = request.indices(ell=request.ell + 0.3, scale=2 * request.scale)
            found["theta"] = request.indices(theta=-request.theta)
            found["theta_by_function"] = request.indices(theta=-request.theta, mu=lambda z, rows: logistic(z))
            return {**request.model()}

    study = {**own(single), "regimes": [regime], "replications": 1, "oracle": {"samples": 200_000}}
    pandora.run(study, out=tmp_path / "r", environments=[Kept], progress=False)
    request = seen["kept", 0]
    shocks, online = Shocks(request, 100_000), 1 + request.calibration_periods
    assert np.isnan(found["half"][:online]).all()
    assert np.isfinite(found["half"][online:]).all()
    assert np.abs(found["by_function"] - found["model"])[online:].max() < 3e-4
    assert np.abs(found["theta_by_function"] - found["theta"])[online:].max() < 3e-4
    for row in (online, online + 1, request.rows - 1):
        for box in range(request.boxes):
            z, w = float(request.ell[row, box]), float(request.scale[row, box]) * shocks.w[:, box]
            output_cost = logistic(float(request.scale[row, box]) * shocks.magnitude[:, box])
            cost = request.context_cost[row, box] + request.c1[box] * output_cost
            error = float(cost.std()) / np.sqrt(len(cost))
            assert abs(cost.mean() - request.expected_cost[row, box]) < 4 * error + 1e-12
            theta_z = -z  # l is linear in theta_*, and so is w
            for what, value, expected in (
                ("model", logistic(z + w), cost.mean()),
                ("half", logistic(z + w), cost.mean() / 2),
                ("capped", logistic(z + w), np.minimum(cost, 0.12).mean()),
                ("worse", 0.9 * logistic(z + w) - 0.001 * (row % 2), cost.mean()),
                ("moved", logistic(z + 0.3 + 2 * w), cost.mean()),
                ("theta", logistic(theta_z - w), cost.mean()),
            ):
                sigma, of_sample = index_by_bisection(value, float(expected))
                of_cost = error / float((value > sigma).mean())
                bound = 3.5 * np.sqrt(1.5) * np.hypot(of_sample, of_cost) + 3e-4  # 72 comparisons; the library's sample
                assert abs(found[what][row, box] - sigma) < bound, (what, row, box)


def test_a_request_shows_the_instance_read_only(half_price: pandora.Results) -> None:
    request = seen["A", 1]
    A, d, d_x = request.boxes, request.reward_features, request.context
    shapes = {"theta": (d,), "D": (d, 100), "Q": (d, d_x), "alpha": (A, d_x), "beta0": (A, d_x), "beta1": (A, 100)}
    shapes |= {name: (A,) for name in ("c0", "c1")}
    shapes |= {name: (request.rows, A) for name in ("ell", "scale", "expected_cost", "context_cost")}
    for name, shape in shapes.items():
        array = getattr(request, name)
        assert array.shape == shape, name
        with pytest.raises(ValueError, match="read-only"):
            array.flat[0] = 1.0
    model = request.model()
    assert np.allclose(model["mu"], logistic(model["phi"] @ request.theta), atol=1e-6)
    assert np.allclose(model["cost"], request.expected_cost)
    assert request.u == HalfPrice.u


def test_arguments_of_indices_are_looked_at(half_price: pandora.Results) -> None:
    request = seen["A", 0]
    for arguments, said in (
        ({"cost": -0.1}, "cost: -0.1 at"),
        ({"cost": np.full((3, 2), 0.1)}, r"cost: give an array of 20001 x 3, not 3 x 2"),
        ({"cost": "0.1"}, "cost is of type"),
        ({"cost": np.ma.masked_less([0.1, 0.2, 0.3], 0.15)}, "cost is masked"),
        ({"scale": 0.0}, "scale: give numbers above 0"),
        ({"ell": np.nan}, "ell: give finite numbers"),
        ({"theta": [1.0]}, "theta: give 10 numbers, not 1"),
        ({"mu": lambda z, rows: z[0]}, "return an array of the shape of its first argument"),
        ({"cost": lambda c, rows: -c}, r"cost\(...\): -"),
    ):
        with pytest.raises(pandora.UsageError, match=said):
            request.indices(**arguments)
    assert pandora.reservation_index([0.2, 0.8], 0.1).shape == ()
    assert pandora.reservation_index(np.full((5, 3, 2), [0.2, 0.8]), np.full((5, 1), 0.1)).shape == (5, 3)
    for values, weights in (([], None), ([np.nan], None), ([1.0], [0.0]), ([1.0], [1.0, 2.0])):
        with pytest.raises(pandora.UsageError):
            pandora.reservation_index(values, 0.1, weights)


STALE_TOLD = "stale: its code changes costs or the value of outputs but keeps the model's oracle indices"


def test_indices_that_were_left_behind_are_told_once(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    study = {**own(single), "regimes": ["A", "B"], "periods": 300, "policies": ["query_all"]}

    class Meant(Stale):
        name, stream = "meant", 124
        sigma_is_meant = True

    with pytest.warns(pandora.PandoraWarning) as told:
        pandora.run(study, out=tmp_path / "stale", environments=[Stale], progress=False)
    assert [STALE_TOLD in str(warning.message) for warning in told] == [True]
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandora.PandoraWarning)
        pandora.run(study, out=tmp_path / "meant", environments=[Meant, HalfPrice], progress=False)


def test_a_negative_regret_is_noted(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    class Tenth(Stale):
        name, stream, part, sigma_is_meant = "tenth", 125, 10.0, True

    study = {**own(single), "regimes": ["A"], "periods": 2000, "replications": 6, "T0": [0]}
    r = pandora.run(study, out=tmp_path / "r", environments=[Tenth], progress=False)
    best = r.best(policy="dow", reward="known")
    assert best["regret_x1000"][0] + best["half_width_95_x1000"][0] < 0
    assert len(best.notes) == 1
    assert "the benchmark is not optimal" in repr(best)
    assert "the benchmark is not optimal" in best._repr_html_()
    assert repr(r.tables[0]).replace("\n", " ").count("the benchmark is not optimal") == 1
    assert r.summary("oracle").notes == []


def changed(name: str, value: Any) -> Any:
    def change(drawn: dict[str, Any], request: Request) -> None:
        drawn[name][request.calibration_periods + 17, 1] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed("cost", -1.0), r"cost of box 2 in online period 17 \(index \[67, 1\]\) is -1; give a finite"),
        (changed("mu", 1.25), r"mu of box 2 in online period 17 \(index \[67, 1\]\) is 1.25"),
        (changed("reward", 2.0), r"reward of box 2 in online period 17"),
        (changed("sigma", np.nan), r"sigma of box 2 in online period 17 \(index \[67, 1\]\) is nan"),
        (changed("phi", np.inf), r"phi of box 2 in online period 17"),
        (changed("psi", 1e300), r"psi in online period 17 \(index \[67\]\) is inf"),
        (lambda d, r: d.update(cost=d["cost"][:, :2]), "cost: give an array of 251 x 3, not 251 x 2"),
        (lambda d, r: d.update(mu=d["mu"][:-1]), "mu: give an array of 251 x 3"),
        (lambda d, r: d.update(cost=d["cost"] + 0j), "cost of draw.. is of type complex128; give an array of numbers"),
        (lambda d, r: d.update(cost=d["cost"].astype(str)), "cost of draw.. is of type <U"),
        (lambda d, r: d.update(mu=np.ma.masked_less(d["mu"], 0.5)), "mu of draw.. is masked in places"),
        (lambda d, r: d.update(reward=2 * np.ones_like(d["mu"])), r"\(index \[0, 0\]\) is 2; give numbers in \[0, 1\]"),
        (lambda d, r: d.pop("mu"), "draw.. returned no mu"),
        (lambda d, r: d.update(moo=1), "draw.. returned moo"),
        (lambda d, r: 1 / 0, r"ZeroDivisionError: division by zero \(test_changed.py:"),
    ],
)
def test_what_draw_gets_wrong_is_told(change: Any, said: str, single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    class Wrong(pandora.Environment):
        name, stream = "wrong", 126
        mistake = said
        sigma_is_meant = True

        def draw(self, request: Request) -> Mapping[str, Any]:
            drawn = request.model()
            change(drawn, request)
            return drawn

    wanted = pandora.Error if "ZeroDivision" in said else pandora.UsageError
    with pytest.raises(wanted, match=f"^(environment )?wrong/B/[01]: .*{said}"):
        pandora.run(own(single), out=tmp_path / "r", environments=[Wrong], progress=False)


def test_draw_has_to_return_a_dict(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    class Nothing(pandora.Environment):
        name, stream = "nothing", 127

        def draw(self, request: Request) -> Any:
            return None

    with pytest.raises(pandora.Error, match="draw.. returned NoneType; return a dict of arrays: psi"):
        pandora.run(own(single), out=tmp_path / "r", environments=[Nothing], progress=False)
