"""What a store says of the medium that it is kept on."""

from pausemesh.core.errors import StoreCorrupt
from pausemesh.ports import EventStore
from pausemesh.service.findings import Finding, Findings, Flaw


async def find_damage(store: EventStore, findings: Findings) -> None:
    """Ask a store for all that is wrong with its medium."""
    try:
        for message in await store.check_integrity():
            findings.add(Finding(flaw=Flaw.MEDIUM, detail=message))
    except StoreCorrupt:
        findings.add(Finding(flaw=Flaw.MEDIUM, detail="It cannot be read to its end."))
