// SPDX-License-Identifier: Apache-2.0
#include "growing_hull.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <vector>

#include "point.hpp"

namespace lastgate::fitting {
namespace {

double length(Point a) { return std::sqrt(dot(a, a)); }

struct Edge {
    std::size_t from;
    std::size_t to;
};

/// Vertices run counter-clockwise seen from outside.
struct Face {
    std::size_t vertex[3];
    Point normal;   // as long as twice the face is large
    double offset;  // normal . x on the face
    double slack;   // how much normal . x may be off by rounding, and a little more
    bool is_sliver;
    bool is_asked = false;  // whether no vertex of the last hull that was asked lay beyond it

    Edge edge(std::size_t side) const { return {vertex[side], vertex[(side + 1) % 3]}; }
    /// Six times the volume between the face and a point, negative on the inner side.
    double sixfold(Point point) const { return dot(normal, point) - offset; }
};

/// A hull that grows by one point after another. Faces are few (two per vertex), so all of them are asked.
class Hull {
public:
    explicit Hull(double size_m)
        : size_m_(size_m), outside_m_(1e-12 * size_m), sixfold_min_(1e-13 * size_m * size_m * size_m) {}

    void add(Point point) {
        points_.push_back(point);
        if (is_flat()) {
            return;
        }
        join(points_.size() - 1);
    }

    /// Starts from the points so far if they do not lie in one plane.
    void start_if_solid() {
        if (!is_flat() || points_.size() < 4) {
            return;
        }
        const Point origin = points_[0];
        const std::size_t b = extreme_point([&](Point p) { return length(p - origin); });
        const Point along = points_[b] - origin;
        const std::size_t c = extreme_point([&](Point p) { return length(cross(along, p - origin)); });
        const Point normal = cross(along, points_[c] - origin);
        const std::size_t d = extreme_point([&](Point p) { return std::abs(dot(normal, p - origin)); });
        const double sixfold = dot(normal, points_[d] - origin);
        if (!(std::abs(sixfold) > outside_m_ * length(normal)) || !(std::abs(sixfold) > sixfold_min_)) {
            return;
        }
        const bool above = sixfold > 0.0;
        const std::size_t first = above ? c : b;
        const std::size_t second = above ? b : c;
        put({0, first, second});
        put({0, second, d});
        put({second, first, d});
        put({first, 0, d});
        for (std::size_t i = 1; i < points_.size(); ++i) {
            if (i != b && i != c && i != d) {
                join(i);
            }
        }
    }

    std::size_t count() const { return points_.size(); }

    double volume_m3() const {
        double sixfold = 0.0;
        for (const Face& face : faces_) {
            sixfold += face.offset;
        }
        return sixfold / 6.0;
    }

    /// Whether no vertex lies beyond a face: then the closed surface is that of the hull. What was found so the
    /// last time need not be asked again: only new faces about all vertices, and old faces about new vertices.
    bool is_convex() {
        is_vertex_.assign(points_.size(), false);
        for (const Face& face : faces_) {
            for (const std::size_t vertex : face.vertex) {
                is_vertex_[vertex] = true;
            }
        }
        vertices_.clear();
        std::size_t old = 0;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            old = i == asked_ ? vertices_.size() : old;
            if (is_vertex_[i]) {
                vertices_.push_back(i);
            }
        }
        for (Face& face : faces_) {
            if (!has_none_beyond(face, face.is_asked ? std::span(vertices_).subspan(old) : vertices_)) {
                return false;
            }
            face.is_asked = true;
        }
        asked_ = points_.size();
        return true;
    }

    /// Whether no point at all lies beyond a face.
    bool has_all() {
        vertices_.resize(points_.size());
        std::iota(vertices_.begin(), vertices_.end(), 0);
        return std::all_of(faces_.begin(), faces_.end(),
                           [&](const Face& face) { return has_none_beyond(face, vertices_); });
    }

private:
    bool has_none_beyond(const Face& face, std::span<const std::size_t> indices) const {
        const double tolerated = 2.0 * (sixfold_min_ + face.slack);
        return std::all_of(indices.begin(), indices.end(),
                           [&](std::size_t index) { return face.sixfold(points_[index]) <= tolerated; });
    }

    bool is_flat() const { return faces_.empty(); }

    template <typename Measure>
    std::size_t extreme_point(Measure measure) const {
        std::size_t best = 0;
        double most = -1.0;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            const double value = measure(points_[i]);
            if (value > most) {
                most = value;
                best = i;
            }
        }
        return best;
    }

    struct Vertices {
        std::size_t a;
        std::size_t b;
        std::size_t c;
    };

