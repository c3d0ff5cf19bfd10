# SPDX-License-Identifier: Apache-2.0
"""`lastgate recover`: a way out of contact. Exit 0 found or already clear, 1 none found, 2 could not decide."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastgate.tools.cli.messages import print_hint, print_note
from lastgate.tools.cli.options import RobotOption, WorldOption

if TYPE_CHECKING:
    from lastgate.contracts.action import RobotState
    from lastgate.contracts.arrays import Float64
    from lastgate.gate import Gate
    from lastgate.world import NoWorld, World

STEP_S_DEFAULT = 0.02
# Parts of a way that is a curve: each begins where the last ended.
PARTS_MAX = 32


def recover_command(
    *,
    robot: RobotOption,
    state: Annotated[Path, typer.Option(metavar="S", help="The measured state: .json, .yaml, .npy or .csv.")],
    world: WorldOption = None,
    no_world: Annotated[
        bool, typer.Option("--no-world", help="Leave obstacles unchecked on purpose, without the note.")
    ] = False,
    step_s: Annotated[
        float, typer.Option(metavar="SECONDS", help="From one step to the next.")
    ] = STEP_S_DEFAULT,
    output: Annotated[
        Path | None, typer.Option("-o", metavar="F", help="Write the steps as .json, for `lastgate check`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the steps as JSON.")] = False,
) -> int:
    """Finds a way out for a robot that stands in contact, where even standing still is rejected.

    Every distance that is too small grows along it, at a quarter of the speed limits. It moves nothing: a program
    submits the steps with `recovery=True`.
    """
    from lastgate.contracts.exceptions import ROSConfigError
    from lastgate.gate import Gate
    from lastgate.robots import load_robot
    from lastgate.tools.cli.gate_inputs import state_of_file, world_of_file
    from lastgate.tools.cli.input_files import load_state, load_world

    if world is not None and no_world:
        raise ROSConfigError(
            "`--world` and `--no-world` contradict each other\n\nhint: leave one of them out"
        )
    description = load_robot(robot)
    gate = Gate(description, step_s=step_s)
    notes: list[str] = []
    # A state without a stamp was measured at time zero.
    measured = state_of_file(load_state(state, joint_names=gate.joint_names), 0.0)
    surroundings = world_of_file(
        None if world is None else load_world(world, robot=description),
        path=world,
        robot=description,
        now_s=measured.stamp_s,
        no_world=no_world,
        notes=notes,
    )
    for note in notes:
        print_note(note)
    steps = way_out(gate, measured, surroundings)
    if steps is None:
        print("no way out was found along which every distance that is too small grows")
        print_hint("move it by hand, with the motors off")
        return 1
    if output is not None:
        output.write_text(json.dumps({"rows": steps.tolist(), "mode": "JOINT_POSITION"}) + "\n")
    if as_json:
        print(json.dumps({"steps": steps.tolist(), "step_s": step_s, "recovery": True}))
    elif not len(steps):
        print("clear: standing still is accepted here")
    else:
        print(f"{len(steps)} steps, {step_s:g} s apart, lead out of contact: submit them with recovery=True")
    return 0


def way_out(gate: "Gate", state: "RobotState", world: "World | NoWorld") -> "Float64 | None":
    """Returns the steps of one chunk that the retreat rule accepts, to where the robot is clear; none if it is.

    Where the whole way does not pass as one chunk, the steps are those of its first part: ask again from their end.
    """
    from dataclasses import replace

    import numpy as np

    from lastgate.contracts.action import ActionChunk

    def still(positions: "Float64") -> ActionChunk:
        return ActionChunk(np.ascontiguousarray(positions[np.newaxis]))

    def proposed(here: "RobotState") -> "Float64 | None":
        assert here.positions is not None
        for proposal in gate.propose(still(here.positions), state=here, world=world, now_s=state.stamp_s):
            if proposal.kind == "retreat":
                return proposal.chunk.rows
        return None

    if gate.check(still(state.positions), state=state, world=world, now_s=state.stamp_s).accepted:
        return np.empty((0, gate.n_dof))
    parts: list[Float64] = []
    here = state
    for _ in range(PARTS_MAX):
        part = proposed(here)
        if part is None:
            break
        parts.append(part)
        here = replace(state, positions=part[-1].copy(), velocities=None)
        if gate.check(still(part[-1]), state=here, world=world, now_s=state.stamp_s).accepted:
            break
    if not parts:
        return None
    whole = np.concatenate(parts)
    verdict = gate.check(ActionChunk(whole), state=state, world=world, now_s=state.stamp_s, recovery=True)
    return whole if verdict.accepted else parts[0]
