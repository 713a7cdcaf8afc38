"""Streams in PostgreSQL, for hosts that have a pool of their own; needs the extra ``postgres``."""

from pausemesh.stores.postgres import PostgresEventStore
from pausemesh.stores.postgres_roles import grants
from pausemesh.stores.postgres_schema import migrate_postgres_event_store

__all__ = ["PostgresEventStore", "grants", "migrate_postgres_event_store"]
