# SPDX-License-Identifier: Apache-2.0
"""What a recording says against a set of positions: each source answers with a sentence, or with None.

The robot was where it was: inside its limits, clear of itself, its tool where the tool was seen. Positions that say
otherwise are wrong. Commands and velocities come through the same driver as the positions and may be wrong in the same
way, so they can show that something is wrong, and never that something is right.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lastgate.contracts import JointSpec
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.tools.audit.calibration.recording import RecordedMotion
from lastgate.world import NO_WORLD

# A joint rests against its stop and encoders have an offset: three degrees, or 3 mm.
LIMIT_SLACK = 0.052
LIMIT_SLACK_M = 0.003
# One row in fifty, and at least three: a glitch of a sensor is no calibration.
ROWS_SHARE = 0.02
ROWS_COUNT = 3
# Arms repeat to a millimetre and are built to a few; trackers and tool frames are no better.
TOOL_ERROR_M = 0.015
TOOL_ERROR_RAD = 0.05
# A tracked velocity is filtered and late; below these, a difference is its own noise.
SLOPE_ERROR = 0.15
CORRELATION_MIN = 0.9
# Motion below this share of a radian or metre says nothing about a slope.
MOTION_MIN = 0.03
# Commands lead the measurement by less than this.
LAG_ROWS_MAX = 15
# A position controller under load lags behind by degrees, never by this many.
OFFSET_ERROR_RAD = 0.35
OFFSET_ERROR_M = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The sources of one recording."""

    gate: Gate
    motion: RecordedMotion

    @property
    def joints(self) -> Sequence[JointSpec]:
        """The joints of a row, in order."""
        by_name = {joint.name: joint for joint in self.gate.robot.joints}
        return [by_name[name] for name in self.gate.joint_names]

    def against(self, positions: Float64) -> str | None:
        """Returns what the limits, the robot itself or the tool say against these positions."""
        return (
            self.limits_against(positions)
            or self.self_collision_against(positions)
            or self.tool_against(positions)
        )

    def limits_against(self, positions: Float64) -> str | None:
        """Says which joint is outside its limits."""
        for index, joint in enumerate(self.joints):
            if joint.position_limits is None:
                continue
            lower, upper = joint.position_limits
            slack = LIMIT_SLACK_M if joint.joint_type == "prismatic" else LIMIT_SLACK
            inside = (lower - slack <= positions[:, index]) & (positions[:, index] <= upper + slack)
            if _is_many(~inside):
                far = positions[:, index][~inside]
                worst = far[np.argmax(np.maximum(lower - far, far - upper))]
                return (
                    f"{joint.name} is at {worst:.4f}, outside its limits [{lower:.4f}, {upper:.4f}], "
                    f"in {np.mean(~inside):.0%} of the rows"
                )
        return None

    def self_collision_against(self, positions: Float64) -> str | None:
        """Says in how many rows the robot would be inside itself. Rows outside limits are not asked about."""
        lower, upper = (
            np.array([-np.inf if j.position_limits is None else j.position_limits[0] for j in self.joints]),
            np.array([np.inf if j.position_limits is None else j.position_limits[1] for j in self.joints]),
        )
        inside = ((lower <= positions) & (positions <= upper)).all(axis=1)
        if not inside.any():
            return None
        accepted = self.gate.check_batch(np.ascontiguousarray(positions[inside]), world=NO_WORLD).accepted
        if not _is_many(~accepted):
            return None
        return f"links of the robot would meet in {np.mean(~accepted):.0%} of the rows"

    def tool_against(self, positions: Float64) -> str | None:
        """Says how far the tool is from where these positions put it, wherever on its link it is mounted."""
        if self.motion.tool is None:
            return None
        error_m, error_rad = self.tool_error(positions)
        if error_m <= TOOL_ERROR_M and error_rad <= TOOL_ERROR_RAD:
            return None
        return (
            f"the recorded tool is {error_m * 1000.0:.0f} mm and {np.degrees(error_rad):.1f} degrees from where "
            "these positions put it"
        )

    def tool_error(self, positions: Float64) -> tuple[float, float]:
        """Returns the median distance and angle between tool and positions, for the mounting that fits best."""
        tool = self.motion.tool
        assert tool is not None
        link = self.gate.link_poses_batch(np.ascontiguousarray(positions))[self.motion.tool_link]
        turns, places = link[:, :, :3], link[:, :, 3]
        seen = np.einsum(
            "nji,nj->ni", turns, tool[:, :3] - places
        )  # in the link's frame, where it stands still
        apart = np.linalg.norm(seen - np.median(seen, axis=0), axis=1)
        if tool.shape[1] == 3:
            return float(np.median(apart)), 0.0
        mounted = np.einsum("nji,njk->nik", turns, rotations(tool[:, 3:]))
        left, _, right = np.linalg.svd(mounted.mean(axis=0))
        mean = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
        cosines = (np.einsum("nij,ij->n", mounted, mean) - 1.0) / 2.0
        return float(np.median(apart)), float(np.median(np.arccos(np.clip(cosines, -1.0, 1.0))))

    def driver_against(self, positions: Float64) -> str | None:
        """Says where reported velocities or commands and these positions do not belong together."""
        return self._velocities_against(positions) or self._commands_against(positions)

    def _velocities_against(self, positions: Float64) -> str | None:
        if self.motion.velocities is None:
            return None
        moved = np.gradient(positions, self.motion.times_s, axis=0)
        for index, joint in enumerate(self.joints):
            fit = _line(moved[:, index], self.motion.velocities[:, index])
            if fit is None or np.ptp(positions[:, index]) < MOTION_MIN:
                continue
            slope, _, correlation = fit
            if abs(correlation) >= CORRELATION_MIN and not abs(slope - 1.0) <= SLOPE_ERROR:
                return f"the reported velocity of {joint.name} is {slope:.3g} times what its positions do"
        return None

    def _commands_against(self, positions: Float64) -> str | None:
        if self.motion.commands is None:
            return None
        commands = self.motion.commands
        for index, joint in enumerate(self.joints):
            if np.ptp(commands[:, index]) < MOTION_MIN:
                continue
            slope, offset, correlation = _late_line(commands[:, index], positions[:, index])
            allowed = OFFSET_ERROR_M if joint.joint_type == "prismatic" else OFFSET_ERROR_RAD
            if abs(correlation) < CORRELATION_MIN:
                other = self._follower_of(index, positions)
                if other is not None:
                    return f"{self.joints[other].name} follows the commands of {joint.name}"
            elif not abs(slope - 1.0) <= SLOPE_ERROR:
                return f"{joint.name} moves {slope:.3g} times as far as it is commanded"
            elif not abs(offset) <= allowed:
                return f"{joint.name} stands {offset:+.3f} from where it is commanded"
        return None

    def _follower_of(self, index: int, positions: Float64) -> int | None:
        """Returns the neighbour that follows the commands of a joint, where one does."""
        assert self.motion.commands is not None
        for other in (index - 1, index + 1):
            if 0 <= other < positions.shape[1] and np.ptp(positions[:, other]) >= MOTION_MIN:
                slope, _, correlation = _late_line(self.motion.commands[:, index], positions[:, other])
                if correlation >= CORRELATION_MIN and abs(slope - 1.0) <= SLOPE_ERROR:
                    return other
        return None


def rotations(quaternions: Float64) -> Float64:
    """Returns (N, 3, 3) of quaternions x y z w, of any length but zero."""
    x, y, z, w = (quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def _is_many(rows: np.ndarray) -> bool:
    return int(rows.sum()) >= max(ROWS_COUNT, ROWS_SHARE * len(rows))


def _line(x: Float64, y: Float64) -> tuple[float, float, float] | None:
    """Returns slope, offset and correlation of y over x; None where either stands still."""
    if x.std() == 0.0 or y.std() == 0.0:
        return None
    correlation = float(np.corrcoef(x, y)[0, 1])
    # The geometric mean of both regressions: noise in x alone would flatten the other.
    slope = float(np.sign(correlation) * y.std() / x.std())
    return slope, float(y.mean() - slope * x.mean()), correlation


def _late_line(commanded: Float64, measured: Float64) -> tuple[float, float, float]:
    """Returns the line of the lag at which the measurement follows best."""
    best = (0.0, 0.0, 0.0)
    for lag in range(min(LAG_ROWS_MAX, len(commanded) // 4)):
        fit = _line(commanded[: len(commanded) - lag], measured[lag:])
        if fit is not None and abs(fit[2]) > abs(best[2]):
            best = fit
    return best
