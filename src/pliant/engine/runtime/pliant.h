/* The compiled half of the engine: constant tables in, equations of motion out.
 *
 * `pl_tables` (one per robot) describes the structure of elements, `pl_binding` contains constants and inputs; both are read-only.
 * `pl_work` contains everything that changes.
 * Kernels (generated from CasADi, one per type of element) are called through the tables' function pointers.
 * Matrices are column-major unless said otherwise; twists, wrenches, inertias: in world axes at the world's origin.
 */
#ifndef PLIANT_H
#define PLIANT_H

#include "pl_layout.h"

/* A value of a structure, PL_VALUE(type){...}: the sources are valid C and, for the compilers of GPUs, valid C++. */
#ifdef __cplusplus
#define PL_VALUE(type) type
#else
#define PL_VALUE(type) (type)
#endif

/* Not inlined so that the compiler can use `restrict`, which it ignores in inlined functions. */
#ifdef __GNUC__
#define PL_NOINLINE __attribute__((noinline))
#else
#define PL_NOINLINE
#endif

/* Called with a constant size, so that loops over it unroll. */
#ifdef __GNUC__
#define PL_INLINE static inline __attribute__((always_inline))
#else
#define PL_INLINE static inline
#endif

/* function(k, ...) inlined for each common number of coordinates of an element; a single copy if code has to be compact. */
#ifdef PL_COMPACT
#define PL_BY_SIZE(function, k, ...) function(k, __VA_ARGS__)
#else
#define PL_BY_SIZE(function, k, ...) \
  switch (k) { \
    case 1: function(1, __VA_ARGS__); break; \
    case 2: function(2, __VA_ARGS__); break; \
    case 3: function(3, __VA_ARGS__); break; \
    case 4: function(4, __VA_ARGS__); break; \
    case 5: function(5, __VA_ARGS__); break; \
    case 6: function(6, __VA_ARGS__); break; \
    default: function(k, __VA_ARGS__); \
  }
#endif

enum {
  PL_LANES = 16,     /* columns treated at once in derivatives */
  PL_ROUTE_POINT = 11, /* numbers kept for each point of a routed line */
  PL_FRICTION_POINT = 7, /* and of one with friction */
  PL_SERIES_TERMS = 6, /* coefficients of each piece of a series, constant term first */
  PL_LOCAL = 18, /* numbers that a kernel returns for a node, without columns of its subspace: see motion_kernels.h */
  PL_PATH_ROWS = 26 /* rows kept for each coordinate on a path in pl_tangent */
};

typedef struct pl_linear pl_linear;
typedef struct pl_tree pl_tree;
typedef struct pl_contacts pl_contacts;
typedef struct pl_contact_memory pl_contact_memory;

/* The matrix [cM M + cC C + cK K, -J'; J, 0]: its pattern, positions of the entries of its parts, its values and factors. */
typedef struct pl_saddle {
  int nnz;
  const int *colptr, *row, *of, *of_j, *of_jt, *of_diagonal;
  double *values;
  pl_linear *linear;
} pl_saddle;

/* Temporary arrays of single functions, for the largest element of the robot: k rates, F frames, m rows, s signals,
 * n numbers in W of an inertia. Functions that call each other use different ones. */
typedef struct pl_temporary {
  double *lanes_motion;                       /* motion_kernels.c: results of kernels for nodes, on lanes */
  double *P, *Q, *W, *Y;                      /* columns of an element in tangent.c: 6 x k, Q 3 x k */
  double *own_rows;                           /* and rows of its blocks of M, K, C, k each on lanes */
  double *block;                              /* pl_own_block: k x k */
  double *rows;                               /* derivatives.c: k rows of lanes */
  double *f, *dq, *dv, *ds;                   /* coordinate forces: k, k x k, k x k, k x s */
  double *pose, *twist, *acceleration;        /* frames of a force or constraint: 12 F, 6 F, 6 F */
  double *wrench, *K, *C, *by_signals;        /* frame forces: 6 F, 6 F x 6 F, 6 F x 6 F, 6 F x s */
  double *e, *g, *G, *Gq, *Gv;                /* constraints: m, m, m x 6 F and derivatives of G A + g */
  double *span;                               /* columns of a route's span: 3 x (6 x k) */
  double *tension_by_signal, *tension_by_signal_rate; /* s */
  double *lanes_numbers, *lanes_by_signals, *single; /* lane_pairs.h: constants and signals, 6 x s; one lane of all */
  double *rate, *column, *Y_W, *Z; /* inertia.c: n, n, n x n, n x n */
  double *inertia_lanes; /* tangents on lanes: n, n x n, n x n */
  double *inertia_columns; /* some columns of M, C and K on lanes: n each */
} pl_temporary;

