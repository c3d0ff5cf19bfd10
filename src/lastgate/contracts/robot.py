# SPDX-License-Identifier: Apache-2.0
"""A robot as its manifest describes it: joints, tools, sensors, volumes, pairs, limits and files."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    PlainSerializer,
    PrivateAttr,
)

from lastgate.contracts.convex_hulls import ConvexHullsFile, LinkHull
from lastgate.contracts.declared_stop import DeclaredStop, stop_problems
from lastgate.contracts.enums import ControlMode
from lastgate.contracts.envelope import SafetyEnvelope
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.footprint_edges import crossing_edges
from lastgate.contracts.joints import JointSpec
from lastgate.contracts.renamed_names import with_old_attributes
from lastgate.contracts.robot_files import (
    RENAMED_KEYS,
    AssetRefs,
    LoweringOptions,
    Provenance,
)
from lastgate.contracts.robot_frames import RobotFrames
from lastgate.contracts.robot_structure import structure_problems, structure_problems_of_refused
from lastgate.contracts.schema import (
    Finite,
    Name,
    NotNegative,
    Positive,
    Schema,
    SchemaVersion,
    Text,
    Vector2,
    XyzRpy,
    require_ordered,
)
from lastgate.contracts.shapes import NO_OFFSET, LinkCollisionGeometry


class GripperJoint(Schema):
    """The position of one finger joint when the gripper is closed and when it is open."""

    subject_noun: ClassVar[str] = "gripper joint"

    name: Name
    position_closed: Finite
    position_open: Finite


class Gripper(Schema):
    """Maps the one command channel, linearly from closed to open, to the positions of the finger joints."""

    joints: tuple[GripperJoint, ...]
    channel_closed: Finite
    channel_open: Finite

    def _problems(self) -> list[str]:
        problems = []
        if not self.joints:
            problems.append("a gripper needs at least one joint")
        if self.channel_closed == self.channel_open:
            problems.append(f"`channel_closed` and `channel_open` are both {self.channel_open:.4f}")
        names = [joint.name for joint in self.joints]
        repeated = sorted({name for name in names if names.count(name) > 1})
        return problems + [f"gripper joint `{name}` is listed twice" for name in repeated]


class EndEffector(Schema):
    """Names a link as a tool, with the tool point in that link's frame and its gripper, if any."""

    subject_noun: ClassVar[str] = "end effector"

    name: Name
    link: Name
    tool_xyz_rpy: XyzRpy = NO_OFFSET
    gripper: Gripper | None = None


class Sensor(Schema):
    """A sensor on a link; `optical_axis` is the direction it looks along, in its own frame."""

    subject_noun: ClassVar[str] = "sensor"

    name: Name
    kind: Literal["camera", "depth_camera", "lidar", "imu", "force_torque", "other"]
    link: Name
    origin_xyz_rpy: XyzRpy = NO_OFFSET
    optical_axis: Literal["+x", "-x", "+y", "-y", "+z", "-z"] = "+z"


class AllowedCollisionPair(Schema):
    """Two links that are never compared, and why; a waived pair without a `detail` is refused."""

    link_a: Name
    link_b: Name
    reason: Literal["adjacent", "srdf-disabled", "srdf-contradicted", "proved-never", "junction", "waived"]
    detail: Text = ""

    @property
    def links(self) -> tuple[str, str]:
        """Two links in alphabetical order, so that equal pairs compare equal."""
        first, second = sorted((self.link_a, self.link_b))
        return first, second

    def _problems(self) -> list[str]:
        problems = []
        if self.link_a == self.link_b:
            problems.append(f"an allowed pair names link `{self.link_a}` twice")
        if self.reason == "waived" and not self.detail.strip():
            problems.append(f"waived pair `{self.link_a}` / `{self.link_b}` needs a `detail` that says why")
        return problems


class CoverageWaiver(Schema):
    """Lets a link go without a volume, for a reason that is written down."""

    subject_noun: ClassVar[str] = "coverage waiver for link"
    subject_key: ClassVar[str] = "link"

    link: Name
    reason: Name


