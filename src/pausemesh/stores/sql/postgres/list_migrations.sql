SELECT number, checksum
FROM pausemesh.migrations
ORDER BY number