/* Data of a part of an evaluation in several threads; see work_parts.c. */
enum { PL_WORK_PARTS = 4 };
typedef struct pl_scratch {
  pl_temporary temporary;
  double *kernel_w;
  long long *kernel_iw;
  double energy, dissipation, supply;
} pl_scratch;

/* A force [N] and a moment [N*m], in world axes, on a point of a node, which a caller adds to the robot's own; the point is in the
 * node's axes [m]. */
typedef struct {
  int node;
  double point[3], force[3], moment[3];
} pl_push;

typedef struct pl_work {
  const pl_tables *T;
  pl_binding bound;          /* set by pl_bind, as are the pointers up to route_active */
  const double *theta;       /* constants of all elements; [0..2] gravity */
  const double *held;        /* inputs held by the caller */
  const double *parameters;
  const int *row_active;     /* active constraint rows (redundant ones are switched off) */
  const int *cforce_active, *fforce_active, *route_active; /* active interactions */
  double *signal, *signal_rate, *signal_acceleration;
  double *input, *input_rate, *input_acceleration;
  /* kinematics, per node */
  double *R, *p, *V, *A, *c, *S;
  double *R0, *p0; /* initial poses of motions by kernels */
  double *local;   /* and their results; see motion_kernels.h */
  double *inertia, *momentum, *bias; /* of the mass of each node: 10, 6, 6 */
  double *force;                     /* wrench transmitted by each node, 6 */
  double *wrench;                    /* external wrench per node, 6 */
  double *tau;                       /* generalized force of coordinate forces, nv */
  const pl_push *pushes;             /* of the caller, n_push */
  int n_push;
  double energy, dissipation, supply;/* of interactions */
  /* articulated bodies */
  double *IA, *pA, *U, *D, *u; /* D holds D^-1; see articulated.c */
  double *bulk, *least; /* mass and second moments of all that a node carries; what pivots of an element must exceed */
  /* tangents */
  double *B, *Vq, *Av, *Aq, *path;
  double *kernel_blocks; /* own blocks of nodes moved by kernels; see motion_kernels.h */
  double *BA, *HB, *lanes, *lanes_eta, *lanes_a; /* derivatives of accelerations, several columns at a time */
  int *lanes_node;
  double *K, *C, *M;                 /* nnz values on the system pattern */
  double *row_size;                  /* of constraint rows: 1 of angles, for lengths the extent of the robot [m]; of sums of
  coordinates, theirs */ double *Jval, *Jsum;               /* nnz of the constraint Jacobian, and of the magnitudes of the
  summands of each entry */ double *phi, *phi_rate, *gamma;    /* m */
  double *lambda;                    /* m */
  const double *zero;                /* zeros, for nv rates and a twist, m multipliers or the frames of a constraint */
  double *q_new;                     /* nq */
  double *kernel_w;
  long long *kernel_iw;
  double *rhs, *scale;
  pl_saddle own_saddle;              /* factors, created on first use if there is a tree form */
  pl_saddle *saddle;                 /* the matrix assembled last: this one, or one with contacts between other elements */
  pl_contacts *contacts;             /* null without shapes */
  pl_tree *tree;                     /* the matrix of implicit steps as recursions; null if it is assembled */
  int by_tree;                       /* whether the matrix factorized last is in that form */
  pl_scratch parts[PL_WORK_PARTS];
  int in_parts;                      /* whether the robot is large enough for several threads */
  int on_ground;                     /* all elements are based on the ground: none moves with another */
  int pairs_are_plain;               /* whether T->rel_plain is set for all forces between two frames */
  int path_stride;                   /* coordinates on the longest path, rounded up */
  int pattern_is_tree;               /* no entry of K, C, M lies between coordinates of different branches */
  long evaluations, factorizations;
  long beginnings;                   /* number of calls of pl_begin */
  /* non-rigid inertia, each in the axes of its frames: poses, M, W and h; see inertia.c */
  double *inertia_pose, *inertia_M, *inertia_W, *inertia_h;
  double *inertia_lanes;    /* the same for several at once; the others are filled from it on request */
  int inertia_singled;      /* whether they are */
  double *inertia_J;        /* columns of the movers of one inertia */
  double *load, *load_path; /* of nodes: 6 x 6 for accelerations, velocities and displacements; of the path to one; node_loads.c */
  double *own;              /* its generalized forces on coordinates, nv */
  double *own_H, *own_m;    /* its coupling, nv columns as in spatial.h, and mass in the blocks of D, for articulated bodies */
  double *route_point, *route_sum, *route_gradient, *route_tension; /* routed lines; see route.c */
  double *friction, *friction_gradient, *friction_change;           /* and route_friction.c */
  pl_temporary temporary;
  void *memory;             /* the block that holds all arrays */
  size_t bytes;             /* of that block */
} pl_work;

