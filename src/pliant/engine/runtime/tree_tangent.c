/* Tangents of every node, element and interaction separately, as combined by tree_matrix.c: no matrix of the entire system is
 * formed, so memory and time are linear in the number of elements. */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "pliant.h"
#include "spatial.h"
#include "tree_matrix.h"

/* -- sizes ----------------------------------------------------------------------------------------------------------- */

/* The one moving node that all frames of an interaction are on: 0 when none moves, -1 when there are several. */
static int common_node(const int *nodes, int count) {
  int common = 0;
  for (int f = 0; f < count; ++f) {
    if (!nodes[f] || nodes[f] == common) continue;
    if (common) return -1;
    common = nodes[f];
  }
  return common;
}

static int count_interactions(const pl_tables *T) { return T->n_fforce + T->n_rel + T->n_con; }

/* Visits forces between frames, those by relative motion after the others, then constraints between frames. */
static int interaction(const pl_tables *T, int n, pl_link *x) {
  const int constraint = n - T->n_fforce - T->n_rel, relative = n - T->n_fforce;
  if (constraint >= 0)
    *x = PL_VALUE(pl_link){.sort = PL_FRAME_CONSTRAINT, .index = constraint,
                   .count = T->con_begin[constraint + 1] - T->con_begin[constraint], .nodes = T->con_nodes + T->con_begin[constraint]};
  else if (relative >= 0)
    *x = PL_VALUE(pl_link){.sort = PL_RELATIVE_FORCE, .index = relative, .count = 2, .nodes = T->rel_nodes + 2 * relative};
  else
    *x = PL_VALUE(pl_link){.sort = PL_FRAME_FORCE, .index = n, .count = T->fforce_begin[n + 1] - T->fforce_begin[n],
                   .nodes = T->fforce_nodes + T->fforce_begin[n]};
  return common_node(x->nodes, x->count);
}

static int count_links(const pl_tables *T, int *frames, size_t *entries) {
  pl_link x;
  int links = 0;
  *frames = 0, *entries = 0;
  for (int n = 0; n < count_interactions(T); ++n)
    if (interaction(T, n, &x) < 0) links++, *frames += x.count, *entries += 36 * (size_t)x.count * x.count;
  return links;
}

static int whole_vectors(int k) { return (k + 3) / 4 * 4; }

