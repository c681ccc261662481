/* Contact: shapes made of vertices on nodes, detection, and the contact law.
 *
 * A shape is a set of simplices swept by a ball: single vertices (spheres), edges (capsules, rods), triangles (boxes, meshes), or
 * a half space. Vertices are points fixed to nodes, each with a radius, so that the same code applies to bodies, rods and fabrics.
 * The distance of two simplices is that of their closest points, x_A - x_B = sum W_i x_i with weights W_i of the vertices of both.
 *
 * The law: a normal force k depth^p (1 + c rate of depth), and friction by a spring of stiffness k_t between the surfaces that
 * slips if its force would leave the friction cone, like a plastic element. A contact at rest then stays in place
 * for any time. The springs' stretches at the beginning of a step are the contacts' memory; within a step forces are functions of
 * the state. */
#ifndef PLIANT_CONTACT_H
#define PLIANT_CONTACT_H

#include "pliant.h"

enum { PL_TOUCH_VERTICES = 4, PL_TOUCH_COLUMNS = 6 * PL_TOUCH_VERTICES };

/* Constants of a law, as written by `parts/contact.py`. */
enum {
  PL_LAW_STIFFNESS, PL_LAW_EXPONENT, PL_LAW_DISSIPATION, PL_LAW_IMPACT, PL_LAW_TANGENTIAL, PL_LAW_FRICTION, PL_LAW_ACROSS,
  PL_LAW_STATIC, PL_LAW_SLOW, PL_LAW_RECENT, PL_LAW_SIZE
};

/* A contact as numbers, for callers: key, law, stretch (3), place (3), speed, share, whether it slid, force on side A (3), normal from
 * B to A (3), gap, sliding velocity (3), rate of the gap, shapes of both sides, energy that it stores. */
enum { PL_CONTACT_RECORD = 25 };

/* The memory of a contact: the stretch of its friction spring [m] in world axes and the energy in it [J], the speed at which the
 * surfaces met [m/s], whether they slid, its fraction of the stiffness, and the rate of the gap [m/s]. */
typedef struct pl_remembered {
  long long key;
  double stretch[3], place[3], speed, share, stored, rate;
  int law, slid;
} pl_remembered;

/* One contact: two simplices that are closer than their radii. */
typedef struct pl_touch {
  long long key;
  int law, count, first_count, parameters, flat; /* vertices, those of side A, parameters of the closest points, a half space */
  int vertex[PL_TOUCH_VERTICES];
  double W[PL_TOUCH_VERTICES], G[PL_TOUCH_VERTICES][2]; /* signed weights and their derivatives with respect to the parameters */
  double y[3], n[3], d, gap, E[2][3], H[2][2];          /* x_A - x_B, normal, distance; edges of the parameters, inverse Gram matrix */
  double radius[2], share, share_here;  /* fraction of the stiffness in the memory, and in this configuration */
  int inside, oriented;                 /* y points into side B; the normal is given, not that of y */
  /* from the law */
  double along[3], across[3];        /* directions of friction in the tangent plane, where it has two coefficients */
  double rho[2][3], place[3];        /* from x_A and x_B to the contact point */
  double slip_rate[3], rate;         /* sliding velocity, rate of the distance */
  double force[3], pressing, loss;   /* on side A; its normal part; active dissipation [s/m] */
  double stretch[3], speed;          /* after the step */
  double k_t, c_t, k_t_by_gap, c_t_by_gap, c_t_by_rate; /* stiffness and damping of friction */
  int speed_is_rate;                                     /* the approach velocity is the present rate: there is no memory */
  double D[3][3], Dv[3][3];          /* derivatives of friction with respect to the slip and to the sliding velocity */
  double by_cap[3], by_gap_along[3], by_rate_along[3]; /* and by the maximum friction, and by the gap and rate in addition */
  double by_gap, by_rate;            /* derivatives of the normal force */
  double since;                      /* fraction of the step in contact */
  double since_by_gap, by_since[3];  /* its derivative with respect to the gap, and that of the force */
  double energy, dissipation;
  double stored, stored_before;      /* energy of the friction spring, and at the beginning of the step */
  double held[3];                    /* its stretch in the memory, rotated with side B */
  int sliding, known;
} pl_touch;

