import secrets
from datetime import UTC, datetime

from prometheus_client.parser import text_string_to_metric_families

from pausemesh.ports import Observation
from pausemesh.telemetry.metrics import Metrics

ROUTE = "/v1/continuations/{id}"
CANARY = secrets.token_hex(16)


def observation(name: str, noun: str, *, status: str | None = None, code: str | None = None) -> Observation:
    return Observation(name=name, at=datetime.now(UTC), noun=noun, noun_id=CANARY, status=status, version=1, code=code)


def samples(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    """Label values, in the order of their names, → value."""
    text = metrics.render()[0].decode()
    return {
        tuple(sample.labels[label] for label in sorted(sample.labels)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def test_observations_are_counted_by_noun_name_status_and_code() -> None:
    metrics = Metrics()
    for _ in range(2):
        metrics.observe(observation("created", "continuation", status="pending"))
    metrics.observe(observation("rejection", "effect", code="EFFECT_UNKNOWN"))
    assert samples(metrics, "pausemesh_observations_total") == {
        ("", "created", "continuation", "pending"): 2,
        ("EFFECT_UNKNOWN", "rejection", "effect", ""): 1,
    }


def test_a_label_value_that_is_not_one_of_ours_becomes_other() -> None:
    metrics = Metrics([ROUTE])
    metrics.observe(observation(CANARY, CANARY, status=CANARY, code=CANARY))
    metrics.request_started()
    metrics.request_ended(f"/{CANARY}", CANARY, 700, 0.1)
    assert samples(metrics, "pausemesh_observations_total") == {("other", "other", "other", "other"): 1}
    assert samples(metrics, "pausemesh_requests_total") == {("other", "other", "other"): 1}
    assert CANARY not in metrics.render()[0].decode()


def test_requests_are_counted_by_route_method_and_class_of_status() -> None:
    metrics = Metrics([ROUTE])
    for status in [200, 204, 404, 500]:
        metrics.request_started()
        metrics.request_ended(ROUTE, "GET", status, 0.003)
    assert samples(metrics, "pausemesh_requests_total") == {
        ("GET", ROUTE, "2xx"): 2,
        ("GET", ROUTE, "4xx"): 1,
        ("GET", ROUTE, "5xx"): 1,
    }
    buckets = samples(metrics, "pausemesh_request_seconds_bucket")
    assert (buckets["0.0025", ROUTE], buckets["0.005", ROUTE]) == (0, 4)


def test_a_request_is_in_flight_until_it_has_ended() -> None:
    metrics = Metrics([ROUTE])
    metrics.request_started()
    metrics.request_started()
    metrics.request_ended(ROUTE, "GET", 200, 0.1)
    assert samples(metrics, "pausemesh_requests_in_flight") == {(): 1}


def test_whoever_waits_or_listens_is_counted_for_as_long() -> None:
    metrics = Metrics()
    with metrics.waiting(), metrics.waiting(), metrics.subscribed():
        assert samples(metrics, "pausemesh_waiting") == {(): 2}
        assert samples(metrics, "pausemesh_live_subscribers") == {(): 1}
    assert samples(metrics, "pausemesh_waiting") == {(): 0}
    assert samples(metrics, "pausemesh_live_subscribers") == {(): 0}


def test_two_sets_of_metrics_in_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.observe(observation("created", "claim", status="held"))
    assert samples(other, "pausemesh_observations_total") == {}


def test_the_numbers_come_in_the_text_form_of_prometheus() -> None:
    data, content_type = Metrics().render()
    assert content_type.startswith("text/plain; version=")
    assert b"# TYPE pausemesh_waiting gauge" in data
