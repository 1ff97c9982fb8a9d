"""What is learned of prompts and of judges' scores: routers' predictors, and calibrations by isotonic regression."""
