# SPDX-License-Identifier: Apache-2.0
# MuJoCo is a native module without type information.
# pyright: reportAttributeAccessIssue=false
"""A simulated mobile arm in a flat: where its base and joints are told to be, they are; MuJoCo renders what it sees.

The gate sees the flat as it would see a real one: obstacles around the base, and the map under it. Nothing here checks
anything; the robot goes where accepted chunks lead it, through walls if they did.
"""

import math

import mujoco
import numpy as np

from lastgate.contracts import (
    BoxShape,
    CapsuleShape,
    ControlMode,
    Pose6D,
    RobotDescription,
    ROSConfigError,
    WorldCollisionPrimitive,
)
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.integrations.agent.spatial_memory import ObjectSighting, Place, SpatialMemory
from lastgate.integrations.agent.view import CameraView
from lastgate.planning.skills.camera import find_camera
from lastgate.robots import load_robot
from lastgate.tools.demo.panda_scene import add_obstacle
from lastgate.tools.demo.scene_camera import SceneCamera, add_camera
from lastgate.world import FloorMap, OccupancyGridIndex, World
from lastgate.world.freshness import StampedTransform
from lastgate.world.rigid_motion import (
    composed,
    inverse,
    pose_of_motion,
    quaternion_of_rotation,
    require_rigid_motion,
)

ROBOT = "panda_mobile"
CAMERA = "wrist"
# Around all of the base's volumes, seen from above; the manifest declares none.
FOOTPRINT_RADIUS_M = 0.62
START_XY_YAW = (1.0, 1.0, 0.0)
# Upright with the hand before the column, the camera ahead.
START_POSITIONS = (0.1, 0.0, -0.60, 0.0, -2.20, 0.0, 1.70, 0.785)
RESOLUTION_M = 0.05
# What the laser of such a base sees of things, and how tall they are taken to be; the obstacles say the rest.
LASER_HEIGHT_M = (0.0, 0.4)
WORLD_AGE_S_MAX = 3600.0

_GREY, _WOOD, _RED, _BLUE, _GREEN = (
    (0.75, 0.75, 0.78, 1.0),
    (0.60, 0.45, 0.30, 1.0),
    (0.80, 0.15, 0.15, 1.0),
    (0.15, 0.30, 0.75, 1.0),
    (0.20, 0.60, 0.30, 1.0),
)


def _box(
    name: str, centre: tuple[float, float, float], size: tuple[float, float, float]
) -> WorldCollisionPrimitive:
    return WorldCollisionPrimitive(shape=BoxShape(size_xyz_m=size), pose=Pose6D(xyz=centre), object_id=name)


def furniture() -> tuple[WorldCollisionPrimitive, ...]:
    """Returns what stands in the flat, in the map's frame: walls, a counter, a table, and a closet without a door."""
    return (
        _box("wall_south", (4.0, -0.05, 1.0), (8.2, 0.1, 2.0)),
        _box("wall_north", (4.0, 6.05, 1.0), (8.2, 0.1, 2.0)),
        _box("wall_west", (-0.05, 3.0, 1.0), (0.1, 6.0, 2.0)),
        _box("wall_east", (8.05, 3.0, 1.0), (0.1, 6.0, 2.0)),
        # Between two rooms, with a passage in the north.
        _box("wall_between", (4.0, 1.5, 1.0), (0.1, 3.0, 2.0)),
        _box("counter", (6.2, 0.35, 0.4), (2.0, 0.7, 0.8)),
        _box("table", (6.4, 4.0, 0.36), (1.0, 1.0, 0.72)),
        _box("sofa", (4.45, 1.5, 0.25), (0.7, 1.4, 0.5)),
        _box("closet_west", (0.35, 4.0, 1.0), (0.05, 1.4, 2.0)),
        _box("closet_east", (1.75, 4.0, 1.0), (0.05, 1.4, 2.0)),
        _box("closet_south", (1.05, 3.3, 1.0), (1.45, 0.05, 2.0)),
        _box("closet_north", (1.05, 4.7, 1.0), (1.45, 0.05, 2.0)),
    )


