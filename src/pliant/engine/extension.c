/* Calls of evaluations (runtime/calls.c) from Python, at the cost of a function call.
 *
 * The same interface in Python is ctypes_calls.py, for machines where this cannot be compiled. A call takes numbers and arrays
 * as they are, makes new arrays for the results, and evaluates in the workspace of the calling thread. No Python code runs
 * between finding the workspace and the end of the evaluation, so nothing else can come to use it meanwhile.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_23_API_VERSION
#include <Python.h>
#include <structmember.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

#include <numpy/arrayobject.h>

#include "pl_layout.h"

enum { MOST = 8, DIMENSIONS = 3, COUNTED = -1 };

typedef int pl_evaluation(void *work, const pl_arguments *, double *const *out);

static PyTypeObject *handle_type, *caller_type, *call_type;

static int visit_type(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

static void free_object(PyObject *self, inquiry clear) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  PyObject_GC_UnTrack(self);
  clear(self);
  release(self);
  Py_DECREF(type);
}

static PyObject *new_object(PyTypeObject *type) {
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  return allocate(type, 0);
}

/* -- Handle: a workspace, and the binding that it evaluates with -- */

typedef struct Handle {
  PyObject_HEAD
  unsigned long long address;
  PyObject *bound;
} Handle;

static PyObject *handle_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  unsigned long long address;
  if (!PyArg_ParseTuple(args, "K", &address)) return NULL;
  Handle *self = (Handle *)new_object(type);
  if (self) self->address = address, self->bound = Py_NewRef(Py_None);
  return (PyObject *)self;
}

static int handle_traverse(Handle *self, visitproc visit, void *arg) {
  Py_VISIT(self->bound);
  return visit_type((PyObject *)self, visit, arg);
}

static int handle_clear(Handle *self) {
  Py_CLEAR(self->bound);
  return 0;
}

static void handle_free(PyObject *self) { free_object(self, (inquiry)handle_clear); }

static PyMemberDef handle_members[] = {
    {"address", T_ULONGLONG, offsetof(Handle, address), 0, "The workspace's address; 0 once it is freed."},
    {"bound", T_OBJECT, offsetof(Handle, bound), 0, "The current binding."},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot handle_slots[] = {{Py_tp_new, handle_new}, {Py_tp_traverse, handle_traverse},
                                     {Py_tp_clear, handle_clear}, {Py_tp_dealloc, handle_free},
                                     {Py_tp_members, handle_members}, {0, NULL}};
static PyType_Spec handle_spec = {"pliant.Handle", sizeof(Handle), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                                  handle_slots};

/* -- Caller: what all calls of one program have in common -- */

typedef struct Caller {
  PyObject_HEAD
  PyObject *enter, *read, *fail; /* enter(binding) -> handle, read(name, value, size) -> array, fail(status) raises */
  PyObject *last;                /* the handle that was used last, */
  unsigned long thread;          /* and the thread that it belongs to */
  char finite;                   /* arrays that are not finite are read too: to say so */
  char large;                    /* evaluations take long enough for other threads to run beside them */
  char settled;                  /* the handle's binding is all there is to look at before an evaluation */
} Caller;

static PyObject *caller_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  PyObject *enter, *read, *fail;
  int finite, large;
  if (!PyArg_ParseTuple(args, "OOOpp", &enter, &read, &fail, &finite, &large)) return NULL;
  Caller *self = (Caller *)new_object(type);
  if (!self) return NULL;
  self->enter = Py_NewRef(enter), self->read = Py_NewRef(read), self->fail = Py_NewRef(fail);
  self->finite = (char)finite, self->large = (char)large;
  return (PyObject *)self;
}

static int caller_traverse(Caller *self, visitproc visit, void *arg) {
  Py_VISIT(self->last);
  Py_VISIT(self->enter);
  Py_VISIT(self->read);
  Py_VISIT(self->fail);
  return visit_type((PyObject *)self, visit, arg);
}

static int caller_clear(Caller *self) {
  Py_CLEAR(self->last);
  Py_CLEAR(self->enter);
  Py_CLEAR(self->read);
  Py_CLEAR(self->fail);
  return 0;
}

static void caller_free(PyObject *self) { free_object(self, (inquiry)caller_clear); }

