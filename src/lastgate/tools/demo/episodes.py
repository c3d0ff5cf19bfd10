# SPDX-License-Identifier: Apache-2.0
"""Many short episodes with the gate on and off, and clean ones with the gate on.

`make -C benchmarks episodes` counts their contacts.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

from lastgate.tools.demo.policy import TOUR, Fault
from lastgate.tools.demo.run import Simulation


@dataclass(slots=True)
class EpisodeCounts:
    """Counts episodes of one kind.

    Attributes:
        with_contact: Episodes in which MuJoCo saw the robot touch the world or itself.
        clean_rejected: Chunks without a fault that the gate rejected.
        faulty_accepted: Chunks with a fault that it let through.
    """

    episodes: int = 0
    chunks: int = 0
    faulty: int = 0
    faulty_accepted: int = 0
    clean_rejected: int = 0
    with_contact: int = 0
    contacts: int = 0
    refused: int = 0


def run_episodes(
    *,
    episodes: int,
    faults: float,
    seconds: float,
    gated: bool,
    on_episode: Callable[[int], None] = lambda number: None,
) -> EpisodeCounts:
    """Simulates episodes that begin at the stops of the tour in turn, each with its own seed."""
    simulation = Simulation(gated=gated, quota=faults)
    counts = EpisodeCounts()
    for number in range(episodes):
        simulation.restart(seed=number, first_stop=number % len(TOUR))
        record = simulation.run(seconds)
        pairs = len(record.robot_world) + len(record.robot_robot)
        planted = [decision for decision in record.decisions if decision.fault != Fault.NONE]
        counts.episodes += 1
        counts.chunks += len(record.decisions)
        counts.faulty += len(planted)
        counts.faulty_accepted += sum(decision.accepted for decision in planted)
        counts.clean_rejected += sum(
            not decision.accepted for decision in record.decisions if decision.fault == Fault.NONE
        )
        counts.refused += sum(not decision.accepted for decision in record.decisions)
        counts.with_contact += pairs > 0
        counts.contacts += pairs
        on_episode(number + 1)
    return counts


def main() -> int:
    """Runs all three kinds and prints the counts; exits with 1 if one of them is not what it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--faults", type=float, default=0.2, help="share of the chunks that are faulty")
    parser.add_argument("--seconds", type=float, default=2.5, help="simulated seconds per episode")
    chosen = parser.parse_args()
    if chosen.episodes < 1 or not 0.0 <= chosen.faults <= 1.0 or not chosen.seconds > 0.0:
        parser.error("episodes and seconds must be positive, faults a share from 0 to 1")

    def run(faults: float, gated: bool) -> EpisodeCounts:
        def show(number: int) -> None:
            if sys.stderr.isatty():
                print(f"\r{number} of {chosen.episodes}", end="", file=sys.stderr)

        return run_episodes(
            episodes=chosen.episodes, faults=faults, seconds=chosen.seconds, gated=gated, on_episode=show
        )

    on = run(chosen.faults, True)
    print(
        f"gate on,  {on.faulty} of {on.chunks} chunks faulty: {on.contacts} contacts in {on.episodes} episodes; "
        f"{on.faulty - on.faulty_accepted} of {on.faulty} faulty chunks rejected, {on.clean_rejected} clean ones"
    )
    sys.stdout.flush()
    clean = run(0.0, True)
    print(
        f"gate on,  no faults: {clean.clean_rejected} of {clean.chunks} clean chunks rejected, "
        f"{clean.contacts} contacts in {clean.episodes} episodes"
    )
    sys.stdout.flush()
    off = run(chosen.faults, False)
    print(
        f"gate off, {off.faulty} of {off.chunks} chunks faulty: {off.contacts} pairs touch, "
        f"in {off.with_contact} of {off.episodes} episodes"
    )
    as_it_must_be = (
        on.contacts == 0
        and on.faulty_accepted == 0
        and clean.clean_rejected == 0
        and clean.contacts == 0
        and (off.with_contact > 0 or chosen.faults == 0.0)
    )
    return 0 if as_it_must_be else 1


if __name__ == "__main__":
    sys.exit(main())