/* Null when there is no memory. Nothing can be evaluated before pl_bind. */
pl_work *pl_work_new(const pl_tables *);
void pl_work_free(pl_work *);
/* Allocate all memory that factorizations may require, given bounds on the entries of general factors. */
int pl_work_reserve(pl_work *, int lower, int upper);
/* Evaluate with these constants and inputs from now on. Only pointers are copied: the arrays stay the caller's, are never
 * written to, and must be valid until the next pl_bind. */
void pl_bind(pl_work *, const pl_binding *);
/* PL_OUT_OF_MEMORY, once, if memory for contacts was insufficient since the last call: results since then are invalid. */
int pl_memory_status(pl_work *);
/* Number of evaluations of the entire system, and of factorizations of the system matrix. */
long pl_evaluations(const pl_work *);
long pl_factorizations(const pl_work *);
/* Memory of the workspace, including the factors of the system matrix. */
size_t pl_work_bytes(const pl_work *);

/* virtual_machine.c: `pl_virtual_machine` as a kernel's function evaluates CasADi's function of the kernel's number, with
 * the address of casadi_c_eval_id set once before. */
void pl_use_virtual_machine(void *eval_id);
int pl_virtual_machine(const double **arg, double **res, long long *iw, double *w, int number);

static inline void pl_call(const pl_kernel *kernel, const double **arg, double **res, const pl_work *w) {
  kernel->call(arg, res, w->kernel_iw, w->kernel_w, kernel->number);
}

/* signals.c */
/* Kind of an input: `input_kind` of a binding. */
enum { PL_INPUT_HELD = 0, PL_INPUT_EXPRESSION = 1, PL_INPUT_SERIES = 2 };
/* The piece of series i at time t, by its number among the pieces of all series. A series is a piecewise polynomial of degree five;
 * before and after its range (`outside`) it is constant, and t becomes the time of the end. */
int pl_series_piece(const pl_binding *, int i, double *t, int *outside);
void pl_signals(pl_work *, double t);
/* Sizes of the signals at t and of what they are sums of, relative to which they have round-off (engine/model/inputs.py); the signals
 * of the workspace are those at t afterwards. Inputs, of which the caller provides memory, have such sizes too. */
void pl_signal_weights(pl_work *, double t, double *of_inputs, double *of_signals);

/* motion.c */
void pl_kinematics(pl_work *, const double *q, const double *v);
/* Vq, Av and Aq of a node, and the address of its own block, valid until the next request; both after pl_kernel_tangents. */
void pl_node_tangent(pl_work *, int element, int node, const double *v, const double *a);
const double *pl_own_block(pl_work *, int element, int node);

/* motion_kernels.c: both of all nodes that kernels move, in the state whose accelerations and wrenches were evaluated last */
void pl_kernel_tangents(const pl_work *, const double *q, const double *v, const double *a);

/* tree.c */
void pl_ground_acceleration(pl_work *);
void pl_residual(pl_work *, const double *v, const double *a, double *r);
void pl_inertias(pl_work *);
void pl_wrenches(pl_work *, double *r);
void pl_composite(const pl_tables *, double *X, int size);
double pl_kinetic_energy(pl_work *);
double pl_gravity_energy(pl_work *);

/* articulated.c */
int pl_articulated(pl_work *, const double *v, double *a);
int pl_articulated_columns(pl_work *);

/* tangent.c */
void pl_mass_matrix(pl_work *);
void pl_rate_matrices(pl_work *);
/* Number of a node's first columns that displace it along axes of the ground: K and C do not depend on these. */
int pl_still_columns(const pl_tables *, int e, int g);
void pl_tangent(pl_work *, const double *q, const double *v, const double *a);

/* tangent_products.c: x'K, x'C and x'M; after pl_unbalanced in that state, without pl_tangents, whose matrices are lost */
void pl_tangent_products(pl_work *, const double *q, const double *v, const double *a, const double *lambda, const double *x,
                         double *xK, double *xC, double *xM);
/* Adds those of given matrices on the system's pattern. */
void pl_add_products(const pl_tables *, const double *K, const double *C, const double *M, const double *x, double *xK, double *xC,
                     double *xM);

