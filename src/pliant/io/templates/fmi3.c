/* FMI 3.0 on top of @name@_fmu.h: co-simulation and model exchange. All variables are of type Float64. */
#ifdef ROBOT_FMI_PREFIX /* for several robots in one program, linked from sources */
#define FMI3_FUNCTION_PREFIX @name@_
#endif
#include "fmi3Functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "@name@_fmu.h"

typedef struct {
  robot_fmu *fmu;
  int logging;
  fmi3InstanceEnvironment environment;
  fmi3LogMessageCallback log;
} component;

typedef struct {
  size_t size;
  char bytes[];
} saved;

static fmi3Status say(component *c, fmi3Status status, const char *message) {
  if (c->log && (c->logging || status >= fmi3Error)) c->log(c->environment, status, "logStatus", message);
  return status;
}

static fmi3Status told(component *c, int status) {
  return status ? say(c, fmi3Error, robot_message(status)) : fmi3OK;
}

static fmi3Status unsupported(fmi3Instance instance, const char *what) { return say(instance, fmi3Error, what); }

const char *fmi3GetVersion(void) { return fmi3Version; }

fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean loggingOn, size_t nCategories,
                               const fmi3String categories[]) {
  (void)nCategories, (void)categories;
  ((component *)instance)->logging = loggingOn;
  return fmi3OK;
}

static fmi3Instance instantiate(int exchange, fmi3String token, fmi3Boolean logging,
                                fmi3InstanceEnvironment environment, fmi3LogMessageCallback log) {
  component *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->environment = environment, c->log = log, c->logging = logging;
  const char *trouble = NULL;
  if (!token || strcmp(token, robot_token)) trouble = "the instantiation token is not that of this FMU";
  else if (exchange && !robot_model_exchange) trouble = "this robot is for co-simulation alone";
  else if (!(c->fmu = robot_fmu_new(exchange))) trouble = "there is no memory";
  if (!trouble) return c;
  say(c, fmi3Error, trouble);
  fmi3FreeInstance(c);
  return NULL;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath,
                                          fmi3Boolean visible, fmi3Boolean loggingOn,
                                          fmi3InstanceEnvironment instanceEnvironment, fmi3LogMessageCallback logMessage) {
  (void)instanceName, (void)resourcePath, (void)visible;
  return instantiate(1, instantiationToken, loggingOn, instanceEnvironment, logMessage);
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath,
                                         fmi3Boolean visible, fmi3Boolean loggingOn, fmi3Boolean eventModeUsed,
                                         fmi3Boolean earlyReturnAllowed,
                                         const fmi3ValueReference requiredIntermediateVariables[],
                                         size_t nRequiredIntermediateVariables,
                                         fmi3InstanceEnvironment instanceEnvironment, fmi3LogMessageCallback logMessage,
                                         fmi3IntermediateUpdateCallback intermediateUpdate) {
  (void)instanceName, (void)resourcePath, (void)visible, (void)eventModeUsed, (void)earlyReturnAllowed, (void)intermediateUpdate;
  (void)requiredIntermediateVariables, (void)nRequiredIntermediateVariables;
  return instantiate(0, instantiationToken, loggingOn, instanceEnvironment, logMessage);
}

fmi3Instance fmi3InstantiateScheduledExecution(fmi3String instanceName, fmi3String instantiationToken,
                                               fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                               fmi3InstanceEnvironment instanceEnvironment,
                                               fmi3LogMessageCallback logMessage, fmi3ClockUpdateCallback clockUpdate,
                                               fmi3LockPreemptionCallback lockPreemption,
                                               fmi3UnlockPreemptionCallback unlockPreemption) {
  (void)instanceName, (void)instantiationToken, (void)resourcePath, (void)visible, (void)loggingOn, (void)clockUpdate;
  (void)lockPreemption, (void)unlockPreemption;
  if (logMessage) logMessage(instanceEnvironment, fmi3Error, "logStatus", "there is no scheduled execution");
  return NULL;
}

void fmi3FreeInstance(fmi3Instance instance) {
  component *c = instance;
  if (!c) return;
  robot_fmu_free(c->fmu);
  free(c);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean toleranceDefined, fmi3Float64 tolerance,
                                       fmi3Float64 startTime, fmi3Boolean stopTimeDefined, fmi3Float64 stopTime) {
  component *c = instance;
  (void)toleranceDefined, (void)tolerance, (void)stopTimeDefined, (void)stopTime;
  c->fmu->mode = FMU_INITIALIZING;
  return told(c, robot_fmu_set_time(c->fmu, startTime));
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance instance) {
  component *c = instance;
  const int status = robot_fmu_initialize(c->fmu);
  c->fmu->mode = c->fmu->exchange ? FMU_EVENT : FMU_STEPPING;
  return told(c, status);
}

