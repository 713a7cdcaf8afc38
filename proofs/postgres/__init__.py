"""PostgreSQL: cut connections, killed servers, a standby that takes over."""