def _read_control_mode(value: object) -> object:
    if isinstance(value, ControlMode):
        mode = value
    elif isinstance(value, str) and value in ControlMode.__members__:
        mode = ControlMode[value]
    else:
        raise ValueError(f"unknown control mode {value!r}; modes: {', '.join(ControlMode.__members__)}")
    if mode is ControlMode.FOOT_PLACEMENT:
        raise ValueError("FOOT_PLACEMENT cannot be enabled: nothing can check it")
    return mode


ControlModeByName = Annotated[
    ControlMode,
    BeforeValidator(_read_control_mode),
    PlainSerializer(lambda mode: mode.name, return_type=str),
]


@with_old_attributes
class RobotDescription(Schema):
    """The data that the gate, the lowering and the planners need about one robot.

    Refused, with every problem of the manifest in one error: names used twice, a tree with two roots or with
    a joint listed before its parent, mimic chains, and anything that names a link or a joint the robot does
    not have. A description without `collision_geometry` is complete as such; the gate does not arm with it.
    """

    renamed_keys: ClassVar[Mapping[str, Callable[[Any], str]]] = RENAMED_KEYS

    schema_version: SchemaVersion = 1
    name: Name
    assets: AssetRefs = AssetRefs()
    base_frame: Name
    joints: tuple[JointSpec, ...]
    sensors: tuple[Sensor, ...] = ()
    end_effectors: tuple[EndEffector, ...] = ()
    collision_geometry: tuple[LinkCollisionGeometry, ...] = ()
    # Why nothing proves that the volumes contain the robot; None where lowering proved it. Every verdict says so.
    unproved_volumes: Name | None = None
    allowed_collision_pairs: tuple[AllowedCollisionPair, ...] = ()
    # How far what is drawn of each link stands out of its volumes, by lowering; None where that was not measured.
    drawn_outside_m: dict[Name, NotNegative] | None = None
    # None leaves the robot to its volumes alone.
    convex_pieces: ConvexHullsFile | None = None
    safety: SafetyEnvelope = SafetyEnvelope()
    # None: no verdict says that the robot can stop.
    stop: DeclaredStop | None = None
    footprint_radius: Positive | None = None
    footprint_polygon: Annotated[tuple[Vector2, ...], BeforeValidator(require_ordered)] | None = None
    # None enables every mode whose limits are declared.
    control_modes: tuple[ControlModeByName, ...] | None = None
    coverage_waivers: tuple[CoverageWaiver, ...] = ()
    lowering: LoweringOptions = LoweringOptions()
    provenance: tuple[Provenance, ...] = ()
    _loaded_hulls: tuple[LinkHull, ...] | None = PrivateAttr(default=None)
    # What the hulls stand for; a copy with other volumes keeps it.
    _volumes_with_hulls: tuple[LinkCollisionGeometry, ...] = PrivateAttr(default=())

    def with_loaded_hulls(self, hulls: tuple[LinkHull, ...]) -> "RobotDescription":
        """Returns the same robot with the content of the file that `convex_pieces` names.

        Raises:
            ROSConfigError: A hull names a link the robot does not have.
        """
        strangers = sorted({hull.link_name for hull in hulls} - set(self.link_names))
        if strangers:
            raise ROSConfigError(
                f"robot `{self.name}`: its convex hulls name {', '.join(f'`{link}`' for link in strangers)}, "
                "which it does not have"
            )
        loaded = self.model_copy()
        loaded._loaded_hulls = hulls
        loaded._volumes_with_hulls = self.collision_geometry
        return loaded

    @property
    def has_loaded_hulls(self) -> bool:
        """True if the file that `convex_pieces` names was loaded."""
        return self._loaded_hulls is not None

    @property
    def loaded_hulls(self) -> tuple[LinkHull, ...]:
        """Convex hulls; none where the manifest names no file.

        Raises:
            ROSConfigError: The manifest names a file that was not loaded.
        """
        if self.convex_pieces is None:
            return ()
        if self._loaded_hulls is None:
            raise ROSConfigError(
                f"robot `{self.name}` names convex hulls in `{self.convex_pieces.file}` that were not loaded: "
                "use load_robot, or leave `convex_pieces` out"
            )
        self._require_volumes_of_hulls(self._loaded_hulls)
        return self._loaded_hulls

    def _require_volumes_of_hulls(self, hulls: tuple[LinkHull, ...]) -> None:
        """Hulls overrule volumes, so those of a link with hulls must be the ones that the hulls were given with."""
        if self.collision_geometry is self._volumes_with_hulls:
            return
        cut = {hull.link_name for hull in hulls}
        for link in sorted(cut):
            now, then = (
                [volume for volume in volumes if volume.link_name == link]
                for volumes in (self.collision_geometry, self._volumes_with_hulls)
            )
            if now != then:
                raise ROSConfigError(
                    f"robot `{self.name}`: the volumes of `{link}` are not those that its convex hulls stand for, "
                    "which would overrule what was added\n\n"
                    "hint: attach what is mounted there (`Gate.attach`), or leave `convex_pieces` out, and the volumes "
                    "alone decide"
                )

    @property
    def unchecked_pairs(self) -> tuple[AllowedCollisionPair, ...]:
        """Allowed pairs that the gate leaves out; see `lowering.check_contradicted`."""
        if not self.lowering.check_contradicted:
            return self.allowed_collision_pairs
        cut = {hull.link_name for hull in self.loaded_hulls}
        return tuple(
            pair
            for pair in self.allowed_collision_pairs
            if pair.reason != "srdf-contradicted" or not cut.issuperset(pair.links)
        )

    @property
    def actuated_joints(self) -> tuple[JointSpec, ...]:
        """Joints that have a column in a step, in the order of the columns."""
        return tuple(joint for joint in self.joints if joint.is_actuated)

    @property
    def n_dof(self) -> int:
        """Number of columns of a step in the joint modes."""
        return len(self.actuated_joints)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Every link, the base frame first, each after its parent."""
        return (self.base_frame, *(joint.child_link for joint in self.joints))

    def _checks(self) -> tuple[Callable[[], list[str]], ...]:
        return (
            self._mode_problems,
            self._footprint_problems,
            self._correction_problems,
            self._root_problems,
            lambda: structure_problems(self),
            lambda: stop_problems(self),
        )

    def _correction_problems(self) -> list[str]:
        named = [correction.joint for correction in self.lowering.corrected_joints]
        joints = {joint.name for joint in self.joints}
        return [
            *(
                f"corrected joint `{name}` is not a joint of the robot"
                for name in named
                if name not in joints
            ),
            *(
                f"corrected joint `{name}` is listed twice"
                for name in sorted(set(named))
                if named.count(name) > 1
            ),
        ]

    def _root_problems(self) -> list[str]:
        frames = RobotFrames.of(self)
        if not frames.root:
            return []
        if frames.root == self.base_frame and frames.must_be_named:
            return [f"the root frame is the base frame `{frames.root}`, and stands elsewhere in itself"]
        if frames.root in {joint.child_link for joint in self.joints}:
            return [f"the root frame is `{frames.root}`, which a joint of the robot carries"]
        return []

    def _mode_problems(self) -> list[str]:
        if self.control_modes is None:
            return []
        if not self.control_modes:
            return ["`control_modes` is empty: leave it out to enable every mode whose limits are declared"]
        names = [mode.name for mode in self.control_modes]
        repeated = sorted({name for name in names if names.count(name) > 1})
        return [f"control mode {name} is listed twice" for name in repeated]

    def _footprint_problems(self) -> list[str]:
        vertices = self.footprint_polygon
        if vertices is None:
            return []
        following = [*vertices[1:], *vertices[:1]]
        twice_area = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(vertices, following, strict=True))
        if not abs(twice_area) > 0.0:
            return ["`footprint_polygon` encloses no area"]
        crossing = crossing_edges(vertices)
        return (
            [f"`footprint_polygon` crosses itself: edges {crossing[0]} and {crossing[1]}"] if crossing else []
        )

    @classmethod
    def _problems_of_refused(cls, data: object, refused: frozenset[str]) -> Sequence[str]:
        # The structure leans on most fields: with one of them refused it is read from what the others say.
        readers: dict[str, type[Schema]] = {
            "joints": JointSpec,
            "sensors": Sensor,
            "end_effectors": EndEffector,
            "collision_geometry": LinkCollisionGeometry,
            "allowed_collision_pairs": AllowedCollisionPair,
            "coverage_waivers": CoverageWaiver,
        }
        sentences = list(super()._problems_of_refused(data, refused))
        needed = {"base_frame", *readers}
        if isinstance(data, Mapping) and refused & needed:
            sentences += structure_problems_of_refused(data, readers)
        return sentences
