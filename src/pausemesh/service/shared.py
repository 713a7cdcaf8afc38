"""What the meshes of all scopes over one store have in common."""

from pausemesh.ports import EventStore, SchemaValidator
from pausemesh.service.answers import AnswerChecks
from pausemesh.service.cache import StateCache
from pausemesh.service.wakeups import Wakeups


class Shared:
    """One cache, one set of compiled schemas and one follower of the log, however many scopes are served."""

    def __init__(self, store: EventStore, validator: SchemaValidator) -> None:
        self.cache = StateCache()
        self.answers = AnswerChecks(validator)
        self.wakeups = Wakeups(store)
