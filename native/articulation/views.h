// Arguments of the kernels: plain pointers, so that the files compiled per instruction set share no templates of std.
#pragma once
#include <cstdint>

// Constants of a simulation. Joint frames have the joints' rotation axes.
template <class T>
struct ModelView {
    int joints;
    const int32_t* parents;   // [J]; -1 for joint 0, parents before children
    const T* offsets;         // [J, 3] head relative to the parent's head, in the parent's frame
    const T* axes;            // [J, 3, 3] columns are the rotation axes, in the parent's frame
    const T* mass;            // [J]
    const T* com;             // [J, 3] centre of mass in the joint frame
    const T* inertia;         // [J, 6] about the centre of mass: xx yy zz xy xz yz
    const T* corners;         // [J, 3, 8] in the joint frame
    const T* ball;            // [J, 4] centre and radius of a ball around the corners
    const T* stiffness;       // [3 + 3 J] of the PD control
    const T* damping;         // [3 + 3 J]
    const T* armature;        // [3 + 3 J] added to the diagonal of the mass matrix
    const T* lower;           // [3 + 3 J] soft stops, -inf for none
    const T* upper;           // [3 + 3 J]
    const T* stop_stiffness;  // [3 + 3 J]
    const T* stop_damping;    // [3 + 3 J]
    T stop_ramp;              // rad over which a stop reaches its stiffness
    T gravity[3];
    T contact_stiffness;      // N/m per corner; 0 switches contact off
    T contact_damping;        // Hunt-Crossley, s/m
    T contact_ramp;           // m over which the contact reaches its stiffness
    T friction;
    T slip_speed;             // m/s at which friction is smoothed
    T most_speed;             // limit of every coordinate's speed in the implicit mode, rad/s or m/s
    const T* terrain;         // [rows, columns] heights over x and z, control points of a cubic B-spline; null: y = 0
    int rows, columns;
    T terrain_x, terrain_z;   // of the first height
    T terrain_step;           // m between heights
    T terrain_top;            // the greatest height
};

// One rollout of a batch: its inputs, states and gradients.
template <class T>
struct RolloutView {
    ModelView<T> model;
    T dt;
    bool implicit;
    int64_t batch, steps, knots, save_every, clip_every;
    T clip;            // norm limit of the adjoints, <= 0 for none
    const T* q0;       // [B, n]
    const T* v0;       // [B, n]
    const T* targets;  // [B, knots, n]
    T* q;              // [B, steps + 1, n] every state, written by forward and read by backward
    T* v;              // [B, steps + 1, n]
    T* a;              // [B, steps, n]
    int64_t* failed;   // [B] first step that is not finite, or -1
    // backward only
    const T* grad_q;   // [B, saves, n], saves = steps / save_every + 1
    const T* grad_v;   // [B, saves, n]
    T* grad_q0;        // [B, n]
    T* grad_v0;        // [B, n]
    T* grad_targets;   // [B, knots, n], zero on entry
};

namespace base {
template <class T> int64_t scratch_bytes(const RolloutView<T>& r);
template <class T> void forward(const RolloutView<T>& r, int64_t item, void* scratch);
template <class T> void backward(const RolloutView<T>& r, int64_t item, void* scratch);
}  // namespace base

namespace avx2 {
template <class T> int64_t scratch_bytes(const RolloutView<T>& r);
template <class T> void forward(const RolloutView<T>& r, int64_t item, void* scratch);
template <class T> void backward(const RolloutView<T>& r, int64_t item, void* scratch);
}  // namespace avx2
