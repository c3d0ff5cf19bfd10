# SPDX-License-Identifier: Apache-2.0
"""A robot as spheres: a proved cover of every link, placed by the core."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lastgate import _core
from lastgate.contracts import RobotDescription, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.contracts.convex_hulls import LinkHull
from lastgate.contracts.renamed_names import with_old_attributes
from lastgate.planning.collision.passing_links import grow_covers
from lastgate.planning.collision.planned_robot import PlannedRobot
from lastgate.planning.collision.sphere_config import SphereGenConfig
from lastgate.planning.collision.sphere_cutting import GrowingCover, Sphere
from lastgate.robots.kernel_config import capsule_ends
from lastgate.world.finite_numbers import require_not_negative


@dataclass(frozen=True, slots=True)
class LinkCover:
    """The cover that was reached on one link.

    Attributes:
        sphere_count: How many spheres cover it.
        radius_m: Of the largest.
        overshoot_m: No point of a sphere is farther than this from the link's hulls.
        meets_config: Whether no sphere stands out by more than the config's `radius_m_max`.
    """

    link_name: str
    sphere_count: int
    radius_m: float
    overshoot_m: float
    meets_config: bool


@with_old_attributes
class RobotSphereModel:
    """A set of spheres that holds every link: its convex hulls or, where it has none, its volumes.

    Both contain the link's meshes by proof, so the spheres do. Spheres are kept by coordinate: `x`, `y`, `z`,
    `radius` in the frame of the link, and `link` by index into `link_names`.
    """

    def __init__(
        self, planned: PlannedRobot, spheres: Float64, link: NDArray[np.uint16], covers: tuple[LinkCover, ...]
    ) -> None:
        self.robot = planned.robot
        self.link_names = planned.link_names
        self.joint_names = planned.joint_names
        self.gripper_joint_names = planned.gripper_joint_names
        self.covers = covers
        self.planned = planned
        self.x, self.y, self.z, self.radius = (np.ascontiguousarray(column) for column in spheres.T)
        self.link = link
        for array in (self.x, self.y, self.z, self.radius, self.link):
            array.flags.writeable = False
        try:
            self.native = _core.SphereCover(planned.config, np.ascontiguousarray(spheres), link)
        except ValueError as error:
            raise ROSConfigError(f"the spheres of `{self.robot.name}` cannot be used: {error}") from None

    @classmethod
    def from_robot(cls, robot: RobotDescription, config: SphereGenConfig | None = None) -> Self:
        """Returns the cover of a robot; `SphereGenConfig.default()` if none is given.

        A link without any geometry gets no spheres and is named in `links_without_geometry`.

        Raises:
            ROSConfigError: Not a robot, not a config, or a robot that the core does not take.
        """
        config = SphereGenConfig.default() if config is None else config
        if not isinstance(config, SphereGenConfig):
            raise ROSConfigError(
                f"config is a {type(config).__name__}, expected a SphereGenConfig: "
                "use `SphereGenConfig.default()`"
            )
        planned = PlannedRobot(robot)
        rows: list[tuple[float, float, float, float]] = []
        links: list[int] = []
        covers: list[LinkCover] = []
        growing = {
            index: GrowingCover(hulls, config)
            for index, name in enumerate(robot.link_names)
            if (hulls := _hulls_of(robot, name))
        }
        grow_covers(planned, growing, config)
        for index, cover in growing.items():
            spheres = cover.spheres()
            rows += [(*sphere.centre, sphere.radius_m) for sphere in spheres]
            links += [index] * len(spheres)
            covers.append(_achieved(robot.link_names[index], spheres, config))
        spheres_array = np.array(rows, dtype=np.float64).reshape(-1, 4)
        return cls(planned, spheres_array, np.array(links, dtype=np.uint16), tuple(covers))

    @property
    def sphere_count(self) -> int:
        """Number of spheres."""
        return len(self.radius)

    @property
    def links_without_geometry(self) -> tuple[str, ...]:
        """Every link that nothing covers, because there is nothing on it to cover."""
        covered = {cover.link_name for cover in self.covers}
        return tuple(name for name in self.link_names if name not in covered)

    @property
    def spheres_in_links(self) -> Float64:
        """Array (M, 4) of every sphere in the frame of its link."""
        return np.stack([self.x, self.y, self.z, self.radius], axis=1)

    def place(
        self, configurations: Any, *, gripper_positions: Sequence[float] | Float64 | None = None
    ) -> Float64:
        """Returns the spheres of (N, n_dof) configurations in the base frame, (N, M, 4); (M, 4) of a single one.

        Fingers that were not placed may be anywhere in their range, and their spheres grow by that.
        """
        rows, single = self.planned.configurations(configurations)
        everything, uncertainty = self.planned.variables(rows, self.planned.grippers(gripper_positions))
        placed = self.native.place(everything, uncertainty)
        return placed[0] if single else placed

    def padded(
        self, padding_m: float = 0.0, *, scale: float = 1.0, links: Sequence[str] | None = None
    ) -> "RobotSphereModel":
        """Returns the model with every radius as `radius * scale + padding_m`, on all links or on some.

        Raises:
            ROSConfigError: A negative padding or a scale below 1, after which it would cover nothing by proof; or a
                link that the robot does not have.
        """
        padding_m = require_not_negative(padding_m, name="padding_m")
        if isinstance(scale, bool) or not isinstance(scale, int | float) or not 1.0 <= scale <= 100.0:
            raise ROSConfigError(
                f"scale is {scale!r}, from 1 to 100 is taken: smaller spheres cover nothing by proof"
            )
        for name in links or ():
            if name not in self.link_names:
                raise ROSConfigError(f"robot `{self.robot.name}` has no link `{name}`")
        chosen = np.array(
            [links is None or self.link_names[index] in links for index in self.link], dtype=bool
        )
        radius = np.where(chosen, self.radius * scale + padding_m, self.radius)
        spheres = np.stack([self.x, self.y, self.z, radius], axis=1)
        covers = []
        for cover in self.covers:
            grow_m = 0.0
            if links is None or cover.link_name in links:
                grow_m = cover.radius_m * (scale - 1.0) + padding_m
            covers.append(
                LinkCover(
                    cover.link_name,
                    cover.sphere_count,
                    cover.radius_m + grow_m,
                    cover.overshoot_m + grow_m,
                    cover.meets_config and grow_m == 0.0,
                )
            )
        return RobotSphereModel(self.planned, spheres, self.link.copy(), tuple(covers))


def _hulls_of(robot: RobotDescription, link: str) -> list[LinkHull]:
    hulls = [hull for hull in robot.loaded_hulls if hull.link_name == link]
    if hulls:
        return hulls
    found = []
    for volume in robot.collision_geometry:
        if volume.link_name != link:
            continue
        ax, ay, az, bx, by, bz = capsule_ends(volume.shape, volume.origin_xyz_rpy)
        found.append(LinkHull(link, volume.shape.radius_m, ((ax, ay, az), (bx, by, bz))))
    return found


def _achieved(link: str, spheres: list[Sphere], config: SphereGenConfig) -> LinkCover:
    radius_m, overshoot_m = (
        max(sphere.radius_m for sphere in spheres),
        max(sphere.overshoot_m for sphere in spheres),
    )
    meets = len(spheres) <= config.spheres_per_link_max and overshoot_m <= config.radius_m_max
    return LinkCover(link, len(spheres), radius_m, overshoot_m, meets)
