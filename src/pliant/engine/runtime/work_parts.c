/* Loops over the elements of a robot in several threads, for meshes and long rods.
 *
  * Elements are divided into the same parts for any number of threads, and each part owns its elements: their nodes, and the
  * columns of
  * their coordinates in matrices. Interactions between elements of two parts are computed in both, and each adds its own
  * contribution.
  * So no sum depends on the order of threads, and results are bitwise independent of their number. */
#include "work_parts.h"

#include "threads.h"

typedef struct loop {
  pl_work *w;
  pl_elements_part part;
  const void *of;
} loop;

static pl_elements elements_of(const pl_work *w, int part, int parts) {
  const pl_tables *T = w->T;
  const int begin = (int)((long long)T->n_elem * part / parts), end = (int)((long long)T->n_elem * (part + 1) / parts);
  const int last = part + 1 == parts;
  return PL_VALUE(pl_elements){.begin = begin, .end = end, .first_node = part ? T->elem_node[begin] : 0,
                       .end_node = last ? T->n_node : T->elem_node[end], .first_v = part ? T->elem_v[begin] : 0,
                       .end_v = last ? T->nv : T->elem_v[end]};
}

static void some_parts(const void *all, int begin, int end) {
  const loop *x = (const loop *)all;
  for (int i = begin; i < end; ++i) {
    const pl_elements own = elements_of(x->w, i, PL_WORK_PARTS);
    pl_work w = *x->w;
    pl_scratch *scratch = x->w->parts + i;
    w.temporary = scratch->temporary, w.kernel_w = scratch->kernel_w, w.kernel_iw = scratch->kernel_iw;
    w.energy = w.dissipation = w.supply = 0;
    x->part(&w, &own, x->of);
    scratch->energy = w.energy, scratch->dissipation = w.dissipation, scratch->supply = w.supply;
  }
}

void pl_over_elements(pl_work *w, int whole, pl_elements_part part, const void *of) {
  if (whole || !w->in_parts) {
    const pl_elements all = elements_of(w, 0, 1);
    part(w, &all, of);
    return;
  }
  const loop x = {w, part, of};
  pl_in_parts(PL_WORK_PARTS, 1, some_parts, &x);
  for (int i = 0; i < PL_WORK_PARTS; ++i)
    w->energy += w->parts[i].energy, w->dissipation += w->parts[i].dissipation, w->supply += w->parts[i].supply;
}
