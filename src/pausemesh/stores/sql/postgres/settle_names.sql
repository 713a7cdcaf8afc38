-- With these, the catalog's functions write the names of what is in the schema with the schema's name before them.
SELECT set_config('search_path', 'pg_catalog, pg_temp', true), set_config('quote_all_identifiers', 'off', true)
