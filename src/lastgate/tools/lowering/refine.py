# SPDX-License-Identifier: Apache-2.0
"""Spends volumes where the sweep shows configurations rejected although the meshes are clear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.tools.lowering.fit import LinkCover, Patch
from lastgate.tools.lowering.peel import peeled
from lastgate.tools.lowering.refit import PARTNERS_MAX, Partners, cost_of_depth, refit
from lastgate.tools.lowering.sweep import Index, Pair, Sweep, capsule_rows
from lastgate.tools.lowering.ties import without_noise
from lastgate.tools.lowering.volumes import Volume

Array = NDArray[np.float64]

# Refinement stops at this rate over the sweep; well under half of the 5 % the robot library is held to leaves room
# for what the sample cannot see.
FALSE_REJECTION_RATE_TARGET = 0.015
# Patches whose moves are measured per round.
_PATCHES_TRIED = 4
# A state in which other links meet anyway teaches about a pair too, only less than one that could be set free.
_MASKED_WEIGHT = 0.25
# The share of states a volume must set free to be worth its place, and a mere move of one to be worth the change.
_CUT_WORTH = 0.0005
_MOVE_WORTH = 0.0001
# Moving and cutting take turns: after cuts there is room to move into.
_ROUNDS_MAX = 3
# Another round follows only one that left at most this share of the rate before it.
_ROUND_WORTH = 0.95
# Partner volumes this near a patch take part when it is moved: what it does not touch yet it must not run into.
_REACH_M = 0.02


@dataclass
class PairState:
    """One checked pair over the sweep: the samples whose volumes touch and which volumes do."""

    samples: Index
    depth_m: (
        Array  # (len(samples), volumes of a, volumes of b): how deep each two overlap, negative where apart
    )
    contact: NDArray[np.bool_]  # per sample in `samples`: the meshes meet
    blame: tuple[Array, Array] | None = None  # what rejections cost per volume of a and of b, once asked for


@dataclass(frozen=True)
class _Move:
    worth: float  # cost removed per volume added
    link: str
    patch: Patch
    patches: list[Patch]


# From a patch, the volumes around it and the number of volumes its link may still get to the parts of the patch.
_Division = Callable[[Patch, Partners, int], list[Patch]]


class Refinement:
    """Moves and cuts patches greedily by the cost of rejected clear configurations that each step removes."""

    def __init__(
        self, sweep: Sweep, covers: dict[str, LinkCover], pairs: Sequence[Pair], volumes_max: int
    ) -> None:
        self.sweep = sweep
        self.covers = covers
        self.pairs = [pair for pair in pairs if all(link in covers for link in pair)]
        self.volumes_max = volumes_max
        self.states = {pair: self._evaluate(pair) for pair in self.pairs}
        self._divisions: dict[tuple[int, str], tuple[Patch, list[Patch]]] = {}
        self._weights = np.ones(sweep.count)
        self._worth_unit = float(sweep.count)

    def _evaluate(self, pair: Pair) -> PairState:
        samples, clearance = self.sweep.overlaps(
            pair, _volumes(self.covers[pair[0]]), _volumes(self.covers[pair[1]])
        )
        return PairState(samples, -clearance, self.sweep.mesh_contact(pair, samples))

    def clear(self) -> NDArray[np.bool_]:
        """Returns per sample whether no checked pair has mesh contact."""
        clear = np.ones(self.sweep.count, dtype=bool)
        for state in self.states.values():
            clear[state.samples[state.contact]] = False
        return clear

    def rejected(self) -> NDArray[np.bool_]:
        """Returns per sample whether some checked pair of volumes touches."""
        rejected = np.zeros(self.sweep.count, dtype=bool)
        for state in self.states.values():
            rejected[state.samples] = True
        return rejected

    def false_rejection_rate(self) -> float:
        """Returns the share of mesh-clear samples that are rejected."""
        clear = self.clear()
        return float((self.rejected() & clear).sum() / max(int(clear.sum()), 1))

    def run(
        self, target: float = FALSE_REJECTION_RATE_TARGET, progress: Callable[[float], None] | None = None
    ) -> None:
        """Moves and cuts until the target is met or no step within the bounds is worth it."""
        self._weights = np.where(self.clear(), 1.0, _MASKED_WEIGHT)
        self._worth_unit = float(self._weights.sum())
        report = progress if progress is not None else lambda _rate: None
        before = self.false_rejection_rate()
        for _ in range(_ROUNDS_MAX):
            self._move_all(target, report)
            self._cut_all(target, report)
            rate = self.false_rejection_rate()
            if rate <= target or rate > _ROUND_WORTH * before:
                return
            before = rate

    def _move_all(self, target: float, report: Callable[[float], None]) -> None:
        """Moves each patch once, the most costly first, to where it costs least."""
        for _, link, patch in self._blame():
            rate = self.false_rejection_rate()
            report(rate)
            if rate <= target:
                return
            moved = refit(patch, self._partners(link, patch))
            if moved is not patch and self._removed(link, patch, [moved]) > _MOVE_WORTH * self._worth_unit:
                self._replace(link, patch, [moved])

    def _cut_all(self, target: float, report: Callable[[float], None]) -> None:
        """Cuts, the most costly patches first, while a cut is worth its volume."""
        spent: list[Patch] = []
        while True:
            rate = self.false_rejection_rate()
            report(rate)
            blamed = [entry for entry in self._blame() if not any(entry[2] is patch for patch in spent)]
            if rate <= target or not blamed:
                return
            tried = blamed[:_PATCHES_TRIED]
            moves = [move for _, link, patch in tried for move in self._moves(link, patch)]
            best = max(moves, key=lambda move: move.worth, default=None)
            if best is None or not best.worth > _CUT_WORTH * self._worth_unit:
                spent += [patch for _, _, patch in tried]
            else:
                self._replace(best.link, best.patch, best.patches)

    def _replace(self, link: str, patch: Patch, patches: list[Patch]) -> None:
        self.covers[link].replace(patch, patches)
        for pair in self.pairs:
            if link in pair:
                self.states[pair] = self._evaluate(pair)

    def _partners(self, link: str, patch: Patch) -> Partners:
        """Returns the volumes that come near a patch in samples where the pair's meshes are clear."""
        found: list[tuple[str, list[Volume], Index, Index]] = []
        for pair in self.pairs:
            if link not in pair:
                continue
            other = pair[1] if pair[0] == link else pair[0]
            volumes = _volumes(self.covers[other])
            sides = ([patch.volume], volumes) if pair[0] == link else (volumes, [patch.volume])
            samples, clearance = self.sweep.overlaps(pair, *sides, within_m=_REACH_M)
            state = self.states[pair]
            meeting = np.zeros(self.sweep.count, dtype=bool)
            meeting[state.samples[state.contact]] = True
            free = ~meeting[samples]
            which, volume = np.nonzero(clearance[free].reshape(-1, len(volumes)) <= _REACH_M)
            found.append((other, volumes, samples[free][which], volume))
        return self._every_nth(link, found)

    def _every_nth(self, link: str, found: list[tuple[str, list[Volume], Index, Index]]) -> Partners:
        """Returns a bounded number of found volumes, evenly spread, in a link's frame."""
        count = sum(len(samples) for _, _, samples, _ in found)
        stride = max(1, -(-count // PARTNERS_MAX))
        rows, first = [np.empty((0, 7))], 0
        for other, volumes, samples, volume in found:
            chosen = np.arange(-first % stride, len(samples), stride)
            first += len(samples)
            if len(chosen):
                own = capsule_rows(volumes)
                rows.append(self.sweep.placed_rows(link, other, own, samples[chosen], volume[chosen]))
        return Partners(np.concatenate(rows), stride)

    def _blame(self) -> list[tuple[float, str, Patch]]:
        """Returns patches by what the rejected clear samples cost in which they are the deepest to overlap."""
        found: list[tuple[float, str, Patch]] = []
        blame = {link: np.zeros(cover.count) for link, cover in self.covers.items()}
        for pair, state in self.states.items():
            if state.blame is None:
                state.blame = self._blame_within(state)
            for link, cost in zip(pair, state.blame, strict=True):
                blame[link] += cost
        for link, cost in blame.items():
            cover = self.covers[link]
            found += [
                (float(cost[len(cover.exact) + index]), link, patch)
                for index, patch in enumerate(cover.patches)
                if cost[len(cover.exact) + index] > 0.0
            ]
        return sorted(found, key=lambda entry: (-without_noise(entry[0]), entry[1], entry[2].volume.xyz))

    def _blame_within(self, state: PairState) -> tuple[Array, Array]:
        """Returns what a pair's rejected clear samples cost per volume of its first and of its second link."""
        cost_a, cost_b = np.zeros(state.depth_m.shape[1]), np.zeros(state.depth_m.shape[2])
        free = ~state.contact
        depth_m = state.depth_m[free].reshape(-1, len(cost_a) * len(cost_b))
        if len(depth_m):
            deepest = depth_m.argmax(axis=1)
            cost = cost_of_depth(depth_m.max(axis=1)) * self._weights[state.samples[free]]
            np.add.at(cost_a, deepest // len(cost_b), cost)
            np.add.at(cost_b, deepest % len(cost_b), cost)
        return cost_a, cost_b

    def _moves(self, link: str, patch: Patch) -> list[_Move]:
        """Returns what a patch may become within the bound: two halves, the halves of those, or a layer in strips.

        A round, short link needs several cuts before the first state is set free; looking two deep sees that. A flat
        side needs a layer of its own.
        """
        room = self.volumes_max - self.covers[link].count
        found: list[_Move] = []
        for division in (self._halves, self._quarters, self._layers):
            if room <= 0 or (found and found[-1].worth > _CUT_WORTH * self._worth_unit):
                break
            patches = self._division(link, patch, division, room)
            added = len(patches) - 1
            if 0 < added <= room:
                found.append(_Move(self._removed(link, patch, patches) / added, link, patch, patches))
        return found

    def _halves(self, patch: Patch, _partners: Partners, _room: int) -> list[Patch]:
        return list(patch.halves or ())

    def _quarters(self, patch: Patch, _partners: Partners, _room: int) -> list[Patch]:
        return patch.quarters()

    def _layers(self, patch: Patch, partners: Partners, room: int) -> list[Patch]:
        return peeled(patch, partners, added_max=room)

    def _division(self, link: str, patch: Patch, division: _Division, room: int) -> list[Patch]:
        """Returns the parts of a patch, each moved to where it costs least when it was first asked for."""
        key = (id(patch), division.__name__)
        if key not in self._divisions:
            partners = self._partners(link, patch)
            parts = division(patch, partners, room)
            self._divisions[key] = (patch, [refit(part, partners) for part in parts])
        return self._divisions[key][1]

    def _removed(self, link: str, patch: Patch, patches: list[Patch]) -> float:
        """Returns how much cost in clear samples, pair by pair, other patches in the place of one would remove."""
        cover = self.covers[link]
        index = len(cover.exact) + next(i for i, own in enumerate(cover.patches) if own is patch)
        removed = 0.0
        for pair, state in self.states.items():
            if link not in pair:
                continue
            first = pair[0] == link
            other = _volumes(self.covers[pair[1] if first else pair[0]])
            rest_m = np.delete(state.depth_m, index, axis=1 if first else 2)
            after = np.full(self.sweep.count, -np.inf)
            after[state.samples] = rest_m.max(axis=(1, 2), initial=-np.inf)
            volumes = [own.volume for own in patches]
            sides = (volumes, other) if first else (other, volumes)
            samples, clearance = self.sweep.overlaps(pair, *sides)
            after[samples] = np.maximum(after[samples], -clearance.min(axis=(1, 2), initial=np.inf))
            before = np.full(self.sweep.count, -np.inf)
            before[state.samples] = state.depth_m.max(axis=(1, 2), initial=-np.inf)
            weights = self._weights.copy()
            weights[state.samples[state.contact]] = 0.0
            removed += float(weights @ (cost_of_depth(before) - cost_of_depth(after)))
        return without_noise(removed)


def _volumes(cover: LinkCover) -> list[Volume]:
    return cover.exact + [patch.volume for patch in cover.patches]
