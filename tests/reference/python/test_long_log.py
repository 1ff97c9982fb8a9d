import unittest

import numpy as np
from laws import Law, cascade_truth, draw, log_openings
from long_log import estimate, openings_of
from off_policy import Refused

NAMES = ("small", "middle", "large")
ACCEPT = (0.7, 0.5, 0.0)


def rows_of(prompts, seed, label_share=1.0, requests=(1, 2)):
    rng = np.random.default_rng(seed)
    table = draw(Law(requests=requests), prompts, rng)
    log = log_openings(table, np.array([0.9, 0.6, 0.5]), rng, label_share)
    rows = []
    for at, prompt in enumerate(log.cluster):
        for model in np.flatnonzero(log.opened[at]):
            rows.append(
                {
                    "prompt_id": f"p{prompt}",
                    "decision": at,
                    "model": NAMES[model],
                    "cost": log.cost[at, model],
                    "score": log.score[at, model],
                    "propensity": log.probability[at, model],
                    "quality": log.quality[at, model] if log.labelled[at, model] else None,
                    "label_propensity": label_share,
                }
            )
    return rows


class LongLogs(unittest.TestCase):
    def test_the_law_lies_within(self):
        truth = cascade_truth(Law(), (0, 1, 2), ACCEPT)
        found = estimate(openings_of(rows_of(4000, 1, 0.5), NAMES, independent=True), ACCEPT, 20.0)
        for name in ("ips", "snips", "dr"):
            for key, value in (
                ("quality", truth[0]),
                ("usd_per_1000", 1000 * truth[1]),
                ("calls", truth[2]),
                ("utility", truth[0] - 20 * truth[1]),
            ):
                one = found[name][key]
                self.assertTrue(one["low"] - 0.5 * abs(one["low"] - one["value"]) <= value, (name, key))
                self.assertTrue(one["high"] + 0.5 * abs(one["high"] - one["value"]) >= value, (name, key))
        self.assertAlmostEqual(found["support"]["mean"], 1.0, delta=5 * found["support"]["mean_error"])

    def test_a_call_out_of_place_is_no_call_of_the_cascade(self):
        call = {"cost": 1.0, "score": 0.5, "propensity": 0.5, "quality": 1.0}
        rows = [{**call, "prompt_id": "a", "model": "middle"}, {**call, "prompt_id": "a", "model": "small"}]
        self.assertFalse(openings_of(rows, NAMES).opened.any())
        np.testing.assert_array_equal(openings_of(rows, NAMES, independent=True).opened, [[True, True, False]])
        np.testing.assert_array_equal(openings_of(rows[::-1], NAMES).opened, [[True, True, False]])

    def test_refusals(self):
        call = {"prompt_id": "a", "model": "small", "cost": 1.0, "score": 0.5, "propensity": 0.5, "quality": 1.0}
        with self.assertRaisesRegex(Refused, "label_propensity"):
            openings_of([{**call, "quality": None}], NAMES)
        with self.assertRaisesRegex(Refused, "propensities"):
            openings_of([{**call, "propensity": 0.0}], NAMES)


if __name__ == "__main__":
    unittest.main()
