"""The page shows every operation, and fetches nothing."""

import re

from pausemesh.server.app import OPERATIONS
from pausemesh.server.docs_page import docs_page
from pausemesh.server.problems import STATUS
from tests.server.harness import Client

PAGE = docs_page(OPERATIONS, root="/mounted", public_url=None)


def test_every_operation_has_its_place_and_an_example() -> None:
    for operation in OPERATIONS:
        article = PAGE.partition(f'<article id="{operation.name}">')[2].partition("</article>")[0]
        assert f"<code>{operation.path}</code>" in article
        assert "curl" in article


def test_every_code_has_a_row_and_every_link_on_the_page_leads_to_one_place() -> None:
    places = re.findall(r' id="([^"]+)"', PAGE)
    assert len(places) == len(set(places))
    assert STATUS.keys() <= set(places)
    assert set(re.findall(r'href="#([^"]+)"', PAGE)) <= set(places)


def test_nothing_is_fetched_and_no_script_runs(viewer: Client) -> None:
    answer = viewer.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = answer.body.decode()
    assert not re.search(r"<script|<link|<img|<iframe|@import|url\(|https?://(?!127\.0\.0\.1)", page)


def test_a_mounted_page_links_to_its_own_document() -> None:
    assert 'href="/mounted/openapi.json"' in PAGE
    assert "http://127.0.0.1:8787/mounted/v1/continuations" in PAGE


def test_what_stands_between_backticks_is_code_and_all_else_is_escaped() -> None:
    assert "`" not in re.sub(r"<pre.*?</pre>", "", PAGE, flags=re.DOTALL)
    assert "<code>Authorization: PauseMesh &lt;token&gt;</code>" in PAGE
