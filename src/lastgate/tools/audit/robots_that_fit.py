# SPDX-License-Identifier: Apache-2.0
"""Which robots of the library a recording may be of: what a refusal proposes instead."""

from functools import lru_cache

from lastgate.contracts import ROSConfigError
from lastgate.robots import load_robot, robot_names


@lru_cache(maxsize=1)
def _joints_of_the_library() -> dict[str, frozenset[str]]:
    """Returns the moving joints of every robot of the library, by robot."""
    joints: dict[str, frozenset[str]] = {}
    for name in robot_names():
        robot = load_robot(name)
        joints[name] = frozenset(
            joint.name for joint in robot.joints if joint.joint_type != "fixed" and joint.mimic is None
        )
    return joints


def library_robots_named(columns: frozenset[str]) -> list[str]:
    """Returns the robots whose every moving joint is one of these columns, those with most joints first."""
    fitting = [(len(joints), name) for name, joints in _joints_of_the_library().items() if joints <= columns]
    return [name for _, name in sorted(fitting, key=lambda one: (-one[0], one[1]))]


def library_robot_called(robot_type: str) -> str | None:
    """Returns the robot of the library that a dataset's `robot_type` names, or None.

    LeRobot has written `so101`, `so101_follower` and `SO101` for one arm.
    """
    plain = _plain(robot_type)
    if not plain:
        return None
    for name in robot_names():
        words = name.split("_")
        if plain in (_plain(name), *(_plain(word) for word in words if any(c.isdigit() for c in word))):
            return name
    return None


def require_robot_of_dataset(robot: str, robot_type: str, *, dataset: str) -> None:
    """Refuses a robot of the library where the dataset says that it is of another one.

    A manifest of the user's own may describe any robot; there the names of the joints decide.

    Raises:
        ROSConfigError: The dataset names another robot of the library.
    """
    recorded = library_robot_called(robot_type)
    if recorded is None or recorded == robot or robot not in robot_names():
        return
    raise ROSConfigError(
        f"{dataset}: its `robot_type` is `{robot_type}`, and it was to be audited as `{robot}`\n\n"
        f"hint: `--robot {recorded}`; if the dataset is wrong about itself, say which column is which joint: "
        "`--joint-map COLUMN=JOINT,…`"
    )


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum()) if len(name) < 100 else ""
