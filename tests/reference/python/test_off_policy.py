import math
import unittest

import numpy as np
from calibrate import folds, isotonic, judge_calibrated, logistic, outcomes_of_actions, ridge
from intervals import (
    bootstrap_interval,
    drawn_clusters,
    hall_interval,
    linearise,
    mean_of,
    ratio_of,
    standard_error,
    student_quantile,
    t_interval,
)
from laws import Law, cascade_truth, draw, epsilon_greedy, label, log_openings, log_router, router_truth
from off_policy import (
    Openings,
    Refused,
    RouterLog,
    cell_estimates,
    cell_pseudo_quality,
    effective_size,
    importance,
    path_estimates,
    pseudo_outcomes,
    refuse_without_support,
    router_estimates,
    walk_cascade,
)


def value(part):
    return linearise([part])[0]


class Intervals(unittest.TestCase):
    def test_quantiles_of_student(self):
        for freedom, expected in ((1, 12.7062), (5, 2.57058), (30, 2.04227), (1e4, 1.96020)):
            self.assertAlmostEqual(student_quantile(0.975, freedom), expected, places=4)

    def test_clusters_of_one_give_the_textbook_interval(self):
        x = np.array([1.0, 2.0, 4.0, 7.0])
        part = mean_of(x, np.arange(4))
        self.assertAlmostEqual(standard_error(linearise([part])[1]), x.std(ddof=1) / 2)
        self.assertAlmostEqual(t_interval([part]).high, 3.5 + 3.182446 * x.std(ddof=1) / 2, places=5)

    def test_rows_of_a_cluster_count_once(self):
        x = np.array([1.0, 2.0, 4.0, 7.0])
        twice = mean_of(np.repeat(x, 2), np.repeat(np.arange(4), 2))
        self.assertAlmostEqual(t_interval([twice]).low, t_interval([mean_of(x, np.arange(4))]).low)

    def test_ratio_by_hand(self):
        moved = linearise([ratio_of(np.array([1.0, 4.0]), np.array([1.0, 2.0]), np.array([0, 1]))])
        self.assertAlmostEqual(moved[0], 5 / 3)
        np.testing.assert_allclose(moved[1], np.array([1 - 5 / 3, 4 - 10 / 3]) / 1.5)

    def test_hall_is_t_without_skewness_and_leans_with_it(self):
        even = [mean_of(np.array([-2.0, -1.0, 1.0, 2.0]), np.arange(4))]
        self.assertAlmostEqual(hall_interval(even).low, t_interval(even).low)
        skewed = [mean_of(np.exp(np.linspace(-2, 3, 60)), np.arange(60))]
        hall, t = hall_interval(skewed), t_interval(skewed)
        self.assertGreater(hall.high, t.high)
        self.assertGreater(hall.low, t.low)

    def test_bootstrap_is_near_t_for_many_rows(self):
        rng = np.random.default_rng(1)
        part = [mean_of(rng.standard_normal(400), np.arange(400))]
        found = bootstrap_interval(part, drawn_clusters(400, rng, 2000))
        self.assertAlmostEqual(found.high - found.low, t_interval(part).high - t_interval(part).low, delta=0.02)


class OutcomeModels(unittest.TestCase):
    def test_isotonic_pools_violators(self):
        fit = isotonic(np.array([1.0, 2.0, 3.0, 3.0]), np.array([0.5, 0.1, 0.4, 0.8]), np.ones(4))
        np.testing.assert_allclose(fit(np.array([0.0, 1.0, 2.0, 2.5, 9.0])), [0.3, 0.3, 0.3, 0.45, 0.6])

    def test_ridge_and_logistic_find_what_they_were_made_of(self):
        x = np.random.default_rng(2).standard_normal((500, 2))
        np.testing.assert_allclose(ridge(x, 1 + x @ [2.0, -1.0], 1e-9)(x), 1 + x @ [2.0, -1.0], atol=1e-6)
        p = 1 / (1 + np.exp(-(0.3 + x @ [0.5, -1.0])))
        np.testing.assert_allclose(logistic(x, p, 1e-9)(x), p, atol=1e-6)

    def test_clusters_stay_together(self):
        fold = folds(np.array([7, 7, 3, 9, 3]), 2)
        np.testing.assert_array_equal(fold, [0, 0, 1, 0, 1])


