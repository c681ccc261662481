/* Motion of nodes relative to their bases: poses, subspaces, twists, and their tangents.
 *
 * The pose of a node is that of its base and its placement (R0, p0), followed by the motion of the element's coordinates.
 * Common motions are implemented here, directly in world axes; all others are kernels (motion_kernels.c), which
 * work in the axes of (R0, p0). For a base at rest, S is the node's twist per rate, and an increment dq gives
 *
 *   eta_dot = vq dq + S dv,   eta_ddot = aq dq + av dv + S da;
 *
 * a moving base adds its twist and acceleration, in the same way for every motion.
 */
#include <math.h>
#include <string.h>

#include "motion_kernels.h"
#include "spatial.h"
#include "work_parts.h"

/* One node, its initial pose, and the numbers that its motion reads and writes. */
typedef struct moved {
  int e, g, b;
  const double *q, *v, *theta;    /* coordinates, rates and constants of the motion */
  part R0[3], p0;
  double *R, *p, *S;
  double twist[6], convective[6]; /* S v and dS/dt v for a base at rest */
} moved;

/* The pose that the motion starts from. */
static inline void seat(const pl_work *w, moved *x) {
  const double *placement = w->theta + w->T->node_theta[x->g], *R = w->R + 9 * x->b;
  const part base[3] = {part_at(R), part_at(R + 3), part_at(R + 6)};
  for (int j = 0; j < 3; ++j) x->R0[j] = x->b ? turned(base, placement + 3 * j) : part_at(placement + 3 * j);
  x->p0 = x->b ? PART_SUM(part_at(w->p + 3 * x->b), turned(base, placement + 9)) : part_at(placement + 9);
}

/* The node's rotation matrix, from the one relative to R0; both are rotations, so that errors of long chains only accumulate
 * linearly. */
static inline void turn(moved *x, const double *relative) {
  for (int j = 0; j < 3; ++j) {
    const part column = turned(x->R0, relative + 3 * j);
    put_part(x->R + 3 * j, &column);
  }
}

static inline void turn_about(moved *x, const double *axis, double angle) {
  const double s = sin(angle), c = cos(angle), t = 1 - c, *a = axis;
  const double X = t * a[0], Y = t * a[1], Z = t * a[2], xy = X * a[1], xz = X * a[2], yz = Y * a[2];
  const double relative[9] = {
      c + X * a[0],  xy + s * a[2], xz - s * a[1], xy - s * a[2], c + Y * a[1],
      yz + s * a[0], xz + s * a[1], yz - s * a[0], c + Z * a[2],
  };
  turn(x, relative);
}

/* Normalized: the stages of explicit steps leave the unit sphere slightly, and the sweeps rely on rotations. */
static inline void turn_by_quaternion(moved *m, const double *Q) {
  const double w = Q[0], x = Q[1], y = Q[2], z = Q[3], s = 2 / (w * w + x * x + y * y + z * z);
  const double relative[9] = {
      1 - s * (y * y + z * z), s * (x * y + w * z),     s * (x * z - w * y),
      s * (x * y - w * z),     1 - s * (x * x + z * z), s * (y * z + w * x),
      s * (x * z + w * y),     s * (y * z - w * x),     1 - s * (x * x + y * y),
  };
  turn(m, relative);
}

static inline void stay(moved *x) {
  for (int j = 0; j < 3; ++j) put_part(x->R + 3 * j, x->R0 + j);
}

static inline void fixed(moved *x) {
  stay(x);
  put_part(x->p, &x->p0);
  memset(x->twist, 0, sizeof x->twist);
}

/* One coordinate along a screw: direction of translation, unit axis of rotation (zero for a pure translation). */
static inline void screw(moved *x) {
  const double *axis = x->theta + 3;
  const part along = turned(x->R0, x->theta), p = PART_SUM(x->p0, PART_SCALED(along, x->q[0]));
  double *S = x->S;
  put_part(x->p, &p);
  if (axis[0] == 0 && axis[1] == 0 && axis[2] == 0) {
    stay(x);
    put_part(S, &along);
    S[3] = S[4] = S[5] = 0;
  } else {
    const part turning = turned(x->R0, axis), linear = PART_SUM(along, cross_part(&x->p0, &turning));
    turn_about(x, axis, x->q[0]);
    put_part(S, &linear), put_part(S + 3, &turning);
  }
  for (int i = 0; i < 6; ++i) x->twist[i] = S[i] * x->v[0];
}

