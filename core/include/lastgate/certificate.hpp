// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lastgate/gate.hpp"

/// Why the path of an accepted chunk is clear, written down so that an independent program can check it with a few dot products.
/// Made outside the check, by a sweep of its own that allocates; what it cannot certify it does not write.
namespace lastgate {

enum class CertificateKind : std::uint8_t { self = 0, world = 1, zone = 2, points = 3 };

/// Between two instants of the path a pair of shapes stays apart: at `at` a slab of `distance_m` across `direction`
/// separates them, radii subtracted, and neither comes closer than `motion_m` by leaving that instant. A cloud lies on all
/// sides of a volume, so it has no slab: `distance_m` is then that of its nearest point, and the direction is zero. Pieces are
/// certified against each point that the volume is too near, by slabs.
struct CertificateRecord {
    CertificateKind kind = CertificateKind::self;
    bool by_pieces = false;
    std::uint16_t a = 0;  ///< The pair that is certified: a volume,
    std::uint16_t b = 0;  ///< and a volume, obstacle or zone; 0 for the cloud.
    std::uint16_t shape_a = 0;  ///< What shows it: the volume itself, or a piece that the volume meets.
    std::uint32_t shape_b = 0;
    bool piece_a = false;
    bool piece_b = false;
    double low = 0.0;  ///< In rows, counted from the measured state.
    double high = 0.0;
    double at = 0.0;
    Vec3 direction;  ///< From the first towards the second.
    double distance_m = 0.0;
    double motion_m = 0.0;
    double required_m = 0.0;
};

/// A piece and a volume of the same link that do not meet: what the volume stands for is not in that piece.
struct ApartRecord {
    std::uint16_t volume = 0;
    std::uint16_t piece = 0;
    Vec3 direction;  ///< From the volume towards the piece, in the frame of the link.
};

struct PathCertificate {
    std::vector<CertificateRecord> records;
    std::vector<ApartRecord> apart;
    bool complete = false;  ///< Every pair is certified at every instant; otherwise the rest means nothing.
};

/// Of the path behind the gate's last check, which must have been accepted, in the same world. Volumes, held ones too, against
/// volumes, obstacles, zones and points; no voxels, no floor.
PathCertificate certify_path(const Gate& gate, const WorldSnapshot& world);

}  // namespace lastgate
