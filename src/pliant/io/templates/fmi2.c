/* FMI 2.0 on top of @name@_fmu.h: co-simulation and model exchange. All variables are of type Real. */
#ifdef ROBOT_FMI_PREFIX /* for several robots in one program, linked from sources */
#define FMI2_FUNCTION_PREFIX @name@_
#endif
#include "fmi2Functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "@name@_fmu.h"

typedef struct {
  robot_fmu *fmu;
  char *name;
  int logging;
  fmi2CallbackFunctions callbacks;
} component;

typedef struct {
  size_t size;
  char bytes[];
} saved;

static fmi2Status say(component *c, fmi2Status status, const char *message) {
  if (c->callbacks.logger && (c->logging || status >= fmi2Error))
    c->callbacks.logger(c->callbacks.componentEnvironment, c->name, status, "logStatus", "%s", message);
  return status;
}

static fmi2Status told(component *c, int status) {
  return status ? say(c, fmi2Error, robot_message(status)) : fmi2OK;
}

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char *fmi2GetVersion(void) { return fmi2Version; }

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                               const fmi2String categories[]) {
  (void)nCategories, (void)categories;
  ((component *)c)->logging = loggingOn;
  return fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                              fmi2String fmuResourceLocation, const fmi2CallbackFunctions *functions, fmi2Boolean visible,
                              fmi2Boolean loggingOn) {
  (void)fmuResourceLocation, (void)visible;
  component *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  if (functions) c->callbacks = *functions;
  c->logging = loggingOn;
  const int exchange = fmuType == fmi2ModelExchange;
  const char *trouble = NULL;
  if (!fmuGUID || strcmp(fmuGUID, robot_token)) trouble = "the GUID is not that of this FMU";
  else if (exchange && !robot_model_exchange) trouble = "this robot is for co-simulation alone";
  else if (!(c->fmu = robot_fmu_new(exchange)) || !(c->name = malloc(strlen(instanceName ? instanceName : "") + 1)))
    trouble = "there is no memory";
  if (!trouble) return strcpy(c->name, instanceName ? instanceName : ""), c;
  say(c, fmi2Error, trouble);
  fmi2FreeInstance(c);
  return NULL;
}

void fmi2FreeInstance(fmi2Component instance) {
  component *c = instance;
  if (!c) return;
  robot_fmu_free(c->fmu);
  free(c->name), free(c);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance, fmi2Real startTime,
                               fmi2Boolean stopTimeDefined, fmi2Real stopTime) {
  (void)toleranceDefined, (void)tolerance, (void)stopTimeDefined, (void)stopTime;
  return told(c, robot_fmu_set_time(((component *)c)->fmu, startTime));
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
  ((component *)c)->fmu->mode = FMU_INITIALIZING;
  return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
  robot_fmu *f = ((component *)c)->fmu;
  const int status = robot_fmu_initialize(f);
  f->mode = f->exchange ? FMU_EVENT : FMU_STEPPING;
  return told(c, status);
}

fmi2Status fmi2Terminate(fmi2Component c) {
  ((component *)c)->fmu->mode = FMU_TERMINATED;
  return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c) { return told(c, robot_fmu_reset(((component *)c)->fmu)); }

/* ---- variables ----------------------------------------------------------------------------------------------------- */

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Real value[]) {
  int status = ROBOT_OK;
  for (size_t i = 0; i < nvr && !status; ++i) status = robot_fmu_get(((component *)c)->fmu, vr[i], value + i);
  return told(c, status);
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Real value[]) {
  int status = ROBOT_OK;
  for (size_t i = 0; i < nvr && !status; ++i) status = robot_fmu_set(((component *)c)->fmu, vr[i], value[i]);
  return told(c, status);
}

/* Variables of other types do not exist. */
#define NONE_OF(type) \
  fmi2Status fmi2Get##type(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2##type value[]) { \
    (void)vr, (void)value; \
    return nvr ? say(c, fmi2Error, "there is no variable of type " #type) : fmi2OK; \
  } \
  fmi2Status fmi2Set##type(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2##type value[]) { \
    (void)vr, (void)value; \
    return nvr ? say(c, fmi2Error, "there is no variable of type " #type) : fmi2OK; \
  }
NONE_OF(Integer)
NONE_OF(Boolean)
NONE_OF(String)

/* ---- states of the whole FMU ---------------------------------------------------------------------------------------- */