/* Columns of a free rotation about p, whose rates are the body's angular velocity; returns that in world axes. */
static inline part rotation_columns(const double *R, const part *p, const double *v, double *S) {
  const part columns[3] = {part_at(R), part_at(R + 3), part_at(R + 6)};
  const lever arm = lever_of(p);
  for (int j = 0; j < 3; ++j) {
    const part linear = cross_lever(&arm, columns + j);
    put_part(S + 6 * j, &linear), put_part(S + 6 * j + 3, columns + j);
  }
  return turned(columns, v);
}

/* The twist of a motion at u that rotates about p. */
static inline void put_twist(const part *u, const part *p, const part *turning, double *twist) {
  const part linear = PART_SUM(*u, cross_part(p, turning));
  put_part(twist, &linear), put_part(twist + 3, turning);
}

/* A free rotation. Its axes rotate with the body, and R (v x v) = 0. */
static inline void rotation(moved *x) {
  turn_by_quaternion(x, x->q);
  put_part(x->p, &x->p0);
  const part turning = rotation_columns(x->R, &x->p0, x->v, x->S), linear = cross_part(&x->p0, &turning);
  put_part(x->twist, &linear), put_part(x->twist + 3, &turning);
}

/* Displacement along the axes of R0, to p; returns its rate. */
static inline part displace(moved *x, part *p) {
  *p = PART_SUM(x->p0, turned(x->R0, x->q));
  put_part(x->p, p);
  for (int j = 0; j < 3; ++j) {
    put_part(x->S + 6 * j, x->R0 + j);
    for (int i = 3; i < 6; ++i) x->S[6 * j + i] = 0;
  }
  return turned(x->R0, x->v);
}

static inline void translation(moved *x) {
  part p;
  stay(x);
  const part u = displace(x, &p);
  put_part(x->twist, &u);
  for (int i = 3; i < 6; ++i) x->twist[i] = 0;
}

/* Displacement, then a free rotation about the displaced point. */
static inline void free_frame(moved *x) {
  part p;
  const part u = displace(x, &p);
  turn_by_quaternion(x, x->q + 3);
  const part turning = rotation_columns(x->R, &p, x->v + 3, x->S + 18), convective = cross_part(&u, &turning);
  put_twist(&u, &p, &turning, x->twist);
  put_part(x->convective, &convective);
}

/* Displacements along the axes `first` and z of R0, then a turn about its axis `normal`. */
static inline void planar(moved *x, int first, int normal) {
  const double axis[3] = {normal == 0, normal == 1, 0};
  const part n = x->R0[normal], a = x->R0[first], z = x->R0[2];
  const part p = PART_SUM(x->p0, PART_SUM(PART_SCALED(a, x->q[0]), PART_SCALED(z, x->q[1])));
  const part u = PART_SUM(PART_SCALED(a, x->v[0]), PART_SCALED(z, x->v[1])), turning = PART_SCALED(n, x->v[2]);
  const part linear = cross_part(&p, &n), convective = cross_part(&u, &turning);
  double *S = x->S;
  turn_about(x, axis, x->q[2]);
  put_part(x->p, &p);
  put_part(S, &a), put_part(S + 6, &z), put_part(S + 12, &linear), put_part(S + 15, &n);
  for (int i = 3; i < 6; ++i) S[i] = S[6 + i] = 0;
  put_twist(&u, &p, &turning, x->twist);
  put_part(x->convective, &convective);
}

/* A twist in the axes of (R0, p0), in the world; `arm` is of p0. */
static inline void to_world(const moved *x, const lever *arm, const double *s, part *linear, part *angular) {
  *angular = turned(x->R0, s + 3);
  *linear = PART_SUM(turned(x->R0, s), cross_lever(arm, angular));
}

/* The columns of S from those of the kernel, and the twist of the rates. */
PL_INLINE void columns_to_world(const int k, moved *x, const lever *arm, const double *s) {
  part linear, angular, moving = PART(0, 0, 0, 0), turning = moving;
  for (int j = 0; j < k; ++j) {
    to_world(x, arm, s + 6 * j, &linear, &angular);
    put_part(x->S + 6 * j, &linear), put_part(x->S + 6 * j + 3, &angular);
    moving = PART_SUM(moving, PART_SCALED(linear, x->v[j])), turning = PART_SUM(turning, PART_SCALED(angular, x->v[j]));
  }
  put_part(x->twist, &moving), put_part(x->twist + 3, &turning);
}

