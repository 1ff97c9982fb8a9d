"""What is learned of prompts and of judges' scores: routers' predictors, and calibrations by isotonic regression."""

from __future__ import annotations

from .estimators import EstimatorPredictor, EstimatorPredictors
from .isotonic import IsotonicMap, calibrated, calibrations
from .predictors import LinearPredictor, NeighboursPredictor, PlanPredictors, Predictor

__all__ = [
    "EstimatorPredictor",
    "EstimatorPredictors",
    "IsotonicMap",
    "LinearPredictor",
    "NeighboursPredictor",
    "PlanPredictors",
    "Predictor",
    "calibrated",
    "calibrations",
]
