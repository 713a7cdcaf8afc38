"""The document says what the server does."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from pausemesh.server.app import OPERATIONS
from pausemesh.server.openapi import codes_of, openapi_document
from pausemesh.server.problems import STATUS
from tests.server.harness import Client, RunningServer

DOCUMENT = openapi_document(OPERATIONS, public_url="https://pauses.example.com/")


def operations() -> Iterator[dict[str, Any]]:
    for path in DOCUMENT["paths"].values():
        yield from path.values()


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from [value["$ref"]] if "$ref" in value else []
        for one in value.values():
            yield from references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)


def test_every_operation_is_described_once() -> None:
    names = [one["operationId"] for one in operations()]
    assert len(names) == len(set(names)) == len(OPERATIONS)


def test_every_reference_and_every_link_leads_somewhere() -> None:
    schemas, names = DOCUMENT["components"]["schemas"], {one["operationId"] for one in operations()}
    assert {found.rpartition("/")[2] for found in references(DOCUMENT)} <= schemas.keys()
    linked = [
        (name, link["operationId"])
        for one in operations()
        for answer in one["responses"].values()
        for name, link in answer.get("links", {}).items()
    ]
    assert linked
    assert all(name == target and target in names for name, target in linked)


def test_every_schema_is_json_schema_of_2020_12() -> None:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        jsonschema_rs.Draft202012Validator({**schema, "components": DOCUMENT["components"]})
        assert schema["description"], name


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_code_that_an_operation_can_answer_with_has_a_status(operation: Any) -> None:
    described = DOCUMENT["paths"][operation.path][operation.method.lower()]["responses"]
    for code in codes_of(operation):
        status = STATUS[code]
        assert status in operation.gives or f"`{code}`" in described[str(status)]["description"]


def test_the_document_names_where_clients_reach_it() -> None:
    assert DOCUMENT["servers"] == [{"url": "https://pauses.example.com"}]
    assert "servers" not in openapi_document(OPERATIONS)


def test_the_server_serves_what_is_made_from_its_operations(viewer: Client) -> None:
    assert viewer.get("/openapi.json").json == json.loads(json.dumps(openapi_document(OPERATIONS)))


def test_once_keys_exist_the_description_wants_one_too(server: RunningServer, nobody: Client) -> None:
    assert server.key("viewer")
    for path in ("/openapi.json", "/docs"):
        assert nobody.get(path).outcome == (401, "UNAUTHENTICATED")


def test_while_it_is_open_anybody_on_this_machine_may_read_the_description() -> None:
    with RunningServer() as fresh, fresh.client() as nobody:
        assert nobody.get("/openapi.json").status == nobody.get("/docs").status == 200