/* Store the initial pose of the motion for its tangents. */
static void by_kernel(const pl_work *w, moved *x) {
  const pl_tables *T = w->T;
  double *R0 = w->R0 + 9 * x->g, *p0 = w->p0 + 3 * x->g;
  for (int j = 0; j < 3; ++j) put_part(R0 + 3 * j, x->R0 + j);
  put_part(p0, &x->p0);
  const double *local = pl_local_motion(w, x->g);
  const part p = PART_SUM(x->p0, turned(x->R0, local + 9));
  const lever arm = lever_of(&x->p0);
  turn(x, local);
  put_part(x->p, &p);
  PL_BY_SIZE(columns_to_world, T->elem_k[x->e], x, &arm, local + PL_LOCAL);
  if (T->node_constant[x->g]) return;
  part linear, angular;
  to_world(x, &arm, local + 12, &linear, &angular);
  put_part(x->convective, &linear), put_part(x->convective + 3, &angular);
}

/* Pose, subspace, twist V and convective acceleration c of one node. */
static void move(pl_work *w, moved *x) {
  const pl_tables *T = w->T;
  const int g = x->g, b = x->b, form = T->node_form[g];
  double *V = w->V + 6 * g, *c = w->c + 6 * g;
  seat(w, x);
  x->theta = w->theta + T->node_theta[g] + 12;
  x->R = w->R + 9 * g, x->p = w->p + 3 * g, x->S = w->S + T->node_s[g];
  memset(x->convective, 0, sizeof x->convective);
  switch (form) {
    case PL_MOTION_FIXED: fixed(x); break;
    case PL_MOTION_SCREW: screw(x); break;
    case PL_MOTION_ROTATION: rotation(x); break;
    case PL_MOTION_TRANSLATION: translation(x); break;
    case PL_MOTION_FREE: free_frame(x); break;
    case PL_MOTION_PLANAR_XZ: planar(x, 0, 1); break;
    case PL_MOTION_PLANAR_YZ: planar(x, 1, 0); break;
    default: by_kernel(w, x);
  }
  if (!b) {
    memcpy(V, x->twist, sizeof x->twist), memcpy(c, x->convective, sizeof x->convective);
    return;
  }
  const double *Vb = w->V + 6 * b;
  cross_twist(Vb, x->twist, c);
  for (int i = 0; i < 6; ++i) V[i] = Vb[i] + x->twist[i], c[i] += x->convective[i];
}

typedef struct state {
  const double *q, *v;
} state;

static void move_some(pl_work *w, const pl_elements *of, const void *now) {
  const pl_tables *T = w->T;
  const state *at = (const state *)now;
  for (int e = of->begin; e < of->end; ++e) {
    moved x;
    x.e = e, x.b = T->elem_base[e], x.q = at->q + T->elem_q[e], x.v = at->v + T->elem_v[e];
    for (x.g = T->elem_node[e]; x.g < T->elem_node[e] + T->elem_nodes[e]; ++x.g) move(w, &x);
  }
}

void pl_kinematics(pl_work *w, const double *q, const double *v) {
  const state at = {q, v};
  pl_kernel_motions(w, q, v);
  pl_over_elements(w, !w->on_ground, move_some, &at);
  pl_inertia_values(w, q, v);
}

/* vq, av and aq of the columns of one node, in world axes. */
typedef struct rates {
  double *vq, *av, *aq;
} rates;

/* A free rotation about p at the angular velocity w: its columns rotate with the body, av = (p x (w x r), w x r). */
static inline void rotation_rates(const double *S, const double *p, const double *w, double *av) {
  for (int j = 0; j < 3; ++j) {
    cross3(w, S + 6 * j + 3, av + 6 * j + 3);
    cross3(p, av + 6 * j + 3, av + 6 * j);
  }
}

/* A turn about a point that moves along the `count` columns before: vq = (u x r, 0), av += 2 vq, aq = (du x r, 0). */
static inline void displaced_rates(const double *S, int count, const double *v, const double *a, int turns, rates x) {
  double u[3] = {0}, du[3] = {0};
  for (int j = 0; j < count; ++j)
    for (int i = 0; i < 3; ++i) u[i] += S[6 * j + i] * v[j], du[i] += S[6 * j + i] * a[j];
  for (int j = count; j < count + turns; ++j) {
    cross3(u, S + 6 * j + 3, x.vq + 6 * j);
    cross3(du, S + 6 * j + 3, x.aq + 6 * j);
    for (int i = 0; i < 3; ++i) x.av[6 * j + i] += 2 * x.vq[6 * j + i];
  }
}

