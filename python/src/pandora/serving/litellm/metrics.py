"""Counts and states of cascades for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from .running import Service

#: The numbers that only grow; all others go up and down.
_COUNTERS = {
    "calls", "cancelled", "committed", "deployed", "dollars", "events", "failures", "faults", "feedbacks", "lost",
    "quality", "refused", "requests", "unjudged", "unlearned", "unlogged", "unsolved_refits",
}  # fmt: skip


def exposed(services: Mapping[str, Service]) -> bytes:
    """In Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Collector(services))
    return generate_latest(registry)


class _Collector:
    def __init__(self, services: Mapping[str, Service]) -> None:
        self.services = services

    def collect(self) -> Iterable[Any]:
        families: dict[str, Any] = {}
        for name, service in self.services.items():
            found = {**service.store.metrics(), "unjudged": service.unjudged, "faults": service.faults}
            for labels, key, value in _numbers(name, found):
                metric = f"cascade_{key}"
                if metric not in families:
                    is_counter = key.removeprefix("model_").removeprefix("outbox_") in _COUNTERS
                    kind = CounterMetricFamily if is_counter else GaugeMetricFamily
                    families[metric] = kind(metric, "of a cascade", labels=list(labels))
                families[metric].add_metric(list(labels.values()), value)
        return families.values()


def _numbers(name: str, found: Mapping[str, Any]) -> Iterator[tuple[dict[str, str], str, float]]:
    """Labels, name and value of each number in a store's metrics; for lists of alarms their length."""
    for key, value in found.items():
        if key == "models":
            for model in value:
                labels = {"cascade": name, "model": str(model["model"])}
                for of_model, number in model.items():
                    if isinstance(number, (int, float)):
                        yield labels, f"model_{of_model}", float(number)
        elif key == "faults":
            for reason, count in value.items():
                yield {"cascade": name, "reason": reason}, key, float(count)
        elif isinstance(value, Mapping):
            for labels, inner, number in _numbers(name, value):
                yield labels, inner if inner == "alarms" else f"{key}_{inner}", number
        elif key == "alarms":
            yield {"cascade": name}, "alarms", float(len(value))
        elif isinstance(value, (int, float)) and key != "worker":  # a name, which happens to be a number
            yield {"cascade": name}, key, float(value)
