import math
import unittest

import numpy as np
from field_metrics import (
    aiq,
    apgr,
    arena_score,
    auroc,
    aurc,
    calibration_error,
    call_performance_threshold,
    cost_at_share_of_strong,
    cost_saved,
    deferral_area,
    hull_at,
    latency_in_series,
    non_decreasing_hull,
    oracle_gap,
    pareto_distance,
    pareto_front,
    percentile,
    performance_gain,
    quality_neutral_cost,
    strong_share_auc,
)

POINTS = np.array([[1.0, 0.2], [2.0, 0.3], [3.0, 0.8], [4.0, 0.7], [5.0, 0.9], [5.0, 0.1]])


class Curves(unittest.TestCase):
    def test_hull(self):
        np.testing.assert_allclose(non_decreasing_hull(POINTS), [[1, 0.2], [3, 0.8], [5, 0.9]])
        np.testing.assert_allclose(hull_at(non_decreasing_hull(POINTS), np.array([2.0, 9.0])), [0.5, 0.9])
        self.assertTrue(np.isnan(hull_at(non_decreasing_hull(POINTS), np.array([0.5]))[0]))

    def test_hull_is_flat_beyond_the_best(self):
        falling = np.array([[1.0, 0.5], [2.0, 0.9], [4.0, 0.6]])
        np.testing.assert_allclose(non_decreasing_hull(falling), [[1, 0.5], [2, 0.9]])
        self.assertAlmostEqual(aiq(falling), (0.7 + 1.8) / 3)

    def test_aiq_of_the_paper_and_of_its_code(self):
        self.assertAlmostEqual(aiq(POINTS), (2 * 0.5 + 2 * 0.85) / 4)
        self.assertAlmostEqual(aiq(POINTS, as_code=True), (2 * 0.5 + 2 * 0.85) / 5)
        self.assertAlmostEqual(aiq(POINTS, dearest=10.0, as_code=True), (2.7 + 5 * 0.9) / 10)
        self.assertAlmostEqual(aiq(np.array([[2.0, 0.4]])), 0.4)

    def test_routellm(self):
        share, quality = np.array([0.0, 0.5, 1.0]), np.array([0.4, 0.7, 0.8])
        self.assertAlmostEqual(strong_share_auc(share, quality), 0.65)
        self.assertAlmostEqual(apgr(share, quality, 0.4, 0.8), 0.25 / 0.4)
        self.assertAlmostEqual(call_performance_threshold(share, quality, 0.4, 0.8, 0.5), 1 / 3)
        for part in (0.2, 0.5, 0.8):
            self.assertAlmostEqual(
                call_performance_threshold(share, quality, 0.4, 0.8, part),
                float(np.interp(0.4 + 0.4 * part, quality, share)),
            )
        self.assertTrue(math.isnan(call_performance_threshold(share, quality, 0.4, 0.8, 1.2)))

    def test_cost_at_a_share_and_deferral(self):
        self.assertAlmostEqual(cost_at_share_of_strong(POINTS, 1.0, 0.5), 2.0)
        self.assertTrue(math.isnan(cost_at_share_of_strong(POINTS, 1.0, 0.95)))
        curve = np.array([[0.0, 0.4], [5.0, 0.8], [10.0, 0.8]])
        self.assertAlmostEqual(deferral_area(curve, 10.0), 0.7)
        self.assertAlmostEqual(deferral_area(curve, 10.0, 0.5), 0.6)
        self.assertAlmostEqual(quality_neutral_cost(curve, 10.0, 0.8), 0.5)

    def test_arena(self):
        self.assertAlmostEqual(arena_score(0.7, 0.0044), 1.1 * 0.7 / 1.07)
        self.assertAlmostEqual(arena_score(0.7, 200.0), 0.0)
        self.assertRaises(ValueError, arena_score, 0.7, 0.0)

    def test_llmrouterbench(self):
        self.assertAlmostEqual(performance_gain(POINTS, 0.75), 0.2)
        self.assertAlmostEqual(cost_saved(POINTS, (6.0, 0.8)), 0.5)
        self.assertTrue(math.isnan(cost_saved(POINTS, (6.0, 0.95))))
        np.testing.assert_array_equal(pareto_front(POINTS), [True, True, True, False, True, False])
        self.assertAlmostEqual(pareto_distance(POINTS[[0, 4]], POINTS), 0.0)
        self.assertAlmostEqual(pareto_distance(POINTS[[5]], POINTS), math.hypot(0.75, 0.25))
        self.assertAlmostEqual(oracle_gap(0.6, np.array([[0.5, 1.0], [0.6, 0.2]])), 0.25)


class Judges(unittest.TestCase):
    def test_calibration_error(self):
        forecast, truth = np.array([0.1, 0.1, 0.9, 0.9]), np.array([0.0, 1.0, 1.0, 1.0])
        self.assertAlmostEqual(calibration_error(forecast, truth, 10), 0.5 * 0.4 + 0.5 * 0.1)
        self.assertAlmostEqual(calibration_error(forecast, truth, 2, equal_mass=True), 0.25)
        self.assertAlmostEqual(calibration_error(np.array([0.0, 1.0]), np.array([0.0, 1.0])), 0.0)
        mixed = calibration_error(forecast[[2, 0, 3, 1]], truth[[2, 0, 3, 1]], 3, equal_mass=True)
        self.assertAlmostEqual(mixed, calibration_error(forecast, truth, 3, equal_mass=True))

    def test_auroc_counts_pairs(self):
        rng = np.random.default_rng(1)
        score, right = rng.integers(0, 5, 40).astype(float), rng.random(40) < 0.4
        pairs = [(a > b) + 0.5 * (a == b) for a in score[right] for b in score[~right]]
        self.assertAlmostEqual(auroc(score, right), float(np.mean(pairs)))
        self.assertTrue(math.isnan(auroc(score, np.ones(40, dtype=bool))))

    def test_risk_against_coverage(self):
        self.assertAlmostEqual(aurc(np.array([0.9, 0.8, 0.1]), np.array([0.0, 1.0, 1.0])), (0 + 1 / 2 + 2 / 3) / 3)
        self.assertAlmostEqual(aurc(np.array([0.5, 0.5]), np.array([0.0, 1.0])), 0.5)

    def test_latency(self):
        seconds = latency_in_series(np.array([[1.0, 4.0], [2.0, 8.0]]), [[0], [0, 1]], judge=0.5)
        np.testing.assert_allclose(seconds, [1.5, 11.0])
        self.assertAlmostEqual(percentile(seconds, 0.5), 6.25)


if __name__ == "__main__":
    unittest.main()
