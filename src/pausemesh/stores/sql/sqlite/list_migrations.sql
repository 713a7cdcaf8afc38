SELECT number, checksum
FROM migrations
ORDER BY number
