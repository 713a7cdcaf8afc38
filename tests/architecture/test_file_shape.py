"""A file and a function stay as short as can be read at once."""

import ast
from collections.abc import Iterator
from pathlib import Path

FILE_LINES = 400
BODY_LINES = 40
USUAL_BODY_LINES = 25  # nine in ten
EMPTY_NAMES = frozenset({"util", "utils", "helper", "helpers", "common", "manager", "misc"})


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many lines the body has, its docstring left out."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    body = function.body[1:] if is_docstring else function.body
    if not body:
        return 0
    return (body[-1].end_lineno or body[-1].lineno) - body[0].lineno + 1


def functions(source: str) -> Iterator[tuple[str, int]]:
    """Each function's name and line, with the length of its body."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{node.lineno}: {node.name}", body_lines(node)


def sources(package: Path) -> dict[str, str]:
    found = {str(file.relative_to(package)): file.read_text(encoding="utf-8") for file in sorted(package.rglob("*.py"))}
    assert found
    return found


def test_no_file_is_longer_than_400_lines(package: Path) -> None:
    lines = {name: len(source.splitlines()) for name, source in sources(package).items()}
    assert {name: count for name, count in lines.items() if count > FILE_LINES} == {}


def test_no_body_is_longer_than_a_screen(package: Path) -> None:
    bodies = {
        f"{name}:{function}": lines
        for name, source in sources(package).items()
        for function, lines in functions(source)
    }
    assert {where: lines for where, lines in bodies.items() if lines > BODY_LINES} == {}


def test_nine_bodies_in_ten_are_much_shorter(package: Path) -> None:
    bodies = [lines for source in sources(package).values() for _, lines in functions(source)]
    long = [lines for lines in bodies if lines > USUAL_BODY_LINES]
    assert len(long) <= len(bodies) / 10


def test_no_module_has_a_name_that_says_nothing(package: Path) -> None:
    assert [file for file in package.rglob("*") if file.stem in EMPTY_NAMES] == []


def test_a_body_is_counted_without_its_docstring_and_with_what_is_nested() -> None:
    source = '''
class Holder:
    async def method(self):
        """Docstring of
        two lines."""
        def inner():
            return 1

        return inner()

def empty():
    """Only a docstring."""
'''
    assert [lines for _, lines in functions(source)] == [0, 4, 1]
