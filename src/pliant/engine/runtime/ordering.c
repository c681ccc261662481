/* A fill-reducing order of the nodes of a graph: those with the fewest neighbours first, whose neighbours become neighbours of
 * each other (minimum degree, on the graph itself: graphs here have a node per element of a robot). */
#include <stdlib.h>
#include <string.h>

#include "pliant.h"

typedef struct {
  int count, capacity, *list;
} neighbours;

static int add(neighbours *x, int node) {
  if (x->count == x->capacity) {
    const int capacity = 2 * x->capacity + 8;
    int *grown = (int *)realloc(x->list, capacity * sizeof(int));
    if (!grown) return 1;
    x->list = grown, x->capacity = capacity;
  }
  x->list[x->count++] = node;
  return 0;
}

/* Nodes by number of neighbours, in doubly linked lists. */
typedef struct {
  int *first, *next, *before;
} buckets;

static void put(buckets *b, int node, int degree) {
  b->next[node] = b->first[degree], b->before[node] = -1 - degree;
  if (b->first[degree] >= 0) b->before[b->first[degree]] = node;
  b->first[degree] = node;
}

static void take(buckets *b, int node) {
  if (b->before[node] < 0) b->first[-1 - b->before[node]] = b->next[node];
  else b->next[b->before[node]] = b->next[node];
  if (b->next[node] >= 0) b->before[b->next[node]] = b->before[node];
}

static void leave_out(neighbours *x, int node) {
  int kept = 0;
  for (int k = 0; k < x->count; ++k)
    if (x->list[k] != node) x->list[kept++] = x->list[k];
  x->count = kept;
}

/* The neighbours of `gone` become neighbours of each other. */
static int eliminate(neighbours *graph, buckets *b, int *mark, int *stamp, int gone) {
  const neighbours *own = graph + gone;
  for (int k = 0; k < own->count; ++k) {
    const int node = own->list[k];
    neighbours *x = graph + node;
    take(b, node);
    leave_out(x, gone);
    const int now = ++*stamp;
    mark[node] = now;
    for (int l = 0; l < x->count; ++l) mark[x->list[l]] = now;
    for (int l = 0; l < own->count; ++l)
      if (mark[own->list[l]] != now && add(x, own->list[l])) return 1;
    put(b, node, x->count);
  }
  return 0;
}

int pl_minimum_degree(int n, const int *begin, const int *list, int *order) {
  neighbours *graph = (neighbours *)calloc(n, sizeof *graph);
  int *memory = (int *)malloc(4 * (size_t)n * sizeof(int)), failed = !graph || !memory, stamp = 0, least = 0;
  buckets b = {memory, memory + n, memory + 2 * n};
  int *mark = memory + 3 * n;
  for (int i = 0; i < n && !failed; ++i) {
    b.first[i] = -1, mark[i] = 0;
    for (int k = begin[i]; k < begin[i + 1] && !failed; ++k)
      if (list[k] != i) failed = add(graph + i, list[k]);
  }
  for (int i = n - 1; i >= 0 && !failed; --i) put(&b, i, graph[i].count);
  for (int done = 0; done < n && !failed; ++done) {
    while (b.first[least] < 0) least++;
    const int node = b.first[least];
    take(&b, node);
    order[done] = node;
    failed = eliminate(graph, &b, mark, &stamp, node);
    free(graph[node].list), graph[node].list = NULL;
    if (least > 0) least--;
  }
  for (int i = 0; graph && i < n; ++i) free(graph[i].list);
  free(graph), free(memory);
  return failed ? PL_OUT_OF_MEMORY : PL_OK;
}
