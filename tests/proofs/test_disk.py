"""The disk under the crash images forgets only what was not synced, but that in every way."""

import random

from proofs.images.disk import SECTOR_BYTES, Deleted, Disk, Step, Synced, Truncated, Written


def disk(*steps: Step) -> Disk:
    made = Disk()
    for step in steps:
        made.take(step)
    return made


def cuts(made: Disk) -> list[dict[str, bytes]]:
    return [made.files_after_a_cut(random.Random(seed))[0] for seed in range(300)]


def test_what_was_synced_is_kept_whatever_happens() -> None:
    made = disk(Written("a", 0, b"old"), Synced("a"), Written("b", 0, b"new"))
    assert {files["a"] for files in cuts(made)} == {b"old"}


def test_what_was_not_synced_may_be_kept_or_lost() -> None:
    found = [files.get("a") for files in cuts(disk(Written("a", 0, b"new")))]
    assert {None, b"new"} <= set(found)


def test_whoever_is_killed_loses_nothing() -> None:
    made = disk(Written("a", 0, b"old"), Synced("a"), Written("a", 1, b"--"), Truncated("a", 2), Written("b", 2, b"x"))
    assert made.files_now() == {"a": b"o-", "b": b"\0\0x"}


def test_a_long_write_may_be_torn_between_sectors_and_never_within_one() -> None:
    data = b"".join(bytes([number]) * SECTOR_BYTES for number in range(1, 5))
    start = SECTOR_BYTES // 2
    found = [files["a"] for files in cuts(disk(Written("a", start, data))) if "a" in files]
    torn = [content for content in found if content[start:] != data]
    assert torn
    for content in torn:
        for place in range(0, len(content), SECTOR_BYTES):
            sector = content[place : place + SECTOR_BYTES]
            expected = (b"\0" * start + data)[place : place + SECTOR_BYTES]
            assert sector in {bytes(len(sector)), expected[: len(sector)]}


def test_later_writes_may_reach_the_disk_before_earlier_ones() -> None:
    found = {files.get("a") for files in cuts(disk(Written("a", 0, b"1"), Written("a", 0, b"2")))}
    assert {b"1", b"2", None} <= found


def test_a_deletion_is_undone_until_its_folder_is_synced() -> None:
    steps: list[Step] = [Written("a", 0, b"x"), Synced("a"), Deleted("a", durable=False)]
    assert {files.get("a") for files in cuts(disk(*steps))} == {None, b"x"}
    assert {files.get("a") for files in cuts(disk(*steps, Synced("b", folder=True)))} == {None}
    assert {files.get("a") for files in cuts(disk(*steps[:2], Deleted("a", durable=True)))} == {None}


def test_a_copy_goes_its_own_way() -> None:
    made = disk(Written("a", 0, b"x"))
    made.copy().take(Synced("a"))
    assert None in {files.get("a") for files in cuts(made)}
