"""Questions as text, so that two processes can tell whether they were shown the very same."""

from pausemesh import Continuation, continuation_to_json
from pausemesh.core.canonical import canonical_bytes


def text_of(question: Continuation) -> str:
    """Return a question's canonical JSON; two texts are equal where all their bytes are."""
    return canonical_bytes(continuation_to_json(question)).decode()
