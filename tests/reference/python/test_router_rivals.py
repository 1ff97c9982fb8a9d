import itertools
import unittest

import numpy as np
from laws import Law, draw
from router_rivals import (
    Cascade,
    Table,
    best_at,
    fit_cascade,
    hashed_words,
    neighbours_choice,
    rivals,
    run_cascade,
    threshold_grid,
    told,
    worth_of_scores,
)


def made_up(seed, prompts):
    rng = np.random.default_rng(seed)
    table = draw(Law(), prompts, rng)
    return Table(table.quality, table.cost, table.score, (table.kind + 0.3 * rng.standard_normal(prompts))[:, None])


class Rivals(unittest.TestCase):
    def test_a_cascade_by_hand(self):
        table = Table(
            np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.4]]),
            np.array([[1.0, 5.0]] * 3),
            np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.3]]),
            np.zeros((3, 1)),
        )
        quality, dollars, calls = run_cascade(Cascade((0, 1), (0.5, 0.0)), table, table.score, 0.25)
        np.testing.assert_allclose(quality, [1.0, 1.0, 0.2])  # if scores are equal, the earlier answer
        np.testing.assert_allclose(dollars, [1.25, 6.5, 6.5])
        np.testing.assert_allclose(calls, [1, 2, 2])
        self.assertAlmostEqual(run_cascade(Cascade((0,), (0.0,)), table, table.score, 0.25)[1].sum(), 3.0)

    def test_brute_force_is_the_best_of_its_grid(self):
        table, price, judge = made_up(1, 150), 20.0, 0.0002
        found, worth = fit_cascade(table, price, judge, most=4), worth_of_scores(table, table)
        grids = [threshold_grid(worth[:, m], 4) for m in range(3)]
        values = {}
        for length in (1, 2, 3):
            for order in itertools.permutations(range(3), length):
                for bounds in itertools.product(*(grids[m] for m in order[:-1])):
                    quality, dollars, _ = run_cascade(Cascade(order, (*bounds, 0.0)), table, worth, judge)
                    values[order, bounds] = float((quality - price * dollars).mean())
        quality, dollars, _ = run_cascade(found, table, worth, judge)
        self.assertAlmostEqual(float((quality - price * dollars).mean()), max(values.values()), places=12)

    def test_all_beat_the_single_model_where_they_should(self):
        fit, test = made_up(2, 2000), made_up(3, 4000)
        found = {one.name: one for one in rivals(fit, test, price=20.0)}
        for name in ("cascade", "ridge", "logistic", "neighbours"):
            difference = found[name].utilities - found["single"].utilities
            self.assertGreater(difference.mean(), -3 * difference.std() / len(difference) ** 0.5, name)
        self.assertGreater(found["cascade"].calls, 1.0)
        dear = {one.name: one for one in rivals(fit, test, price=20.0, judge_usd=1.0)}
        self.assertEqual(dear["cascade"].calls, 1.0)
        self.assertAlmostEqual(dear["cascade"].utility, dear["single"].utility)

    def test_neighbours_of_equal_prompts_know_the_answer(self):
        context = np.repeat(np.eye(2), 200, axis=0)
        quality = context.copy()
        table = Table(quality, np.zeros((400, 2)), quality, context)
        np.testing.assert_array_equal(neighbours_choice(table, table, 0.0), np.repeat([0, 1], 200))

    def test_hashed_words(self):
        a = hashed_words(["What is two", "two what IS", ""])
        np.testing.assert_allclose(a[0], a[1])
        self.assertAlmostEqual(np.linalg.norm(a[0]), 1.0)
        self.assertEqual(np.abs(a[2]).sum(), 0.0)

    def test_quality_at_a_budget_is_a_mixture(self):
        ones = np.ones(2)
        points = [told("a", 0.5 * ones, 0.001 * ones, ones, 0.0), told("b", 0.9 * ones, 0.003 * ones, ones, 0.0)]
        self.assertAlmostEqual(best_at(2.0, points).mean(), 0.7)
        self.assertAlmostEqual(best_at(9.0, points).mean(), 0.9)
        self.assertTrue(np.isnan(best_at(0.5, points)).all())


if __name__ == "__main__":
    unittest.main()
