"""The server over HTTP, killed and cut off: who retries under a key is told the truth, and loses nothing."""