static void place(pl_tree *t, pl_memory *m) {
  const pl_tables *T = t->T;
  const size_t nodes = T->n_node, elements = T->n_elem, nv = T->nv, k = T->max_k, frames = T->max_frames, n = T->max_inertia;
  const size_t loads = (size_t)count_interactions(T) + T->n_inertia;
  size_t Z = 0, own = 0, base = 0, links;
  int linked;
  for (int e = 0; e < T->n_elem; ++e) {
    const size_t stride = whole_vectors(T->elem_k[e]);
    Z += MOTION * stride * T->elem_nodes[e], own += T->elem_k[e] * stride, base += 6 * stride;
  }
  t->n_link = count_links(T, &linked, &links), t->n_beside = 6 * linked + T->m;
  const size_t beside = t->n_beside;
  t->width = pl_ints(m, nodes), t->inner = pl_ints(m, nodes), t->loaded = pl_ints(m, nodes);
  t->at_Z = (size_t *)pl_place(m, nodes * sizeof(size_t));
  t->S = pl_doubles(m, T->n_s), t->Z = pl_doubles(m, Z), t->I = pl_doubles(m, RIGID * nodes);
  t->P = pl_doubles(m, 6 * WIDE * nodes), t->p = pl_doubles(m, 6 * nodes), t->z = pl_doubles(m, WIDE * nodes);
  t->load = pl_doubles(m, 108 * (nodes < loads ? nodes : loads));
  t->stride = pl_ints(m, elements);
  t->at_own = (size_t *)pl_place(m, elements * sizeof(size_t)), t->at_base = (size_t *)pl_place(m, elements * sizeof(size_t));
  t->own_M = pl_doubles(m, own), t->own_C = pl_doubles(m, own), t->own_K = pl_doubles(m, own);
  if (T->n_inertia) {
    t->base_M = pl_doubles(m, base), t->base_C = pl_doubles(m, base), t->base_K = pl_doubles(m, base);
    t->by_A = pl_doubles(m, 6 * nv), t->by_V = pl_doubles(m, 6 * nv);
    for (int i = 0; i < 3; ++i) t->world[i] = pl_doubles(m, n * n);
  }
  t->D = pl_doubles(m, own), t->G = pl_doubles(m, base), t->U = pl_doubles(m, WIDE * nv), t->scale = pl_doubles(m, nv);
  t->pivot = pl_ints(m, nv), t->force_element = pl_ints(m, T->n_cforce);
  t->link = (pl_link *)pl_place(m, t->n_link * sizeof(pl_link)), t->link_C = pl_doubles(m, links), t->link_K = pl_doubles(m, links);
  t->left = pl_doubles(m, beside * nv), t->right = pl_doubles(m, beside * nv), t->corner = pl_doubles(m, beside * beside);
  t->corner_scale = pl_doubles(m, beside), t->beside = pl_doubles(m, beside), t->corner_pivot = pl_ints(m, beside);
  t->frames_C = pl_doubles(m, 36 * frames * frames), t->frames_K = pl_doubles(m, 36 * frames * frames);
  t->weighted = pl_doubles(m, k * whole_vectors((int)k)), t->PZ = pl_doubles(m, 6 * (size_t)whole_vectors((int)k));
  t->sum = pl_doubles(m, 6 * WIDE), t->motion = pl_doubles(m, 18 * nodes);
}

/* -- structure --------------------------------------------------------------------------------------------------------- */

static void lay_out_elements(pl_tree *t) {
  const pl_tables *T = t->T;
  size_t at_Z = 0, at_own = 0, at_base = 0;
  for (int e = 0; e < T->n_elem; ++e) {
    const int stride = t->stride[e] = whole_vectors(T->elem_k[e]);
    t->at_own[e] = at_own, t->at_base[e] = at_base;
    at_own += (size_t)T->elem_k[e] * stride, at_base += 6 * (size_t)stride;
    t->inner[T->elem_base[e]] = 1;
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) t->at_Z[g] = at_Z, at_Z += MOTION * (size_t)stride;
  }
  for (int i = 0, e = 0; i < T->n_cforce; ++i) {
    if (T->cforce_v[i] < T->elem_v[e]) e = 0;
    while (T->cforce_v[i] >= T->elem_v[e] + T->elem_k[e]) ++e;
    t->force_element[i] = e;
  }
}

static void load_node(pl_tree *t, int g, int *count) {
  if (g > 0 && t->loaded[g] < 0) t->loaded[g] = (*count)++;
}

/* Which nodes have separate interactions, and which interactions are links. */
static void lay_out_interactions(pl_tree *t) {
  const pl_tables *T = t->T;
  int loads = 0, links = 0, first = T->m;
  size_t at = 0;
  for (int g = 0; g < T->n_node; ++g) t->loaded[g] = -1, t->width[g] = NARROW;
  for (int i = 0; i < T->n_inertia; ++i) {
    const int g = T->inertia_node[i];
    load_node(t, g, &loads);
    if (g && T->inertia_weightless[i]) t->width[g] = WIDE;
  }
  for (int n = 0; n < count_interactions(T); ++n) {
    pl_link x;
    const int g = interaction(T, n, &x);
    load_node(t, g, &loads);
    if (g >= 0) {
      t->width[g] = WIDE;
      continue;
    }
    x.first = first, first += 6 * x.count, x.at = at, at += 36 * (size_t)x.count * x.count;
    t->link[links++] = x;
  }
  for (int e = T->n_elem - 1; e >= 0; --e)
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g)
      if (t->width[g] == WIDE) t->width[T->elem_base[e]] = WIDE;
}