fmi3Status fmi3EnterEventMode(fmi3Instance instance) {
  ((component *)instance)->fmu->mode = FMU_EVENT;
  return fmi3OK;
}

fmi3Status fmi3Terminate(fmi3Instance instance) {
  ((component *)instance)->fmu->mode = FMU_TERMINATED;
  return fmi3OK;
}

fmi3Status fmi3Reset(fmi3Instance instance) { return told(instance, robot_fmu_reset(((component *)instance)->fmu)); }

/* ---- variables --------------------------------------------------------------------------------------------------- */

fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                          fmi3Float64 values[], size_t nValues) {
  component *c = instance;
  if (nValues != nValueReferences) return told(c, ROBOT_BAD_ARGUMENT);
  int status = ROBOT_OK;
  for (size_t i = 0; i < nValues && !status; ++i) status = robot_fmu_get(c->fmu, valueReferences[i], values + i);
  return told(c, status);
}

fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                          const fmi3Float64 values[], size_t nValues) {
  component *c = instance;
  if (nValues != nValueReferences) return told(c, ROBOT_BAD_ARGUMENT);
  int status = ROBOT_OK;
  for (size_t i = 0; i < nValues && !status; ++i) status = robot_fmu_set(c->fmu, valueReferences[i], values[i]);
  return told(c, status);
}

/* Variables of other types do not exist. */
#define NONE_OF(type) \
  fmi3Status fmi3Get##type(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences, \
                           fmi3##type values[], size_t nValues) { \
    (void)valueReferences, (void)values, (void)nValues; \
    return nValueReferences ? unsupported(instance, "there is no variable of type " #type) : fmi3OK; \
  } \
  fmi3Status fmi3Set##type(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences, \
                           const fmi3##type values[], size_t nValues) { \
    (void)valueReferences, (void)values, (void)nValues; \
    return nValueReferences ? unsupported(instance, "there is no variable of type " #type) : fmi3OK; \
  }
NONE_OF(Float32)
NONE_OF(Int8)
NONE_OF(UInt8)
NONE_OF(Int16)
NONE_OF(UInt16)
NONE_OF(Int32)
NONE_OF(UInt32)
NONE_OF(Int64)
NONE_OF(UInt64)
NONE_OF(Boolean)
NONE_OF(String)

fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                         size_t valueSizes[], fmi3Binary values[], size_t nValues) {
  (void)valueReferences, (void)valueSizes, (void)values, (void)nValues;
  return nValueReferences ? unsupported(instance, "there is no variable of type Binary") : fmi3OK;
}

fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                         const size_t valueSizes[], const fmi3Binary values[], size_t nValues) {
  (void)valueReferences, (void)valueSizes, (void)values, (void)nValues;
  return nValueReferences ? unsupported(instance, "there is no variable of type Binary") : fmi3OK;
}

fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        fmi3Clock values[]) {
  (void)valueReferences, (void)values;
  return nValueReferences ? unsupported(instance, "there are no clocks") : fmi3OK;
}

fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        const fmi3Clock values[]) {
  (void)valueReferences, (void)values;
  return nValueReferences ? unsupported(instance, "there are no clocks") : fmi3OK;
}

/* Every output and derivative may depend on all states and inputs. */
static int depends(fmi3ValueReference x) {
  return (x >= FMU_OUTPUTS && x < FMU_POSITIONS) || (x >= FMU_POSITION_RATES && x < FMU_VARIABLES);
}

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance instance, fmi3ValueReference valueReference,
                                               size_t *nDependencies) {
  (void)instance;
  *nDependencies = depends(valueReference) ? ROBOT_INPUTS + FMU_STATES : 0;
  return fmi3OK;
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance instance, fmi3ValueReference dependent,
                                       size_t elementIndicesOfDependent[], fmi3ValueReference independents[],
                                       size_t elementIndicesOfIndependents[], fmi3DependencyKind dependencyKinds[],
                                       size_t nDependencies) {
  if (nDependencies != (depends(dependent) ? ROBOT_INPUTS + FMU_STATES : 0)) return told(instance, ROBOT_BAD_ARGUMENT);
  for (size_t i = 0; i < nDependencies; ++i) {
    elementIndicesOfDependent[i] = elementIndicesOfIndependents[i] = 0;
    independents[i] = (fmi3ValueReference)(i < ROBOT_INPUTS ? FMU_INPUTS + i : FMU_POSITIONS + i - ROBOT_INPUTS);
    dependencyKinds[i] = fmi3Dependent;
  }
  return fmi3OK;
}

/* ---- states of the whole FMU ------------------------------------------------------------------------------------- */

static saved *room_for(size_t size) {
  saved *s = malloc(sizeof *s + size);
  if (s) s->size = size;
  return s;
}

fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *FMUState) {
  component *c = instance;
  const size_t size = robot_fmu_state_bytes(c->fmu);
  saved *s = *FMUState;
  if (!s || s->size != size) {
    if (!(s = room_for(size))) return told(c, ROBOT_OUT_OF_MEMORY);
    free(*FMUState), *FMUState = s;
  }
  robot_fmu_save(c->fmu, s->bytes);
  return fmi3OK;
}

fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState FMUState) {
  component *c = instance;
  const saved *s = FMUState;
  return told(c, robot_fmu_restore(c->fmu, s->bytes, s->size));
}

fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *FMUState) {
  (void)instance;
  free(*FMUState), *FMUState = NULL;
  return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState FMUState, size_t *size) {
  (void)instance;
  *size = ((saved *)FMUState)->size;
  return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState FMUState, fmi3Byte serializedState[], size_t size) {
  const saved *s = FMUState;
  if (size < s->size) return told(instance, ROBOT_BAD_ARGUMENT);
  memcpy(serializedState, s->bytes, s->size);
  return fmi3OK;
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte serializedState[], size_t size,
                                   fmi3FMUState *FMUState) {
  saved *s = room_for(size);
  if (!s) return told(instance, ROBOT_OUT_OF_MEMORY);
  memcpy(s->bytes, serializedState, size);
  free(*FMUState), *FMUState = s;
  return fmi3OK;
}

/* ---- derivatives ------------------------------------------------------------------------------------------------- */

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t nUnknowns,
                                        const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[],
                                        size_t nSeed, fmi3Float64 sensitivity[], size_t nSensitivity) {
  component *c = instance;
  if (nSeed != nKnowns || nSensitivity != nUnknowns) return told(c, ROBOT_BAD_ARGUMENT);
  return told(c, robot_fmu_directional(c->fmu, unknowns, (int)nUnknowns, knowns, (int)nKnowns, seed, sensitivity));
}

fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t nUnknowns,
                                    const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[],
                                    size_t nSeed, fmi3Float64 sensitivity[], size_t nSensitivity) {
  (void)unknowns, (void)nUnknowns, (void)knowns, (void)nKnowns, (void)seed, (void)nSeed, (void)sensitivity;
  (void)nSensitivity;
  return unsupported(instance, "there are no adjoint derivatives");
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                    size_t nValueReferences, const fmi3Int32 orders[], fmi3Float64 values[],
                                    size_t nValues) {
  (void)valueReferences, (void)nValueReferences, (void)orders, (void)values, (void)nValues;
  return unsupported(instance, "there are no derivatives of outputs by time");
}

/* ---- configuration, clocks: nothing to configure ------------------------------------------------------------------ */

fmi3Status fmi3EnterConfigurationMode(fmi3Instance instance) { return unsupported(instance, "there is nothing to configure"); }
fmi3Status fmi3ExitConfigurationMode(fmi3Instance instance) { return unsupported(instance, "there is nothing to configure"); }

fmi3Status fmi3GetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                  size_t nValueReferences, fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[]) {
  (void)valueReferences, (void)nValueReferences, (void)intervals, (void)qualifiers;
  return unsupported(instance, "there are no clocks");
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, fmi3UInt64 counters[], fmi3UInt64 resolutions[],
                                   fmi3IntervalQualifier qualifiers[]) {
  (void)valueReferences, (void)nValueReferences, (void)counters, (void)resolutions, (void)qualifiers;
  return unsupported(instance, "there are no clocks");
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                               size_t nValueReferences, fmi3Float64 shifts[]) {
  (void)valueReferences, (void)nValueReferences, (void)shifts;
  return unsupported(instance, "there are no clocks");
}

fmi3Status fmi3GetShiftFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                size_t nValueReferences, fmi3UInt64 counters[], fmi3UInt64 resolutions[]) {
  (void)valueReferences, (void)nValueReferences, (void)counters, (void)resolutions;
  return unsupported(instance, "there are no clocks");
}

fmi3Status fmi3SetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                  size_t nValueReferences, const fmi3Float64 intervals[]) {
  (void)valueReferences, (void)nValueReferences, (void)intervals;
  return unsupported(instance, "there are no clocks");
}

fmi3Status fmi3SetIntervalFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, const fmi3UInt64 counters[],
                                   const fmi3UInt64 resolutions[]) {
  (void)valueReferences, (void)nValueReferences, (void)counters, (void)resolutions;
  return unsupported(instance, "there are no clocks");
}

fmi3Status fmi3SetShiftDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                               size_t nValueReferences, const fmi3Float64 shifts[]) {
  (void)valueReferences, (void)nValueReferences, (void)shifts;
  return unsupported(instance, "there are no clocks");
}

