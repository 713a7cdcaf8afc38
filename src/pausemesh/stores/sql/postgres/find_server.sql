-- What the role is now, and not what it was when it connected.
SELECT
  current_setting('server_version_num')::integer AS version,
  current_setting('server_encoding') AS encoding,
  pg_is_in_recovery() AS is_standby,
  current_setting('default_transaction_read_only') AS read_only,
  current_setting('default_transaction_isolation') AS isolation,
  current_setting('fsync') AS fsync,
  current_setting('full_page_writes') AS full_page_writes,
  current_setting('synchronous_commit') AS synchronous_commit,
  current_setting('synchronous_standby_names') AS standbys,
  current_setting('session_replication_role') AS replication_role,
  CASE WHEN rolsuper THEN 'on' ELSE 'off' END AS is_superuser
FROM pg_roles
WHERE rolname = current_user
