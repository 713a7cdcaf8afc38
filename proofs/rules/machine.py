"""Steps in any order: each is done on the product and on the model, and both must say the same."""

import asyncio
import dataclasses
import inspect
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, precondition, rule

import pausemesh
from pausemesh import CreatedContinuation, EffectFailed, Mesh, PauseMeshError, Turn
from pausemesh.core.canonical import canonical_bytes
from pausemesh.core.values import JsonValue, cut_to_milliseconds
from pausemesh.ports import EventStore
from pausemesh.testing.clock import ManualClock
from proofs.rules.model import Question, RefusedError