/* In a binding's contact_state, instead of the only active law. */
enum { PL_ALL_LAWS = -1, PL_NO_LAW = -2 };

typedef enum { PL_MEMORY_NONE, PL_MEMORY_HELD, PL_MEMORY_STEP } pl_memory_kind;

/* Contacts, poses and twists of all nodes at the beginning of a step. */
struct pl_contact_memory {
  pl_memory_kind kind;
  int count, capacity;
  pl_remembered *entry; /* by key */
  double *R, *p, *V;    /* poses and twists of all nodes */
};

typedef struct pl_contact_matrix pl_contact_matrix;

/* Validity of the candidates for contacts: none, as constants may have changed; those on the world; all. */
typedef enum { PL_NOTHING_LISTED, PL_WORLD_LISTED, PL_LISTED } pl_listed;

/* A list of pairs of numbers. */
typedef struct pl_pair_list {
  int n, capacity, *pair;
} pl_pair_list;

/* A vertex close to a simplex of a solid: the shortest exit is known after all simplices. */
typedef struct pl_near {
  int vertex, shape, item, inside;
  double distance;
} pl_near;

/* A shape, the box around it, and its lower end along an axis. */
typedef struct pl_extended {
  double low, box[6];
  int shape;
} pl_extended;

/* The key of a contact, and its index. */
typedef struct pl_ranked {
  long long key;
  int place;
} pl_ranked;

struct pl_contacts {
  double *x;        /* positions of the vertices needed for candidates, 3 each */
  double *x_before; /* at the beginning of a step */
  double *x_listed; /* their positions when candidates were last listed */
  double *frame, *corner; /* of large rigid shapes: the box around each in its node's axes, 6; the positions of its corners then,
  24 */ double margin;    /* candidates are pairs of items closer than this */
  double thinnest;  /* radius, or depth of a solid, of the thinnest shape */
  double reach;     /* surfaces closer than this are in contact: 0, except while a distance is computed */
  int only;         /* and then the law, else -1 */
  pl_listed listed;
  pl_pair_list items, planes;           /* candidates: items of both sides; a vertex and a plane */
  pl_pair_list unsorted;                /* temporary: to sort items */
  int *count_of_item;               /* temporary: n_item + 1 */
  int n_order;
  pl_extended *order;               /* shapes with items, along an axis */
  double *box;                      /* of items, low and high, 6 each */
  double *tree;                     /* boxes of runs of items, 12 per item */
  int n_live, *live, *is_live;      /* vertices on large rigid shapes needed for candidates */
  int n_near, near_capacity;
  pl_near *near;
  int n, capacity;
  pl_touch *touch;                  /* contacts of the state evaluated last, by key */
  int n_gone, gone_capacity, *gone; /* contacts of the memory without a current one */
  int ranked_capacity;
  pl_ranked *ranked;                /* temporary: to sort them */
  const pl_contact_memory *memory;  /* null: none */
  pl_contact_memory bound;          /* of the binding */
  pl_contact_matrix *matrix;        /* null until contacts couple elements that are otherwise not coupled */
  int in_matrix;                    /* whether the tangents evaluated last contain contacts */
  double *columns;                  /* temporary: 12 x max_k */
  void *block;                      /* holds the arrays of fixed size */
  int secant;                       /* tangents of sliding friction are those of a spring (contact_law.c) */
  int failed;                       /* memory was insufficient since the last pl_memory_status */
  int unbound;                      /* and for the memory of the binding, which is tried again */
};

pl_contacts *pl_contacts_new(const pl_tables *);
void pl_contacts_free(pl_contacts *);

