-- What the schema $1 holds, in words that are the same for every name of it and every release of PostgreSQL.
-- Constraints of kind n are left out: what they say stands with the columns, and older releases do not have them.
WITH ours AS (
  SELECT oid, quote_ident(nspname) || '.' AS prefix, '"' || nspname || '".' AS written, 'pausemesh' || '.' AS usual
  FROM pg_catalog.pg_namespace
  WHERE nspname = $1::text
),
relations AS (
  SELECT c.oid, c.relname, c.relkind, c.relpersistence, c.relrowsecurity, ours.prefix, ours.usual
  FROM ours
  JOIN pg_catalog.pg_class AS c ON c.relnamespace = ours.oid
)
SELECT
  CASE r.relkind WHEN 'c' THEN 'type' ELSE 'table' END AS kind,
  r.relname::text AS name,
  concat_ws(
    E'\n',
    format('kind %s, persistence %s%s', r.relkind, r.relpersistence, CASE WHEN r.relrowsecurity THEN ', by row' END),
    string_agg(
      concat_ws(
        ' ', a.attname, replace(format_type(a.atttypid, a.atttypmod), r.prefix, r.usual),
        'COLLATE ' || l.collname, CASE WHEN a.attnotnull THEN 'NOT NULL' END,
        'DEFAULT ' || replace(pg_get_expr(d.adbin, d.adrelid), r.prefix, r.usual),
        'IDENTITY ' || nullif(a.attidentity::text, ''), 'GENERATED ' || nullif(a.attgenerated::text, '')
      ),
      E'\n' ORDER BY a.attnum
    )
  ) AS description
FROM relations AS r
LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_collation AS l ON l.oid = a.attcollation
LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE r.relkind IN ('r', 'p', 'c', 'v', 'm', 'f')
GROUP BY r.oid, r.relname, r.relkind, r.relpersistence, r.relrowsecurity

UNION ALL
SELECT
  'constraint', r.relname || '.' || k.conname,
  replace(pg_get_constraintdef(k.oid), r.prefix, r.usual)
FROM relations AS r
JOIN pg_catalog.pg_constraint AS k ON k.conrelid = r.oid
WHERE k.contype <> 'n'

UNION ALL
SELECT
  'index', t.relname || '.' || r.relname,
  concat_ws(
    ' ', CASE WHEN i.indisunique THEN 'UNIQUE' END, substring(pg_get_indexdef(i.indexrelid) FROM 'USING .*$'),
    CASE WHEN NOT (i.indisvalid AND i.indisready AND i.indislive) THEN 'UNUSABLE' END
  )
FROM relations AS r
JOIN pg_catalog.pg_index AS i ON i.indexrelid = r.oid
JOIN pg_catalog.pg_class AS t ON t.oid = i.indrelid

UNION ALL
SELECT
  'trigger', r.relname || '.' || g.tgname,
  format('%s' || E'\n' || 'enabled %s', replace(pg_get_triggerdef(g.oid), r.prefix, r.usual), g.tgenabled)
FROM relations AS r
JOIN pg_catalog.pg_trigger AS g ON g.tgrelid = r.oid
WHERE NOT g.tgisinternal

UNION ALL
SELECT 'rule', r.relname || '.' || u.rulename, format('enabled %s', u.ev_enabled)
FROM relations AS r
JOIN pg_catalog.pg_rewrite AS u ON u.ev_class = r.oid
WHERE r.relkind IN ('r', 'p')

UNION ALL
SELECT
  'function', p.proname,
  string_agg(
    format(
      E'arguments %s\nresult %s\nlanguage %s, kind %s, volatility %s, parallel %s%s%s%s\nsettings %s\nsource sha256 %s',
      replace(pg_get_function_arguments(p.oid), ours.prefix, ours.usual),
      replace(pg_get_function_result(p.oid), ours.prefix, ours.usual),
      g.lanname, p.prokind, p.provolatile, p.proparallel, CASE WHEN p.proisstrict THEN ', strict' END,
      CASE WHEN p.prosecdef THEN ', security definer' END, CASE WHEN p.proleakproof THEN ', leakproof' END,
      coalesce(array_to_string(p.proconfig, ', '), 'none'),
      encode(sha256(convert_to(replace(p.prosrc, ours.written, ours.usual), 'UTF8')), 'hex')
    ),
    E'\n' ORDER BY p.oid
  )
FROM ours
JOIN pg_catalog.pg_proc AS p ON p.pronamespace = ours.oid
JOIN pg_catalog.pg_language AS g ON g.oid = p.prolang
GROUP BY p.proname