/* derivatives.c: da_dq and da_dv, nv x nv, are filled by rows */
int pl_forward_derivatives(pl_work *, double t, const double *q, const double *v, double *a, double *da_dq,
                           double *da_dv);

/* inertia.c: non-rigid inertia */
void pl_inertia_values(pl_work *, const double *q, const double *v);
void pl_inertia_wrenches(pl_work *, const double *a);
void pl_inertia_articulated(pl_work *);
void pl_inertia_weightless(pl_work *);

/* node_loads.c: tangents of what acts on single nodes */
void pl_clear_loads(pl_work *);
void pl_add_load(pl_work *, int node, int level, double share, const double *X, int ld);
void pl_project_loads(pl_work *, int tangents);

/* inertia.c */
void pl_inertia_mass(pl_work *);
void pl_inertia_tangent(pl_work *, const double *q, const double *a);
void pl_inertia_in_world(pl_work *, int inertia, const double *q, const double *a, double *M, double *Y, double *Z);
void pl_inertia_energy(pl_work *, double *kinetic, double *gravity);

/* sizes.c: in the configuration evaluated last */
/* Size of the robot [m]: the diagonal of the box around its nodes and masses; never zero. */
double pl_reach(const pl_work *);
/* The largest coordinate of any node [m]; 1 if all of them are at the origin. */
double pl_farthest(const pl_work *);
/* Increment of a rate of an element that rotates one of its nodes by a radian, or moves it by the size of the robot. */
double pl_rate_size(const pl_work *, int element, int rate, double reach);
void pl_rate_sizes(const pl_work *, double reach, double *size);

/* interactions.c */
void pl_forces(pl_work *, const double *q, const double *v);
void pl_coordinate_force_tangent(pl_work *, int force, const double *q, const double *v);
void pl_frame_force_tangent(pl_work *, int force, double *K, double *C);
void pl_frame_constraint_tangent(pl_work *, int constraint, const double *lambda, double *K);
void pl_frame_tangents(pl_work *);
void pl_force_tangent(pl_work *, const double *q, const double *v);
void pl_input_tangent(pl_work *, const double *q, const double *v, double *r_signal);
void pl_constraints(pl_work *, const double *q, const double *v);
/* Largest number of the active constraints, each relative to its size; NAN is ignored. */
double pl_largest_row(const pl_work *, const double *);
/* The same of the constraint values. */
double pl_constraint_gap(const pl_work *);
void pl_constraint_tangent(pl_work *, const double *lambda);
void pl_constraint_wrenches(pl_work *, const double *lambda);
void pl_constraint_acceleration_tangent(pl_work *, double *Eq, double *Ev);
void pl_add_constraint_force(const pl_work *, const double *lambda, double *r);
void pl_constraint_product(const pl_work *, const double *x, double *y);

/* shared_inertia.c: inertia between two frames */
void pl_shared_inertia_wrenches(pl_work *);
void pl_shared_inertia_mass(pl_work *);
void pl_shared_inertia_tangent(pl_work *);
void pl_shared_inertia_energy(pl_work *, double *kinetic, double *gravity);

/* relative.c: called by pl_forces, pl_force_tangent and pl_input_tangent */
void pl_relative_forces(pl_work *);
void pl_relative_tangent(pl_work *);
void pl_relative_force_tangent(pl_work *, int i, double *K, double *C);
void pl_relative_input_tangent(pl_work *, double *r_signal);

/* contact.c: called by pl_forces and pl_force_tangent */
void pl_contact_forces(pl_work *);
void pl_contact_tangents(pl_work *);

/* route.c: called by pl_forces, pl_force_tangent and pl_input_tangent, the last by integrators */
void pl_route_forces(pl_work *);
void pl_route_tangent(pl_work *);
void pl_route_input_tangent(pl_work *, double *r_signal);
void pl_route_rate_tangent(pl_work *, double *r_signal_rate);
void pl_route_time_tangent(pl_work *, double *r_time);

/* system.c: evaluations of the entire system. They do not depend on earlier evaluations in the workspace. */
void pl_evaluate(pl_work *, double t, const double *q, const double *v);
int pl_forward(pl_work *, double t, const double *q, const double *v, double *a);
int pl_inverse(pl_work *, double t, const double *q, const double *v, const double *a, double *r);
void pl_unbalanced(pl_work *, double t, const double *q, const double *v, const double *a, const double *lambda);
/* The same in the state evaluated last. */
void pl_unbalanced_here(pl_work *, const double *q, const double *v, const double *a, const double *lambda);
void pl_carried(pl_work *, double t, const double *q, const double *v, const double *a, const double *lambda, int count,
                const int *nodes, double *out);
