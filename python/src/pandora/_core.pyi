"""
The library behind the package; what is meant for users stands in pandora itself.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy
from numpy.typing import NDArray


build: str = ...

class StudyConfig:
    """A study as the program reads it."""

    def __init__(self) -> None:
        """The paper's study."""

    @staticmethod
    def parse(text: str, name: str) -> StudyConfig:
        """The study that a text in TOML is; `name` stands in errors."""

    @staticmethod
    def read(path: str) -> StudyConfig:
        """The study of a file."""

    @staticmethod
    def of(path: str) -> StudyConfig:
        """The study of a file or of a folder of results."""

    def copy(self) -> StudyConfig: ...

    def set(self, key: str, value: str, where: str) -> None:
        """Replaces the value of a key by one written as TOML."""

    def add_policies(self, names: Sequence[str]) -> None: ...

    def add_environments(self, names: Sequence[str], to_those_named: bool) -> None: ...

    def is_given(self, key: str) -> bool:
        """Whether the study says a value of its own."""

    def check(self) -> None: ...

    def toml(self) -> str:
        """The whole study as a file."""

def study_keys() -> list[tuple[str, str, str, str, str]]:
    """Name, type, unit, meaning and default of every key of a study."""

def lanes(study: StudyConfig, setting: str) -> list[tuple[str, str]]:
    """Name and setting of every lane."""

