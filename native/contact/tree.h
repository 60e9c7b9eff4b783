// Triangles of a skinned mesh that intersect each other, by a tree of bounding boxes that is built once, at rest, and
// refitted to every pose: faces that are near each other at rest are carried by the same bones and stay near.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kinema {

#include "common/vec.h"

using Point = Vec<double>;

// Six times the volume of the tetrahedron a, b, c, d: on which side of the plane a, b, c the point d lies.
inline double side(Point a, Point b, Point c, Point d) { return dot(cross(b - a, c - a), d - a); }

// True where the segment p, q crosses the inside of the triangle; touching and lying in its plane do not count.
inline bool crosses(const Point *t, double side_p, double side_q, Point p, Point q) {
    if (!(side_p * side_q < 0)) return false;
    const double u = side(p, q, t[0], t[1]), v = side(p, q, t[1], t[2]), w = side(p, q, t[2], t[0]);
    return (u > 0 && v > 0 && w > 0) || (u < 0 && v < 0 && w < 0);
}

// Two triangles in general position intersect where an edge of one crosses the other.
inline bool intersect(const Point *a, const Point *b) {
    double of_b[3], of_a[3];
    for (int k = 0; k < 3; ++k) of_b[k] = side(a[0], a[1], a[2], b[k]);
    if ((of_b[0] > 0 && of_b[1] > 0 && of_b[2] > 0) || (of_b[0] < 0 && of_b[1] < 0 && of_b[2] < 0)) return false;
    for (int k = 0; k < 3; ++k) of_a[k] = side(b[0], b[1], b[2], a[k]);
    if ((of_a[0] > 0 && of_a[1] > 0 && of_a[2] > 0) || (of_a[0] < 0 && of_a[1] < 0 && of_a[2] < 0)) return false;
    for (int k = 0; k < 3; ++k) {
        const int next = k == 2 ? 0 : k + 1;
        if (crosses(a, of_b[k], of_b[next], b[k], b[next])) return true;
        if (crosses(b, of_a[k], of_a[next], a[k], a[next])) return true;
    }
    return false;
}

struct Box {
    float low[3], high[3];

    bool overlaps(const Box &o) const {
        // Without branches: on limbs that lie beside each other every single comparison is a toss.
        return (low[0] <= o.high[0]) & (o.low[0] <= high[0]) & (low[1] <= o.high[1]) & (o.low[1] <= high[1]) &
               (low[2] <= o.high[2]) & (o.low[2] <= high[2]);
    }
    void grow(const Box &o) {
        for (int k = 0; k < 3; ++k) low[k] = std::min(low[k], o.low[k]), high[k] = std::max(high[k], o.high[k]);
    }
};

// Memory of one pose; kept from pose to pose.
struct Scratch {
    std::vector<Box> boxes;                        // of the nodes
    std::vector<Box> face_boxes;                   // of the faces, in the order of the leaves
    std::vector<std::pair<int32_t, int32_t>> stack;
    std::vector<int64_t> pairs;                    // first face << 32 | second face
};

class SelfContact {
  public:
    // `group` numbers the vertices that are one place: faces that share a place are neighbours and never a contact.
    // Nor are faces whose centres are at most `near` apart at rest.
    SelfContact(const int32_t *faces, int64_t count, const int32_t *group, const double *rest, double near)
        : faces_(faces, faces + 3 * count), groups_(size_t(3 * count)), order_(size_t(count)),
          centers_(size_t(count)), near_(near * near) {
        for (size_t i = 0; i < groups_.size(); ++i) groups_[i] = group[faces_[i]];
        for (int64_t f = 0; f < count; ++f) {
            const int32_t face = int32_t(f);
            order_[size_t(f)] = face;
            centers_[size_t(f)] = 1.0 / 3 * (corner(rest, face, 0) + corner(rest, face, 1) + corner(rest, face, 2));
        }
        if (count) build(0, int32_t(count), centers_);
        Scratch scratch;
        find(rest, scratch);
        at_rest_ = scratch.pairs;
    }

    // Pairs of faces that intersect in this pose and not at rest, in ascending order, into scratch.pairs.
    void find(const double *vertices, Scratch &s) const {
        s.pairs.clear();
        if (nodes_.empty()) return;
        refit(vertices, s);
        s.stack.clear();
        s.stack.emplace_back(0, 0);
        while (!s.stack.empty()) {
            const auto [i, j] = s.stack.back();
            s.stack.pop_back();
            const Node &a = nodes_[size_t(i)], &b = nodes_[size_t(j)];
            if (i == j) {
                if (a.leaf()) {
                    for (int32_t k = a.first; k < a.last; ++k)
                        for (int32_t l = k + 1; l < a.last; ++l) test(k, l, vertices, s);
                } else {
                    s.stack.emplace_back(a.left, a.left);
                    s.stack.emplace_back(a.right, a.right);
                    s.stack.emplace_back(a.left, a.right);
                }
            } else if (s.boxes[size_t(i)].overlaps(s.boxes[size_t(j)])) {
                if (a.leaf() && b.leaf()) {
                    for (int32_t k = a.first; k < a.last; ++k)
                        for (int32_t l = b.first; l < b.last; ++l) test(k, l, vertices, s);
                } else if (b.leaf() || (!a.leaf() && a.last - a.first >= b.last - b.first)) {
                    s.stack.emplace_back(a.left, j);
                    s.stack.emplace_back(a.right, j);
                } else {
                    s.stack.emplace_back(i, b.left);
                    s.stack.emplace_back(i, b.right);
                }
            }
        }
        std::sort(s.pairs.begin(), s.pairs.end());
        // What intersects at rest is how the body was modelled.
        const auto known = [this](int64_t pair) { return std::binary_search(at_rest_.begin(), at_rest_.end(), pair); };
        if (!at_rest_.empty()) s.pairs.erase(std::remove_if(s.pairs.begin(), s.pairs.end(), known), s.pairs.end());
    }

