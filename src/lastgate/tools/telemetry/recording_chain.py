# SPDX-License-Identifier: Apache-2.0
"""Binds every recorded verdict to what it was decided from, and to the verdict before it.

A link is a digest over the one before and over all that a recording holds about a verdict: the model, chunk, state,
world and time, what was held and declared, and what was said. After a change to one of them, or without one of the
verdicts, every later link has to be written anew, and the last one is another.
"""

import hashlib
import json
from dataclasses import dataclass

from lastgate.contracts import ROSConfigError

LINK_TOPIC = "/lastgate/link"
LINK_SCHEMA_NAME = "lastgate.Link"
LINK_SCHEMA = {
    "type": "object",
    "properties": {
        "number": {"type": "integer"},
        "previous": {"type": "string"},
        "digest": {"type": "string"},
    },
}
_BEGIN = hashlib.sha256(b"lastgate recording chain 1").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """The bytes of one verdict that a link speaks for, as they stand in the file.

    Attributes:
        number: Of the check, from 1.
        wall_ns: Where its messages stand in time.
        chunk, joints, check: The messages; empty when there is none.
        world_digest: SHA-256 of the world's message; empty when the check had none in the file.
    """

    number: int
    wall_ns: int
    chunk: bytes
    joints: bytes
    check: bytes
    world_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One link as it stands in a file."""

    number: int
    previous: str
    digest: str

    def to_json(self) -> bytes:
        """Returns its message."""
        fields = {"number": self.number, "previous": self.previous, "digest": self.digest}
        return json.dumps(fields).encode()

    @staticmethod
    def from_json(data: bytes) -> "Link":
        """Reads a message; one that is no link raises `ROSConfigError`."""
        try:
            told = json.loads(data)
            number, previous, digest = told["number"], told["previous"], told["digest"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ROSConfigError("a link of the chain cannot be read") from None
        if type(number) is not int or not isinstance(previous, str) or not isinstance(digest, str):
            raise ROSConfigError("a link of the chain cannot be read")
        return Link(number=number, previous=previous, digest=digest)


class Chain:
    """Makes one link after the other; writer and reader go through the same steps.

    Attributes:
        head: The last digest. It stands for everything so far.
    """

    def __init__(self) -> None:
        self.head = _BEGIN

    def begin(self, model: bytes) -> None:
        """Takes the message of the model, before any verdict."""
        self.head = _digest(self.head, b"model", model)

    def add(self, linked: Linked) -> Link:
        """Returns the link of the next verdict."""
        previous = self.head
        self.head = _digest(
            previous,
            b"check",
            str(linked.number).encode(),
            str(linked.wall_ns).encode(),
            linked.chunk,
            linked.joints,
            linked.world_digest.encode(),
            linked.check,
        )
        return Link(number=linked.number, previous=previous, digest=self.head)


def _digest(previous: str, *parts: bytes) -> str:
    # Each part with its length, so that no byte can move from one to the next.
    found = hashlib.sha256(previous.encode())
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def fault_of(found: Link | None, expected: Link) -> str:
    """Returns what is wrong with a verdict whose link should be `expected`; empty when nothing is."""
    if found is None:
        return "it is not bound to its inputs, although others of this recording are"
    if found.number != expected.number or found.previous != expected.previous:
        return "it does not follow the verdict before it: one was changed, added or left out"
    if found.digest != expected.digest:
        return "it, or what it was decided from, was changed after it was recorded"
    return ""