static PyMemberDef caller_members[] = {
    {"settled", T_BOOL, offsetof(Caller, settled), 0, "Whether `enter` is needed for other bindings only."},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot caller_slots[] = {{Py_tp_new, caller_new}, {Py_tp_traverse, caller_traverse},
                                     {Py_tp_clear, caller_clear}, {Py_tp_dealloc, caller_free},
                                     {Py_tp_members, caller_members}, {0, NULL}};
static PyType_Spec caller_spec = {"pliant.Caller", sizeof(Caller), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                                  caller_slots};

/* This thread's workspace with the binding: a new reference. */
static Handle *find_workspace(Caller *caller, PyObject *binding) {
  const unsigned long thread = PyThread_get_thread_ident();
  Handle *last = (Handle *)caller->last;
  /* a thread that has ended frees its workspace, and another one may have its number */
  if (last && caller->settled && caller->thread == thread && last->bound == binding && last->address)
    return (Handle *)Py_NewRef((PyObject *)last);
  PyObject *found = PyObject_CallFunctionObjArgs(caller->enter, binding, NULL);
  if (!found) return NULL;
  if (Py_TYPE(found) != handle_type || !((Handle *)found)->address) {
    PyErr_SetString(PyExc_TypeError, "there is no workspace to evaluate in");
    Py_DECREF(found);
    return NULL;
  }
  PyObject *before = caller->last;
  caller->last = Py_NewRef(found), caller->thread = thread;
  Py_XDECREF(before);
  return (Handle *)found;
}

/* -- Call: one evaluation of a program -- */

typedef enum Sort { REAL, NUMBERS, PAIRS } Sort;

typedef struct Taken {
  const char *name;
  Sort sort;
  size_t offset;   /* in pl_arguments */
  Py_ssize_t size; /* of numbers */
} Taken;

static const Taken ARGUMENTS[] = {
    {"t", REAL, offsetof(pl_arguments, t), 0},
    {"tolerance", REAL, offsetof(pl_arguments, tolerance), 0},
    {"q", NUMBERS, offsetof(pl_arguments, q), 0},
    {"v", NUMBERS, offsetof(pl_arguments, v), 0},
    {"a", NUMBERS, offsetof(pl_arguments, a), 0},
    {"multipliers", NUMBERS, offsetof(pl_arguments, multipliers), 0},
    {"frames", PAIRS, offsetof(pl_arguments, frames), 0},
    {NULL, REAL, 0, 0}};

typedef struct Given {
  int dimensions;
  npy_intp shape[DIMENSIONS]; /* COUNTED: as many as there are frames */
  PyObject *empty;            /* the result itself, where it never holds a number */
} Given;

typedef struct Call {
  PyObject_HEAD
  Caller *caller;
  pl_evaluation *evaluation;
  int n_taken, n_given;
  Taken taken[MOST];
  Given given[MOST];
} Call;

static int call_traverse(Call *self, visitproc visit, void *arg) {
  Py_VISIT(self->caller);
  for (int i = 0; i < MOST; ++i) Py_VISIT(self->given[i].empty);
  return visit_type((PyObject *)self, visit, arg);
}

static int call_clear(Call *self) {
  Py_CLEAR(self->caller);
  for (int i = 0; i < MOST; ++i) Py_CLEAR(self->given[i].empty);
  return 0;
}

static void call_free(PyObject *self) { free_object(self, (inquiry)call_clear); }

static PyType_Slot call_slots[] = {{Py_tp_traverse, call_traverse}, {Py_tp_clear, call_clear}, {Py_tp_dealloc, call_free},
                                   {0, NULL}};
static PyType_Spec call_spec = {"pliant.Call", sizeof(Call), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, call_slots};

/* Numbers that compiled code can read where they are: `size` of them in one dimension. */
static const double *numbers_of(PyObject *value, Py_ssize_t size) {
  if (!PyArray_Check(value)) return NULL;
  PyArrayObject *array = (PyArrayObject *)value;
  const int fits = PyArray_TYPE(array) == NPY_DOUBLE && PyArray_NDIM(array) == 1 && PyArray_ISCARRAY_RO(array) &&
                   PyArray_DIM(array, 0) == size;
  return fits ? PyArray_DATA(array) : NULL;
}

static int are_finite(const double *numbers, Py_ssize_t size) {
  for (Py_ssize_t i = 0; i < size; ++i)
    if (!isfinite(numbers[i])) return 0;
  return 1;
}

/* One argument into its place. What had to be made for it is returned in `kept`, and lives as long as the evaluation. */
static int take(const Call *call, const Taken *taken, PyObject *value, pl_arguments *arguments, PyObject **kept) {
  void *place = (char *)arguments + taken->offset;
  if (taken->sort == REAL) {
    const double number = PyFloat_AsDouble(value);
    if ((number == -1 && PyErr_Occurred()) || (call->caller->finite && !isfinite(number))) {
      PyErr_Clear();
      PyErr_Format(PyExc_ValueError, "%s must be a finite number, not %R", taken->name, value);
      return -1;
    }
    *(double *)place = number;
    return 0;
  }
  if (taken->sort == PAIRS) {
    PyArrayObject *pairs = (PyArrayObject *)value;
    if (!PyArray_Check(value) || PyArray_TYPE(pairs) != NPY_INT32 || PyArray_NDIM(pairs) != 2 ||
        PyArray_DIM(pairs, 1) != 2 || !PyArray_ISCARRAY_RO(pairs)) {
      PyErr_Format(PyExc_TypeError, "%s must be pairs of 32-bit integers", taken->name);
      return -1;
    }
    *(const int **)place = PyArray_DATA(pairs);
    arguments->count = (int)PyArray_DIM(pairs, 0);
    return 0;
  }
  const double *numbers = numbers_of(value, taken->size);
  if (!numbers || (call->caller->finite && !are_finite(numbers, taken->size))) {
    *kept = PyObject_CallFunction(call->caller->read, "sOn", taken->name, value, taken->size);
    if (!*kept) return -1;
    numbers = numbers_of(*kept, taken->size);
    if (!numbers) {
      PyErr_Format(PyExc_TypeError, "%s must be numbers", taken->name);
      return -1;
    }
  }
  *(const double **)place = numbers;
  return 0;
}

/* New arrays for the results. */
static int make_results(const Call *call, int count, PyObject **results, double **out) {
  for (int i = 0; i < call->n_given; ++i) {
    const Given *given = call->given + i;
    npy_intp shape[DIMENSIONS];
    for (int k = 0; k < given->dimensions; ++k) shape[k] = given->shape[k] == COUNTED ? count : given->shape[k];
    results[i] = given->empty ? Py_NewRef(given->empty) : PyArray_SimpleNew(given->dimensions, shape, NPY_DOUBLE);
    if (!results[i]) return -1;
    out[i] = PyArray_DATA((PyArrayObject *)results[i]);
  }
  return 0;
}

static int run(const Call *call, PyObject *binding, const pl_arguments *arguments, double *const *out) {
  Handle *workspace = find_workspace(call->caller, binding);
  int status;
  if (!workspace) return -1;
  if (call->caller->large || !call->caller->settled) {
    Py_BEGIN_ALLOW_THREADS
    status = call->evaluation((void *)(size_t)workspace->address, arguments, out);
    Py_END_ALLOW_THREADS
  } else
    status = call->evaluation((void *)(size_t)workspace->address, arguments, out);
  Py_DECREF(workspace);
  if (!status) return 0;
  PyObject *nothing = PyObject_CallFunction(call->caller->fail, "i", status);
  if (nothing) PyErr_Format(PyExc_RuntimeError, "the evaluation failed with status %d", status);
  Py_XDECREF(nothing);
  return -1;
}

/* evaluate(binding, *arguments): one array, or a tuple of arrays. */
static PyObject *evaluate(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  const Call *call = (const Call *)self;
  PyObject *kept[MOST] = {0}, *results[MOST] = {0}, *answer = NULL;
  pl_arguments arguments = {0};
  double *out[MOST];
  if (count != call->n_taken + 1)
    return PyErr_Format(PyExc_TypeError, "the evaluation takes a binding and %d arguments, not %zd", call->n_taken,
                        count - 1);
  for (int i = 0; i < call->n_taken; ++i)
    if (take(call, call->taken + i, args[i + 1], &arguments, kept + i)) goto end;
  if (make_results(call, arguments.count, results, out) || run(call, args[0], &arguments, out)) goto end;
  if (call->n_given == 1) {
    answer = results[0], results[0] = NULL;
  } else if ((answer = PyTuple_New(call->n_given)))
    for (int i = 0; i < call->n_given; ++i) PyTuple_SetItem(answer, i, results[i]), results[i] = NULL;
end:
  for (int i = 0; i < call->n_taken; ++i) Py_XDECREF(kept[i]);
  for (int i = 0; i < call->n_given; ++i) Py_XDECREF(results[i]);
  return answer;
}

/* How many a tuple has, rejected if there are more than there is room for. */
static int count_of(PyObject *tuple, int most) {
  const Py_ssize_t count = PyTuple_Size(tuple);
  if (count <= most) return (int)count;
  PyErr_SetString(PyExc_ValueError, "more arguments, results or dimensions than there is room for");
  return -1;
}

static int read_taken(Call *call, PyObject *takes) {
  const int count = count_of(takes, MOST);
  for (int i = 0; i < count; ++i) {
    const char *name;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(PyTuple_GetItem(takes, i), "sn", &name, &size)) return -1;
    const Taken *known = ARGUMENTS;
    while (known->name && strcmp(known->name, name)) ++known;
    if (!known->name) {
      PyErr_Format(PyExc_ValueError, "no evaluation takes '%s'", name);
      return -1;
    }
    call->taken[i] = *known;
    call->taken[i].size = size;
  }
  call->n_taken = count;
  return count < 0 ? -1 : 0;
}

