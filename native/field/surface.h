// Exact signed distance to a triangle mesh in the unit cube, by a tree of bounding boxes with four children each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace kinema {

#include "common/vec.h"

using Point = Vec<double>;

// Four floats at a time.
typedef float Four __attribute__((vector_size(16)));
typedef int32_t FourBits __attribute__((vector_size(16)));
inline Four four(float a) { return Four{a, a, a, a}; }
inline Four lesser(Four a, Four b) { return a < b ? a : b; }
inline Four greater(Four a, Four b) { return a > b ? a : b; }

struct FourVecs {
    Four x, y, z;

    void set(int lane, Point v) { x[lane] = float(v.x), y[lane] = float(v.y), z[lane] = float(v.z); }
};
inline FourVecs operator-(const FourVecs &a, const FourVecs &b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Four dot(const FourVecs &a, const FourVecs &b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

// The nearest point of a triangle and where it lies: in the face, on edge k (from corner k to the next) or at corner k.
struct Foot {
    double squared;
    Point place;
    enum Where : int8_t { face, edge, corner } where;
    int8_t k;
};

struct Triangle {
    Point corner[3];

    Foot nearest(Point p) const {
        // Barycentric coordinates of the projection onto the plane; on an edge or outside one of them is not positive.
        constexpr double kEdge = 1e-9;
        const Point ab = corner[1] - corner[0], ac = corner[2] - corner[0], ap = p - corner[0];
        const double bb = dot(ab, ab), bc = dot(ab, ac), cc = dot(ac, ac), pb = dot(ap, ab), pc = dot(ap, ac);
        const double determinant = bb * cc - bc * bc;
        if (determinant > 1e-14 * bb * cc) {
            const double v = cc * pb - bc * pc, w = bb * pc - bc * pb, least = kEdge * determinant;
            if (v >= least && w >= least && determinant - v - w >= least) {
                const Point foot = corner[0] + (v / determinant) * ab + (w / determinant) * ac;
                return {dot(p - foot, p - foot), foot, Foot::face, 0};
            }
        }
        Foot best{std::numeric_limits<double>::infinity(), p, Foot::corner, 0};
        for (int8_t k = 0; k < 3; ++k) {
            const int8_t next = int8_t(k == 2 ? 0 : k + 1);
            const Point along = corner[next] - corner[k];
            const double length = dot(along, along);
            const double t = length > 0 ? dot(p - corner[k], along) / length : 0;
            const bool start = t < kEdge, end = t > 1 - kEdge;
            const Point foot = start ? corner[k] : end ? corner[next] : corner[k] + t * along;
            const double squared = dot(p - foot, p - foot);
            if (squared < best.squared)
                best = {squared, foot, start || end ? Foot::corner : Foot::edge, end ? next : k};
        }
        return best;
    }
};

// Squared distances to four triangles in single precision, to select those that are computed exactly.
class FourTriangles {
  public:
    int32_t face[4];

    void set(int lane, int32_t number, const Triangle &t) {
        const Point ab = t.corner[1] - t.corner[0], ac = t.corner[2] - t.corner[0], bc = t.corner[2] - t.corner[1];
        const Point normal = cross(ab, ac);
        const double area = dot(normal, normal);
        const bool flat = !(area > 1e-14 * dot(ab, ab) * dot(ac, ac));
        face[lane] = number;
        a_.set(lane, t.corner[0]);
        b_.set(lane, t.corner[1]);
        ab_.set(lane, ab);
        ac_.set(lane, ac);
        bc_.set(lane, bc);
        normal_.set(lane, flat ? normal : 1 / std::sqrt(area) * normal);
        auto inverse = [](double squared) { return squared > 0 ? float(1 / squared) : 0.0f; };
        per_ab_[lane] = inverse(dot(ab, ab));
        per_ac_[lane] = inverse(dot(ac, ac));
        per_bc_[lane] = inverse(dot(bc, bc));
        // Dual basis of the edges from corner 0: products with it are the barycentric coordinates.
        const double scale = flat ? 0 : 1 / area;
        dual_b_.set(lane, scale * (dot(ac, ac) * ab - dot(ab, ac) * ac));
        dual_c_.set(lane, scale * (dot(ab, ab) * ac - dot(ab, ac) * ab));
        least_[lane] = flat ? 1.0f : 0.0f;  // no coordinate is that large: of a sliver only the edges count
    }

    Four squared(const FourVecs &p) const {
        const FourVecs ap = p - a_, bp = p - b_;
        const Four v = dot(ap, dual_b_), w = dot(ap, dual_c_), height = dot(ap, normal_);
        const Four at_edges = lesser(lesser(to_edge(ap, ab_, per_ab_), to_edge(ap, ac_, per_ac_)),
                                     to_edge(bp, bc_, per_bc_));
        const FourBits within = (v >= least_) & (w >= least_) & (v + w <= four(1) - least_);
        return within ? height * height : at_edges;
    }

  private:
    static Four to_edge(const FourVecs &p, const FourVecs &along, Four per_length) {
        const Four t = lesser(greater(dot(p, along) * per_length, four(0)), four(1));
        const FourVecs rest{p.x - t * along.x, p.y - t * along.y, p.z - t * along.z};
        return dot(rest, rest);
    }

    FourVecs a_, b_, ab_, ac_, bc_, normal_, dual_b_, dual_c_;
    Four per_ab_, per_ac_, per_bc_, least_;
};

class Surface {
  public:
    // Pseudo-normals of faces, edges and corners give the sign (Bærentzen and Aanæs 2005).
    Surface(const double *corners, int64_t faces, const double *face_normals, const double *edge_normals,
            const double *corner_normals)
        : triangles_(reinterpret_cast<const Triangle *>(corners)), face_normals_(face_normals),
          edge_normals_(edge_normals), corner_normals_(corner_normals) {
        std::vector<Item> items(static_cast<size_t>(faces));
        for (int64_t f = 0; f < faces; ++f) {
            const Point *c = triangles_[f].corner;
            items[size_t(f)] = {1.0 / 3 * (c[0] + c[1] + c[2]), int32_t(f)};
        }
        nodes_.reserve(size_t(faces / 8 + 1));
        leaves_.reserve(size_t(faces / 3 + 1));
        nodes_.emplace_back();
        build(0, items.data(), items.data() + faces);
    }

    // Signed distance, negative inside. `face` is a guess on entry, to save time, and the nearest face on return.
    double distance(Point p, int32_t &face) const {
        Foot best = triangles_[face].nearest(p);
        float reach = reach_of(best.squared);
        const FourVecs ps{four(float(p.x)), four(float(p.y)), four(float(p.z))};
        Branch stack[96];
        int top = 0;
        stack[top++] = {0, 0};
        while (top) {
            const Branch branch = stack[--top];
            if (branch.gap > reach) continue;
            if (branch.child < 0) {
                const FourTriangles &leaf = leaves_[size_t(~branch.child)];
                const Four squared = leaf.squared(ps);
                for (int lane = 0; lane < 4; ++lane) {
                    if (!(squared[lane] <= reach) || leaf.face[lane] == face) continue;
                    const Foot foot = triangles_[leaf.face[lane]].nearest(p);
                    if (foot.squared < best.squared) {
                        best = foot;
                        face = leaf.face[lane];
                        reach = reach_of(best.squared);
                    }
                }
                continue;
            }
            const Node &node = nodes_[size_t(branch.child)];
            const Four gaps = node.gap(ps);
            const int first = top;
            for (int lane = 0; lane < 4; ++lane) {
                if (!(gaps[lane] <= reach)) continue;
                // Keep the nearest child on top of the stack.
                int at = top++;
                for (; at > first && stack[at - 1].gap < gaps[lane]; --at) stack[at] = stack[at - 1];
                stack[at] = {gaps[lane], node.child[lane]};
            }
        }
        const double *n = best.where == Foot::face   ? face_normals_ + 3 * int64_t(face)
                          : best.where == Foot::edge ? edge_normals_ + 9 * int64_t(face) + 3 * best.k
                                                     : corner_normals_ + 9 * int64_t(face) + 3 * best.k;
        const double side = dot(p - best.place, {n[0], n[1], n[2]});
        const double length = std::sqrt(best.squared);
        return side < 0 ? -length : length;
    }

  private:
    struct Item {
        Point center;
        int32_t face;
    };

    struct Branch {
        float gap;
        int32_t child;
    };

    // A child is the index of another node, or ~index of a leaf.
    struct Node {
        FourVecs low, high;
        int32_t child[4] = {};

        Four gap(const FourVecs &p) const {
            const Four x = greater(greater(low.x - p.x, p.x - high.x), four(0));
            const Four y = greater(greater(low.y - p.y, p.y - high.y), four(0));
            const Four z = greater(greater(low.z - p.z, p.z - high.z), four(0));
            return x * x + y * y + z * z;
        }
    };

    // A bound above the rounding errors of single precision in the unit cube, so that no nearer triangle is missed.
    static float reach_of(double squared) {
        const double reach = std::sqrt(squared) * (1 + 4e-6) + 1e-6;
        return float(reach * reach);
    }

    // Every child gets a quarter of the triangles: the depth is at most log4 of their number, and the stack of distance
    // never overflows.
    void build(int32_t index, Item *first, Item *last) {
        Item *middle = halve(first, last);
        Item *bounds[5] = {first, halve(first, middle), middle, halve(middle, last), last};
        for (int lane = 0; lane < 4; ++lane) {
            Item *from = bounds[lane], *to = bounds[lane + 1];
            constexpr double inf = std::numeric_limits<double>::infinity();
            Point low{inf, inf, inf}, high{-inf, -inf, -inf};
            for (Item *item = from; item != to; ++item)
                for (const Point &p : triangles_[item->face].corner) {
                    low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
                    high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
                }
            nodes_[size_t(index)].low.set(lane, low);  // an empty box is infinitely far
            nodes_[size_t(index)].high.set(lane, high);
            if (to - from > 4) {
                const int32_t child = int32_t(nodes_.size());
                nodes_.emplace_back();
                nodes_[size_t(index)].child[lane] = child;
                build(child, from, to);
            } else if (to > from) {
                nodes_[size_t(index)].child[lane] = ~int32_t(leaves_.size());
                leaves_.emplace_back();
                for (int k = 0; k < 4; ++k) {
                    const int32_t face = from[std::min<int64_t>(k, to - from - 1)].face;
                    leaves_.back().set(k, face, triangles_[face]);
                }
            }
        }
    }

    // Splits along the longest side; the first part has a multiple of four triangles where possible, to fill the leaves.
    static Item *halve(Item *first, Item *last) {
        if (last - first <= 4) return last;
        Point low = first->center, high = low;
        for (const Item *item = first; item != last; ++item) {
            const Point &p = item->center;
            low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
            high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
        }
        const Point wide = high - low;
        const double Point::*axis = wide.x >= wide.y && wide.x >= wide.z ? &Point::x
                                    : wide.y >= wide.z                       ? &Point::y
                                                                             : &Point::z;
        Item *middle = first + ((last - first) / 2 + 3) / 4 * 4;
        std::nth_element(first, middle, last,
                         [axis](const Item &a, const Item &b) { return a.center.*axis < b.center.*axis; });
        return middle;
    }

    const Triangle *triangles_;
    const double *face_normals_, *edge_normals_, *corner_normals_;
    std::vector<Node> nodes_;
    std::vector<FourTriangles> leaves_;
};

}  // namespace kinema
