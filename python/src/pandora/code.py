"""A digest of what a class does, because results depend on it as they do on the program."""

from __future__ import annotations

import graphlib
import hashlib
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any, Optional, Union

import numpy as np

from .code_names import PYTHON
from .code_objects import joined
from .code_parts import Bag, NoValue, Part, parts_of
from .errors import UsageError

#: what a node is made of: bytes, other nodes by their numbers, and bags of such
_Content = list[Union[bytes, int, list[Any]]]


class _Graph:
    """All values that can be reached from one value, each once; they may contain each other."""

    def __init__(self, what: str, root: Any, skip: Sequence[str]) -> None:
        self._what, self._skip = what, frozenset(skip)
        self._numbers: dict[int, int] = {}
        self._values: list[
            Any
        ] = []  # kept alive: a value's number is its address, which another value could otherwise get
        self._from: list[tuple[int, tuple[str, Any]]] = []
        self.contents: list[_Content] = []
        self._number(root, -1, ("", ""))
        while len(self.contents) < len(self._values):  # nearest first, so that messages have the shortest path
            at = len(self.contents)
            try:
                parts = parts_of(self._values[at], self._skip)
            except NoValue as problem:
                raise self._refusal(at, problem) from None
            self.contents.append([self._numbered(part, at) for part in parts])

    def _number(self, value: Any, holder: int, how: tuple[str, Any]) -> int:
        found = self._numbers.setdefault(id(value), len(self._values))
        if found == len(self._values):
            self._values.append(value)
            self._from.append((holder, how))
        return found

    def _numbered(self, part: Union[bytes, Part, Bag], holder: int) -> Union[bytes, int, list[Any]]:
        if isinstance(part, Part):
            return self._number(part.value, holder, part.how)
        if isinstance(part, Bag):
            return [[self._numbered(p, holder) for p in item] for item in part.items]
        return part

    def _refusal(self, at: int, problem: NoValue) -> UsageError:
        steps = []
        while at > 0:
            at, (kind, name) = self._from[at]
            steps.append(kind if name == "" else f"{kind} {name if isinstance(name, str) else reprlib.repr(name)}")
        steps = [step for step in steps if step not in ("", "state")] or ["it"]
        where = f"{steps[0]} ({', '.join('in ' + step for step in steps[1:])})" if len(steps) > 1 else steps[0]
        return UsageError(
            f"{self._what}: {where} is {problem}, so that results could not tell whether it has changed; make it where "
            "it is used, such as in __init__, or name it in not_in_digest where results do not depend on it"
        )


def _nodes(content: Sequence[Any]) -> Iterator[int]:
    """The nodes in a node's content."""
    for part in content:
        if isinstance(part, int):
            yield part
        elif isinstance(part, list):
            yield from _nodes(part)


def _label(content: Sequence[Any], labels: dict[int, bytes]) -> bytes:
    """The label of a node, given those of its parts; b"" if they are not known yet."""
    found: list[bytes] = []
    for part in content:
        if isinstance(part, int):
            found.append(b"@" + labels.get(part, b""))
        elif isinstance(part, list):
            found.append(b"{" + joined(sorted(_label(item, labels) for item in part)))
        else:
            found.append(b"=" + part)
    return hashlib.sha256(joined(found)).digest()


def _circles(contents: Sequence[_Content]) -> Iterator[list[int]]:
    """Groups of nodes that reach each other, each after all groups that it reaches."""
    from scipy.sparse import coo_matrix  # imported here because it takes a fifth of a second
    from scipy.sparse.csgraph import connected_components

    edges = [(at, part) for at, content in enumerate(contents) for part in _nodes(content)]
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    graph = coo_matrix((np.ones(len(edges)), (ends[0], ends[1])), shape=(len(contents), len(contents)))
    circle_of: list[int] = connected_components(graph, connection="strong")[1].tolist()
    circles: dict[int, list[int]] = {}
    for at, circle in enumerate(circle_of):
        circles.setdefault(circle, []).append(at)
    reached: dict[int, set[int]] = {circle: set() for circle in circles}
    for at, part in edges:
        reached[circle_of[at]].add(circle_of[part])
    order = graphlib.TopologicalSorter({circle: after - {circle} for circle, after in reached.items()})
    return map(circles.__getitem__, order.static_order())


def _digest(contents: Sequence[_Content]) -> bytes:
    """The digest of the first node. It does not depend on memory, on the order of sets, or on which equal values are
    one object.

    In a circle, labels are made from those of the round before until no more nodes can be distinguished. All that each
    node reaches is then in the labels of all.
    """
    labels: dict[int, bytes] = {}
    for circle in _circles(contents):
        if len(circle) == 1 and circle[0] not in _nodes(contents[circle[0]]):
            labels[circle[0]] = _label(contents[circle[0]], labels)
            continue
        kinds = [0]  # numbers of distinguishable kinds, by rounds
        while len(kinds) == 1 or kinds[-1] > kinds[-2]:
            found = {at: _label(contents[at], labels) for at in circle}
            labels.update(found)
            kinds.append(len(set(found.values())))
        whole = _label([b"%d" % (len(kinds) - 1), *sorted(set(found.values()))], labels)
        labels.update([(at, _label([label, whole], labels)) for at, label in found.items()])
    return labels[0]


def code_of(what: str, cls: type, instance: Optional[object] = None) -> str:
    """A digest of the class, and of an object of it: of everything that its methods can reach.

    docs/python.md lists what counts and what does not. Raises UsageError if no digest can be made of some value; `what`
    names the class in the message.
    """
    skip = getattr(cls, "not_in_digest", ())
    graph = _Graph(what, cls if instance is None else instance, skip)
    return hashlib.sha256(PYTHON.encode() + _digest(graph.contents)).hexdigest()[:16]