    void put(Vertices vertices) {
        const Point a = points_[vertices.a];
        const Point normal = cross(points_[vertices.b] - a, points_[vertices.c] - a);
        const double offset = dot(normal, a);
        double longest_squared = 0.0;
        for (const Edge edge : {Edge{vertices.a, vertices.b}, Edge{vertices.b, vertices.c}, Edge{vertices.c, vertices.a}}) {
            const Point along = points_[edge.to] - points_[edge.from];
            longest_squared = std::max(longest_squared, dot(along, along));
        }
        const double area = length(normal);
        // The normal is off by the rounding of products of edges, which a sliver's own length does not dwarf.
        const double slack = outside_m_ * area + 2e-15 * size_m_ * longest_squared;
        faces_.push_back(
            {{vertices.a, vertices.b, vertices.c}, normal, offset, slack, area < 1e-4 * longest_squared, false});
    }

    /// Takes a point in: what it sees goes, and it is joined to the edge of that.
    void join(std::size_t index) {
        const Point point = points_[index];
        seen_.clear();
        std::size_t start = 0;
        double most = sixfold_min_;
        bool found = false;
        for (std::size_t i = 0; i < faces_.size(); ++i) {
            const Face& face = faces_[i];
            const double sixfold = face.sixfold(point);
            // Slivers that cannot be told go with what is around them: one left behind would tear a hole.
            if (sixfold > (face.is_sliver ? -face.slack : face.slack)) {
                if (sixfold > std::max(most, face.slack)) {
                    most = sixfold;
                    start = seen_.size();
                    found = true;
                }
                seen_.push_back(i);
            }
        }
        if (!found) {
            return;
        }
        keep_connected(start);
        edges_.clear();
        for (const std::size_t face : seen_) {
            for (std::size_t side = 0; side < 3; ++side) {
                const Edge edge = faces_[face].edge(side);
                // An edge between two faces that are seen runs both ways and is no rim.
                const auto back = std::find_if(edges_.begin(), edges_.end(), [&](const Edge& other) {
                    return other.from == edge.to && other.to == edge.from;
                });
                if (back == edges_.end()) {
                    edges_.push_back(edge);
                } else {
                    *back = edges_.back();
                    edges_.pop_back();
                }
            }
        }
        std::sort(seen_.begin(), seen_.end(), std::greater<>());
        for (const std::size_t face : seen_) {
            faces_[face] = faces_.back();
            faces_.pop_back();
        }
        for (const Edge& edge : edges_) {
            put({edge.from, edge.to, index});
        }
    }

    /// Keeps of the faces seen those that hang together with one: a sliver elsewhere whose normal is mere rounding would
    /// tear a hole.
    void keep_connected(std::size_t start) {
        std::swap(seen_[0], seen_[start]);
        std::size_t kept = 1;
        for (std::size_t i = 0; i < kept; ++i) {
            for (std::size_t j = kept; j < seen_.size(); ++j) {
                if (share_an_edge(faces_[seen_[i]], faces_[seen_[j]])) {
                    std::swap(seen_[kept++], seen_[j]);
                }
            }
        }
        seen_.resize(kept);
    }

    static bool share_an_edge(const Face& a, const Face& b) {
        int common = 0;
        for (const std::size_t vertex : a.vertex) {
            common += std::find(std::begin(b.vertex), std::end(b.vertex), vertex) != std::end(b.vertex);
        }
        return common >= 2;
    }

    double size_m_;
    // How far beyond a face a point must be to count: rounding is a thousandth of it.
    double outside_m_;
    // What a point must add at least, six times, to be worth checking: the thirteenth digit of a volume.
    double sixfold_min_;
    std::vector<Point> points_;
    std::vector<Face> faces_;
    std::vector<std::size_t> seen_;
    std::vector<Edge> edges_;
    std::size_t asked_ = 0;
    std::vector<bool> is_vertex_;
    std::vector<std::size_t> vertices_;
};

}  // namespace

bool growing_hulls(std::span<const double> points, std::span<const double> height, std::span<const double> offsets,
                   std::span<double> volume_m3) {
    if (height.empty()) {
        std::fill(volume_m3.begin(), volume_m3.end(), std::numeric_limits<double>::quiet_NaN());
        return true;
    }
    // Seen from the first point, numbers are as small as the set is, wherever it lies.
    const Point origin{points[0], points[1], points[2]};
    std::vector<Point> moved;
    double size_m = 0.0;
    for (std::size_t i = 0; i < height.size(); ++i) {
        moved.push_back(Point{points[3 * i], points[3 * i + 1], points[3 * i + 2]} - origin);
        size_m = std::max(size_m, length(moved.back()));
    }
    Hull hull(size_m);
    double reached = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < offsets.size(); ++k) {
        for (std::size_t i = 0; i < height.size(); ++i) {
            if (height[i] > reached && height[i] <= offsets[k]) {
                hull.add(moved[i]);
            }
        }
        reached = offsets[k];
        hull.start_if_solid();
        if (hull.count() < 4) {
            volume_m3[k] = std::numeric_limits<double>::quiet_NaN();
            continue;
        }
        volume_m3[k] = hull.volume_m3();
        if (!hull.is_convex()) {
            return false;
        }
    }
    return hull.has_all();
}

}  // namespace lastgate::fitting
