"""The world behind the ports: clock, identifiers, tokens, schemas."""