void pl_tangents(pl_work *, const double *q, const double *v, const double *a, const double *lambda);
int pl_linearized(pl_work *, double t, const double *q, const double *v, const double *a, const double *lambda);
int pl_project(pl_work *, double t, double *q, double *v, double tolerance);
/* pl_forward and pl_project for runs: scales and pivots of earlier factorizations are reused while suitable. */
int pl_next_forward(pl_work *, double t, const double *q, const double *v, double *a);
int pl_next_project(pl_work *, double t, double *q, double *v, double tolerance);
/* Factors of w->saddle; the second for iterations that correct the error of a solution (see pl_linear_factor_roughly), the third
 * for [M, -J'; J, 0], whose scales need no search. */
int pl_factor(pl_work *);
int pl_factor_roughly(pl_work *);
int pl_factor_mass(pl_work *);
/* Make the following evaluations independent of earlier factorizations. */
void pl_begin(pl_work *);
void pl_energies(pl_work *, double t, const double *q, const double *v, double *out);
void pl_rates(const pl_tables *, const double *q, const double *v, double *qdot);
void pl_rates_of_rates(const pl_tables *, const double *q, const double *v, const double *a, double *qddot);
void pl_increment(const pl_tables *, const double *q, const double *x, double *q_new);
void pl_normalize(const pl_tables *, double *q);
/* w->saddle = [(cM M + cC C) B + cK K, -J'; J, 0], inactive rows replaced by lambda = 0; `turns` as `blocks` in
 * pl_step_matrix, null for none. With contacts of the state whose tangents were evaluated last. */
int pl_assemble(pl_work *, double cM, double cC, double cK, const double *turns);

/* step_matrix.c: Newton's matrix [(cM M + cC C) B + cK K, -J'; L, 0] of an implicit step.
 *
 * First the residual (in w->rhs) and the data for its tangents, in one state; then any number of matrices of that state, each
 * factorized at once, `roughly` if its solutions are only used in iterations. `blocks` contains B - 1 on rotations, 3x3
 * column-major each; `rows` L on the pattern of J, null for L = J. */
void pl_step_linearize(pl_work *, double t, const double *q, const double *v, const double *a, const double *lambda);
/* The same in the state evaluated last. */
void pl_step_linearize_here(pl_work *, const double *q, const double *v, const double *a, const double *lambda);
/* Only its tangents, after pl_unbalanced in that state. */
void pl_step_tangents(pl_work *, const double *q, const double *v, const double *a, const double *lambda);
int pl_step_matrix(pl_work *, double cM, double cC, double cK, const double *blocks, const double *rows, int roughly);
/* [M, -J'; J, 0] of the state evaluated last instead. */
int pl_step_mass_matrix(pl_work *);
/* Solves with the matrix factorized last, x of nv + m numbers in place. */
void pl_step_solve(pl_work *, double *x);
/* y = M a + C v, v may be null, with M and C of the last pl_step_linearize (of M alone: or pl_step_mass_matrix). */
void pl_step_product(pl_work *, const double *a, const double *v, double *y);
/* The diagonal of that M, nv. */
void pl_step_inertias(pl_work *, double *out);

/* ordering.c: nodes of a graph, whose neighbours are list[begin[i] ... begin[i + 1]], in an order of little fill. */
int pl_minimum_degree(int n, const int *begin, const int *list, int *order);

/* linear.c: dense or sparse LU of a matrix with a fixed pattern. Null or PL_OUT_OF_MEMORY when there is no memory. */
pl_linear *pl_linear_new(int n, const int *colptr, const int *row, const int *order, int dense);
void pl_linear_free(pl_linear *);
size_t pl_linear_bytes(const pl_linear *);
int pl_linear_reserve(pl_linear *, int lower, int upper);
/* Discard the scales and pivots of earlier factorizations, which the next one would otherwise reuse. */
void pl_linear_forget(pl_linear *);
/* Whether there are scales of an earlier factorization; and scales for rows and columns alike to be used instead. */
int pl_linear_is_scaled(const pl_linear *);
void pl_linear_scale(pl_linear *, const double *scales);
int pl_linear_factor(pl_linear *, const double *values);
/* The same for iterations that correct the error of a solution, which may be some hundredths of its size. */
int pl_linear_factor_roughly(pl_linear *, const double *values);
void pl_linear_solve(pl_linear *, double *x);

#endif