pl_tree *pl_tree_new(const pl_tables *T) {
  pl_memory m = {0};
  pl_tree *t = (pl_tree *)calloc(1, sizeof *t);
  if (!t) return NULL;
  t->T = T;
  place(t, &m);
  t->bytes = sizeof *t + m.used;
  t->memory = pl_block(&m);
  if (!t->memory) {
    free(t);
    return NULL;
  }
  place(t, &m);
  lay_out_elements(t);
  lay_out_interactions(t);
  return t;
}

void pl_tree_free(pl_tree *t) {
  if (!t) return;
  free(t->memory), free(t);
}

/* -- values ------------------------------------------------------------------------------------------------------------ */

/* Y += X, X of rows x columns by columns, Y by rows of `stride` numbers */
static void add_turned(int rows, int columns, double share, const double *X, int ld, int stride, double *Y) {
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) Y[(size_t)stride * i + j] += share * X[ld * j + i];
}

/* Data that evaluations of other states would overwrite before the end of the step. */
static void keep(pl_work *w) {
  memcpy(w->tree->S, w->S, (size_t)w->T->n_s * sizeof(double));
  memcpy(w->tree->I, w->inertia, RIGID * (size_t)w->T->n_node * sizeof(double));
}

static void clear(pl_tree *t) {
  const pl_tables *T = t->T;
  size_t own = 0, base = 0;
  for (int e = 0; e < T->n_elem; ++e) own += (size_t)T->elem_k[e] * t->stride[e], base += 6 * (size_t)t->stride[e];
  memset(t->own_M, 0, own * sizeof(double));
  memset(t->own_C, 0, own * sizeof(double));
  memset(t->own_K, 0, own * sizeof(double));
  for (int g = 0; g < T->n_node; ++g)
    if (t->loaded[g] >= 0) memset(t->load + 108 * (size_t)t->loaded[g], 0, 108 * sizeof(double));
  if (!T->n_inertia) return;
  memset(t->base_M, 0, base * sizeof(double));
  memset(t->base_C, 0, base * sizeof(double));
  memset(t->base_K, 0, base * sizeof(double));
  memset(t->by_A, 0, 6 * (size_t)T->nv * sizeof(double));
  memset(t->by_V, 0, 6 * (size_t)T->nv * sizeof(double));
}

/* Non-rigid inertias: on their node, and on the element based there whose coordinates they contain. */
static void add_inertias(pl_work *w, const double *q, const double *a) {
  pl_tree *t = w->tree;
  const pl_tables *T = w->T;
  double *M = t->world[0], *Y = t->world[1], *Z = t->world[2];
  for (int i = 0; i < T->n_inertia; ++i) {
    const int g = T->inertia_node[i], k = T->inertia_k[i], n = 6 + k;
    pl_inertia_in_world(w, i, q, a, M, q ? Y : NULL, Z);
    if (g) {
      double *load = t->load + 108 * (size_t)t->loaded[g];
      add_turned(6, 6, 1, M, n, 6, load);
      if (q) add_turned(6, 6, 1, Y, n, 6, load + 36);
      if (q && T->inertia_weightless[i]) add_turned(6, 6, 1, Z, 6, 6, load + 72);
    }
    if (!k) continue;
    const int e = T->mover_elem[T->inertia_begin[i]], stride = t->stride[e], at = T->elem_v[e];
    const size_t own = t->at_own[e], base = t->at_base[e];
    add_turned(k, k, 1, M + n * 6 + 6, n, stride, t->own_M + own);
    add_turned(6, k, 1, M + n * 6, n, stride, t->base_M + base);
    add_turned(k, 6, 1, M + 6, n, 6, t->by_A + 6 * at);
    if (!q) continue;
    add_turned(k, k, 1, Y + n * 6 + 6, n, stride, t->own_C + own);
    add_turned(6, k, 1, Y + n * 6, n, stride, t->base_C + base);
    add_turned(k, 6, 1, Y + 6, n, 6, t->by_V + 6 * at);
    add_turned(k, k, 1, Z + 6, n, stride, t->own_K + own);
    add_turned(6, k, 1, Z, n, stride, t->base_K + base);
  }
}

