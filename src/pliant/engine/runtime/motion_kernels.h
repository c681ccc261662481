/* Results of kernels for the nodes that they move; see motion_kernels.c. */
#ifndef PLIANT_MOTION_KERNELS_H
#define PLIANT_MOTION_KERNELS_H

#include "pliant.h"

/* Of a node in the axes of (R0, p0): rotation, position, convective acceleration, columns of the subspace. */
static inline double *pl_local_motion(const pl_work *w, int g) { return w->local + PL_LOCAL * (size_t)g + w->T->node_s[g]; }

/* Whether Vq, Av and Aq of a node, and its own block, come from a kernel. */
static inline int pl_has_kernel_tangent(const pl_tables *T, int g) {
  return T->node_form[g] == PL_MOTION_KERNEL && !T->node_constant[g];
}

/* That block, k x k, with memory for the largest number of coordinates of an element. */
static inline double *pl_kernel_block(const pl_work *w, int g) {
  return w->kernel_blocks + (size_t)w->T->max_k * (w->T->node_s[g] / 6);
}

/* Local motions of all such nodes. */
void pl_kernel_motions(const pl_work *, const double *q, const double *v);

#endif
