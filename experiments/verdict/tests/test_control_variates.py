"""Adjusted means against closed forms and the coverage that their errors promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pandora_verdict.control_variates import Covariate, adjusted_mean, mean_least_greatest
from pandora_verdict.sample import Sample


def test_without_covariates_it_is_the_plain_mean() -> None:
    values = np.array([3.0, 5.0, 4.0, 8.0])
    found, plain = adjusted_mean(values, [], []), Sample.of(values)
    assert (found.mean, found.standard_error) == pytest.approx((plain.mean, plain.standard_error))
    assert found.degrees == plain.n - 1
    assert float(found.residual @ found.residual) / 3 == pytest.approx(14 / 3)


def test_at_a_known_header_it_is_the_line_there() -> None:
    random = np.random.default_rng(3)
    x = random.normal(500, 30, 40)
    y = 7 + 0.02 * x + random.normal(size=40)
    found = adjusted_mean(y, [Covariate(x, 520.0, 0.01)], [])
    about = x - x.mean()
    slope = float(about @ y) / float(about @ about)
    assert found.mean == pytest.approx(y.mean() + slope * (520 - x.mean()))
    assert found.rounding == pytest.approx(abs(slope) * 0.01 / math.sqrt(12))
    residual = y - y.mean() - slope * about
    influence = residual * (1 + 40 * (520 - x.mean()) * about / float(about @ about))
    assert float(found.residual @ found.residual) / 39 == pytest.approx(float(residual @ residual) / 38)
    assert found.standard_error == pytest.approx(math.sqrt(float(influence @ influence) / 38 / 40))


def test_useless_covariates_do_no_harm() -> None:
    random = np.random.default_rng(4)
    x, y = random.normal(size=(2, 50))
    constant = Covariate(np.full(50, 0.3), 0.9)
    alone = adjusted_mean(y, [Covariate(x, 0.5)], []).mean
    assert adjusted_mean(y, [Covariate(x, 0.5), constant], []).mean == pytest.approx(alone)
    assert adjusted_mean(y, [Covariate(x, 0.5), Covariate(2 * x, 1.0)], []).mean == pytest.approx(alone)
    assert adjusted_mean(y, [], [constant]).mean == pytest.approx(y.mean())


def test_errors_cover_the_difference_to_a_sample_with_that_header() -> None:
    """Two samples of one law, of 300 and of 50 replications; of the second only the means of y and x are seen."""
    random, trials, ours = np.random.default_rng(11), 1500, 300
    z, widths = [], np.zeros(2)
    for _ in range(trials):
        cost, header, noise = random.normal(size=(3, ours + 50)) * np.array([[1.0], [0.5], [1.0]])
        x = cost + header
        y = 2 * x + 0.7 * cost + noise
        header_of_theirs = Covariate(x[:ours], x[ours:].mean())
        found = adjusted_mean(y[:ours], [header_of_theirs], [Covariate(cost[:ours], 0.0)])
        error = math.hypot(found.standard_error, np.std(found.residual, ddof=1) / math.sqrt(50))
        z.append((found.mean - y[ours:].mean()) / error)
        widths += [error, np.std(y[:ours], ddof=1) * math.sqrt(1 / ours + 1 / 50)]
    assert np.mean(np.abs(z) < 1.96) == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / trials))
    assert np.mean(np.square(z)) == pytest.approx(1.0, abs=3 * math.sqrt(2 / trials))
    assert widths[0] < 0.5 * widths[1]


def test_mean_least_and_greatest_equal_draws() -> None:
    """Against 200,000 draws, within four standard errors; three boxes with the weights of regime B."""
    random = np.random.default_rng(5)
    sums = random.uniform(0, 0.1, (200000, 3)) + random.uniform(0, 0.2, (200000, 3))
    drawn = [Sample.of(values) for values in (sums.mean(axis=1), sums.min(axis=1), sums.max(axis=1))]
    for expected, found in zip(mean_least_greatest(3, 0.1, 0.2), drawn):
        assert expected == pytest.approx(found.mean, abs=4 * found.standard_error)
    assert mean_least_greatest(1, 0.3, 0.1) == pytest.approx([0.2] * 3)
    _, least, greatest = mean_least_greatest(2, 0.5, 0.5)
    assert least + greatest == pytest.approx(1.0)
