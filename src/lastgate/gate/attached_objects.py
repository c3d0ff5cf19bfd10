# SPDX-License-Identifier: Apache-2.0
"""What a gate holds: the shapes of every object, and the number by which the core speaks of it."""

from collections.abc import Sequence

from lastgate import _core
from lastgate.contracts import ROSConfigError
from lastgate.contracts.attached_shape import AttachedShape
from lastgate.robots.attached_solid import native_shape


class AttachedObjects:
    """Keeps the core's attachments and their names together.

    Attributes:
        numbers: Of each object, by its name; always the same dictionary, so that others may look it up here.
        shapes: All of them with their numbers, in the order they were attached; replaced as a whole, so that
            another thread reads all of one moment.
    """

    def __init__(self, native: _core.Gate, *, robot_name: str, link_names: Sequence[str]) -> None:
        self.numbers: dict[str, int] = {}
        self.shapes: tuple[tuple[int, AttachedShape], ...] = ()
        self._native = native
        self._robot_name = robot_name
        self._link_names = link_names

    def attach(self, held: AttachedShape) -> None:
        """Adds a shape to its object, or to a new one; what cannot be attached raises `ROSConfigError`."""
        taken = set(self.numbers.values())
        free = next(number for number in range(len(taken) + 1) if number not in taken)
        self._attach(held, self.numbers.get(held.object_id, free))

    def _attach(self, held: AttachedShape, number: int) -> None:
        touching = {self._link_index(name) for name in (held.link, *held.touch_links)}
        numbers = native_shape(held.shape, held.origin_xyz_rpy)
        if not self._native.attach(
            id=number,
            link=self._link_index(held.link),
            radius_m=numbers.radius_m,
            ends=numbers.ends_m,
            touch=sorted(touching),
            solid=numbers.solid,
        ):
            raise ROSConfigError(
                f"`{held.object_id}` cannot be attached to `{held.link}`: larger than 100 m, or no room for another "
                f"shape beside {', '.join(f'`{name}`' for name in self.numbers) or 'nothing'}"
            )
        self.numbers[held.object_id] = number
        self.shapes = (*self.shapes, (number, held))

    def _link_index(self, name: str) -> int:
        if name not in self._link_names:
            raise ROSConfigError(
                f"robot `{self._robot_name}` has no link `{name}`; links: {', '.join(self._link_names)}"
            )
        return self._link_names.index(name)

    def detach(self, object_id: str) -> None:
        """Detaches an object; an unknown one raises `ROSConfigError`."""
        number = self.numbers.get(object_id)
        if number is None or not self._native.detach(number):
            raise ROSConfigError(
                f"`{object_id}` is not attached; attached: {', '.join(self.numbers) or 'nothing'}"
            )
        del self.numbers[object_id]
        self.shapes = tuple(item for item in self.shapes if item[1].object_id != object_id)

    def replace(self, shapes: Sequence[tuple[int, AttachedShape]]) -> None:
        """Detaches everything and attaches these under these numbers; one used twice raises `ROSConfigError`."""
        for object_id in tuple(self.numbers):
            self.detach(object_id)
        for number, held in shapes:
            if self.numbers.get(held.object_id, number) != number or (
                held.object_id not in self.numbers and number in self.numbers.values()
            ):
                raise ROSConfigError(
                    f"attached object `{held.object_id}` has a number that is not its own: {number}"
                )
            self._attach(held, number)