class Results:
    """A folder of results, finished or not."""

    def __init__(self, path: str) -> None: ...

    @property
    def path(self) -> str: ...

    @property
    def notes(self) -> list[str]:
        """What was found damaged, or is not known here."""

    @property
    def study(self) -> StudyConfig: ...

    @property
    def manifest(self) -> str:
        """As JSON."""

    def settings(self) -> list[dict[str, Any]]: ...

    def unfinished(self) -> str: ...

    def columns(self, file: str, of_rows: Sequence[int]) -> dict[str, Any]: ...

    def numbers_of_lanes(self, setting: int, environment: str, regime: str, lanes: Sequence[int], fields: Sequence[str]) -> dict[str, Any]: ...

    def titles(self) -> list[tuple[str, str, str]]:
        """Policy, reward and title in figures."""

    def tables(self) -> list[dict[str, Any]]: ...

    def overview(self, base: str) -> list[dict[str, Any]]: ...

    def compare(self, policies: Sequence[str], T0: Sequence[int], environments: Sequence[str], regimes: Sequence[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]: ...

    def compare_with(self, other: Results, policies: Sequence[str], T0: Sequence[int], environments: Sequence[str], regimes: Sequence[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]: ...

def benchmark_note(environment: Sequence[str], regime: Sequence[str], policy: Sequence[str], mean: Sequence[float], half_width_95: Sequence[float], replications: Sequence[float]) -> str:
    """What stands below a table with negative regrets."""

def figures(results: Results, T0: int | None, differences: bool) -> str:
    """
    The figures of a report, with or without the paired differences: JSON of what they show and under which heading.
    """

def run(*, study: StudyConfig, out: str, mode: str, study_file: str, shard: str, oracle_cache: str, backend: str, devices: str, threads: int, command: str, on_progress: object | None, on_message: object | None) -> dict[str, Any]:
    """Runs what a folder lacks of a study."""

def tune(study: StudyConfig, budget: int, threads: int, backend: str, devices: str, on_progress: object | None) -> dict[str, Any]: ...

def calibrate(study: StudyConfig, boxes: float, replications: int, contexts: int, threads: int, on_progress: object | None) -> dict[str, Any]: ...

def progress_line(done: int, total: int, seconds: float, width: int, what: str = 'lanes') -> str:
    """The line of the program's progress bar."""

def best_lane(path: str, setting: str, policy: str, T0: int | None, environment: str, regime: str, replication: int) -> str:
    """The lane with a policy's best hyperparameters."""

def explain(study: StudyConfig, setting: str, lane: str, first: int, last: int) -> str:
    """Periods of a lane taken apart, as JSON."""

def replay(study: StudyConfig, setting: str, lane: str) -> str:
    """A lane run alone: its sums, regret and curve as text."""

def oracle_index(study: StudyConfig, shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...

class Grid:
    """The oracle of one replication."""

    def __init__(self, study: StudyConfig, environment: str, regime: str, replication: int) -> None: ...

    @property
    def boxes(self) -> int: ...

    @property
    def context(self) -> int: ...

    @property
    def environment(self) -> str: ...

    @property
    def regime(self) -> str: ...

    @property
    def replication(self) -> int: ...

    def instance(self) -> dict[str, Any]: ...

    def contexts(self, periods: int) -> NDArray[numpy.float64]: ...

    def sigma(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

class Request:
    """A request: what is known before anything is queried."""

    @property
    def period(self) -> int:
        """1..T; 1..T0 while calibrating, 0 for x_0"""

    @property
    def psi(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), writable=False)]:
        """psi(x_t), m numbers, psi[0] = 1"""

    @property
    def sigma(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
        """
        the oracle's indices; NaN unless the policy is a yardstick, empty while calibrating
        """

class Output:
    """What opening a box reveals."""

    @property
    def box(self) -> int:
        """0..A-1"""

    @property
    def phi(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), writable=False)]:
        """phi(x_t, omega_ta), d numbers"""

    @property
    def cost(self) -> float:
        """c_a(x_t, omega_ta)"""

    @property
    def mu(self) -> float:
        """mu*(x_t, omega_ta); NaN unless the lane's reward is known"""

class LaneSetup:
    """What a policy is made for: one lane of a study."""

    @property
    def boxes(self) -> int:
        """A"""

    @property
    def index_features(self) -> int:
        """m, the length of psi(x)"""

    @property
    def reward_features(self) -> int:
        """d, the length of phi"""

    @property
    def periods(self) -> int:
        """T"""

    @property
    def T0(self) -> int:
        """calibration periods"""

    @property
    def reward(self) -> str:
        """known, unknown or none: whether outputs show mu"""

    @property
    def hyperparameter(self) -> str:
        """the values of the hyperparameters, as the lane's name has them"""

    @property
    def environment(self) -> str: ...

    @property
    def regime(self) -> str: ...

    @property
    def replication(self) -> int: ...

    @property
    def random_words(self) -> list[int]:
        """
        Four words for the seed of a policy's own draws: those of the replication, the same for all its lanes.
        """

class WeitzmanEstimator:
    """
    What the built-in policies learn with: rho_hat, V^-1 and theta_hat, Phi^-1 with their widths.

    Make one in the policy's __init__ from the lane that it gets. In a period: begin, any questions, then
    learn; before the first, calibrate for every calibration period. A policy that asks what a built-in one
    asks has its numbers in every digit (engine.kind = "reference").
    """

    def __init__(self, lane: LaneSetup, *, reward: str | None = None, learning: str = 'online', c_rho: float = 0.0, c_theta: float = 0.0, c_b: float = 0.0, score: str = 'index', loss: str = 'reservation', fit: str = 'separate', bonus: str = 'constant', thompson: bool = False, forced: int = 0) -> None: ...

    def calibrate(self, request: Request, output: Output, reward: float | None) -> None:
        """A calibration period, as Policy.calibrate is told of it."""

    def begin(self, request: Request) -> None:
        """A period begins."""

    def linear(self, box: int) -> float:
        """rho_hat_a' psi(x_t); with score="payoff" eta_hat_a' psi."""

    def width(self, box: int) -> float:
        """||psi(x_t)||_{V_a^-1}; 0 without a bonus."""

    def bonus(self, box: int) -> float:
        """What the rules put on the width: c_rho (or c_b) times its schedule."""

    def index(self, box: int, bonus: float | None = None) -> float:
        """
        Lambda(linear + bonus * width), the optimistic index; `bonus` in place of the rules' own.
        """

    def reward(self, output: Output) -> float:
        """
        mu of an opened output: mu*, or G(theta_hat' phi + c_theta ||phi||_{Phi^-1}).
        """

    def reward_width(self, phi: Sequence[float]) -> float:
        """||phi||_{Phi^-1}"""

    def samples(self, box: int) -> int:
        """n_a, outputs of the box that were learned from."""

    def rho(self, box: int) -> NDArray[numpy.float64]:
        """rho_hat_a, m numbers."""

    def theta(self) -> NDArray[numpy.float64]:
        """theta_hat, d numbers; none where mu* is known."""

    def learn(self, opened: Sequence[Output], deployed: int, reward: float) -> None:
        """
        Ends the period: the outputs that were opened, in order, of which that of box `deployed` brought `reward`.
        """

def register_policy(*, type: object, name: str, title: str, summary: str, code: str, rewards: Sequence[str], hyperparameters: Sequence[tuple[str, str, Sequence[float]]], needs_calibration: bool, uses_calibration: bool, yardstick: bool) -> None: ...

def policies() -> list[tuple[str, str, str, bool]]:
    """
    Name, title, summary and whether it runs only where a study names it, of every policy.
    """

def code_of_policy(name: str) -> str: ...

class ReplicationRequest:
    """The replication that an environment is to draw."""

    def __init__(self, arg: ReplicationRequest, /) -> None: ...

    @property
    def boxes(self) -> int:
        """A"""

    @property
    def context(self) -> int:
        """d_x"""

    @property
    def index_features(self) -> int:
        """m"""

    @property
    def reward_features(self) -> int:
        """d"""

    @property
    def regime(self) -> str:
        """A or B"""

    @property
    def replication(self) -> int:
        """from 0"""

    @property
    def seed(self) -> int:
        """of the study"""

    @property
    def stream(self) -> int:
        """of the environment"""

    @property
    def u(self) -> float:
        """the upper bound of c0 and c1, in the unit of mu"""

    @property
    def calibration_periods(self) -> int:
        """C, the largest T0 of the study"""

    @property
    def periods(self) -> int:
        """T"""

    @property
    def rows(self) -> int:
        """1 + C + T: x_0, the calibration periods, the online periods"""

    @property
    def theta(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]:
        """theta_* of the model: theta_*; d"""

    @property
    def D(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]:
        """D of the model: D of phi = Q x + D omega; d x d_w"""

    @property
    def Q(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]:
        """
        Q of the model: Q, zero in regime A; of box after box where each has its own; d x d_x
        """

    @property
    def alpha(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]:
        """alpha of the model: alpha_a of the scales, zero in regime A; box x d_x"""

    @property
    def beta0(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]:
        """
        beta_0 of the model: beta_{0,a} of the context costs, zero in regime A; box x d_x
        """

    @property
    def beta1(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]:
        """
        beta_1 of the model: beta_{1,a} of the output costs, zero in regime A; box x d_w
        """

    @property
    def c0(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]:
        """c_0 of the model: c_{0,a}; box, in the unit of mu"""

    @property
    def c1(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]:
        """c_1 of the model: c_{1,a}; box, in the unit of mu"""

    @property
    def ell(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]:
        """
        l(x) = theta_*' Q x of the model, rows x A: mu* = G(ell + scale theta_*' D xi)
        """

    @property
    def expected_cost(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]:
        """
        cbar_a(x) = E[c_a(x, omega_a) | x] of the model, rows x A, in the unit of mu
        """

    @property
    def context_cost(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]:
        """
        c_{0,a} G(beta_{0,a}' x) of the model, rows x A: the part of the cost that the request decides
        """

    @property
    def scale(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]:
        """s_a(x) = 0.5 + G(alpha_a' x) of the model, rows x A"""

    def model(self) -> dict[str, Any]:
        """
        The paper's model, drawn under the environment's law: a dict of arrays to be changed.
        """

def indices_of_request(request: ReplicationRequest, ell: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> NDArray[numpy.float64]:
    """sigma of a changed problem; NaN in an argument: as in the model."""

def law_of_request(request: ReplicationRequest, n: int, theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """n equally likely values of theta_*' D xi, and ell, rows x A."""

def magnitudes_of_request(request: ReplicationRequest, n: int) -> list[float]:
    """A x n equally likely values of beta_{1,a}' |xi|; none in regime A."""

def reservation_index(values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None) -> NDArray[numpy.float64]:
    """sigma of each row of values."""

def register_environment(*, environment: object, name: str, stream: int, u: float, law: str, code: str) -> None: ...

def environments() -> list[str]:
    """Names of all environments."""

class TraceTable:
    """A table of outcomes, prompts x models."""

    @property
    def source(self) -> str: ...

    @property
    def models(self) -> list[str]: ...

    @property
    def dropped(self) -> int: ...

    @property
    def notes(self) -> list[str]: ...

    @property
    def rows(self) -> int: ...

    @property
    def prompts(self) -> list[str]: ...

    @property
    def columns(self) -> list[str]: ...

    @property
    def scores(self) -> list[str]: ...

    def quality(self) -> NDArray[numpy.float64]: ...

    def cost(self) -> NDArray[numpy.float64]: ...

    def score(self, name: str) -> NDArray[numpy.float64]: ...

    def column(self, name: str) -> object: ...

    def digest(self) -> str: ...

    def select_models(self, models: Sequence[str]) -> TraceTable: ...

    def select_rows(self, rows: Sequence[int]) -> TraceTable: ...

    def split_rows(self, share: float) -> tuple[list[int], list[int]]: ...

    def check(self, evaluator: str, prices: Sequence[float]) -> tuple[dict[str, Any], list[dict[str, Any]]]: ...

def read_trace(path: str, models: Sequence[str], missing: str, progress: object | None = None) -> TraceTable: ...

def trace_of_arrays(source: str, models: Sequence[str], prompts: list[Any], answers: Sequence[tuple[str, Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]]], columns: Sequence[tuple[str, list[Any]]], wanted: Sequence[str], missing: str) -> TraceTable: ...

def trace_of_columns(source: str, columns: Sequence[tuple[str, list[Any]]], wanted: Sequence[str], missing: str) -> TraceTable: ...

class Cascade:
    """A cascade that runs."""

    @staticmethod
    def load(path: str) -> Cascade: ...

    @staticmethod
    def parse(text: str, name: str) -> Cascade: ...

    def save(self, path: str) -> None: ...

    def text(self) -> str: ...

    def description(self) -> dict[str, Any]: ...

    def counts(self) -> dict[str, Any]: ...

    def caution(self) -> str: ...

    def models(self) -> list[tuple[str, bool]]: ...

    def show(self) -> list[dict[str, Any]]: ...

    def set_learning(self, on: bool) -> None: ...

    def add_model(self, name: str) -> int: ...

    def remove_model(self, name: str) -> None: ...

    def set_price(self, price: float) -> None: ...

    def test(self, table: TraceTable, against: str, evaluator: str, judge_usd: float | None) -> tuple[dict[str, Any], dict[str, Any]]: ...

    def begin(self, psi: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int: ...

    def begin_prompt(self, text: str, columns: dict[str, Any]) -> int: ...

    def context_of(self, text: str, columns: dict[str, Any]) -> NDArray[numpy.float32]: ...

    def next(self, request: int) -> int | None: ...

    def observe(self, request: int, model: int, dollars: float, scores: Sequence[float]) -> None: ...

    def deploy(self, request: int) -> int: ...

    def feedback(self, request: int, quality: float) -> None: ...

    def explain(self, request: int) -> dict[str, Any]: ...

    def calibrate(self, period: int, psi: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], model: int, dollars: float, scores: Sequence[float], quality: float | None) -> None: ...

def new_cascade(models: Sequence[str], price: float, evaluator: str, policy: str, width: float, reward_width: float, features: str, psi: int, refit: str, forget: float, most_samples: int) -> Cascade: ...

def fit_cascade(table: TraceTable, aim: str, value: float, evaluator: str, context: Sequence[str], kind: str, judge_usd: float | None) -> tuple[Cascade, list[dict[str, Any]]]: ...

def find_frontier(table: TraceTable, test: TraceTable, evaluator: str, context: Sequence[str], kind: str, judge_usd: float | None, prices: Sequence[float]) -> tuple[dict[str, Any], dict[str, Any], str]: ...
