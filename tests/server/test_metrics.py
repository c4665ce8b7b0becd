"""Metrics: for curators, and of bounded size."""

from tests.server.conftest import refused


def test_metrics_are_for_curators(house):
    house.train()
    text = house.curator.get("/metrics").text
    assert 'frith_jobs{kind="train",state="done"} 1.0' in text
    assert 'route="/v1/jobs/{job}"' in text
    refused(house.analyst.get("/metrics"), "forbidden")


def test_metrics_do_not_grow_with_what_callers_make_up(house):
    for number in range(5):
        house.stranger().request(f"MADEUP{number}", f"/v1/x{number}")
        house.analyst.request(f"MADEUP{number}", "/v1/tables")
    text = house.curator.get("/metrics").text
    assert "MADEUP" not in text
    assert 'method="other"' in text