/* Fills all columns of x; those of a constant subspace are zero. */
static void own_rates(const pl_work *w, int e, int g, const double *v, const double *a, rates x) {
  const pl_tables *T = w->T;
  const int form = T->node_form[g];
  const double *S = w->S + T->node_s[g], *p = w->p + 3 * g, *R = w->R + 9 * g;
  double turning[3];
  const size_t bytes = 6 * T->elem_k[e] * sizeof(double);
  memset(x.vq, 0, bytes), memset(x.av, 0, bytes), memset(x.aq, 0, bytes);
  if (form == PL_MOTION_ROTATION) {
    rotate3(R, v, turning);
    rotation_rates(S, p, turning, x.av);
  } else if (form == PL_MOTION_FREE) {
    rotate3(R, v + 3, turning);
    rotation_rates(S + 18, p, turning, x.av + 18);
    displaced_rates(S, 3, v, a, 3, x);
  } else if (form == PL_MOTION_PLANAR_XZ || form == PL_MOTION_PLANAR_YZ)
    displaced_rates(S, 2, v, a, 1, x);
}

/* World matrices Vq, Av, Aq of one node: eta_dot = Vq dq + S dv, eta_ddot = Aq dq + Av dv + S da. */
void pl_node_tangent(pl_work *w, int e, int g, const double *v, const double *a) {
  const pl_tables *T = w->T;
  const int k = T->elem_k[e], b = T->elem_base[e], at = T->node_s[g];
  const double *Vb = w->V + 6 * b, *Ab = w->A + 6 * b;
  const rates own = {w->Vq + at, w->Av + at, w->Aq + at};
  if (pl_has_kernel_tangent(T, g)) return; /* placed by pl_kernel_tangents */
  own_rates(w, e, g, v + T->elem_v[e], a + T->elem_v[e], own);
  for (int j = 0; j < 6 * k; j += 6) {
    const double *S = w->S + at + j;
    double *Vq = own.vq + j, *Av = own.av + j, *Aq = own.aq + j, x[6], y[6], z[6];
    if (!b) { /* the ground does not move; its acceleration represents gravity */
      add_cross3(Ab, S + 3, Aq);
      continue;
    }
    cross_twist(Vb, S, x);
    for (int i = 0; i < 6; ++i) y[i] = 2 * Vq[i] + x[i], Vq[i] += x[i], Av[i] += 2 * x[i];
    cross_twist(Vb, y, z);
    cross_twist(Ab, S, x);
    for (int i = 0; i < 6; ++i) Aq[i] += x[i] + z[i];
  }
}

/* Block of a free rotation whose generalized forces are f: f^. Column-major, `stride` rows. */
static inline void rotation_block(const double *f, int stride, double *block) {
  block[0] = 0, block[1] = f[2], block[2] = -f[1];
  block[stride] = -f[2], block[stride + 1] = 0, block[stride + 2] = f[0];
  block[2 * stride] = f[1], block[2 * stride + 1] = -f[0], block[2 * stride + 2] = 0;
}

/* A displacement changes the lever arm of rotations: d(r . (n - p x f)) = -r . (dp x f). */
static inline void lever_block(const double *S, const double *F, int displacements, int turns, double *block) {
  const int k = displacements + turns;
  double x[3];
  for (int j = 0; j < displacements; ++j) {
    cross3(S + 6 * j, F, x);
    for (int i = displacements; i < k; ++i) {
      const double *r = S + 6 * i + 3;
      block[k * j + i] = -(r[0] * x[0] + r[1] * x[1] + r[2] * x[2]);
    }
  }
}

/* d(s' F)/dq of one node for a wrench F fixed in its base, k x k; not of a node whose subspace is constant. */
const double *pl_own_block(pl_work *w, int e, int g) {
  const int form = w->T->node_form[g], k = w->T->elem_k[e], turns = form == PL_MOTION_FREE ? 3 : 1;
  const double *S = w->S + w->T->node_s[g], *F = w->force + 6 * g;
  double *block = w->temporary.block;
  if (form == PL_MOTION_KERNEL) return pl_kernel_block(w, g);
  memset(block, 0, k * k * sizeof(double));
  if (form != PL_MOTION_ROTATION) lever_block(S, F, k - turns, turns, block);
  if (form == PL_MOTION_ROTATION || form == PL_MOTION_FREE) {
    const double *turned = S + 6 * (k - 3), f[3] = {dot6(turned, F), dot6(turned + 6, F), dot6(turned + 12, F)};
    rotation_block(f, k, block + (k - 3) * (k + 1));
  }
  return block;
}
