# SPDX-License-Identifier: Apache-2.0
"""Refuses to arm a gate for a robot that its volumes do not cover."""

from lastgate.contracts import RobotDescription, ROSConfigError


def uncovered_links(robot: RobotDescription) -> list[str]:
    """Returns the links that a moving joint carries, directly or not, and that neither have a volume nor a waiver."""
    moving = {robot.base_frame: False}
    for joint in robot.joints:
        moving[joint.child_link] = joint.is_moving or moving[joint.parent_link]
    covered = {volume.link_name for volume in robot.collision_geometry}
    waived = {waiver.link for waiver in robot.coverage_waivers}
    return [link for link, moves in moving.items() if moves and link not in covered and link not in waived]


def require_coverage(robot: RobotDescription) -> None:
    """Raises `ROSConfigError` naming every moving link without a volume; a waiver with a reason lets one pass."""
    bare = uncovered_links(robot)
    if bare:
        raise ROSConfigError(
            f"robot `{robot.name}` cannot be armed: no volume covers the moving "
            f"link{'s' if len(bare) > 1 else ''} {', '.join(f'`{link}`' for link in bare)}\n\n"
            f"hint: `lastgate collision lower --robot {robot.name} --write` fits volumes; a link that carries nothing "
            "needs a line under `coverage_waivers` with the reason"
        )
