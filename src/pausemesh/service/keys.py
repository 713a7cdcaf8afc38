"""API keys: made, listed, revoked, and asked who calls; those of all scopes are kept in one of their own."""

import builtins
import dataclasses
from datetime import datetime, timedelta
from typing import Final

from pausemesh.core import limits
from pausemesh.core.api_key import (
    ApiKey,
    Command,
    Create,
    Created,
    Event,
    Revoke,
    Revoked,
    decide,
    is_key_text,
    key_id_of,
    opens,
)
from pausemesh.core.errors import ApiKeyNotFound, Forbidden, InvalidRequest, OutcomeUnknown
from pausemesh.core.issue import Issue
from pausemesh.core.principal import Principal, require_admin
from pausemesh.core.tokens import KEY_PREFIX, hash_token
from pausemesh.core.values import check_own_id, check_text, cut_to_milliseconds
from pausemesh.records import AuditRow
from pausemesh.service.asking import actor_of
from pausemesh.service.doubt import still_in_doubt
from pausemesh.service.nouns import KEYS, KEYS_CORRELATION, KEYS_SCOPE, key_head
from pausemesh.service.transact import Guess, Settled, Step, Transactor
from pausemesh.service.world import World

_LIFETIME_MOST: Final = timedelta(seconds=limits.KEY_LIFETIME_MAX_SECONDS)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CreatedKey:
    """A key and its text, which is seen here and never again."""

    key: ApiKey
    text: str = dataclasses.field(repr=False)


class Keys:
    """Makes, shows and revokes keys, and says who calls with one."""

    def __init__(self, world: World) -> None:
        self._world = dataclasses.replace(world, scope=KEYS_SCOPE)
        self._transactor = Transactor(self._world)
        self._own_scope = world.scope

    async def create(
        self, *, role: object, scope: object, expires_in: object, label: object, by: Principal | None
    ) -> CreatedKey:
        """Make a key; a lost reply is settled by the very same writes, since the id follows from the text."""
        with self._world.rejections(KEYS.name, None):
            caller = _admin_of(by)
            text = self._world.tokens.issue(KEY_PREFIX)
            created = self._created(text, role=role, scope=scope, expires_in=expires_in, label=label, caller=caller)
            noun_id, command = key_id_of(created.key_hash), Create(created=created)
            try:
                settled = await self._run(noun_id, command, caller, guess=Guess(None))
            except OutcomeUnknown:
                with still_in_doubt():
                    settled = await self._run(noun_id, command, caller)
        self._world.observe("created", KEYS.name, noun_id, status="active", version=settled.state.version)
        return CreatedKey(key=settled.state, text=text)

    async def list(self) -> tuple[ApiKey, ...]:
        """Return all keys, oldest first."""
        after, found = "", builtins.list[ApiKey]()
        while True:
            heads = await self._world.store.list_by_correlation(KEYS_SCOPE, KEYS_CORRELATION, after, limits.PAGE_MAX)
            streams = await self._world.store.load_many([(KEYS_SCOPE, head.stream) for head in heads])
            found += [self._transactor.replay(KEYS, stream) for stream in streams if stream is not None]
            if len(heads) < limits.PAGE_MAX:
                return tuple(sorted(found, key=lambda key: (key.created_at, key.id)))
            after = heads[-1].stream

    async def revoke(self, key_id: object, *, by: Principal | None) -> ApiKey:
        """Take a key back."""
        with self._world.rejections(KEYS.name, key_id if isinstance(key_id, str) else None):
            caller = _admin_of(by)
            noun_id = _id_of(key_id)
            settled = await self._run(noun_id, Revoke(by=actor_of(caller)), caller)
        if not settled.replayed:
            self._world.observe("transition", KEYS.name, noun_id, status="revoked", version=settled.state.version)
        return settled.state

    async def principal_of(self, text: object) -> Principal | None:
        """Return who calls with this text, where it is a valid key's at this moment."""
        if not isinstance(text, str) or not is_key_text(text):
            return None
        key = await self._transactor.load(KEYS, key_id_of(hash_token(text)))
        if key is None or not opens(key, text, self._world.clock.now()):
            return None
        return key.principal()

    async def any_exist(self) -> bool:
        """Tell whether a key was ever made."""
        return bool(await self._world.store.list_by_correlation(KEYS_SCOPE, KEYS_CORRELATION, "", 1))

    def _created(
        self, text: str, *, role: object, scope: object, expires_in: object, label: object, caller: Principal | None
    ) -> Created:
        wanted = self._own_scope if scope is None else scope
        holder = Principal(id=KEYS.name, role=role, scope=wanted)  # type: ignore[arg-type] # it checks both
        if caller is not None and caller.scope != holder.scope:
            raise Forbidden
        return Created(
            role=holder.role,
            scope=holder.scope,
            key_hash=hash_token(text),
            expires_at=_expiry_of(expires_in, self._world.clock.now()),
            label=None if label is None else check_text(label, "/label", limits.KEY_LABEL_CHARACTERS, least=1),
            by=actor_of(caller),
        )

    async def _run(
        self, noun_id: str, command: Command, caller: Principal | None, *, guess: Guess[ApiKey] | None = None
    ) -> Settled[ApiKey]:
        def step(state: ApiKey | None, _now: datetime) -> Step[ApiKey, Event]:
            if state is not None and caller is not None and caller.scope != state.scope:
                raise ApiKeyNotFound
            events = decide(state, command)
            rows = tuple(self._audit(noun_id, event, caller) for event in events)
            return Step(events=events, head_of=key_head, rows=rows)

        return await self._transactor.run(KEYS, noun_id, step, guess=guess)

    def _audit(self, noun_id: str, event: Event, caller: Principal | None) -> AuditRow:
        return AuditRow(
            id=self._world.ids.event_id(),
            action="key.revoke" if isinstance(event, Revoked) else "key.create",
            noun=KEYS.name,
            noun_id=noun_id,
            correlation=KEYS_CORRELATION,
            actor="system" if caller is None else f"{caller.role.value}:{caller.id}",
        )


def _admin_of(by: object) -> Principal | None:
    if by is None:
        return None
    if not isinstance(by, Principal):
        raise InvalidRequest(issues=[Issue("/by", "type", "must be a Principal")])
    require_admin(by)
    return by


def _id_of(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(issues=[Issue("/keyId", "type", "must be text")])
    try:
        return check_own_id(value, "/keyId")
    except InvalidRequest:
        raise ApiKeyNotFound from None


def _expiry_of(expires_in: object, now: datetime) -> datetime | None:
    if expires_in is None:
        return None
    if not isinstance(expires_in, timedelta) or not timedelta(0) < expires_in <= _LIFETIME_MOST:
        raise InvalidRequest(issues=[Issue("/expiresIn", "range", "must be a positive time of at most ten years")])
    return cut_to_milliseconds(now + expires_in)