class RouterLogs(unittest.TestCase):
    log = RouterLog(
        cluster=np.array([0, 1, 2]),
        context=np.zeros((3, 1)),
        action=np.array([0, 1, 1]),
        propensity=np.array([0.5, 0.25, 0.8]),
        quality=np.array([1.0, 0.6, 0.2]),
        cost=np.array([1.0, 2.0, 3.0]),
    )
    target = np.array([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]])
    predicted = np.array([[0.9, 0.4], [0.7, 0.5], [0.6, 0.1]])

    def test_by_hand(self):
        found = router_estimates(self.target, self.log, self.log.quality, self.predicted)
        np.testing.assert_allclose(importance(self.target, self.log), [2, 2, 0])
        self.assertAlmostEqual(value(found["ips"]), (2 * 1 + 2 * 0.6) / 3)
        self.assertAlmostEqual(value(found["snips"]), (2 * 1 + 2 * 0.6) / 4)
        self.assertAlmostEqual(value(found["dr"]), (0.9 + 2 * 0.1 + 0.6 + 2 * 0.1 + 0.6) / 3)
        self.assertAlmostEqual(effective_size(importance(self.target, self.log)), 2.0)

    def test_clipping_is_explicit(self):
        np.testing.assert_allclose(importance(self.target, self.log, 1.5), [1.5, 1.5, 0])

    def test_pseudo_outcomes_have_the_value_of_every_router(self):
        filled = pseudo_outcomes(self.log, self.log.quality, self.predicted)
        for policy in ([0, 0, 0], [1, 1, 1], [0, 1, 0]):
            found = router_estimates(np.eye(2)[policy], self.log, self.log.quality, self.predicted)
            self.assertAlmostEqual(value(found["dr"]), filled[np.arange(3), policy].mean())

    def test_refusals(self):
        cluster = np.arange(100)
        with self.assertRaisesRegex(Refused, "done what the target does"):
            refuse_without_support(np.zeros(100), cluster)
        with self.assertRaisesRegex(Refused, "too few"):
            refuse_without_support(np.where(cluster < 9, 11.0, 0.0), cluster)
        with self.assertRaisesRegex(Refused, "mean"):
            refuse_without_support(np.where(cluster < 50, 1.0, 0.1), cluster)
        with self.assertRaisesRegex(Refused, "never takes"):
            refuse_without_support(np.ones(100), cluster, np.eye(2)[cluster % 2], np.eye(2)[np.zeros(100, int)])
        with self.assertRaisesRegex(Refused, "propensities"):
            importance(np.ones((3, 2)), RouterLog(**{**vars(self.log), "propensity": np.zeros(3)}))
        self.assertGreater(refuse_without_support(np.ones(100), cluster).effective_rows, 99)

    def test_known_law(self):
        law, rng = Law(), np.random.default_rng(5)
        table = draw(law, 20000, rng)
        log = log_router(table, epsilon_greedy(table, np.array([1, 1, 1, 1]), 0.3, 3), rng)
        target = np.eye(3)[[0, 1, 1, 2]]
        predicted = outcomes_of_actions(log.context, log.action, log.quality, 3, folds(log.cluster))
        truth = router_truth(law, target)[0]
        widths = {}
        for name, part in router_estimates(target[table.kind], log, log.quality, predicted).items():
            if name != "direct":
                found = t_interval([part], 0.999)
                self.assertTrue(found.holds(truth), name)
                widths[name] = found.high - found.low
        self.assertLess(widths["dr"], widths["ips"])


