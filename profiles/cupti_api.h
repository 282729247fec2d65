/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI found with dlopen, as a table of functions. Tests inject a table whose entries fail or record.
 * Private to profiles/. Results are CUptiResult values; needs no CUPTI header.
 */
#ifndef RIDGE_CUPTI_API_H
#define RIDGE_CUPTI_API_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of one pointer to their parameter struct: what the range profiler needs, of CUDA 12.6 and later. */
#define CUPTI_COUNTER_CALLS(X)                                                                                         \
    X(cuptiDeviceGetChipName)                                                                                          \
    X(cuptiProfilerInitialize)                                                                                         \
    X(cuptiProfilerHostInitialize)                                                                                     \
    X(cuptiProfilerHostDeinitialize)                                                                                   \
    X(cuptiProfilerHostGetSupportedChips)                                                                              \
    X(cuptiProfilerHostConfigAddMetrics)                                                                               \
    X(cuptiProfilerHostGetConfigImageSize)                                                                             \
    X(cuptiProfilerHostGetConfigImage)                                                                                 \
    X(cuptiProfilerHostGetNumOfPasses)                                                                                 \
    X(cuptiProfilerHostEvaluateToGpuValues)                                                                            \
    X(cuptiRangeProfilerEnable)                                                                                        \
    X(cuptiRangeProfilerDisable)                                                                                       \
    X(cuptiRangeProfilerSetConfig)                                                                                     \
    X(cuptiRangeProfilerStart)                                                                                         \
    X(cuptiRangeProfilerStop)                                                                                          \
    X(cuptiRangeProfilerPushRange)                                                                                     \
    X(cuptiRangeProfilerPopRange)                                                                                      \
    X(cuptiRangeProfilerDecodeData)                                                                                    \
    X(cuptiRangeProfilerGetCounterDataSize)                                                                            \
    X(cuptiRangeProfilerCounterDataImageInitialize)                                                                    \
    X(cuptiRangeProfilerGetCounterDataInfo)

typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void (*cupti_buffer_completed)(void *ctx, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes);

struct cupti_api {
    int (*cuptiGetResultString)(int result, const char **text);
    int (*cuptiActivityRegisterCallbacks)(cupti_buffer_requested requested, cupti_buffer_completed completed);
    int (*cuptiActivityEnable)(int kind);
    int (*cuptiActivityDisable)(int kind);
    int (*cuptiActivityFlushAll)(uint32_t flag);
    int (*cuptiActivityGetNextRecord)(uint8_t *buffer, size_t valid_bytes, void **record);
    int (*cuptiActivityGetNumDroppedRecords)(void *ctx, uint32_t stream, size_t *dropped);
    int (*cuptiActivityPushExternalCorrelationId)(int kind, uint64_t id);
    int (*cuptiActivityPopExternalCorrelationId)(int kind, uint64_t *last);
#define CUPTI_FIELD(name) int (*name)(void *params);
    CUPTI_COUNTER_CALLS(CUPTI_FIELD)
#undef CUPTI_FIELD
    /* Of the CUDA runtime and driver, not of CUPTI; nonzero: a cudaError_t. */
    int (*current_context)(void **ctx, size_t *device);
    int (*synchronize)(void);
};

/* Fills *api from a file, or from the first library found when path is NULL: $RIDGE_CUPTI, then libcupti.so.13, .12,
 * unversioned, on the loader's path, then the toolkits under /usr/local. Entries that the library lacks are NULL.
 * The library stays loaded. RIDGE_ENVIRONMENT. */
int cupti_api_load(const char *path, struct cupti_api *api, struct ridge_error *err);

/* The table in use: the injected one, or the library, loaded at the first call. NULL with *err set. */
const struct cupti_api *cupti_api_get(struct ridge_error *err);

/* NULL goes back to the library. The table is borrowed. */
void cupti_api_inject(const struct cupti_api *api);

/* RIDGE_ENVIRONMENT naming the first range-profiler function that the library lacks. */
int cupti_api_has_counters(const struct cupti_api *api, struct ridge_error *err);

/* RIDGE_ENVIRONMENT with the reason and remedy of a result other than 0. */
int cupti_fail(struct ridge_error *err, const struct cupti_api *api, int result, const char *call);

#ifdef __cplusplus
}
#endif

#endif
