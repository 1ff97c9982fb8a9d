#!/usr/bin/env python3
"""Compares how many published numbers are inside the interval with how many would be if sets of our own replications
had been published.

usage: python3 experiments/verdict FOLDER --part counts --format csv | own-sets.py       CSV, a row for each count
"""

import csv
import statistics
import sys

counts: dict[str, dict[str, tuple[float, float]]] = {}
for row in csv.DictReader(sys.stdin):
    name = f"{row['of']} {row['numbers']}" + (", adjusted" if row["adjusted"] == "1" else "")
    if row["inside_joint_95"]:
        counts.setdefault(name, {})[row["published"]] = float(row["inside_joint_95"]), float(row["rms_z"])
print("numbers,inside,own_sets,mean_inside_of_sets,least,greatest,rms_z,mean_rms_z_of_sets")
for name, of in counts.items():
    inside, rms = of.pop("paper")
    sets = [count for count, _ in of.values()]
    means = [statistics.fmean(sets), min(sets), max(sets)] if sets else ["", "", ""]
    rms_of_sets = statistics.fmean(z for _, z in of.values()) if sets else ""
    print(f'"{name}"', inside, len(sets), *means, rms, rms_of_sets, sep=",")
