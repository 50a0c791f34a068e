"""Requests made up from the OpenAPI document: no server error, and every answer as the document says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from running_servers import served

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@contextmanager
def quiet_server(folder: Path, *flags: str) -> Iterator[str]:
    """The address of a server whose log speaks of no fault in the end."""
    with served(folder, "--quiet", *flags) as server:
        yield server.address()
        server.stop()
        assert "Traceback" not in server.said() and '"error"' not in server.said(), server.said()[-3000:]


def fuzz(address: str, examples: int, without: str = "^$") -> dict[str, Counter[int]]:
    """Statuses by operation."""
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json").exclude(path_regex=without)
    statuses: dict[str, Counter[int]] = {}
    failures: list[str] = []
    for result in schema.get_all_operations():
        operation = result.ok()
        met = statuses.setdefault(operation.label, Counter())
        for mode in GenerationMode:
            try:
                _one(operation, mode, met, examples)
            except Unsatisfiable:
                assert mode is GenerationMode.NEGATIVE  # nothing is asked for, so nothing wrong can be sent
            except FailureGroup as group:
                failures += [f"{operation.label}: {failure}" for failure in group.exceptions]
    assert not failures, "\n".join(failures)
    return statuses


def _one(operation: Any, mode: GenerationMode, met: Counter[int], examples: int) -> None:
    checks = [*CHECKS, negative_data_rejection] if mode is GenerationMode.NEGATIVE else CHECKS
    phases = (Phase.explicit, Phase.generate)

    @settings(max_examples=examples, derandomize=True, deadline=None, database=None, phases=phases, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        response = case.call(timeout=30)
        met[response.status_code] += 1
        case.validate_response(response, checks=checks)

    check()


def test_requests_by_the_document_meet_no_server_error_and_no_surprise(tmp_path: Path) -> None:
    with quiet_server(tmp_path) as address:
        statuses = fuzz(address, 5, without="^/metadata$")  # which is OpenEnv's, and says 501 without it
    assert len(statuses) >= 12
    assert sum(sum(met.values()) for met in statuses.values()) >= 100
    assert any(met[200] for met in statuses.values())


@pytest.mark.slow
def test_many_requests_by_the_document_meet_no_server_error_and_no_surprise(tmp_path: Path) -> None:
    with quiet_server(tmp_path, "--openenv") as address:
        statuses = fuzz(address, 150)
    assert sum(sum(met.values()) for met in statuses.values()) >= 2_000
