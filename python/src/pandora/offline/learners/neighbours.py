"""The prompts nearest to another one by Euclidean distance, and means of the plans' results for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

_BLOCK = 128  # asked prompts whose distances to all others are in memory at once
_MEANS = 1024  # the same, for means
_TENS = np.array([float(f"1e{k}") for k in range(15)])


def five_digits(numbers: Array) -> Array:
    """Numbers of any shape, rounded to five significant digits, so that a file holds them exactly and is short."""
    size = np.abs(numbers)
    whole = (size < 1e5) & (size == np.floor(size))
    small = np.where(size < 1e4, size, 0.0)
    places = np.zeros(numbers.shape, np.intp)  # behind the point, of the fifth digit
    for ten in _TENS[:14]:
        places += small * ten < 1e4
    scaled = small * _TENS[places]
    rounded = np.rint(scaled)
    # Text decides where a product cannot tell how the sixth digit rounds.
    plain = (small >= 1e-9) & (np.abs(np.abs(scaled - rounded) - 0.5) > 1e-6) & (scaled > 10000.000001)
    out: Array = np.where(whole, numbers, np.copysign(rounded / _TENS[places], numbers))
    rest = ~(whole | plain)
    out[rest] = [float(f"{x:.5g}") for x in numbers[rest].tolist()]
    return out


def means_of_first(values: Array, near: Rows, counts: Sequence[int]) -> list[Array]:
    """For each of `counts`, ascending: (n, plans), the means of `values` (prompts, plans) over that many first of near.

    `near`: (n, k). Sums go in the order of `near`, in the same way for each plan, so that equal plans stay equal.
    """
    means = [np.empty((len(near), values.shape[1])) for _ in counts]
    for start in range(0, len(near), _MEANS):
        block = slice(start, start + _MEANS)
        sums = np.zeros((len(near[block]), values.shape[1]))
        one = np.empty_like(sums)
        for k, prompts in enumerate(np.ascontiguousarray(near[block, : counts[-1]].T), 1):
            np.take(values, prompts, axis=0, out=one, mode="clip")  # faster than with checks
            sums += one
            if k in counts:
                means[counts.index(k)][block] = sums / k
    return means


def nearest(prompts: Array, asked: Array, count: int) -> Rows:
    """(n, count): which of `prompts` (R, d) are nearest to each of `asked` (n, d), in the order of the prompts.

    Of equally near ones the first is taken. `count` is from 1 to R. The distance is the sum of the squared differences,
    feature by feature, in double precision.
    """
    if not len(asked) or count == len(prompts) or prompts.shape[1] == 0:  # without features all are as near
        return np.broadcast_to(np.arange(count), (len(asked), count))
    # Products of matrices, whose errors are bounded, tell which prompts are surely among the nearest and which are
    # surely not. The few others are compared one by one.
    asked, which = np.unique(asked, axis=0, return_inverse=True)  # few where features have few values
    centre = prompts.mean(axis=0)  # distances are the same without it, and errors less
    centred, own = prompts - centre, asked - centre
    squares = np.einsum("ij,ij->i", centred, centred)
    most = float(squares.max()) + np.einsum("ij,ij->i", own, own)
    dtype: Any = np.float32 if most.max() <= 1e30 else np.float64  # more than floats hold
    factors = np.vstack([-2.0 * centred.T, squares]).astype(dtype)
    own = np.column_stack([own, np.ones(len(own))]).astype(dtype)
    # The error of d + 1 products, whose sizes add up to at most twice the squares, with the roundings of their factors.
    error = 4.0 * (prompts.shape[1] + 9) * float(np.finfo(dtype).eps) * most + 1e8 * float(np.finfo(dtype).tiny)
    out, room = np.empty((len(asked), count), np.intp), np.empty((2, _BLOCK, len(prompts)), dtype)
    for start in range(0, len(asked), _BLOCK):
        block = slice(start, start + _BLOCK)
        away, ascending = room[:, : len(own[block])]
        np.matmul(own[block], factors, out=away)
        np.copyto(ascending, away)
        ascending.partition(count - 1, axis=1)
        last = ascending[:, count - 1]
        taken = away < (last - error[block]).astype(dtype)[:, None]
        unsure = taken != (away <= (last + error[block]).astype(dtype)[:, None])
        _take(taken, np.flatnonzero(unsure), prompts, asked[block], count)
        out[block] = np.flatnonzero(taken).reshape(-1, count) - len(prompts) * np.arange(len(taken))[:, None]
    return out[which.reshape(-1)]


def _take(taken: npt.NDArray[np.bool_], unsure: Rows, prompts: Array, asked: Array, count: int) -> None:
    """Completes `taken` (asked, prompts) by the nearest of the unsure cells, the first of equally near ones."""
    row, prompt = np.divmod(unsure, len(prompts))
    away = np.zeros(len(unsure))
    for own, feature in zip(asked.T, prompts.T):
        away += (feature[prompt] - own[row]) ** 2
    order = np.lexsort((prompt, away, row))
    rank = np.arange(len(row)) - np.searchsorted(row, row)  # among those of the same asked prompt
    wanted = rank < (count - np.count_nonzero(taken, axis=1))[row]
    taken.reshape(-1)[unsure[order[wanted]]] = True


def nearest_others(prompts: Array, asked: Rows, count: int) -> Rows:
    """(n, count): to each of the prompts with the numbers `asked` (n) the nearest others, the nearest first.

    `count` is at least 1 and less than the number of prompts; of equally near ones the first comes first.
    """
    near = nearest(prompts, prompts[asked], count + 1)
    away = np.zeros(near.shape)
    for feature in prompts.T:
        away += (feature[near] - feature[asked, None]) ** 2
    near = np.take_along_axis(near, np.argsort(away, axis=1, kind="stable"), axis=1)
    itself = near == asked[:, None]
    place = np.where(itself.any(axis=1), np.argmax(itself, axis=1), count)  # count: too many are as near
    return np.where(np.arange(count) < place[:, None], near[:, :-1], near[:, 1:])
