"""Learners on prompts and on judges' scores: predictors of routers, and calibrations by isotonic regression."""
