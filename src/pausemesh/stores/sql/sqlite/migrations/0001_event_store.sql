-- Times are microseconds since 1970 in UTC.

CREATE TABLE migrations (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER migrations_refuse_update BEFORE UPDATE ON migrations
BEGIN SELECT RAISE(ABORT, 'migrations are never changed'); END;

CREATE TRIGGER migrations_refuse_delete BEFORE DELETE ON migrations
BEGIN SELECT RAISE(ABORT, 'migrations are never deleted'); END;

CREATE TABLE heads (
  scope TEXT NOT NULL,
  stream TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  open INTEGER NOT NULL CHECK (open IN (0, 1)),
  correlation TEXT NOT NULL,
  owner TEXT,
  trace TEXT,
  queue TEXT,
  token_hash BLOB,
  due_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  holder TEXT,
  fence INTEGER NOT NULL,
  lease_until INTEGER,
  done_at INTEGER,
  attempts INTEGER NOT NULL,
  PRIMARY KEY (scope, stream)
) STRICT, WITHOUT ROWID;

CREATE INDEX heads_by_correlation ON heads (scope, correlation, stream);

CREATE INDEX heads_open ON heads (scope, kind, created_at, stream) WHERE open = 1;

CREATE INDEX heads_due ON heads (due_at, scope, stream) WHERE due_at IS NOT NULL;

CREATE INDEX heads_queued ON heads (scope, queue, updated_at, stream)
WHERE queue IS NOT NULL AND open = 0 AND done_at IS NULL;

CREATE TRIGGER heads_refuse_delete BEFORE DELETE ON heads
BEGIN SELECT RAISE(ABORT, 'heads are never deleted'); END;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  scope TEXT NOT NULL,
  stream TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  id BLOB NOT NULL CHECK (length(id) = 16),
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  data BLOB NOT NULL,
  UNIQUE (scope, stream, version)
) STRICT;

CREATE TRIGGER events_refuse_update BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;

CREATE TRIGGER events_refuse_delete BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;

CREATE TABLE beats (
  scope TEXT NOT NULL,
  stream TEXT NOT NULL,
  beat_at INTEGER NOT NULL,
  PRIMARY KEY (scope, stream)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_log (
  scope TEXT NOT NULL,
  at INTEGER NOT NULL,
  id BLOB NOT NULL CHECK (length(id) = 16),
  action TEXT NOT NULL,
  noun TEXT NOT NULL,
  noun_id TEXT NOT NULL,
  correlation TEXT NOT NULL,
  actor TEXT NOT NULL,
  digest TEXT,
  note TEXT,
  PRIMARY KEY (scope, at, id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER audit_log_refuse_update BEFORE UPDATE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END;

CREATE TRIGGER audit_log_refuse_delete BEFORE DELETE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit rows are never deleted'); END;