def things() -> tuple[WorldCollisionPrimitive, ...]:
    """Returns what one might look for: a mug on the table, a kettle on the counter, a vase in the closet.

    Mug and kettle stand at an edge: on a map the rest of the furniture would stand before them.
    """
    mug = CapsuleShape(radius_m=0.03, length_m=0.04)
    return (
        WorldCollisionPrimitive(shape=mug, pose=Pose6D(xyz=(5.935, 4.0, 0.77)), object_id="red mug"),
        _box("kettle", (6.0, 0.66, 0.875), (0.08, 0.08, 0.15)),
        _box("blue vase", (1.05, 4.0, 0.3), (0.15, 0.15, 0.6)),
    )


def remember_the_flat(memory: SpatialMemory) -> None:
    """Fills a memory with what an earlier walk through the flat has seen."""
    for thing in things():
        x, y, z = thing.pose.xyz
        memory.remember(
            ObjectSighting(
                label=thing.object_id or "",
                pose=Pose6D(xyz=(x, y, z), frame_id="map"),
                stamp_s=0.0,
                confidence=0.9,
            )
        )
    for name, (x, y, yaw) in {"start": START_XY_YAW, "kitchen": (5.5, 2.0, 0.0)}.items():
        turned = (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))
        memory.name_place(Place(name=name, pose=Pose6D(xyz=(x, y, 0.0), quat_xyzw=turned, frame_id="map")))


def mobile_robot() -> RobotDescription:
    """Returns the robot with the footprint that its volumes have."""
    return load_robot(ROBOT).model_copy(update={"footprint_radius": FOOTPRINT_RADIUS_M})


class SimulatedMobileArm:
    """The robot in the flat; time passes only while chunks are executed.

    Attributes:
        executed: How many steps were executed.
        holds: How often it was told to hold.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._positions = np.array(START_POSITIONS)
        x, y, yaw = START_XY_YAW
        self._place = [x, y, yaw]
        self._time_s = 0.0
        self._obstacles = (*furniture(), *things())
        self.grid = map_of(self._obstacles)
        self._model = _compile(self._obstacles)
        self._data = mujoco.MjData(self._model)
        self._camera: SceneCamera | None = None
        self.executed = 0
        self.holds = 0

    def now_s(self) -> float:
        """Returns the simulated time."""
        return self._time_s

    def observe(self) -> RobotState:
        """Returns where the joints are; the robot is at rest whenever it is asked."""
        return RobotState(
            positions=self._positions.copy(),
            velocities=np.zeros(len(self._positions)),
            gripper_positions=np.array([0.02]),
            stamp_s=self._time_s,
        )

    def base_in_map(self) -> Pose6D:
        """Returns where the base is."""
        return pose_of_motion(self._base(), frame_id="map")

    def world(self) -> World:
        """Returns furniture and things around the base, and the map under it."""
        map_in_base = inverse(self._base())
        return World(
            primitives=[_moved(one, map_in_base) for one in self._obstacles],
            floor_map=FloorMap(
                grid=self.grid,
                map_in_base=StampedTransform.of(
                    map_in_base, parent_frame="", child_frame="map", stamp_s=self._time_s
                ),
                height_m=LASER_HEIGHT_M,
                age_s_max=WORLD_AGE_S_MAX,
            ),
            stamp_s=self._time_s,
            world_id="flat",
        )

    def execute(self, chunk: ActionChunk) -> None:
        """Goes where the steps lead, joints and base alike."""
        if chunk.mode not in (ControlMode.JOINT_POSITION, ControlMode.BODY_TWIST):
            raise ROSConfigError(
                f"this robot executes joint positions and body twists, not mode {chunk.mode}"
            )
        for row in chunk.rows:
            if chunk.mode == ControlMode.JOINT_POSITION:
                self._positions = row.copy()
            else:
                self._drive(row)
            self._time_s += self._gate.step_s
            self.executed += 1

    def hold(self) -> None:
        """Stays: this robot has no momentum."""
        self.holds += 1

    def view(self, camera: str) -> CameraView:
        """Returns what the camera on the arm sees, in the map's frame; the robot itself is not drawn."""
        mounted = find_camera(self._gate.robot, camera)
        if self._camera is None:
            self._camera = SceneCamera(self._model)
        link = self._gate.link_poses(self._positions)[mounted.link]
        optical = composed(self._base(), composed(link, mounted.optical_in_link))
        carrier = self._model.body("eye").mocapid[0]
        self._data.mocap_pos[carrier] = optical[:, 3]
        self._data.mocap_quat[carrier] = quaternion_of_rotation(optical[:, :3])
        mujoco.mj_forward(self._model, self._data)
        return self._camera.view(self._data, CAMERA, stamp_s=self._time_s, frame_id="map")

    def close(self) -> None:
        """Releases the graphics context."""
        if self._camera is not None:
            self._camera.close()
            self._camera = None

    def _base(self) -> Float64:
        x, y, yaw = self._place
        c, s = math.cos(yaw), math.sin(yaw)
        return np.array([[c, -s, 0.0, x], [s, c, 0.0, y], [0.0, 0.0, 1.0, 0.0]])

    def _drive(self, twist: Float64) -> None:
        """Moves by a twist in the base's own axes for one step; in parts, so that a turn while driving is an arc."""
        parts = 16
        for _ in range(parts):
            x, y, yaw = self._place
            part_s = self._gate.step_s / parts
            heading = yaw + 0.5 * float(twist[5]) * part_s
            along, across = float(twist[0]) * part_s, float(twist[1]) * part_s
            self._place = [
                x + along * math.cos(heading) - across * math.sin(heading),
                y + along * math.sin(heading) + across * math.cos(heading),
                yaw + float(twist[5]) * part_s,
            ]


