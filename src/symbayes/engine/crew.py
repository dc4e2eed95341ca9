"""The processes that make one run together, and what they tell one another beside the devices' own traffic.

Process 0 leads.  It alone writes the folder, and decides before every block whether the state after it is
stored and whether the run stops: the others hear it before they begin the block, so that all of them give
their devices the same programs in the same order.  Another process that is asked to stop, or fails, raises a
hand, which the leader sees before the next block.

Messages go through the key-value store of JAX's coordination service.  They do not wait for the devices, as a
collective operation would, and a process that fails can still speak.  A process that is gone is found out by
JAX itself, by missing heartbeats, and ends all others.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
from jax._src import distributed  # its client has no public name; other packages take it from here too
from jax.errors import JaxRuntimeError
from jax.sharding import Mesh

from symbayes.draws import files

WAIT = 1000
"""Milliseconds after which a process that waits looks up, for a Ctrl-C or a raised hand."""

SWEEP = 64
"""After so many messages all processes meet, and the messages before are removed."""

MEETING = 24 * 3600 * 1000
"""Milliseconds that a process waits where all meet; if one of them died, JAX ends the others before that."""

LOST = ("gloo", "nccl", "unavailable", "aborted", "heartbeat", "by peer", "broken pipe")
"""Words by which the failure of a connection is known."""

GONE = "symbayes/gone/"
"""Where processes that gave up are noted."""

_sessions = itertools.count()


class Elsewhere(RuntimeError):
    """Another process ended the run; the message says which one, and why."""


class Lost(Elsewhere):
    """The connection to another process broke: there is nobody to wait for."""


class Crew:
    """The processes of one run; a single one talks to nobody."""

    def __init__(self, count: int = 1, number: int = 0) -> None:
        self.count, self.number = count, number
        self._prefix = f"symbayes/{next(_sessions) if count > 1 else ''}"
        self._said = 0

    @property
    def alone(self) -> bool:
        return self.count == 1

    @property
    def leads(self) -> bool:
        return self.number == 0

    def said(self, value: Any = None, meanwhile: Callable[[], None] = lambda: None) -> Any:
        """What the leader says, to all: it gives a value, and every process gets it.

        Those that wait do `meanwhile` before, and every now and then.
        """
        if self.alone:
            return value
        number, self._said = self._said, self._said + 1
        if self.leads:
            self._put(f"said/{number}", {"value": value})
        else:
            heard = self._get(f"said/{number}", meanwhile)
            if "ended" in heard:
                raise Elsewhere(f"process 0 ended the run: {heard['ended']}")
            value = heard["value"]
        if number % SWEEP == SWEEP - 1:
            self._client.wait_at_barrier(f"{self._prefix}/met/{number}", MEETING)
            if self.leads:
                for old in range(number + 1 - SWEEP, number + 1):
                    self._client.key_value_delete(f"{self._prefix}/said/{old}")
        return value

    def gathered(self, name: str, value: Any) -> list[Any]:
        """What every process says, for the leader; the others get nothing."""
        if self.alone:
            return [value]
        if self.leads:
            return [value, *(self._get(f"{name}/{other}") for other in range(1, self.count))]
        self._put(f"{name}/{self.number}", value)
        return []

    def ask_to_stop(self) -> None:
        """Raise a hand, so that the leader stops the run."""
        self._put(f"hands/{self.number}", {"stop": True})

    def asked_to_stop(self) -> bool:
        """Whether another process asks the leader to stop; one that failed ends the run here and now."""
        hands = self._client.key_value_dir_get(f"{self._prefix}/hands/")
        raised = {int(key.rpartition("/")[2]): json.loads(hand) for key, hand in hands}
        for number, hand in sorted(raised.items()):
            if "failed" in hand:
                raise Elsewhere(f"process {number} failed: {hand['failed']}")
        return bool(raised)

    def end(self, error: BaseException) -> None:
        """Tell the others that this process ends the run."""
        reason = str(error) or type(error).__name__
        if self.leads:
            self._put(f"said/{self._said}", {"ended": reason})
        elif not isinstance(error, Elsewhere):
            self._put(f"hands/{self.number}", {"failed": reason})

    @property
    def _client(self) -> Any:
        return distributed.global_state.client

    def _put(self, name: str, value: Any) -> None:
        self._client.key_value_set(f"{self._prefix}/{name}", json.dumps(value), allow_overwrite=True)

    def _get(self, name: str, meanwhile: Callable[[], None] = lambda: None) -> Any:
        while True:
            meanwhile()
            try:
                return json.loads(self._client.blocking_key_value_get(f"{self._prefix}/{name}", WAIT))
            except JaxRuntimeError as error:
                if "DEADLINE_EXCEEDED" not in str(error):
                    raise
            self._look_around()

    def _look_around(self) -> None:
        """While waiting: one that gave up outside of a run will never come."""
        for key, reason in self._client.key_value_dir_get(GONE):
            number = int(key.rpartition("/")[2])
            if number != self.number:
                raise Elsewhere(f"process {number} failed: {reason}")
        if self.leads:
            self.asked_to_stop()


def everyone() -> Crew:
    """All processes that JAX knows of."""
    return Crew(jax.process_count(), jax.process_index())


def give_up(error: BaseException) -> None:
    """Tell all others that this process will take part in nothing any more."""
    reason = str(error) or type(error).__name__
    with contextlib.suppress(JaxRuntimeError):
        client: Any = distributed.global_state.client
        client.key_value_set(f"{GONE}{jax.process_index()}", reason, allow_overwrite=True)


@contextlib.contextmanager
def joined(mesh: Mesh | None) -> Iterator[Crew]:
    """The processes of a mesh for one run; if it fails in one of them, the others hear of it."""
    crew = Crew() if local(mesh) else everyone()
    try:
        yield crew
    except BaseException as error:
        if crew.alone:
            raise
        told = _explained(crew, error)
        with contextlib.suppress(JaxRuntimeError):  # where the leader is gone, nobody listens
            crew.end(told)
        if told is error:
            raise
        raise told from error


def local(mesh: Mesh | None) -> bool:
    """Whether this process has all devices of the mesh to itself."""
    return mesh is None or all(device.process_index == jax.process_index() for device in mesh.devices.flat)


def _explained(crew: Crew, error: BaseException) -> BaseException:
    """The error, or what is behind it if the connection to another process broke."""
    if not isinstance(error, JaxRuntimeError) or not any(word in str(error).lower() for word in LOST):
        return error
    if crew.leads:
        try:
            crew.asked_to_stop()
        except Elsewhere as reason:
            return reason
        except JaxRuntimeError:
            pass
    return Lost(
        f"the connection to another process was lost ({str(error).splitlines()[0][:200]}): "
        "what is committed is kept, and the same command on all processes goes on"
    )


def require_agreement(crew: Crew, parts: Mapping[str, Any]) -> None:
    """Refuse to begin where processes were started with different things, named by the keys of `parts`.

    Only checksums are sent.
    """
    sums = {
        # Code of the user's own may have no JSON.
        name: files.sha256(json.dumps(value, sort_keys=True, default=str).encode())[:32]
        for name, value in parts.items()
    }
    for number, theirs in enumerate(crew.gathered("parts", sums)):
        if different := [name for name in {**sums, **theirs} if sums.get(name) != theirs.get(name)]:
            raise ValueError(
                f"process {number} disagrees with process 0 on {' and '.join(different)}: "
                "start all processes with the same command, the same data and the same versions"
            )
