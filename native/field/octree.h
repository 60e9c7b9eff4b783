// Pinocchio's distance field: an octree over the unit cube, trilinear in each cell, refined only where a segment passes.
#pragma once

#include "surface.h"

namespace kinema {

class Octree {
  public:
    Octree(const Surface &surface, double tolerance, double slack)
        : surface_(surface), tolerance_(tolerance), slack_(slack), table_(size_t(1) << 14) {
        cells_.reserve(1 << 14);
        cells_.emplace_back();
    }

    // True if the field is at most the slack at `steps` points of the segment, the last of them its end.
    bool clear(Point from, Point to, int steps) {
        const Point step = 1.0 / steps * (to - from);
        Where here{};
        Verdict verdict = fresh;
        const Cell *cell = nullptr;
        for (int k = 1; k <= steps; ++k) {
            const Point raw = from + double(k) * step;
            const Point p{std::clamp(raw.x, 0.0, 1.0), std::clamp(raw.y, 0.0, 1.0), std::clamp(raw.z, 0.0, 1.0)};
            if (!cell || !here.holds(p)) {
                cell = &locate(p, here);
                verdict = cell->verdict;
            }
            if (verdict == outside || (verdict == leaf && here.interpolate(*cell, p) > slack_)) return false;
        }
        return true;
    }

  private:
    static constexpr int kDeepest = 10;
    static constexpr double kHalfDiagonal = 0.86602540378443865, kRoot2 = 1.4142135623730951;
    static constexpr uint64_t kNone = ~uint64_t(0);

    // State of a cell. A distance field has slope 1, and the interpolated field is a mean of distances at points of the
    // cell: if the distance at the centre differs from the slack by more than half a diagonal, the whole cell is on one
    // side of it and is not refined. (Where a mesh is open or intersects itself the sign can jump, and the result may
    // differ from the twin's.)
    enum Verdict : int8_t { fresh, inside, outside, leaf, split };

    struct Cell {
        double corner[8];
        int32_t children = -1;
        int32_t face = 0;
        Verdict verdict = fresh;
    };

    // Lower corner of a cell, in cells of its level.
    struct Where {
        int32_t x, y, z, level;

        bool holds(Point p) const {
            const double scale = double(1 << level);
            return above(scale * p.x, x) && above(scale * p.y, y) && above(scale * p.z, z);
        }
        // A point on the border of two cells belongs to the lower one; 0 to the first.
        static bool above(double p, int32_t low) { return (p > low || low == 0) && p <= low + 1; }

        // Key of the lattice node at i, j and k half edges from the cell's lower corner.
        uint64_t node(int i, int j, int k) const {
            auto along = [this](int32_t low, int halves) {
                return uint64_t(2 * low + halves) << (kDeepest - level);
            };
            return along(x, i) << 24 | along(y, j) << 12 | along(z, k);
        }

        double interpolate(const Cell &cell, Point p) const {
            const double scale = double(1 << level);
            const double u = scale * p.x - x, v = scale * p.y - y, w = scale * p.z - z;
            const double *c = cell.corner;
            auto mix = [](double a, double b, double t) { return a + t * (b - a); };
            // Corner 4 i + 2 j + k lies at (i, j, k).
            const double c00 = mix(c[0], c[4], u), c01 = mix(c[1], c[5], u);
            const double c10 = mix(c[2], c[6], u), c11 = mix(c[3], c[7], u);
            return mix(mix(c00, c10, v), mix(c01, c11, v), w);
        }
    };

    const Cell &locate(Point p, Where &at) {
        at = {0, 0, 0, 0};
        int32_t index = 0;
        while (true) {
            if (cells_[size_t(index)].verdict == fresh) judge(index, at);
            if (cells_[size_t(index)].verdict != split) return cells_[size_t(index)];
            ++at.level;
            const double scale = double(1 << at.level);
            const int32_t i = scale * p.x > 2 * at.x + 1, j = scale * p.y > 2 * at.y + 1, k = scale * p.z > 2 * at.z + 1;
            at.x = 2 * at.x + i;
            at.y = 2 * at.y + j;
            at.z = 2 * at.z + k;
            index = cells_[size_t(index)].children + 4 * i + 2 * j + k;
        }
    }

    void judge(int32_t index, Where at) {
        Cell cell = cells_[size_t(index)];
        const double edge = 1.0 / double(1 << at.level), radius = kHalfDiagonal * edge;
        const double middle = value(at.node(1, 1, 1), cell.face);
        if (middle + radius <= slack_) {
            cell.verdict = inside;
        } else if (middle - radius > slack_) {
            cell.verdict = outside;
        } else {
            for (int n = 0; n < 8; ++n)
                cell.corner[n] = value(at.node(n & 4 ? 2 : 0, n & 2 ? 2 : 0, n & 1 ? 2 : 0), cell.face);
            // Cells outside the mesh and the finest ones are not refined; the whole cube always is.
            const bool last = at.level == kDeepest || (at.level > 0 && middle > radius);
            cell.verdict = !last && (at.level == 0 || errs(cell, at, middle, edge / 2)) ? split : leaf;
        }
        if (cell.verdict == split) {
            cell.children = int32_t(cells_.size());
            Cell child;
            child.face = cell.face;
            cells_.insert(cells_.end(), 8, child);
        }
        cells_[size_t(index)] = cell;
    }