void pl_tree_masses(pl_work *w) {
  pl_tree *t = w->tree;
  clear(t);
  keep(w);
  add_inertias(w, NULL, NULL);
}

static void add_coordinate_forces(pl_work *w, const double *q, const double *v) {
  pl_tree *t = w->tree;
  const pl_tables *T = w->T;
  for (int i = 0; i < T->n_cforce; ++i) {
    if (!w->cforce_active[i]) continue;
    const int e = t->force_element[i], k = T->cforce_k[i], stride = t->stride[e], from = T->cforce_v[i] - T->elem_v[e];
    const size_t at = t->at_own[e] + (size_t)(stride + 1) * from;
    pl_coordinate_force_tangent(w, i, q, v);
    add_turned(k, k, -1, w->temporary.dq, k, stride, t->own_K + at);
    add_turned(k, k, -1, w->temporary.dv, k, stride, t->own_C + at);
  }
}

/* Tangents of one interaction between frames into C and K, zeros if it is not active. */
static void evaluate(pl_work *w, const pl_link *x, const double *lambda, double *C, double *K) {
  const size_t bytes = 36 * (size_t)x->count * x->count * sizeof(double);
  const pl_tables *T = w->T;
  if (x->sort == PL_FRAME_CONSTRAINT) {
    memset(C, 0, bytes);
    pl_frame_constraint_tangent(w, x->index, lambda, K);
  } else if (!w->fforce_active[x->sort == PL_FRAME_FORCE ? T->fforce_index[x->index] : T->rel_force[x->index]])
    memset(C, 0, bytes), memset(K, 0, bytes);
  else if (x->sort == PL_FRAME_FORCE) pl_frame_force_tangent(w, x->index, K, C);
  else pl_relative_force_tangent(w, x->index, K, C);
}

static void add_interactions(pl_work *w, const double *lambda) {
  pl_tree *t = w->tree;
  const pl_tables *T = w->T;
  for (int n = 0, link = 0; n < count_interactions(T); ++n) {
    pl_link x;
    const int g = interaction(T, n, &x), ld = 6 * x.count;
    if (g < 0) {
      evaluate(w, &x, lambda, t->link_C + t->link[link].at, t->link_K + t->link[link].at), ++link;
      continue;
    }
    if (!g) continue;
    evaluate(w, &x, lambda, t->frames_C, t->frames_K);
    double *load = t->load + 108 * (size_t)t->loaded[g];
    for (int a = 0; a < x.count; ++a)
      for (int b = 0; b < x.count; ++b) {
        if (!x.nodes[a] || !x.nodes[b]) continue;
        add_turned(6, 6, -1, t->frames_C + ld * 6 * b + 6 * a, ld, 6, load + 36);
        add_turned(6, 6, -1, t->frames_K + ld * 6 * b + 6 * a, ld, 6, load + 72);
      }
  }
}

void pl_tree_linearize(pl_work *w, const double *q, const double *v, const double *a, const double *lambda) {
  pl_tree *t = w->tree;
  const pl_tables *T = w->T;
  t->q = q, t->v = v, t->a = a, t->lambda = lambda;
  clear(t);
  keep(w);
  pl_rate_matrices(w);
  pl_kernel_tangents(w, q, v, a);
  for (int e = 0; e < T->n_elem; ++e)
    for (int g = T->elem_node[e]; g < T->elem_node[e] + T->elem_nodes[e]; ++g) {
      const int k = T->elem_k[e];
      pl_node_tangent(w, e, g, v, a);
      if (!T->node_constant[g]) add_turned(k, k, 1, pl_own_block(w, e, g), k, t->stride[e], t->own_K + t->at_own[e]);
    }
  add_inertias(w, q, a);
  add_coordinate_forces(w, q, v);
  add_interactions(w, lambda);
}
