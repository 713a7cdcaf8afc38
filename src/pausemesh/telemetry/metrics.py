"""Numbers for Prometheus: what was observed, what was requested, and what is under way.

No label has a value that a caller could choose: what is not one of ours becomes ``other``.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar, cast

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics import MetricWrapperBase

from pausemesh.core.effect import EffectStatus
from pausemesh.core.envelope import ClaimStatus, Status
from pausemesh.core.error_base import PauseMeshError
from pausemesh.ports import Observation

MetricT = TypeVar("MetricT", Counter, Histogram)

OTHER: Final = "other"

_NOUNS: Final = frozenset({"continuation", "claim", "effect", "key"})
_NAMES: Final = frozenset({"created", "transition", "rejection"})
_KEY_STATUSES: Final = ("active", "revoked")
_STATUSES: Final = frozenset([*Status, *ClaimStatus, *EffectStatus, *_KEY_STATUSES])
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_STATUS_CLASSES: Final = range(1, 6)
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts, in a registry of its own; an Observer.

    Args:
        routes: the templates of the routes that are counted one by one, as ``/v1/continuations/{id}``.
    """

    def __init__(self, routes: Iterable[str] = ()) -> None:
        self._routes = frozenset(routes)
        self._codes = frozenset(_codes(PauseMeshError))
        self._registry = CollectorRegistry()
        self._children: dict[tuple[int, tuple[str, ...]], MetricWrapperBase] = {}
        self._observations = Counter(
            "pausemesh_observations",
            "What happened to questions, claims and effects.",
            ("noun", "name", "status", "code"),
            registry=self._registry,
        )
        self._requests = Counter(
            "pausemesh_requests",
            "Requests that were answered.",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "pausemesh_request_seconds",
            "How long requests took, long-polls included.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._in_flight = self._gauge("pausemesh_requests_in_flight", "Requests that are not answered yet.")
        self._waiting = self._gauge("pausemesh_waiting", "Long-polls that wait for a decision or a claim.")
        self._subscribers = self._gauge("pausemesh_live_subscribers", "Live streams that are open.")

    def observe(self, observation: Observation) -> None:
        """Count it."""
        labels = (
            _known(observation.noun, _NOUNS),
            _known(observation.name, _NAMES),
            _known(observation.status, _STATUSES),
            _known(observation.code, self._codes),
        )
        self._child_of(self._observations, labels).inc()

    def request_started(self) -> None:
        """Take note of a request that is under way; ``request_ended`` must follow."""
        self._in_flight.inc()

    def request_ended(self, route: str, method: str, status: int, seconds: float) -> None:
        """Take note of its answer."""
        known = _known(route, self._routes)
        self._in_flight.dec()
        self._child_of(self._seconds, (known,)).observe(seconds)
        self._child_of(self._requests, (known, _known(method, _METHODS), _status_class(status))).inc()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count a long-poll for as long as the block runs."""
        with self._waiting.track_inprogress():
            yield

    @contextmanager
    def subscribed(self) -> Iterator[None]:
        """Count a live subscriber for as long as the block runs."""
        with self._subscribers.track_inprogress():
            yield

    def render(self) -> tuple[bytes, str]:
        """Return all numbers in Prometheus' text form, and its media type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST

    def _gauge(self, name: str, documentation: str) -> Gauge:
        return Gauge(name, documentation, registry=self._registry)

    def _child_of(self, metric: MetricT, labels: tuple[str, ...]) -> MetricT:
        """Return the metric of some labels, which the library itself finds at ten times the cost."""
        key = (id(metric), labels)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = metric.labels(*labels)
        return cast("MetricT", child)


def _known(value: str | None, values: frozenset[str]) -> str:
    """Return a value of ours, an empty text for none, and ``other`` for any other."""
    if value is None:
        return ""
    return value if value in values else OTHER


def _status_class(status: int) -> str:
    """Return ``2xx`` for 204."""
    return f"{status // 100}xx" if status // 100 in _STATUS_CLASSES else OTHER


def _codes(kind: type[PauseMeshError]) -> Iterator[str]:
    """Yield the codes of an error and of all its kinds."""
    yield kind.code
    for narrower in kind.__subclasses__():
        yield from _codes(narrower)
