"""Power cuts: disk images as they may be found afterwards, each opened with the real store."""
