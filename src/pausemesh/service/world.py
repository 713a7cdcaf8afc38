"""The world as the use cases see it: every port they need, and the host's policy, in one value."""

import contextlib
import dataclasses
from collections.abc import Iterator

from pausemesh.core.errors import PauseMeshError
from pausemesh.core.policy import Policy
from pausemesh.core.principal import DEFAULT_SCOPE
from pausemesh.ports import Cipher, Clock, EventStore, Ids, Observation, Observer, SchemaValidator, Tokens


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a host wires together. Without a ``cipher`` values are stored as they are."""

    store: EventStore
    clock: Clock
    tokens: Tokens
    ids: Ids
    validator: SchemaValidator
    observer: Observer
    policy: Policy
    cipher: Cipher | None = None
    scope: str = DEFAULT_SCOPE

    def observe(
        self,
        name: str,
        noun: str,
        noun_id: str | None,
        *,
        status: str | None = None,
        version: int | None = None,
        code: str | None = None,
    ) -> None:
        """Tell the observer; whatever it raises changes no outcome."""
        observation = Observation(
            name=name,
            at=self.clock.now(),
            noun=noun,
            noun_id=noun_id,
            status=status,
            version=version,
            code=code,
        )
        with contextlib.suppress(Exception):
            self.observer.observe(observation)

    @contextlib.contextmanager
    def rejections(self, noun: str, noun_id: str | None) -> Iterator[None]:
        """Observe a refusal that leaves the block, and let it go on."""
        try:
            yield
        except PauseMeshError as error:
            self.observe("rejection", noun, noun_id, code=error.code)
            raise
