# SPDX-License-Identifier: Apache-2.0
"""Spends further volumes where the sweep shows configurations refused although the meshes are clear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.lowering.fit import LinkCover, Piece
from lastgate.lowering.sweep import Index, Pair, Sweep
from lastgate.lowering.volumes import Volume

Array = NDArray[np.float64]

# Refinement stops at this rate over the sweep; well under half of the 5 % the fleet is held to leaves room
# for what the sample cannot see.
PHANTOM_RATE_TARGET = 0.02
# Pieces whose cut is measured per round.
_PIECES_TRIED = 5
# What a sample costs for being refused at all, next to how deep its volumes overlap: without the depth no
# single cut of a deep overlap would look worthwhile, without this term the last millimetre would not.
_TOUCH_DEPTH_M = 0.002
# A cut must remove this much overlap, summed over the sweep, to be worth a volume: a few states set free.
_CUT_WORTH_M = 0.005


@dataclass
class PairState:
    """One checked pair over the sweep: the samples whose volumes touch and which volumes do."""

    samples: Index
    depth_m: (
        Array  # (len(samples), volumes of a, volumes of b): how deep each two overlap, 0 where they do not
    )
    contact: NDArray[np.bool_]  # per sample in `samples`: the meshes meet


@dataclass(frozen=True)
class _Move:
    worth_m: float  # overlap removed per volume added
    link: str
    piece: Piece
    pieces: list[Piece]


class Refinement:
    """Cuts pieces greedily by the number of refused clear configurations each cut removes."""

    def __init__(
        self, sweep: Sweep, covers: dict[str, LinkCover], pairs: Sequence[Pair], volumes_max: int
    ) -> None:
        self.sweep = sweep
        self.covers = covers
        self.pairs = [pair for pair in pairs if all(link in covers for link in pair)]
        self.volumes_max = volumes_max
        self.states = {pair: self._evaluate(pair) for pair in self.pairs}

    def _evaluate(self, pair: Pair) -> PairState:
        samples, clearance = self.sweep.overlaps(
            pair, _volumes(self.covers[pair[0]]), _volumes(self.covers[pair[1]])
        )
        return PairState(samples, np.maximum(-clearance, 0.0), self.sweep.mesh_contact(pair, samples))

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
        """Cuts until the target is met or no cut within the bounds is worth its volume."""
        spent: set[int] = set()
        while True:
            clear = self.clear()
            phantom = self.refused() & clear
            rate = float(phantom.sum() / max(int(clear.sum()), 1))
            if progress is not None:
                progress(rate)
            blamed = [entry for entry in self._blame(phantom) if id(entry[2]) not in spent][:_PIECES_TRIED]
            if rate <= target or not blamed:
                return
            moves = [move for _, link, piece in blamed for move in self._moves(link, piece, phantom)]
            best = max(moves, key=lambda move: move.worth_m, default=None)
            if best is None or not best.worth_m > _CUT_WORTH_M:
                spent |= {id(piece) for _, _, piece in blamed}
                continue
            link = best.link
            self.covers[link].replace(best.piece, best.pieces)
            for pair in self.pairs:
                if link in pair:
                    self.states[pair] = self._evaluate(pair)

    def _blame(self, phantom: NDArray[np.bool_]) -> list[tuple[float, str, Piece]]:
        """Returns pieces by how deep, summed over refused clear samples, they are the deepest to overlap."""
        blame: dict[tuple[str, int], float] = {}
        for pair, state in self.states.items():
            depth_m = state.depth_m[phantom[state.samples]]
            if len(depth_m) == 0:
                continue
            width = depth_m.shape[2]
            deepest = depth_m.reshape(len(depth_m), -1).argmax(axis=1)
            worst_m = depth_m.reshape(len(depth_m), -1).max(axis=1)
            for index, depth in zip(deepest, worst_m, strict=True):
                for key in ((pair[0], int(index) // width), (pair[1], int(index) % width)):
                    blame[key] = blame.get(key, 0.0) + float(depth) + _TOUCH_DEPTH_M
        found: list[tuple[float, str, Piece]] = []
        for (link, index), depth in blame.items():
            cover = self.covers[link]
            piece_index = index - len(cover.exact)
            if piece_index >= 0 and cover.count < self.volumes_max:
                found.append((depth, link, cover.pieces[piece_index]))
        return sorted(found, key=lambda entry: (-entry[0], entry[1], entry[2].volume.xyz))

    def _moves(self, link: str, piece: Piece, phantom: NDArray[np.bool_]) -> list[_Move]:
        """Returns what a piece may become within the bound: two halves, or the halves of its halves.

        A round, short link needs several cuts before the first state is set free; looking two deep sees that.
        """
        room = self.volumes_max - self.covers[link].count
        found: list[_Move] = []
        for pieces in piece.divisions():
            added = len(pieces) - 1
            if added <= room:
                found.append(_Move(self._removed(link, piece, pieces, phantom) / added, link, piece, pieces))
        return found

    def _removed(self, link: str, piece: Piece, pieces: list[Piece], phantom: NDArray[np.bool_]) -> float:
        """Returns how much overlap in refused clear samples, pair by pair, a division would remove."""
        cover = self.covers[link]
        after = [own for own in cover.pieces if own is not piece] + pieces
        volumes = cover.exact + [own.volume for own in after]
        removed = 0.0
        for pair, state in self.states.items():
            chosen = phantom[state.samples]
            if link not in pair or not chosen.any():
                continue
            other = _volumes(self.covers[pair[1] if pair[0] == link else pair[0]])
            sides = (volumes, other) if pair[0] == link else (other, volumes)
            _, clearance = self.sweep.overlaps(pair, *sides, among=state.samples[chosen])
            removed += _cost(state.depth_m[chosen]) - _cost(np.maximum(-clearance, 0.0))
        return removed


def _cost(depth_m: Array) -> float:
    """Returns the overlap of a pair summed over samples: the deepest, and a share for touching at all."""
    if len(depth_m) == 0:
        return 0.0
    return float(depth_m.max(axis=(1, 2)).sum()) + _TOUCH_DEPTH_M * len(depth_m)


def _volumes(cover: LinkCover) -> list[Volume]:
    return cover.exact + [piece.volume for piece in cover.pieces]
