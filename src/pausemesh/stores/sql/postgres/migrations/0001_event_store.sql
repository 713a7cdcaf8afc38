-- The name of the schema stands as pausemesh here; another one takes its place when this is run.

CREATE TABLE pausemesh.migrations (
  number integer PRIMARY KEY,
  name text NOT NULL,
  checksum text NOT NULL,
  applied_at timestamptz NOT NULL
);

CREATE TABLE pausemesh.heads (
  scope text COLLATE "C" NOT NULL,
  stream text COLLATE "C" NOT NULL,
  version bigint NOT NULL CHECK (version > 0),
  kind text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  open boolean NOT NULL,
  correlation text COLLATE "C" NOT NULL,
  owner text COLLATE "C",
  trace text COLLATE "C",
  queue text COLLATE "C",
  token_hash bytea,
  due_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  holder text COLLATE "C",
  fence bigint NOT NULL,
  lease_until timestamptz,
  done_at timestamptz,
  attempts bigint NOT NULL,
  PRIMARY KEY (scope, stream)
);

-- It begins with the correlation: before the planner knows the table it would take an index of scope, correlation and
-- stream for one that finds a stream, and go over the whole scope each time.
CREATE INDEX heads_by_correlation ON pausemesh.heads (correlation, scope, stream);

CREATE INDEX heads_open ON pausemesh.heads (scope, kind, created_at, stream) WHERE open;

CREATE INDEX heads_due ON pausemesh.heads (due_at, scope, stream) WHERE due_at IS NOT NULL;

CREATE INDEX heads_queued ON pausemesh.heads (scope, queue, updated_at, stream)
WHERE queue IS NOT NULL AND NOT open AND done_at IS NULL;

CREATE TABLE pausemesh.events (
  seq bigint NOT NULL UNIQUE CHECK (seq > 0),
  scope text COLLATE "C" NOT NULL,
  stream text COLLATE "C" NOT NULL,
  version bigint NOT NULL CHECK (version > 0),
  id uuid NOT NULL,
  type text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (scope, stream, version)
);

CREATE TABLE pausemesh.beats (
  scope text COLLATE "C" NOT NULL,
  stream text COLLATE "C" NOT NULL,
  beat_at timestamptz NOT NULL,
  PRIMARY KEY (scope, stream)
);

CREATE TABLE pausemesh.audit_log (
  scope text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  id uuid NOT NULL,
  action text COLLATE "C" NOT NULL,
  noun text COLLATE "C" NOT NULL,
  noun_id text COLLATE "C" NOT NULL,
  correlation text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  digest text COLLATE "C",
  note text COLLATE "C",
  PRIMARY KEY (scope, at, id)
);

CREATE FUNCTION pausemesh.refuse_change() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER migrations_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON pausemesh.migrations
FOR EACH STATEMENT EXECUTE FUNCTION pausemesh.refuse_change();

CREATE TRIGGER heads_refuse_delete BEFORE DELETE OR TRUNCATE ON pausemesh.heads
FOR EACH STATEMENT EXECUTE FUNCTION pausemesh.refuse_change();

CREATE TRIGGER events_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON pausemesh.events
FOR EACH STATEMENT EXECUTE FUNCTION pausemesh.refuse_change();

CREATE TRIGGER audit_log_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON pausemesh.audit_log
FOR EACH STATEMENT EXECUTE FUNCTION pausemesh.refuse_change();

-- A row of what a flush reports. One has number 0, the store's clock in at, and in seq the greatest one before the
-- flush. The others are of the writes that were refused or that asked for their history, each once for every event of it:
-- the head as it was before, and in earlier_at and earlier_seq where this very write was committed before.
CREATE TYPE pausemesh.flush_row AS (
  number integer,
  reason integer,
  version bigint,
  kind text,
  status text,
  open boolean,
  correlation text,
  owner text,
  trace text,
  queue text,
  token_hash bytea,
  due_at timestamptz,
  created_at timestamptz,
  updated_at timestamptz,
  holder text,
  fence bigint,
  lease_until timestamptz,
  done_at timestamptz,
  attempts bigint,
  earlier_at timestamptz,
  earlier_seq bigint,
  event_version bigint,
  event_id uuid,
  event_type text,
  at timestamptz,
  seq bigint,
  data bytea
);