fmi3Status fmi3SetShiftFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                size_t nValueReferences, const fmi3UInt64 counters[], const fmi3UInt64 resolutions[]) {
  (void)valueReferences, (void)nValueReferences, (void)counters, (void)resolutions;
  return unsupported(instance, "there are no clocks");
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance instance, fmi3ValueReference clockReference,
                                      fmi3Float64 activationTime) {
  (void)clockReference, (void)activationTime;
  return unsupported(instance, "there is no scheduled execution");
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance) {
  (void)instance;
  return fmi3OK;
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *discreteStatesNeedUpdate,
                                    fmi3Boolean *terminateSimulation, fmi3Boolean *nominalsOfContinuousStatesChanged,
                                    fmi3Boolean *valuesOfContinuousStatesChanged, fmi3Boolean *nextEventTimeDefined,
                                    fmi3Float64 *nextEventTime) {
  component *c = instance;
  int changed = 0;
  const int status = c->fmu->exchange ? robot_fmu_handle_event(c->fmu, &changed) : ROBOT_OK;
  *discreteStatesNeedUpdate = *terminateSimulation = *nominalsOfContinuousStatesChanged = fmi3False;
  *valuesOfContinuousStatesChanged = changed;
  *nextEventTimeDefined = c->fmu->exchange && isfinite(c->fmu->next_event);
  *nextEventTime = *nextEventTimeDefined ? c->fmu->next_event : 0;
  return told(c, status);
}

/* ---- model exchange ------------------------------------------------------------------------------------------------ */

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance) {
  ((component *)instance)->fmu->mode = FMU_CONTINUOUS;
  return fmi3OK;
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi3Boolean *enterEventMode, fmi3Boolean *terminateSimulation) {
  component *c = instance;
  int drifted = 0;
  (void)noSetFMUStatePriorToCurrentPoint;
  const int status = robot_fmu_has_drifted(c->fmu, &drifted);
  *enterEventMode = drifted, *terminateSimulation = fmi3False;
  return told(c, status);
}

fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time) {
  return told(instance, robot_fmu_set_time(((component *)instance)->fmu, time));
}

static fmi3Status all_states(component *c, size_t count) { return count == FMU_STATES ? fmi3OK : told(c, ROBOT_BAD_ARGUMENT); }

fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 continuousStates[],
                                   size_t nContinuousStates) {
  component *c = instance;
  if (all_states(c, nContinuousStates)) return fmi3Error;
  return told(c, robot_fmu_set_states(c->fmu, continuousStates));
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 derivatives[],
                                             size_t nContinuousStates) {
  component *c = instance;
  if (all_states(c, nContinuousStates)) return fmi3Error;
  return told(c, robot_fmu_derivatives(c->fmu, derivatives));
}

fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 eventIndicators[], size_t nEventIndicators) {
  (void)instance, (void)eventIndicators;
  return nEventIndicators ? fmi3Error : fmi3OK;
}

fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 continuousStates[], size_t nContinuousStates) {
  component *c = instance;
  if (all_states(c, nContinuousStates)) return fmi3Error;
  memcpy(continuousStates, c->fmu->state, FMU_STATES * sizeof(double));
  return fmi3OK;
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 nominals[], size_t nContinuousStates) {
  if (all_states(instance, nContinuousStates)) return fmi3Error;
  memcpy(nominals, robot_nominals, nContinuousStates * sizeof(double));
  return fmi3OK;
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *nEventIndicators) {
  (void)instance;
  *nEventIndicators = 0;
  return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *nContinuousStates) {
  (void)instance;
  *nContinuousStates = FMU_STATES;
  return fmi3OK;
}

/* ---- co-simulation ------------------------------------------------------------------------------------------------- */

fmi3Status fmi3EnterStepMode(fmi3Instance instance) {
  ((component *)instance)->fmu->mode = FMU_STEPPING;
  return fmi3OK;
}

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 currentCommunicationPoint, fmi3Float64 communicationStepSize,
                      fmi3Boolean noSetFMUStatePriorToCurrentPoint, fmi3Boolean *eventHandlingNeeded,
                      fmi3Boolean *terminateSimulation, fmi3Boolean *earlyReturn, fmi3Float64 *lastSuccessfulTime) {
  component *c = instance;
  (void)noSetFMUStatePriorToCurrentPoint;
  *eventHandlingNeeded = *terminateSimulation = *earlyReturn = fmi3False;
  *lastSuccessfulTime = c->fmu->t;
  if (c->fmu->exchange || fabs(currentCommunicationPoint - c->fmu->t) > 1e-9 * (1 + fabs(c->fmu->t)))
    return say(c, fmi3Error, "the communication point is not where the last step has ended");
  const int status = robot_fmu_step(c->fmu, currentCommunicationPoint + communicationStepSize);
  *lastSuccessfulTime = c->fmu->t;
  return told(c, status);
}
