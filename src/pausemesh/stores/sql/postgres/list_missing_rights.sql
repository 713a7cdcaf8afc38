-- What is not there is not told here. A right on a schema, a table or a function is one of the arrays' rows.
SELECT w.privilege, w.kind, w.name
FROM unnest($2::text[], $3::text[], $4::text[]) AS w (kind, name, privilege)
JOIN pg_catalog.pg_namespace AS n ON n.nspname = $1::text
LEFT JOIN pg_catalog.pg_class AS c ON w.kind = 'TABLE' AND c.relnamespace = n.oid AND c.relname = w.name
LEFT JOIN pg_catalog.pg_proc AS p ON w.kind = 'FUNCTION' AND p.pronamespace = n.oid AND p.proname = w.name
WHERE NOT CASE w.kind
  WHEN 'SCHEMA' THEN has_schema_privilege(n.oid, w.privilege)
  WHEN 'TABLE' THEN has_table_privilege(c.oid, w.privilege)
  ELSE has_function_privilege(p.oid, w.privilege)
END
