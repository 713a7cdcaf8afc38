"""Pages and pictures that are made from the code are those of this code."""

import pytest

from tools.pages import ROOT, made


@pytest.mark.parametrize(("path", "content"), made().items(), ids=list(made()))
def test_a_page_is_as_the_code_makes_it(path: str, content: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == content, "run `make reference`"
