# %% [markdown]
# # pandora from Python
#
# A decision-maker sees a request, opens boxes (LLM APIs) one after another at a cost, deploys one output and learns
# from its reward. This tutorial simulates policies for that, looks at what they do, and adds one. It is a script in
# percent cells, which Jupyter and editors open as a notebook; `python tutorial.py FOLDER` runs it and leaves its
# figures there.

# %%
from __future__ import annotations

import pathlib
import sys
from collections.abc import Sequence
from typing import Optional

import numpy as np

import pandora

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "results/tutorial")

# %% [markdown]
# ## A study
# A study is a dict with the keys of a study's file; what is left out is as in the paper (`pandora.study_keys()` lists
# all). The second call goes on with the folder: it has nothing left to do.

# %%
study = {
    "title": "A first study",
    "replications": 8,
    "periods": 1000,
    "T0": [0, 10],
    "environments": ["uniform"],
    "regimes": ["B"],
    "policies": ["online_plugin", "dow", "linucb_online"],
    "oracle": {"samples": 20000, "order_contexts": 200},
}
results = pandora.run(study, out=folder)
results = pandora.run(study, out=folder)
print(results)

# %% [markdown]
# ## Numbers
# `summary` has the columns of summary.csv, `best` the rows with the best hyperparameters. Regrets are time-averaged,
# x 1000.

# %%
best = results.best(T0=0)
for row in best.rows():
    print(f"{row['policy']:14} {row['reward']:8} {row['regret_x1000']:6.2f} ± {row['half_width_95_x1000']:.2f}")

# %% [markdown]
# Every replication is there: NaN where a lane was not run, or failed.

# %%
regret = results.regret("dow", reward="known", T0=0)
assert regret.shape == (8,)
print(regret.round(2), "mean", regret.mean().round(2))

# %% [markdown]
# Policies share their draws within a replication, so differences are known better than regrets.

# %%
paired = results.compare("dow/known", "online_plugin/known")
print(paired.only(["T0", "regret_a_x1000", "regret_b_x1000", "difference_x1000", "half_width_95_x1000", "p_holm"]))

# %% [markdown]
# ## A single decision
# The lane is run again, alone, and period 700 is taken apart.

# %%
period = results.lane(policy="dow/known", T0=0, replication=3).explain(700)["periods"][0]
for box in period["boxes"]:
    print(f"box {box['box']}: index {box['score']:.3f}, the oracle's {box['sigma']:.3f}")
print("deployed box", period["policy"]["deployed"], "because", period["policy"]["stopped"])

# %% [markdown]
# ## A figure
# The figures of a report as matplotlib draws them, in the report's colours.

# %%
try:
    import matplotlib
except ImportError:
    print("matplotlib is not installed: no figures")
else:
    if __name__ == "__main__":
        matplotlib.use("agg")
    results.plot("curves", known=True).savefig(folder / "regret.png")
    results.plot("quality-cost").savefig(folder / "quality-cost.png")

# %% [markdown]
# ## A policy of your own
# DOW opens a box for its optimistic index. This one lets the optimism fade as a box is opened more often. It learns
# with the estimates of the built-in policies; everything else (folders, resuming, comparing, explaining) works as for
# those.


# %%
class FadingBonus(pandora.IndexPolicy):
    """DOW with the bonus fade / (1 + n_a / 20)."""

    hyperparameters = {"fade": [0.1, 1.0]}  # noqa: RUF012

    def __init__(self, lane: pandora.LaneSetup, fade: float) -> None:
        super().__init__(lane)
        self.fade = fade
        self.estimator = pandora.WeitzmanEstimator(lane, c_rho=1.0)  # a bonus there is: it keeps V^-1

    def calibrate(self, request: pandora.Request, output: pandora.Output, reward: Optional[float]) -> None:
        self.estimator.calibrate(request, output, reward)

    def prepare(self, request: pandora.Request) -> None:
        self.estimator.begin(request)

    def score(self, box: int) -> float:
        return self.estimator.index(box, bonus=self.fade / (1 + self.estimator.samples(box) / 20))

    def learn_from(self, opened: Sequence[pandora.Output], deployed: int, reward: float) -> None:
        self.estimator.learn(list(opened), deployed, reward)


results = pandora.run(study, out=folder, policies=[FadingBonus])
print(results.compare("FadingBonus", "dow/known", T0=0).only(["difference_x1000", "half_width_95_x1000"]))

# %% [markdown]
# ## The oracle
# A box is worth its reservation index: the more it costs, the less.

# %%
costs = np.array([0.05, 0.1, 0.2])
print(pandora.oracle_index(ell=0.0, scale=1.0, cost=costs, environment="uniform", samples=20000).round(3))
grid = pandora.OracleGrid(results, "uniform", "B")
print(grid.sigma(grid.contexts(3)).round(3))