/* contact_search.c: contacts in the configuration evaluated last, their geometry. */
void pl_contact_search(pl_work *);
/* contact_tree.c: positions of vertices, and candidates: items that are close to each other. */
void pl_contact_places(pl_work *);
/* The same with boxes around the paths of vertices since `x_before`, which it computes. */
void pl_contact_ways(pl_work *, const pl_contact_memory *);
/* Lower bound of the largest displacement since the beginning of a step. */
double pl_contact_way(const pl_work *, const pl_contact_memory *);
/* contact_faces.c: two items of which one has faces, or is an edge of a net; after all pairs, vertices in solids. */
void pl_contact_faces(pl_work *, int law, int i, int j);
void pl_contact_solids(pl_work *);
/* contact_passing.c: whether items have passed through each other since the beginning of a step. */
int pl_contact_passed(pl_work *, const pl_contact_memory *);
/* The smallest distance of the surfaces of a law, negative if they overlap, in a configuration; infinite if there are
 * none. side: per shape 1, 2 or 3 for those of the one side, the other or both, null for all. The contacts evaluated last are lost. */
double pl_contact_gap(pl_work *, const double *q, int law, const int *side);
/* contact_law.c: the memory of a contact, or null; their forces; and K and C of each. */
const pl_remembered *pl_remembered_contact(const pl_contact_memory *, long long key);
void pl_contact_law(pl_work *, pl_touch *);
/* List the contacts of the memory without a current one: new contacts may inherit from them. */
void pl_contact_find_gone(pl_work *);
void pl_contact_blocks(const pl_work *, const pl_touch *, double *K, double *C);

/* contact_matrix.c: pl_contact_tangents puts K and C of the contacts evaluated last on the pattern of a matrix that has them, where
 * they stay until it is called again. That matrix; adds cC C + cK K to it, as pl_assemble has it. */
pl_saddle *pl_contact_saddle(const pl_work *);
void pl_contact_assemble(const pl_work *, double cC, double cK, const double *turns);
void pl_contact_matrix_free(pl_contact_matrix *);
/* Make the following independent of earlier contacts. */
void pl_contact_begin(pl_work *);
/* y += (cC C + cK K) x */
void pl_contact_product(const pl_work *, double cC, double cK, const double *x, double *y);
/* Entries of K and C, as many as there is room for; returns how many there are. */
int pl_contact_entries(const pl_work *, int capacity, int *row, int *column, double *K, double *C);

/* contact_sums.c: sums over contacts, as in `engine/contact_sums.py`: force on the first shapes and its part along
 * the surfaces, place of the pressure, normal force, smallest gap, largest sliding speed, how many, energy. */
enum {
  PL_SUM_FORCE, PL_SUM_FRICTION = 3, PL_SUM_PLACE = 6, PL_SUM_NORMAL = 9, PL_SUM_GAP, PL_SUM_SPEED, PL_SUM_COUNT, PL_SUM_ENERGY,
  PL_SUM_SIZE
};
/* Of the contacts evaluated last, in the configuration q, for `count` questions: the law of each, per shape the sides as in
 * pl_contact_gap, and whether the gap is requested, which the contacts evaluated last do not survive. */
void pl_contact_sums(pl_work *, const double *q, int count, const int *law, const int *side, const int *with_gap, double *out);

/* contact.c */
/* Contacts of the state evaluated last, as records, as many as there is room for; returns how many there are. */
int pl_contact_records(const pl_work *, int capacity, double *out);
/* The same in another state. */
int pl_contacts_at(pl_work *, double t, const double *q, const double *v, int capacity, double *out);
/* Activate the memory of a binding. */
int pl_contact_bind(pl_work *);
/* Set the memory of contacts from these records of the current state. */
int pl_contact_hold(pl_work *, int count, const double *records);
/* The memory of the contacts evaluated last, and the poses of the nodes. */
int pl_contact_remember(const pl_work *, pl_contact_memory *);
int pl_contact_memory_new(pl_contact_memory *, const pl_tables *);
void pl_contact_memory_free(pl_contact_memory *);
/* Reserve memory for this number of contacts; existing ones are kept. */
int pl_contact_memory_reserve(pl_contact_memory *, int count);

#endif
