/* Evaluations of robots of many elements in several threads; see work_parts.c. */
#ifndef PL_WORK_PARTS_H
#define PL_WORK_PARTS_H

#include "pliant.h"

/* Some of a robot's elements, with all their nodes and the columns of their coordinates; the first part has the ground too. */
typedef struct pl_elements {
  int begin, end, first_node, end_node, first_v, end_v;
} pl_elements;

/* Evaluates what belongs to some elements. The workspace is a copy with separate scratch memory: only the arrays it points to persist, and
 * the values added to energy, dissipation and supply. */
typedef void (*pl_elements_part)(pl_work *, const pl_elements *, const void *loop);

/* Does a loop over all elements in parts, which must write only to their own data; as one part if the robot is small, or
 * if `whole` is set. */
void pl_over_elements(pl_work *, int whole, pl_elements_part part, const void *loop);

static inline int pl_owns_node(const pl_elements *x, int node) { return node >= x->first_node && node < x->end_node; }

#endif
