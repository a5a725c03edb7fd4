"""The metrics that Prometheus reads at /metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from lookalike.index.index import StoredIndex

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
ROUTES = {
    "/", "/docs", "/openapi.json", "/healthz", "/readyz", "/metrics", "/v1/items", "/v1/query", "/v1/compare",
    "/v1/stats", "/v1/additions", "/v1/buckets", "/v1/neighbors", "/v1/random",
}  # fmt: skip
_METHODS = {"GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"}


class _IndexSizes(Collector):
    """The sizes of the index, read on each scrape."""

    def __init__(self, index: Callable[[], StoredIndex]) -> None:
        self._index = index

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Items, segments and log."""
        index = self._index()
        yield GaugeMetricFamily("lookalike_items", "Items in the index", len(index))
        described = index.store.outline()
        yield GaugeMetricFamily("lookalike_segments", "Segments of the index", described.get("segments", 0))
        yield GaugeMetricFamily("lookalike_log_bytes", "Size of the log", described.get("log_bytes", 0))
        yield GaugeMetricFamily("lookalike_added_items", "Items that were ever added", index.store.added)


class Metrics:
    """Counters of one server."""

    def __init__(self, index: Callable[[], StoredIndex]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("lookalike_requests", "Requests", ["method", "route", "status"], registry=self.registry)
        self.seconds = Histogram(
            "lookalike_request_seconds", "Time to answer", ["route"], buckets=BUCKETS, registry=self.registry
        )
        self.in_progress = Gauge("lookalike_requests_in_progress", "Requests in progress", registry=self.registry)
        self.batches = Histogram(
            "lookalike_batch_items",
            "Queries or changes that were handled together",
            ["work"],
            buckets=[1 << power for power in range(12)],
            registry=self.registry,
        )
        self.registry.register(_IndexSizes(index))

    def count(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a finished request; unknown paths and methods are counted together."""
        route = path if path in ROUTES else "/v1/items/{id}" if path.startswith("/v1/items/") else "other"
        self.requests.labels(method if method in _METHODS else "other", route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """In the format of Prometheus."""
        return generate_latest(self.registry)