-- The order lock: whoever holds it is the only one that writes, from the first look until the commit. So the order of
-- seq is the order of commits, what was compared is still so when it is written, and nobody waits for two others.
-- Conditions rather than PERFORM, which would start the executor for each.
CREATE FUNCTION pausemesh.take_turn_1(patience text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'the isolation level must be read committed' USING ERRCODE = 'active_sql_transaction';
  END IF;
  RETURN set_config('lock_timeout', patience, true) IS NOT NULL
    AND pg_advisory_xact_lock(1347241299, 'pausemesh.heads'::regclass::oid::integer) IS NOT NULL;
END
$$;

-- A commit whose wait for a standby was given up can be seen. Who is told of it has to wait as long as who made it.
CREATE FUNCTION pausemesh.wait_for_standbys_1() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_standby_names') <> '' THEN
    PERFORM pg_logical_emit_message(true, 'pausemesh', '');
  END IF;
END
$$;

-- Any number of calls (w_call) with any number of writes: each call is stored whole, or refused whole.
-- Reasons are those of records.Reason; 8: the stream would be too long; 9: its kind or correlation would change.
CREATE FUNCTION pausemesh.append_many_1(
  now_given timestamptz, patience text, most_events bigint,
  w_call integer[], w_scope text[], w_stream text[], w_expected bigint[], w_events integer[],
  w_first uuid[], w_last uuid[], w_token bytea[], w_due integer[], w_fence bigint[], w_finish boolean[],
  w_silent timestamptz[], w_history boolean[],
  h_kind text[], h_status text[], h_open boolean[], h_correlation text[], h_owner text[], h_trace text[],
  h_queue text[], h_token bytea[], h_due timestamptz[],
  e_write integer[], e_scope text[], e_stream text[], e_version bigint[], e_id uuid[], e_type text[], e_data bytea[],
  r_write integer[], r_scope text[], r_id uuid[], r_action text[], r_noun text[], r_noun_id text[],
  r_correlation text[], r_actor text[], r_digest text[], r_note text[]
) RETURNS SETOF pausemesh.flush_row
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t timestamptz;
  base bigint;
  reasons integer[];
  outs boolean[];
  creations integer;
  changes integer;
  finishes integer;
  touched integer;
  stored integer := 0;
BEGIN
  PERFORM pausemesh.take_turn_1(patience);
  t := coalesce(now_given, clock_timestamp());
  SELECT coalesce(max(seq), 0) INTO base FROM pausemesh.events;
  RETURN NEXT ROW(
    0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, t, base, NULL
  )::pausemesh.flush_row;

  SELECT
    array_agg(j.reason ORDER BY j.number),
    array_agg(j.is_out ORDER BY j.number),
    count(*) FILTER (WHERE NOT j.is_out AND j.events > 0 AND j.expected = 0),
    count(*) FILTER (WHERE NOT j.is_out AND j.events > 0 AND j.expected > 0),
    count(*) FILTER (WHERE NOT j.is_out AND j.events = 0 AND j.finish)
  INTO reasons, outs, creations, changes, finishes
  FROM (
    SELECT v.*, bool_or(v.reason > 0) OVER (PARTITION BY v.call) AS is_out
    FROM (
      SELECT w.number, w.call, w.events, w.expected, w.finish, CASE
        WHEN w.token IS NOT NULL AND h.token_hash IS DISTINCT FROM w.token THEN 1
        WHEN coalesce(h.version, 0) <> w.expected THEN 2
        WHEN w.due = 2 AND h.due_at <= t THEN 3
        WHEN w.due = 3 AND (h.due_at IS NULL OR h.due_at > t) THEN 4
        WHEN w.fence IS NOT NULL AND NOT coalesce(
          h.fence = w.fence AND h.holder IS NOT NULL AND h.lease_until > t AND h.done_at IS NULL, false) THEN 5
        WHEN w.silent IS NOT NULL AND NOT coalesce(coalesce(
          (SELECT b.beat_at FROM pausemesh.beats AS b WHERE b.scope = w.scope AND b.stream = w.stream),
          h.created_at) < w.silent, false) THEN 6
        WHEN w.events > 0 AND w.expected + w.events > most_events THEN 8
        WHEN w.events > 0 AND h.version IS NOT NULL
          AND (h.kind, h.correlation) IS DISTINCT FROM (w.kind, w.correlation) THEN 9
        ELSE 0 END AS reason
      FROM unnest(
        w_call, w_scope, w_stream, w_expected, w_events, w_token, w_due, w_fence, w_finish, w_silent, h_kind,
        h_correlation
      ) WITH ORDINALITY AS w (
        call, scope, stream, expected, events, token, due, fence, finish, silent, kind, correlation, number
      )
      LEFT JOIN pausemesh.heads AS h ON h.scope = w.scope AND h.stream = w.stream
    ) AS v
  ) AS j;

  IF true = ANY (outs) OR true = ANY (w_history) THEN
    RETURN QUERY
    SELECT
      w.number::integer, reasons[w.number],
      h.version, h.kind, h.status, h.open, h.correlation, h.owner, h.trace, h.queue, h.token_hash, h.due_at,
      h.created_at, h.updated_at, h.holder, h.fence, h.lease_until, h.done_at, h.attempts,
      CASE WHEN l.seq IS NOT NULL THEN f.at END, CASE WHEN f.seq IS NOT NULL THEN l.seq END,
      e.version, e.id, e.type, e.at, e.seq, e.data
    FROM unnest(w_scope, w_stream, w_expected, w_events, w_first, w_last, w_history) WITH ORDINALITY AS w (
      scope, stream, expected, events, first, last, history, number
    )
    LEFT JOIN pausemesh.heads AS h ON h.scope = w.scope AND h.stream = w.stream
    LEFT JOIN pausemesh.events AS f ON f.scope = w.scope AND f.stream = w.stream
      AND f.version = CASE WHEN outs[w.number] AND w.events > 0 THEN w.expected + 1 END AND f.id = w.first
    LEFT JOIN pausemesh.events AS l ON l.scope = w.scope AND l.stream = w.stream
      AND l.version = CASE WHEN outs[w.number] AND w.events > 0 THEN w.expected + w.events END
      AND l.id = coalesce(w.last, w.first)
    LEFT JOIN pausemesh.events AS e ON e.scope = CASE WHEN w.history THEN w.scope END AND e.stream = w.stream
      AND e.version <= most_events + 1
    WHERE outs[w.number] OR w.history
    ORDER BY w.number, e.version;
  END IF;

  IF creations > 0 THEN
    INSERT INTO pausemesh.heads (
      scope, stream, version, kind, status, open, correlation, owner, trace, queue, token_hash, due_at, created_at,
      updated_at, fence, attempts
    )
    SELECT
      w.scope, w.stream, w.events, w.kind, w.status, w.open, w.correlation, w.owner, w.trace, w.queue, w.token, w.due,
      t, t, 0, 0
    FROM unnest(
      w_scope, w_stream, w_expected, w_events, h_kind, h_status, h_open, h_correlation, h_owner, h_trace, h_queue,
      h_token, h_due
    ) WITH ORDINALITY AS w (
      scope, stream, expected, events, kind, status, open, correlation, owner, trace, queue, token, due, number
    )
    WHERE w.events > 0 AND w.expected = 0 AND NOT outs[w.number];
  END IF;

  IF changes > 0 THEN
    UPDATE pausemesh.heads AS h
    SET
      version = w.expected + w.events, status = w.status, open = w.open, owner = w.owner, trace = w.trace,
      queue = w.queue, token_hash = w.token, due_at = w.due, updated_at = t,
      done_at = CASE WHEN w.finish THEN t ELSE h.done_at END
    FROM unnest(
      w_scope, w_stream, w_expected, w_events, w_finish, h_status, h_open, h_owner, h_trace, h_queue, h_token, h_due
    ) WITH ORDINALITY AS w (
      scope, stream, expected, events, finish, status, open, owner, trace, queue, token, due, number
    )
    WHERE h.scope = w.scope AND h.stream = w.stream AND h.version = w.expected
      AND w.events > 0 AND NOT outs[w.number];
    GET DIAGNOSTICS touched = ROW_COUNT;
    IF touched <> changes THEN
      RAISE EXCEPTION 'a head was changed by somebody without the lock' USING ERRCODE = 'data_corrupted';
    END IF;
  END IF;

  IF finishes > 0 THEN
    UPDATE pausemesh.heads AS h
    SET done_at = t
    FROM unnest(w_scope, w_stream, w_expected, w_events, w_finish) WITH ORDINALITY AS w (
      scope, stream, expected, events, finish, number
    )
    WHERE h.scope = w.scope AND h.stream = w.stream AND h.version = w.expected
      AND w.finish AND w.events = 0 AND NOT outs[w.number];
    GET DIAGNOSTICS touched = ROW_COUNT;
    IF touched <> finishes THEN
      RAISE EXCEPTION 'a head was changed by somebody without the lock' USING ERRCODE = 'data_corrupted';
    END IF;
  END IF;

  IF creations + changes > 0 THEN
    INSERT INTO pausemesh.events (seq, scope, stream, version, id, type, at, data)
    SELECT base + row_number() OVER (ORDER BY e.number), e.scope, e.stream, e.version, e.id, e.type, t, e.data
    FROM unnest(e_write, e_scope, e_stream, e_version, e_id, e_type, e_data) WITH ORDINALITY AS e (
      write, scope, stream, version, id, type, data, number
    )
    WHERE NOT outs[e.write];
    GET DIAGNOSTICS stored = ROW_COUNT;
    IF cardinality(r_write) > 0 THEN
      INSERT INTO pausemesh.audit_log (scope, at, id, action, noun, noun_id, correlation, actor, digest, note)
      SELECT r.scope, t, r.id, r.action, r.noun, r.noun_id, r.correlation, r.actor, r.digest, r.note
      FROM unnest(
        r_write, r_scope, r_id, r_action, r_noun, r_noun_id, r_correlation, r_actor, r_digest, r_note
      ) AS r (write, scope, id, action, noun, noun_id, correlation, actor, digest, note)
      WHERE NOT outs[r.write];
    END IF;
    PERFORM pg_notify('pausemesh_' || 'pausemesh.heads'::regclass::oid, (base + stored)::text);
  END IF;

  IF true = ANY (outs) THEN
    PERFORM pausemesh.wait_for_standbys_1();
  END IF;
END
$$;

-- The same for one call of one write with one event and no row, in fewer steps.
CREATE FUNCTION pausemesh.append_one_1(
  now_given timestamptz, patience text, most_events bigint,
  w_scope text, w_stream text, w_expected bigint, w_token bytea, w_due integer, w_fence bigint, w_finish boolean,
  w_silent timestamptz, w_history boolean,
  h_kind text, h_status text, h_open boolean, h_correlation text, h_owner text, h_trace text, h_queue text,
  h_token bytea, h_due timestamptz,
  e_id uuid, e_type text, e_data bytea
) RETURNS SETOF pausemesh.flush_row
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t timestamptz;
  base bigint;
  h pausemesh.heads;
  report pausemesh.flush_row;
  reason integer;
  touched integer;
  is_turn boolean;
BEGIN
  is_turn := pausemesh.take_turn_1(patience);
  t := coalesce(now_given, clock_timestamp());

  SELECT * INTO h FROM pausemesh.heads WHERE scope = w_scope AND stream = w_stream;
  reason := CASE
    WHEN w_token IS NOT NULL AND h.token_hash IS DISTINCT FROM w_token THEN 1
    WHEN coalesce(h.version, 0) <> w_expected THEN 2
    WHEN w_due = 2 AND h.due_at <= t THEN 3
    WHEN w_due = 3 AND (h.due_at IS NULL OR h.due_at > t) THEN 4
    WHEN w_fence IS NOT NULL AND NOT coalesce(
      h.fence = w_fence AND h.holder IS NOT NULL AND h.lease_until > t AND h.done_at IS NULL, false) THEN 5
    WHEN w_silent IS NOT NULL AND NOT coalesce(coalesce(
      (SELECT b.beat_at FROM pausemesh.beats AS b WHERE b.scope = w_scope AND b.stream = w_stream),
      h.created_at) < w_silent, false) THEN 6
    WHEN w_expected + 1 > most_events THEN 8
    WHEN h.version IS NOT NULL AND (h.kind, h.correlation) IS DISTINCT FROM (h_kind, h_correlation) THEN 9
    ELSE 0 END;

  IF reason > 0 OR w_history THEN
    RETURN QUERY
    SELECT
      1, reason, h.version, h.kind, h.status, h.open, h.correlation, h.owner, h.trace, h.queue, h.token_hash,
      h.due_at, h.created_at, h.updated_at, h.holder, h.fence, h.lease_until, h.done_at, h.attempts,
      f.at, f.seq, e.version, e.id, e.type, e.at, e.seq, e.data
    FROM (VALUES (1)) AS one
    LEFT JOIN pausemesh.events AS f ON f.scope = w_scope AND f.stream = w_stream
      AND f.version = CASE WHEN reason > 0 THEN w_expected + 1 END AND f.id = e_id
    LEFT JOIN pausemesh.events AS e ON e.scope = CASE WHEN w_history THEN w_scope END AND e.stream = w_stream
      AND e.version <= most_events + 1
    ORDER BY e.version;
  END IF;
  report.number := 0;
  report.reason := 0;
  report.at := t;
  report.seq := 0;
  IF reason > 0 THEN
    RETURN NEXT report;
    PERFORM pausemesh.wait_for_standbys_1();
    RETURN;
  END IF;

  IF w_expected = 0 THEN
    INSERT INTO pausemesh.heads (
      scope, stream, version, kind, status, open, correlation, owner, trace, queue, token_hash, due_at, created_at,
      updated_at, fence, attempts
    ) VALUES (
      w_scope, w_stream, 1, h_kind, h_status, h_open, h_correlation, h_owner, h_trace, h_queue, h_token, h_due, t, t,
      0, 0
    );
  ELSE
    UPDATE pausemesh.heads
    SET
      version = w_expected + 1, status = h_status, open = h_open, owner = h_owner, trace = h_trace, queue = h_queue,
      token_hash = h_token, due_at = h_due, updated_at = t, done_at = CASE WHEN w_finish THEN t ELSE done_at END
    WHERE scope = w_scope AND stream = w_stream AND version = w_expected;
    GET DIAGNOSTICS touched = ROW_COUNT;
    IF touched <> 1 THEN
      RAISE EXCEPTION 'a head was changed by somebody without the lock' USING ERRCODE = 'data_corrupted';
    END IF;
  END IF;
  INSERT INTO pausemesh.events (seq, scope, stream, version, id, type, at, data)
  VALUES (
    (SELECT coalesce(max(seq), 0) + 1 FROM pausemesh.events), w_scope, w_stream, w_expected + 1, e_id, e_type, t, e_data
  )
  RETURNING seq INTO report.seq;
  is_turn := pg_notify('pausemesh_' || 'pausemesh.heads'::regclass::oid, report.seq::text) IS NOT NULL;
  report.seq := report.seq - 1;
  RETURN NEXT report;
END
$$;

-- Changes of claims, one after the other: 1 take, 2 take the next of a queue, 3 renew, 4 release.
CREATE FUNCTION pausemesh.change_claims_1(
  now_given timestamptz, patience text,
  c_change integer[], c_scope text[], c_name text[], c_worker text[], c_fence bigint[], c_lease bigint[]
) RETURNS TABLE (
  number integer, is_changed boolean, stream text, holder text, fence bigint, lease_until timestamptz, attempts bigint,
  at timestamptz
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t timestamptz;
  c record;
  h pausemesh.heads;
  until timestamptz;
BEGIN
  PERFORM pausemesh.take_turn_1(patience);
  t := coalesce(now_given, clock_timestamp());
  FOR c IN
    SELECT u.*
    FROM unnest(c_change, c_scope, c_name, c_worker, c_fence, c_lease) WITH ORDINALITY AS u (
      change, scope, name, worker, fence, lease, number
    )
    ORDER BY u.number
  LOOP
    h := NULL;
    until := t + c.lease * interval '1 microsecond';
    IF c.change = 1 THEN
      UPDATE pausemesh.heads
      SET holder = c.worker, fence = fence + 1, lease_until = until, attempts = attempts + 1
      WHERE scope = c.scope AND stream = c.name AND NOT open AND done_at IS NULL
        AND (lease_until IS NULL OR lease_until <= t)
      RETURNING * INTO h;
    ELSIF c.change = 2 THEN
      UPDATE pausemesh.heads
      SET holder = c.worker, fence = fence + 1, lease_until = until, attempts = attempts + 1
      WHERE scope = c.scope AND stream = (
        SELECT q.stream
        FROM pausemesh.heads AS q
        WHERE q.scope = c.scope AND q.queue = c.name AND NOT q.open AND q.done_at IS NULL
          AND (q.lease_until IS NULL OR q.lease_until <= t)
        ORDER BY q.updated_at, q.stream
        LIMIT 1
      )
      RETURNING * INTO h;
    ELSIF c.change = 3 THEN
      UPDATE pausemesh.heads
      SET lease_until = until
      WHERE scope = c.scope AND stream = c.name AND fence = c.fence AND holder IS NOT NULL AND lease_until > t
        AND done_at IS NULL
      RETURNING * INTO h;
    ELSE
      UPDATE pausemesh.heads
      SET holder = NULL, lease_until = NULL
      WHERE scope = c.scope AND stream = c.name AND fence = c.fence AND holder IS NOT NULL AND lease_until > t
        AND done_at IS NULL
      RETURNING * INTO h;
    END IF;
    IF h.stream IS NOT NULL THEN
      RETURN QUERY SELECT c.number::integer, true, h.stream, h.holder, h.fence, h.lease_until, h.attempts, t;
    ELSIF c.change = 1 THEN
      -- Who holds it, where somebody does.
      RETURN QUERY
      SELECT c.number::integer, false, stream, holder, fence, lease_until, attempts, t
      FROM pausemesh.heads
      WHERE scope = c.scope AND stream = c.name AND NOT open AND done_at IS NULL AND holder IS NOT NULL
        AND lease_until > t;
    END IF;
  END LOOP;
END
$$;

CREATE FUNCTION pausemesh.beat_1(now_given timestamptz, patience text, b_scope text[], b_stream text[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t timestamptz;
BEGIN
  PERFORM pausemesh.take_turn_1(patience);
  t := coalesce(now_given, clock_timestamp());
  INSERT INTO pausemesh.beats AS old (scope, stream, beat_at)
  SELECT DISTINCT h.scope, h.stream, t
  FROM unnest(b_scope, b_stream) AS b (scope, stream)
  JOIN pausemesh.heads AS h ON h.scope = b.scope AND h.stream = b.stream
  ON CONFLICT (scope, stream) DO UPDATE SET beat_at = excluded.beat_at;
END
$$;

REVOKE ALL ON FUNCTION
  pausemesh.refuse_change, pausemesh.take_turn_1, pausemesh.wait_for_standbys_1, pausemesh.append_many_1,
  pausemesh.append_one_1, pausemesh.change_claims_1, pausemesh.beat_1
FROM PUBLIC;
