"""Rules: any steps in any order, on every store, compared with a small model that knows nothing of the product."""
