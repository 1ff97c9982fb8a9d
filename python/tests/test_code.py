"""Results depend on the code that made them and on all that it can reach. Changes without effect are not refused."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys
from typing import Any

import pytest

import pandora

STUDY: dict[str, Any] = {
    "replications": 1,
    "periods": 3,
    "T0": [0],
    "environments": ["uniform"],
    "regimes": ["A"],
    "policies": ["query_all"],
    "oracle": {"samples": 1000, "grid": [2, 2, 2]},
    "output": {"order": False, "hdf5": False},
}

HEAD = """
import collections, dataclasses, decimal, enum, functools, operator, re, sys
import numpy as np
import pandora
"""

POLICY = """
class Mine(pandora.Policy):
    \"\"\"Opens box 0.\"\"\"
    opens = 0

    def begin(self, request):
        self.is_open = False

    def next(self):
        used(self)
        return None if self.is_open else self.opens

    def opened(self, output):
        self.is_open = True

    def deploy(self):
        return self.opens
"""


def script(*lines: str, policy: str = "", base: str = "pandora.Policy") -> str:
    """A script with these lines and a policy that calls used(policy). `policy` is one more line of its class."""
    return "\n".join(lines) + POLICY.replace("pandora.Policy", base) + f"    {policy}\n"


def value(*lines: str) -> str:
    """A script that uses VALUE."""
    return script(*lines, "def used(policy): return VALUE")


def inside(definition: str) -> str:
    """A script that uses `extra`, which its class defines."""
    return script("def used(policy): return policy.extra", policy=definition)


#: Each case has a name, the script with {} at the place of the change, and the texts before and after.
CHANGES = [
    *(
        (kind, value("VALUE = {}"), before, after)
        for kind, before, after in (
            ("a number", "1", "2"),
            ("the type of a number", "1", "1.0"),
            ("a text", "'a'", "'b'"),
            ("a tuple", "(1, 2)", "(1, 3)"),
            ("a list", "[1, [2]]", "[1, [3]]"),
            ("a dict", "{'a': 1}", "{'a': 2}"),
            ("a set", "{'a', 'b'}", "{'a', 'c'}"),
            ("a frozenset", "frozenset('ab')", "frozenset('ac')"),
            ("a range", "range(3)", "range(4)"),
            ("an array", "np.array([1.0, 2.0])", "np.array([1.0, 3.0])"),
            ("the dtype of an array", "np.array([1, 2])", "np.array([1.0, 2.0])"),
            ("the shape of an array", "np.zeros((2, 3))", "np.zeros((3, 2))"),
            ("an array of objects", "np.array(['a', None])", "np.array(['b', None])"),
            ("a masked array", "np.ma.masked_less([1, 2], 2)", "np.ma.masked_less([1, 2], 1)"),
            ("a number of numpy", "np.float32(1)", "np.float64(1)"),
            ("a function of numpy", "np.argmax", "np.argmin"),
            ("a ufunc", "np.add", "np.subtract"),
            ("random numbers", "np.random.default_rng(1)", "np.random.default_rng(2)"),
            ("a partial", "functools.partial(max, 1)", "functools.partial(max, 2)"),
            ("the function of a partial", "functools.partial(max, 1)", "functools.partial(min, 1)"),
            ("a lambda", "lambda x: x + 1", "lambda x: x + 2"),
            ("a cached function", "functools.lru_cache(lambda: 1)", "functools.lru_cache(lambda: 2)"),
            ("a pattern", "re.compile('a')", "re.compile('b')"),
            ("an object that is called", "operator.itemgetter(1)", "operator.itemgetter(2)"),
            ("a named tuple", "collections.namedtuple('P', 'x')(1)", "collections.namedtuple('P', 'x')(2)"),
            ("a decimal", "decimal.Decimal(1)", "decimal.Decimal(2)"),
        )
    ),
    ("an object", value("class C:", "    def __init__(self, x): self.x = x", "VALUE = C({})"), "1", "2"),
    ("slots", value("class C: __slots__ = ('x',)", "VALUE = C()", "VALUE.x = {}"), "1", "2"),
    ("a bound method", value("class C:", "    def f(self): pass", "c = C()", "c.x, VALUE = {}, c.f"), "1", "2"),
    ("the class of an object", value("class C:", "    x = {}", "VALUE = C()"), "1", "2"),
    ("a dataclass", value("@dataclasses.dataclass", "class C:", "    x: int = 0", "VALUE = C({})"), "1", "2"),
    ("a default of one", value("@dataclasses.dataclass", "class C:", "    x: int = {}", "VALUE = C"), "1", "2"),
    ("an enum", value("class E(enum.Enum):", "    A = {}", "VALUE = E.A"), "1", "2"),
    ("a list that holds itself", value("VALUE = [{}]", "VALUE.append(VALUE)"), "1", "2"),
    ("a helper", script("def used(policy): return {}"), "1", "2"),
    ("a helper of a helper", script("def f(): return {}", "def used(policy): return f()"), "1", "2"),
    (
        "helpers that call each other",
        script("def f(): return used(1)", "def used(policy): return policy or f() or {}"),
        "1",
        "2",
    ),
    (
        "a decorator",
        script("def deco(n): return lambda f: functools.wraps(f)(lambda *a: n)", "@deco({})", "def used(policy): pass"),
        "1",
        "2",
    ),
    ("the name of an argument", script("def used(policy): return dict({}=1)"), "a", "b"),
    ("a closure", script("def make(k): return lambda policy: k", "used = make({})"), "1", "2"),
    ("a default value", script("def used(policy, k={}): return k"), "1", "2"),
    ("a keyword's default", script("def used(policy, *, k={}): return k"), "1", "2"),
    ("an attribute of a function", script("def used(policy): return used.k", "used.k = [{}]"), "1", "2"),
    ("an attribute of the class", inside("extra = {}"), "1", "2"),
    ("an array of the class", inside("extra = np.array([{}])"), "1", "2"),
    ("a property", inside("extra = property(lambda self: {})"), "1", "2"),
    ("a static method", inside("extra = staticmethod(lambda: {})"), "1", "2"),
    ("a class inside", inside("class extra: x = {}"), "1", "2"),
    (
        "a base class",
        script("class Base(pandora.Policy): extra = {}", "def used(policy): pass", base="Base"),
        "1",
        "2",
    ),
]

#: Cases with a module beside the script: how the script uses it, and the module before and after.
BESIDE = [
    ("a value", script("import beside", "def used(policy): return beside.RATE"), "RATE = 1", "RATE = 2"),
    (
        "a function",
        script("from beside import f", "def used(policy): return f()"),
        "def f(): return 1",
        "def f(): return 2",
    ),
    (
        "a value of a function",
        script("from beside import f", "def used(policy): return f()"),
        "K = [1]\ndef f(): return K",
        "K = [2]\ndef f(): return K",
    ),
    (
        "imported in a function",
        script("def used(policy):", "    import beside", "    return beside.RATE"),
        "RATE = 1",
        "RATE = 2",
    ),
]

PLAIN = value("VALUE = 1")
SAME = [
    ("an unrelated global", PLAIN, "other = 3\n" + PLAIN),
    ("a global with the name of an attribute", PLAIN, "opens = is_open = 3\n" + PLAIN),
    ("a comment", PLAIN, "# said\n\n" + PLAIN.replace("return VALUE", "return VALUE  # so")),
    ("a docstring", PLAIN, PLAIN.replace("Opens box 0.", "It opens box 0.")),
    ("a docstring of a method", PLAIN, PLAIN.replace("used(self)\n", "'it'\n        used(self)\n")),
    ("other lines", PLAIN, PLAIN.replace("self.is_open else", "(\n            self.is_open\n        ) else")),
    ("annotations", PLAIN, PLAIN.replace("def deploy(self):", "def deploy(self) -> int:")),
    ("a function that nothing uses", PLAIN, "def other(): return 1\n" + PLAIN),
    ("the order of methods", inside("extra = 1"), inside("").replace("opens = 0", "extra = 1\n    opens = 0")),
    ("the order of a set", value("VALUE = {'a', 'b', 'c'}"), value("VALUE = {'c', 'b', 'a'}")),
    (
        "the order in which attributes are set",
        value("class C: pass", "VALUE = C()", "VALUE.a = VALUE.b = 1"),
        value("class C: pass", "VALUE = C()", "VALUE.b = VALUE.a = 1"),
    ),
    (
        "more values of a hyperparameter",
        inside("extra, hyperparameters = 1, {'a': [1]}"),
        inside("extra, hyperparameters = 1, {'a': [1, 2]}"),
    ),
    ("the title in tables", inside("extra, title = 1, 'Mine'"), inside("extra, title = 1, 'My own'")),
    ("an unrelated value in a module beside it", BESIDE[0][1], BESIDE[0][1]),
    (
        "what is named in not_in_digest",
        script("LOG = [1]", "def used(policy): LOG", policy="not_in_digest = ('LOG',)"),
        script("LOG = sys.__stderr__", "def used(policy): LOG", policy="not_in_digest = ('LOG',)"),
    ),
]


def loaded(source: str, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, beside: str = "RATE = 1") -> Any:
    """The class of a script with a module beside it. Both are read anew from files."""
    folder.mkdir(parents=True)
    (folder / "beside.py").write_text(beside)
    (folder / "script.py").write_text(HEAD + source)
    monkeypatch.syspath_prepend(folder)
    for name in ("beside", "script"):
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
    return module.Mine


#: Of each change the scripts and the modules beside them, before and after.
CHANGED = [
    *((kind, *(source.replace("{}", text, 1) for text in texts), "RATE = 1", "RATE = 1")
      for kind, source, *texts in CHANGES),
    *((f"{kind} of a module", source, source, *modules) for kind, source, *modules in BESIDE),
]  # fmt: skip


def run_twice(scripts: list[str], modules: list[str], folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a study with the first script, and more of it with the second one, which stands elsewhere."""
    first = loaded(scripts[0], folder / "before", monkeypatch, modules[0])
    assert len(pandora.run(STUDY, out=folder / "r", policies=[first], progress=False).failures) == 0
    second = loaded(scripts[1], folder / "elsewhere" / "after", monkeypatch, modules[1])
    pandora.run({**STUDY, "replications": 2}, out=folder / "r", policies=[second], progress=False)