    // Bounds of the distance at a point, from distances at points around it: the field has slope 1.
    struct Range {
        double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();

        void add(double distance, double away) {
            low = std::max(low, distance - away);
            high = std::min(high, distance + away);
        }
    };

    // True if trilinear interpolation errs by more than the tolerance at the middle of the cell, an edge or a face. A
    // distance is computed only where its bounds, from the distances around it, leave the answer open.
    bool errs(Cell &cell, Where at, double middle, double half) {
        double sum = 0;
        for (const double corner : cell.corner) sum += corner;
        if (std::abs(middle - sum / 8) > tolerance_) return true;
        Range edges[12];
        for (int axis = 0; axis < 3; ++axis) {
            const int u = (axis + 1) % 3, v = (axis + 2) % 3;
            for (int n = 0; n < 4; ++n) {
                int place[3];
                place[axis] = 1, place[u] = n & 1 ? 2 : 0, place[v] = n & 2 ? 2 : 0;
                const int low = corner_of(place[0] & 2, place[1] & 2, place[2] & 2), high = low | 4 >> axis;
                Range &range = edges[4 * axis + n];
                range.add(cell.corner[low], half);
                range.add(cell.corner[high], half);
                range.add(middle, half * kRoot2);
                if (errs_at((cell.corner[low] + cell.corner[high]) / 2, range, at.node(place[0], place[1], place[2]),
                            cell.face))
                    return true;
            }
        }
        for (int axis = 0; axis < 3; ++axis) {
            const int u = (axis + 1) % 3, v = (axis + 2) % 3;
            for (int side = 0; side < 2; ++side) {
                int place[3];
                place[axis] = 2 * side, place[u] = place[v] = 1;
                Range range;
                range.add(middle, half);
                double total = 0;
                for (int n = 0; n < 4; ++n) {
                    int corner[3];
                    corner[axis] = 2 * side, corner[u] = n & 1 ? 2 : 0, corner[v] = n & 2 ? 2 : 0;
                    const double there = cell.corner[corner_of(corner[0], corner[1], corner[2])];
                    total += there;
                    range.add(there, half * kRoot2);
                }
                // The face's edges run along u and v; they are numbered as above.
                for (int n = 0; n < 2; ++n)
                    for (const int edge : {4 * u + n + 2 * side, 4 * v + side + 2 * n}) {
                        range.low = std::max(range.low, edges[edge].low - half);
                        range.high = std::min(range.high, edges[edge].high + half);
                    }
                if (errs_at(total / 4, range, at.node(place[0], place[1], place[2]), cell.face)) return true;
            }
        }
        return false;
    }

    // Narrows the range to the distance where it had to be computed.
    bool errs_at(double guess, Range &range, uint64_t key, int32_t &face) {
        constexpr double round = 1e-12;
        if (range.low >= guess - tolerance_ + round && range.high <= guess + tolerance_ - round) return false;
        if (range.low > guess + tolerance_ + round || range.high < guess - tolerance_ - round) return true;
        range.low = range.high = value(key, face);
        return std::abs(range.low - guess) > tolerance_;
    }

    static int corner_of(int x, int y, int z) { return 2 * x + y + z / 2; }

    // Exact distance at a node of the lattice, computed once: neighbouring cells share nodes.
    double value(uint64_t key, int32_t &face) {
        size_t slot = find(key);
        if (table_[slot].key != key) {
            if (2 * ++known_ > table_.size()) {
                std::vector<Entry> old(2 * table_.size());
                old.swap(table_);
                for (const Entry &entry : old)
                    if (entry.key != kNone) table_[find(entry.key)] = entry;
                slot = find(key);
            }
            constexpr double unit = 1.0 / (2 << kDeepest);
            const Point place{unit * double(key >> 24), unit * double(key >> 12 & 4095), unit * double(key & 4095)};
            table_[slot] = {key, surface_.distance(place, face)};
        }
        return table_[slot].value;
    }

    struct Entry {
        uint64_t key = kNone;
        double value = 0;
    };

    size_t find(uint64_t key) const {
        size_t slot = size_t(key * 0x9E3779B97F4A7C15u >> 20) & (table_.size() - 1);
        while (table_[slot].key != kNone && table_[slot].key != key) slot = (slot + 1) & (table_.size() - 1);
        return slot;
    }

    const Surface &surface_;
    const double tolerance_, slack_;
    std::vector<Cell> cells_;
    std::vector<Entry> table_;
    size_t known_ = 0;
};

}  // namespace kinema