class Cells(unittest.TestCase):
    def test_by_hand(self):
        quality, labelled = np.array([[1.0, 0.0], [0.5, 1.0]]), np.array([[True, False], [False, True]])
        probability, guess = np.full((2, 2), 0.5), np.array([[0.8, 0.3], [0.6, 0.9]])
        found = cell_estimates(np.array([0, 0]), quality, labelled, probability, guess, np.arange(2))
        self.assertAlmostEqual(value(found["complete"]), 1.0)
        self.assertAlmostEqual(value(found["ips"]), 1.0)
        self.assertAlmostEqual(value(found["dr"]), (0.8 + 2 * 0.2 + 0.6) / 2)
        filled = cell_pseudo_quality(quality, labelled, probability, guess)
        np.testing.assert_allclose(filled, [[1.2, 0.3], [0.6, 1.1]])

    def test_everything_labelled_is_the_mean(self):
        rng = np.random.default_rng(3)
        table = draw(Law(), 200, rng)
        labelled, one = np.ones_like(table.score, dtype=bool), np.ones_like(table.score)
        guess = judge_calibrated(table.score, table.quality, labelled, one, folds(table.cluster))
        deployed = np.full(200, 2)
        for name, part in cell_estimates(deployed, table.quality, labelled, one, guess, table.cluster).items():
            if name != "direct":
                self.assertAlmostEqual(value(part), table.quality[:, 2].mean(), msg=name)

    def test_labels_have_the_share_that_they_say(self):
        table = draw(Law(), 20000, np.random.default_rng(4))
        for depends in (False, True):
            labelled, probability = label(table, np.random.default_rng(5), depends)
            self.assertAlmostEqual(labelled.mean(), probability.mean(), delta=0.01)


class Paths(unittest.TestCase):
    def test_a_path_of_one_step_is_a_router(self):
        log, q = RouterLogs.log, RouterLogs.predicted
        step = np.array([[2.0], [0.0], [0.0]])
        found = path_estimates(step, np.column_stack([q[:, 0], log.quality]), log.cluster)
        router = router_estimates(np.array([[1.0, 0]] * 3), log, log.quality, q)
        for name in ("ips", "snips", "dr"):
            self.assertAlmostEqual(value(found[name]), value(router[name]))

    def test_two_steps_by_hand(self):
        step, forecast = np.array([[2.0, 0.5], [0.0, 1.0]]), np.array([[0.5, 0.7, 1.0], [0.4, 9.0, 9.0]])
        found = path_estimates(step, forecast, np.arange(2))
        self.assertAlmostEqual(value(found["ips"]), 0.5)
        self.assertAlmostEqual(value(found["dr"]), (0.5 + 2 * 0.2 + 1 * 0.3 + 0.4) / 2)

    def test_a_full_table_walks_as_the_law_says(self):
        law, rng = Law(), np.random.default_rng(6)
        table = draw(law, 40000, rng)
        order, accept = (0, 1, 2), (0.7, 0.5, 0.0)
        walk = walk_cascade(order, accept, log_openings(table, np.ones(3), rng), table.score)
        quality, dollars, calls = cascade_truth(law, order, accept)
        rows = np.arange(40000)
        for found, truth in (
            (table.quality[rows, walk.deployed], quality),
            (walk.dollars[:, -1], dollars),
            (walk.calls[:, -1], calls),
        ):
            self.assertLess(abs(found.mean() - truth), 4 * found.std() / math.sqrt(40000))

    def test_what_was_not_opened_is_never_read(self):
        rng = np.random.default_rng(7)
        table = draw(Law(), 300, rng)
        log = log_openings(table, np.array([0.9, 0.5, 0.3]), rng)
        blind = Openings(
            **{
                **vars(log),
                "score": np.where(log.opened, log.score, 0.99),
                "cost": np.where(log.opened, log.cost, 77.0),
            }
        )
        a, b = (walk_cascade((0, 1, 2), (0.7, 0.5, 0.0), one, one.score) for one in (log, blind))
        np.testing.assert_array_equal(a.step.prod(axis=1), b.step.prod(axis=1))
        reached = a.step.prod(axis=1) > 0
        np.testing.assert_array_equal(a.dollars[reached], b.dollars[reached])


if __name__ == "__main__":
    unittest.main()
