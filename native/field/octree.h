// Pinocchio's distance field: an octree over the unit cube, trilinear in each cell, made only where a way leads through.
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

    // Whether the field stays at or below the slack at `steps` places on the way, the last of them its end.
    bool clear(Vec from, Vec to, int steps) {
        const Vec step = 1.0 / steps * (to - from);
        Where here{};
        Verdict verdict = fresh;
        const Cell *cell = nullptr;
        for (int k = 1; k <= steps; ++k) {
            const Vec raw = from + double(k) * step;
            const Vec p{std::clamp(raw.x, 0.0, 1.0), std::clamp(raw.y, 0.0, 1.0), std::clamp(raw.z, 0.0, 1.0)};
            if (!cell || !here.holds(p)) {
                cell = &locate(p, here);
                verdict = cell->verdict;
            }
            if (verdict == outside || (verdict == leaf && here.interpolate(*cell, p) > slack_)) return false;
        }
        return true;
    }

    size_t evaluations() const { return known_; }

  private:
    static constexpr int kDeepest = 10;
    static constexpr double kHalfDiagonal = 0.86602540378443865;

    // What is known of a cell. Distances change by at most the way, and the field is a mean of distances at places in the
    // cell: where the centre is farther from the slack than half a diagonal, the whole cell lies on its side of it, and
    // its parts are never looked at.
    enum Verdict : int8_t { fresh, inside, outside, leaf, split };

    struct Cell {
        double corner[8];
        int32_t children = -1;
        int32_t face = 0;
        Verdict verdict = fresh;
    };

    // Lower corner in cells of the level.
    struct Where {
        int32_t x, y, z, level;

        bool holds(Vec p) const {
            const double scale = double(1 << level);
            return above(scale * p.x, x) && above(scale * p.y, y) && above(scale * p.z, z);
        }
        // A place on the border of two cells belongs to the lower one; 0 to the first.
        static bool above(double p, int32_t low) { return (p > low || low == 0) && p <= low + 1; }

        double interpolate(const Cell &cell, Vec p) const {
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

    const Cell &locate(Vec p, Where &at) {
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
        int32_t face = cells_[size_t(index)].face;
        // Nodes of the lattice, counted in halves of the finest cells: three per edge of this cell.
        const int32_t half = 1 << (kDeepest - at.level);
        auto node = [&](int i, int j, int k) {
            return value((2 * at.x + i) * half, (2 * at.y + j) * half, (2 * at.z + k) * half, face);
        };
        const double middle = node(1, 1, 1), radius = kHalfDiagonal / double(1 << at.level);
        Cell cell = cells_[size_t(index)];
        cell.face = face;
        if (middle + radius <= slack_) {
            cell.verdict = inside;
        } else if (middle - radius > slack_) {
            cell.verdict = outside;
        } else {
            double sum = 0;
            for (int n = 0; n < 8; ++n) sum += cell.corner[n] = node(n & 4 ? 2 : 0, n & 2 ? 2 : 0, n & 1 ? 2 : 0);
            cell.verdict = at.level == 0 ? split : at.level == kDeepest || middle > radius ? leaf : fresh;
            if (cell.verdict == fresh)
                cell.verdict = std::abs(middle - sum / 8) > tolerance_ || errs(cell, node) ? split : leaf;
        }
        if (cell.verdict == split) {
            cell.children = int32_t(cells_.size());
            Cell child;
            child.face = face;
            cells_.insert(cells_.end(), 8, child);
        }
        cells_[size_t(index)] = cell;
    }

    // Whether linear interpolation errs by more than the tolerance at the middle of a face or an edge.
    template <typename Node> bool errs(const Cell &cell, Node &&node) const {
        auto corner = [&](int i, int j, int k) { return cell.corner[4 * i + 2 * j + k]; };
        for (int axis = 0; axis < 3; ++axis) {
            for (int side = 0; side < 2; ++side) {
                double sum = 0;
                int at[3], low[3];
                for (int n = 0; n < 4; ++n) {
                    low[axis] = side, low[(axis + 1) % 3] = n & 1, low[(axis + 2) % 3] = n >> 1;
                    sum += corner(low[0], low[1], low[2]);
                }
                at[axis] = 2 * side, at[(axis + 1) % 3] = at[(axis + 2) % 3] = 1;
                if (std::abs(node(at[0], at[1], at[2]) - sum / 4) > tolerance_) return true;
            }
        }
        for (int axis = 0; axis < 3; ++axis) {
            for (int n = 0; n < 4; ++n) {
                int low[3], high[3];
                low[axis] = 0, high[axis] = 1;
                low[(axis + 1) % 3] = high[(axis + 1) % 3] = n & 1;
                low[(axis + 2) % 3] = high[(axis + 2) % 3] = n >> 1;
                const double mean = (corner(low[0], low[1], low[2]) + corner(high[0], high[1], high[2])) / 2;
                const double there = node(low[0] + high[0], low[1] + high[1], low[2] + high[2]);
                if (std::abs(there - mean) > tolerance_) return true;
            }
        }
        return false;
    }

    // Exact distance at a node of the lattice; neighbouring cells share them.
    double value(int32_t x, int32_t y, int32_t z, int32_t &face) {
        const uint64_t key = (uint64_t(x) << 24 | uint64_t(y) << 12 | uint64_t(z)) + 1;
        size_t slot = find(key);
        if (table_[slot].key != key) {
            if (2 * ++known_ > table_.size()) {
                std::vector<Entry> old(2 * table_.size());
                old.swap(table_);
                for (const Entry &entry : old)
                    if (entry.key) table_[find(entry.key)] = entry;
                slot = find(key);
            }
            constexpr double unit = 1.0 / (2 << kDeepest);
            table_[slot] = {key, surface_.distance({unit * x, unit * y, unit * z}, face)};
        }
        return table_[slot].value;
    }

    struct Entry {
        uint64_t key = 0;
        double value = 0;
    };

    size_t find(uint64_t key) const {
        size_t slot = size_t(key * 0x9E3779B97F4A7C15u >> 20) & (table_.size() - 1);
        while (table_[slot].key && table_[slot].key != key) slot = (slot + 1) & (table_.size() - 1);
        return slot;
    }

    const Surface &surface_;
    const double tolerance_, slack_;
    std::vector<Cell> cells_;
    std::vector<Entry> table_;
    size_t known_ = 0;
};

}  // namespace kinema