static saved *room_for(size_t size) {
  saved *s = malloc(sizeof *s + size);
  if (s) s->size = size;
  return s;
}

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *FMUstate) {
  robot_fmu *f = ((component *)c)->fmu;
  const size_t size = robot_fmu_state_bytes(f);
  saved *s = *FMUstate;
  if (!s || s->size != size) {
    if (!(s = room_for(size))) return told(c, ROBOT_OUT_OF_MEMORY);
    free(*FMUstate), *FMUstate = s;
  }
  robot_fmu_save(f, s->bytes);
  return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate FMUstate) {
  const saved *s = FMUstate;
  return told(c, robot_fmu_restore(((component *)c)->fmu, s->bytes, s->size));
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *FMUstate) {
  (void)c;
  free(*FMUstate), *FMUstate = NULL;
  return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate FMUstate, size_t *size) {
  (void)c;
  *size = ((saved *)FMUstate)->size;
  return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate FMUstate, fmi2Byte serializedState[], size_t size) {
  const saved *s = FMUstate;
  if (size < s->size) return told(c, ROBOT_BAD_ARGUMENT);
  memcpy(serializedState, s->bytes, s->size);
  return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte serializedState[], size_t size,
                                   fmi2FMUstate *FMUstate) {
  saved *s = room_for(size);
  if (!s) return told(c, ROBOT_OUT_OF_MEMORY);
  memcpy(s->bytes, serializedState, size);
  free(*FMUstate), *FMUstate = s;
  return fmi2OK;
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference vUnknown_ref[], size_t nUnknown,
                                        const fmi2ValueReference vKnown_ref[], size_t nKnown, const fmi2Real dvKnown[],
                                        fmi2Real dvUnknown[]) {
  robot_fmu *f = ((component *)c)->fmu;
  return told(c, robot_fmu_directional(f, vUnknown_ref, (int)nUnknown, vKnown_ref, (int)nKnown, dvKnown, dvUnknown));
}

/* ---- model exchange --------------------------------------------------------------------------------------------------- */

fmi2Status fmi2EnterEventMode(fmi2Component c) {
  ((component *)c)->fmu->mode = FMU_EVENT;
  return fmi2OK;
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info) {
  robot_fmu *f = ((component *)c)->fmu;
  int changed = 0;
  const int status = robot_fmu_handle_event(f, &changed);
  memset(info, 0, sizeof *info);
  info->valuesOfContinuousStatesChanged = changed;
  info->nextEventTimeDefined = isfinite(f->next_event);
  info->nextEventTime = info->nextEventTimeDefined ? f->next_event : 0;
  return told(c, status);
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) {
  ((component *)c)->fmu->mode = FMU_CONTINUOUS;
  return fmi2OK;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi2Boolean *enterEventMode, fmi2Boolean *terminateSimulation) {
  int drifted = 0;
  (void)noSetFMUStatePriorToCurrentPoint;
  const int status = robot_fmu_has_drifted(((component *)c)->fmu, &drifted);
  *enterEventMode = drifted, *terminateSimulation = fmi2False;
  return told(c, status);
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time) { return told(c, robot_fmu_set_time(((component *)c)->fmu, time)); }

static int all_states(component *c, size_t count) { return count == FMU_STATES || (told(c, ROBOT_BAD_ARGUMENT), 0); }

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx) {
  if (!all_states(c, nx)) return fmi2Error;
  return told(c, robot_fmu_set_states(((component *)c)->fmu, x));
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t nx) {
  if (!all_states(c, nx)) return fmi2Error;
  return told(c, robot_fmu_derivatives(((component *)c)->fmu, derivatives));
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real eventIndicators[], size_t ni) {
  (void)c, (void)eventIndicators;
  return ni ? fmi2Error : fmi2OK;
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx) {
  if (!all_states(c, nx)) return fmi2Error;
  memcpy(x, ((component *)c)->fmu->state, FMU_STATES * sizeof(double));
  return fmi2OK;
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x_nominal[], size_t nx) {
  if (!all_states(c, nx)) return fmi2Error;
  memcpy(x_nominal, robot_nominals, nx * sizeof(double));
  return fmi2OK;
}

/* ---- co-simulation ------------------------------------------------------------------------------------------------------ */

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint, fmi2Real communicationStepSize,
                      fmi2Boolean noSetFMUStatePriorToCurrentPoint) {
  robot_fmu *f = ((component *)c)->fmu;
  (void)noSetFMUStatePriorToCurrentPoint;
  if (f->exchange || fabs(currentCommunicationPoint - f->t) > 1e-9 * (1 + fabs(f->t)))
    return say(c, fmi2Error, "the communication point is not where the last step has ended");
  return told(c, robot_fmu_step(f, currentCommunicationPoint + communicationStepSize));
}

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real value[]) {
  (void)vr, (void)order, (void)value;
  return nvr ? say(c, fmi2Error, "inputs are not interpolated") : fmi2OK;
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real value[]) {
  (void)vr, (void)order, (void)value;
  return nvr ? say(c, fmi2Error, "there are no derivatives of outputs by time") : fmi2OK;
}

fmi2Status fmi2CancelStep(fmi2Component c) { return say(c, fmi2Error, "no step is ever under way"); }

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind s, fmi2Real *value) {
  if (s != fmi2LastSuccessfulTime) return fmi2Discard;
  *value = ((component *)c)->fmu->t;
  return fmi2OK;
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind s, fmi2Status *value) {
  (void)c, (void)s, (void)value;
  return fmi2Discard;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind s, fmi2Integer *value) {
  (void)c, (void)s, (void)value;
  return fmi2Discard;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value) {
  (void)c;
  if (s != fmi2Terminated) return fmi2Discard;
  *value = fmi2False;
  return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind s, fmi2String *value) {
  (void)c, (void)s, (void)value;
  return fmi2Discard;
}
