# SPDX-License-Identifier: Apache-2.0
"""Spends volumes where the sweep shows configurations refused although the meshes are clear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.lowering.fit import LinkCover, Piece
from lastgate.lowering.refit import cost_of_depth, refit
from lastgate.lowering.sweep import Index, Pair, Sweep, capsule_rows
from lastgate.lowering.volumes import Volume

Array = NDArray[np.float64]

# Refinement stops at this rate over the sweep; well under half of the 5 % the fleet is held to leaves room
# for what the sample cannot see.
PHANTOM_RATE_TARGET = 0.02
# Pieces whose moves are measured per round.
_PIECES_TRIED = 4
# A state in which other links meet anyway teaches about a pair too, only less than one that could be set free.
_MASKED_WEIGHT = 0.25
# States a volume must set free to be worth its place, and a mere move of one to be worth the change.
_CUT_WORTH = 3.0
_MOVE_WORTH = 1.0
# Partner volumes this near a piece take part when it is moved: what it does not touch yet it must not run into.
_REACH_M = 0.02


@dataclass
class PairState:
    """One checked pair over the sweep: the samples whose volumes touch and which volumes do."""

    samples: Index
    depth_m: (
        Array  # (len(samples), volumes of a, volumes of b): how deep each two overlap, negative where apart
    )
    contact: NDArray[np.bool_]  # per sample in `samples`: the meshes meet


@dataclass(frozen=True)
class _Move:
    worth: float  # cost removed per volume added
    link: str
    piece: Piece
    pieces: list[Piece]


class Refinement:
    """Moves and cuts pieces greedily by the cost of refused clear configurations that each step removes."""

    def __init__(
        self, sweep: Sweep, covers: dict[str, LinkCover], pairs: Sequence[Pair], volumes_max: int
    ) -> None:
        self.sweep = sweep
        self.covers = covers
        self.pairs = [pair for pair in pairs if all(link in covers for link in pair)]
        self.volumes_max = volumes_max
        self.states = {pair: self._evaluate(pair) for pair in self.pairs}
        self._divisions: dict[tuple[int, bool], tuple[Piece, list[Piece]]] = {}
        self._weights = np.ones(sweep.count)

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

    def refused(self) -> NDArray[np.bool_]:
        """Returns per sample whether some checked pair of volumes touches."""
        refused = np.zeros(self.sweep.count, dtype=bool)
        for state in self.states.values():
            refused[state.samples] = True
        return refused

    def phantom_rate(self) -> float:
        """Returns the share of mesh-clear samples that are refused."""
        clear = self.clear()
        return float((self.refused() & clear).sum() / max(int(clear.sum()), 1))

    def run(
        self, target: float = PHANTOM_RATE_TARGET, progress: Callable[[float], None] | None = None
    ) -> None:
        """Moves and cuts until the target is met or no step within the bounds is worth it."""
        settled: set[int] = set()
        spent: set[int] = set()
        keep: list[Piece] = []  # keeps identities unique while they are remembered
        self._weights = np.where(self.clear(), 1.0, _MASKED_WEIGHT)
        while True:
            rate = self.phantom_rate()
            if progress is not None:
                progress(rate)
            blamed = [entry for entry in self._blame() if id(entry[2]) not in spent]
            if rate <= target or not blamed:
                return
            _, link, piece = blamed[0]
            if id(piece) not in settled:
                settled.add(id(piece))
                keep.append(piece)
                moved = self._settled(link, piece)
                if moved is not None:
                    settled.add(id(moved))
                    keep.append(moved)
                    self._replace(link, piece, [moved])
                continue
            tried = blamed[:_PIECES_TRIED]
            moves = [move for _, link, piece in tried for move in self._moves(link, piece)]
            best = max(moves, key=lambda move: move.worth, default=None)
            if best is None or not best.worth > _CUT_WORTH:
                keep += [piece for _, _, piece in tried]
                spent |= {id(piece) for _, _, piece in tried}
                continue
            keep.append(best.piece)
            self._replace(best.link, best.piece, best.pieces)

    def _replace(self, link: str, piece: Piece, pieces: list[Piece]) -> None:
        self.covers[link].replace(piece, pieces)
        for pair in self.pairs:
            if link in pair:
                self.states[pair] = self._evaluate(pair)

    def _settled(self, link: str, piece: Piece) -> Piece | None:
        """Returns the piece moved to where it costs least, or None where that removes next to nothing."""
        moved = refit(piece, self._partners(link, piece))
        if moved is piece or not self._removed(link, piece, [moved]) > _MOVE_WORTH:
            return None
        return moved

    def _partners(self, link: str, piece: Piece) -> Array:
        """Returns the volumes that come near a piece in samples where the pair's meshes are clear."""
        found = [np.empty((0, 7))]
        for pair in self.pairs:
            if link not in pair:
                continue
            other = pair[1] if pair[0] == link else pair[0]
            volumes = _volumes(self.covers[other])
            sides = ([piece.volume], volumes) if pair[0] == link else (volumes, [piece.volume])
            samples, clearance = self.sweep.overlaps(pair, *sides, within_m=_REACH_M)
            state = self.states[pair]
            meeting = np.zeros(self.sweep.count, dtype=bool)
            meeting[state.samples[state.contact]] = True
            free = ~meeting[samples]
            near = clearance[free].reshape(-1, len(volumes)) <= _REACH_M
            which, volume = np.nonzero(near)
            if len(which):
                found.append(
                    self.sweep.placed_rows(link, other, capsule_rows(volumes), samples[free][which], volume)
                )
        return np.concatenate(found)

    def _blame(self) -> list[tuple[float, str, Piece]]:
        """Returns pieces by what the refused clear samples cost in which they are the deepest to overlap."""
        found: list[tuple[float, str, Piece]] = []
        blame = {link: np.zeros(cover.count) for link, cover in self.covers.items()}
        for pair, state in self.states.items():
            free = ~state.contact
            depth_m = state.depth_m[free]
            if len(depth_m) == 0:
                continue
            flat = depth_m.reshape(len(depth_m), -1)
            deepest = flat.argmax(axis=1)
            cost = cost_of_depth(flat.max(axis=1)) * self._weights[state.samples[free]]
            np.add.at(blame[pair[0]], deepest // depth_m.shape[2], cost)
            np.add.at(blame[pair[1]], deepest % depth_m.shape[2], cost)
        for link, cost in blame.items():
            cover = self.covers[link]
            found += [
                (float(cost[len(cover.exact) + index]), link, piece)
                for index, piece in enumerate(cover.pieces)
                if cost[len(cover.exact) + index] > 0.0
            ]
        return sorted(found, key=lambda entry: (-entry[0], entry[1], entry[2].volume.xyz))

    def _moves(self, link: str, piece: Piece) -> list[_Move]:
        """Returns what a piece may become within the bound: two halves, or the halves of its halves.

        A round, short link needs several cuts before the first state is set free; looking two deep sees that.
        """
        found: list[_Move] = []
        for pieces in (self._division(link, piece, deeper=False), self._division(link, piece, deeper=True)):
            added = len(pieces) - 1
            if 0 < added <= self.volumes_max - self.covers[link].count:
                found.append(_Move(self._removed(link, piece, pieces) / added, link, piece, pieces))
                if found[-1].worth > _CUT_WORTH:
                    break
        return found

    def _division(self, link: str, piece: Piece, *, deeper: bool) -> list[Piece]:
        """Returns the parts of a piece, each moved to where it costs least when it was first asked for."""
        key = (id(piece), deeper)
        if key not in self._divisions:
            parts = piece.quarters() if deeper else list(piece.halves or ())
            partners = self._partners(link, piece) if parts else np.empty((0, 7))
            self._divisions[key] = (piece, [refit(part, partners) for part in parts])
        return self._divisions[key][1]

    def _removed(self, link: str, piece: Piece, pieces: list[Piece]) -> float:
        """Returns how much cost in clear samples, pair by pair, other pieces in the place of one would remove."""
        cover = self.covers[link]
        index = len(cover.exact) + next(i for i, own in enumerate(cover.pieces) if own is piece)
        removed = 0.0
        for pair, state in self.states.items():
            if link not in pair:
                continue
            first = pair[0] == link
            other = _volumes(self.covers[pair[1] if first else pair[0]])
            rest_m = np.delete(state.depth_m, index, axis=1 if first else 2)
            after = np.full(self.sweep.count, -np.inf)
            after[state.samples] = rest_m.max(axis=(1, 2), initial=-np.inf)
            volumes = [own.volume for own in pieces]
            sides = (volumes, other) if first else (other, volumes)
            samples, clearance = self.sweep.overlaps(pair, *sides)
            after[samples] = np.maximum(after[samples], -clearance.min(axis=(1, 2), initial=np.inf))
            before = np.full(self.sweep.count, -np.inf)
            before[state.samples] = state.depth_m.max(axis=(1, 2), initial=-np.inf)
            weights = self._weights.copy()
            weights[state.samples[state.contact]] = 0.0
            removed += float(weights @ (cost_of_depth(before) - cost_of_depth(after)))
        return removed


def _volumes(cover: LinkCover) -> list[Volume]:
    return cover.exact + [piece.volume for piece in cover.pieces]