@pytest.mark.parametrize("case", CHANGED, ids=lambda case: case[0])
def test_what_code_can_reach_is_refused_where_it_has_changed(
    case: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, *scripts, before, after = case
    with pytest.raises(pandora.MismatchError, match=r"build\.policy\.Mine"):
        run_twice(scripts, [before, after], tmp_path, monkeypatch)


@pytest.mark.parametrize(("kind", "before", "after"), SAME, ids=[change[0] for change in SAME])
def test_what_has_no_meaning_refuses_nothing(
    kind: str, before: str, after: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_twice([before, after], ["RATE = 1", "RATE = 1\nOTHER = 2"], tmp_path, monkeypatch)


def test_a_renamed_script_in_another_folder_and_process_goes_on(tmp_path: pathlib.Path) -> None:
    source = HEAD + script("NAMES = {'a', 'b', 'c', ('d', len)}", "def used(policy): return NAMES, __file__")
    source += "import sys\npandora.run(" + repr(STUDY) + ", out=sys.argv[1], policies=[Mine], progress=False)\n"
    for seed, (folder, name) in enumerate((("here", "first.py"), ("there", "second.py"))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(source)
        environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": str(seed + 1)}
        done = subprocess.run(
            [sys.executable, name, str(tmp_path / "r")], cwd=tmp_path / folder, env=environment, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            value("VALUE = sys.__stderr__"),
            r"policy Mine: global VALUE \(in global used, in method next\) is an open file",
        ),
        (value("VALUE = {'log': [sys.__stderr__]}"), r"item 0 \(in item log, in global VALUE, in global used"),
        (value("import threading", "VALUE = threading.Lock()"), r"VALUE .* is a _thread.lock, which has no value"),
        (value("VALUE = (x for x in [1])"), "VALUE .* is a builtins.generator"),
        (value("VALUE = np.frompyfunc(len, 1, 1)"), "VALUE .* is a numpy.ufunc"),
        (value("VALUE = pandora._core.StudyConfig()"), "VALUE .* is a pandora._core.StudyConfig"),
        (inside("extra = sys.__stderr__"), "policy Mine: attribute extra is an open file.*not_in_digest"),
        (script("def make(log): return lambda policy: log", "used = make(sys.__stderr__)"), "closure variable log"),
        (script("import beside", "def used(policy): return beside.LOG"), r"global beside.LOG \(in global used"),
    ],
)
def test_what_has_no_digest_is_refused_by_name(
    source: str, said: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = loaded(source, tmp_path / "own", monkeypatch, "import sys\nLOG = sys.__stderr__")
    with pytest.raises(pandora.UsageError, match=said):
        pandora.run(STUDY, out=tmp_path / "r", policies=[own], progress=False)
    assert not (tmp_path / "r").exists()


def test_environments_are_known_by_all_that_they_hold(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
class Mine(pandora.Environment):
    stream = 140
    def __init__(self, held): self.held = held
    def draw(self, request): return request.model()
"""
    own = loaded(source, tmp_path / "own", monkeypatch)
    study = {key: value for key, value in STUDY.items() if key != "environments"}
    run: dict[str, Any] = {"out": tmp_path / "r", "progress": False}
    pandora.run(study, environments=[own([1, 2])], **run)
    with pytest.raises(pandora.MismatchError, match=r"build\.environment\.Mine"):
        pandora.run({**study, "replications": 2}, environments=[own([1, 3])], **run)
    with pytest.raises(pandora.UsageError, match="environment Mine: attribute held is an open file"):
        pandora.run(study, environments=[own(sys.__stderr__)], **run)
    pandora.run({**study, "replications": 2}, environments=[own([1, 2])], **run)
