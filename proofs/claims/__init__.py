"""Claims: many workers want to go on with the same decisions, and some are killed or stopped while they do."""