static int read_given(Call *call, PyObject *gives) {
  const int count = count_of(gives, MOST);
  for (int i = 0; i < count; ++i) {
    PyObject *shape = PyTuple_GetItem(gives, i);
    Given *given = call->given + i;
    given->dimensions = count_of(shape, DIMENSIONS);
    for (int k = 0; k < given->dimensions; ++k) given->shape[k] = PyLong_AsSsize_t(PyTuple_GetItem(shape, k));
    if (PyErr_Occurred()) return -1;
    if (given->dimensions == 1 && given->shape[0] == 0 && !(given->empty = PyArray_SimpleNew(1, given->shape, NPY_DOUBLE)))
      return -1;
  }
  call->n_given = count;
  return count < 0 ? -1 : 0;
}

static PyMethodDef evaluate_method = {"evaluate", (PyCFunction)(void (*)(void))evaluate, METH_FASTCALL,
                                      "evaluate(binding, *arguments): one array, or a tuple of arrays"};

/* call(caller, address, takes, gives): the function of a runtime's evaluation. takes: pairs of a name in pl_arguments and a
 * size; gives: shapes. */
static PyObject *call_new(PyObject *module, PyObject *args) {
  PyObject *caller, *takes, *gives, *function = NULL;
  unsigned long long address;
  if (!PyArg_ParseTuple(args, "O!KO!O!", caller_type, &caller, &address, &PyTuple_Type, &takes, &PyTuple_Type, &gives))
    return NULL;
  Call *call = (Call *)new_object(call_type);
  if (!call) return NULL;
  call->caller = (Caller *)Py_NewRef(caller);
  call->evaluation = (pl_evaluation *)(size_t)address;
  if (!read_taken(call, takes) && !read_given(call, gives))
    function = PyCFunction_NewEx(&evaluate_method, (PyObject *)call, NULL);
  Py_DECREF(call);
  return function;
}

static PyObject *address(PyObject *module, PyObject *array) {
  if (!PyArray_Check(array)) return PyErr_Format(PyExc_TypeError, "only arrays have an address");
  return PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)array));
}

static PyMethodDef methods[] = {
    {"address", address, METH_O, "address(array): where its numbers are"},
    {"call", call_new, METH_VARARGS, "call(caller, address, takes, gives): the function of an evaluation"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_pliant_calls", NULL, -1, methods, NULL, NULL, NULL, NULL};

static PyTypeObject *add_type(PyObject *module, const char *name, PyType_Spec *spec) {
  PyObject *type = PyType_FromSpec(spec);
  return type && !PyModule_AddObjectRef(module, name, type) ? (PyTypeObject *)type : NULL;
}

PyMODINIT_FUNC PyInit__pliant_calls(void) {
  import_array();
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  handle_type = add_type(module, "Handle", &handle_spec);
  caller_type = add_type(module, "Caller", &caller_spec);
  call_type = add_type(module, "Call", &call_spec);
  if (handle_type && caller_type && call_type) return module;
  Py_DECREF(module);
  return NULL;
}