  private:
    static constexpr int32_t kLeaf = 4;

    struct Node {
        int32_t first, last;           // faces in order_
        int32_t left = -1, right = -1;

        bool leaf() const { return left < 0; }
    };

    Point corner(const double *vertices, int32_t face, int k) const {
        return load(vertices + 3 * int64_t(faces_[size_t(3 * face + k)]));
    }

    // Parents come before children, so that a refit runs backwards through the nodes.
    int32_t build(int32_t first, int32_t last, const std::vector<Point> &centers) {
        const int32_t index = int32_t(nodes_.size());
        nodes_.push_back({first, last});
        if (last - first <= kLeaf) return index;
        Point low = centers[size_t(order_[size_t(first)])], high = low;
        for (int32_t k = first; k < last; ++k) {
            const Point &p = centers[size_t(order_[size_t(k)])];
            low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
            high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
        }
        const Point wide = high - low;
        const double Point::*axis = wide.x >= wide.y && wide.x >= wide.z ? &Point::x
                                    : wide.y >= wide.z                       ? &Point::y
                                                                             : &Point::z;
        const int32_t middle = first + (last - first) / 2;
        std::nth_element(order_.begin() + first, order_.begin() + middle, order_.begin() + last,
                         [&](int32_t a, int32_t b) { return centers[size_t(a)].*axis < centers[size_t(b)].*axis; });
        const int32_t left = build(first, middle, centers), right = build(middle, last, centers);
        nodes_[size_t(index)].left = left;
        nodes_[size_t(index)].right = right;
        return index;
    }

    void refit(const double *vertices, Scratch &s) const {
        s.boxes.resize(nodes_.size());
        s.face_boxes.resize(order_.size());
        for (size_t k = 0; k < order_.size(); ++k) s.face_boxes[k] = box(vertices, order_[k]);
        for (size_t n = nodes_.size(); n-- > 0;) {
            const Node &node = nodes_[n];
            if (node.leaf()) {
                s.boxes[n] = s.face_boxes[size_t(node.first)];
                for (int32_t k = node.first + 1; k < node.last; ++k) s.boxes[n].grow(s.face_boxes[size_t(k)]);
            } else {
                s.boxes[n] = s.boxes[size_t(node.left)];
                s.boxes[n].grow(s.boxes[size_t(node.right)]);
            }
        }
    }

    // Rounding to single precision is monotonous: boxes that overlap in double precision overlap in single precision.
    Box box(const double *vertices, int32_t face) const {
        const Point a = corner(vertices, face, 0), b = corner(vertices, face, 1), c = corner(vertices, face, 2);
        Box result;
        const auto axis = [&](int k, double x, double y, double z) {
            result.low[k] = float(std::min({x, y, z}));
            result.high[k] = float(std::max({x, y, z}));
        };
        axis(0, a.x, b.x, c.x);
        axis(1, a.y, b.y, c.y);
        axis(2, a.z, b.z, c.z);
        return result;
    }

    bool neighbours(int32_t a, int32_t b) const {
        const int32_t *x = &groups_[size_t(3 * a)], *y = &groups_[size_t(3 * b)];
        for (int k = 0; k < 3; ++k)
            if (x[k] == y[0] || x[k] == y[1] || x[k] == y[2]) return true;
        const Point apart = centers_[size_t(a)] - centers_[size_t(b)];
        return dot(apart, apart) < near_;
    }

    void test(int32_t k, int32_t l, const double *vertices, Scratch &s) const {
        if (!s.face_boxes[size_t(k)].overlaps(s.face_boxes[size_t(l)])) return;
        int32_t a = order_[size_t(k)], b = order_[size_t(l)];
        if (neighbours(a, b)) return;
        if (a > b) std::swap(a, b);
        const Point first[3] = {corner(vertices, a, 0), corner(vertices, a, 1), corner(vertices, a, 2)};
        const Point second[3] = {corner(vertices, b, 0), corner(vertices, b, 1), corner(vertices, b, 2)};
        if (intersect(first, second)) s.pairs.push_back(int64_t(a) << 32 | int64_t(b));
    }

    std::vector<int32_t> faces_, groups_, order_;
    std::vector<Point> centers_;  // at rest
    double near_;                 // squared
    std::vector<Node> nodes_;
    std::vector<int64_t> at_rest_;
};

}  // namespace kinema