def map_of(obstacles: tuple[WorldCollisionPrimitive, ...]) -> OccupancyGridIndex:
    """Returns the map a laser would have made: every cell that an upright box within its height covers or cuts."""
    low_m, high_m = LASER_HEIGHT_M
    columns, rows = round(8.4 / RESOLUTION_M), round(6.4 / RESOLUTION_M)
    cells = np.zeros((rows, columns), dtype=np.int8)
    for one in obstacles:
        if not isinstance(one.shape, BoxShape):
            continue
        (x, y, z), (along, across, tall) = one.pose.xyz, one.shape.size_xyz_m
        if z - tall / 2 >= high_m or z + tall / 2 <= low_m:
            continue
        first_column, end_column = (
            math.floor((x - along / 2 + 0.2) / RESOLUTION_M + 1e-9),
            math.ceil((x + along / 2 + 0.2) / RESOLUTION_M - 1e-9),
        )
        first_row, end_row = (
            math.floor((y - across / 2 + 0.2) / RESOLUTION_M + 1e-9),
            math.ceil((y + across / 2 + 0.2) / RESOLUTION_M - 1e-9),
        )
        cells[max(first_row, 0) : end_row, max(first_column, 0) : end_column] = 100
    return OccupancyGridIndex(cells, RESOLUTION_M, (-0.2, -0.2), stamp_s=0.0)


def _moved(one: WorldCollisionPrimitive, motion: Float64) -> WorldCollisionPrimitive:
    placed = composed(motion, require_rigid_motion(one.pose, name="pose"))
    return one.model_copy(update={"pose": pose_of_motion(placed)})


def _compile(obstacles: tuple[WorldCollisionPrimitive, ...]) -> "mujoco.MjModel":
    spec = mujoco.MjSpec()
    colours = {"red mug": _RED, "blue vase": _BLUE, "kettle": _GREEN, "table": _WOOD, "counter": _WOOD}
    for one in obstacles:
        add_obstacle(spec, one, colour=colours.get(one.object_id or "", _GREY))
    eye = spec.worldbody.add_body(name="eye", mocap=True)
    add_camera(eye, name=CAMERA, optical_in_body=np.eye(3, 4))
    spec.worldbody.add_light(pos=[4.0, 3.0, 4.0], dir=[0.0, 0.0, -1.0])
    return spec.compile()
