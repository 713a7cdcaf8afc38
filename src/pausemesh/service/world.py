"""The world as the use cases see it: every port they need, and the host's policy, in one value."""

import dataclasses

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
        try:
            self.observer.observe(observation)
        except Exception:  # noqa: BLE001 - it is only told
            return

    def rejections(self, noun: str, noun_id: str | None) -> "Rejections":
        """Observe a refusal that leaves the block, and let it go on."""
        return Rejections(self, noun, noun_id)


class Rejections:
    """A block whose refusals are observed; no generator, since every call of a use case passes through one."""

    __slots__ = ("_noun", "_noun_id", "_world")

    def __init__(self, world: World, noun: str, noun_id: str | None) -> None:
        self._world = world
        self._noun = noun
        self._noun_id = noun_id

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Tell the observer of a refusal."""
        if isinstance(error, PauseMeshError):
            self._world.observe("rejection", self._noun, self._noun_id, code=error.code)
