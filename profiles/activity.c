/* SPDX-License-Identifier: Apache-2.0 */
#ifdef RIDGE_WITH_CUDA
#include "profiles/activity.h"

#include <cupti.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiles/cupti_api.h"

enum { BUFFER_BYTES = 8 << 20, BUFFER_ALIGN = 64 };

/* Offsets that have not moved since CUDA 10, so that records of an older or newer CUPTI are read right. */
_Static_assert(offsetof(CUpti_ActivityKernel4, start) == offsetof(CUpti_ActivityKernel10, start), "start moved");
_Static_assert(offsetof(CUpti_ActivityKernel4, end) == offsetof(CUpti_ActivityKernel10, end), "end moved");
_Static_assert(offsetof(CUpti_ActivityKernel4, correlationId) == offsetof(CUpti_ActivityKernel10, correlationId),
               "correlationId moved");

struct kernel {
    uint64_t start_ns, end_ns;
    uint32_t correlation;
};

struct link {
    uint64_t id;
    uint32_t correlation;
};

/* External ids come with the records of API calls (hence their kinds below), in another buffer and order than the
 * kernels, so both are kept until they are joined in activity_collect. CUPTI's own thread delivers them. */
static struct {
    pthread_mutex_t lock;
    const struct cupti_api *api;
    struct kernel *kernel;
    struct link *link;
    uint64_t *pushed;
    size_t kernels, kernel_capacity, links, link_capacity, pushes, push_capacity;
    size_t dropped;
    bool short_of_memory;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_RUNTIME,
                                           CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Makes room for one more; false sets short_of_memory. */
static bool grow(void **array, size_t count, size_t *capacity, size_t item_bytes)
{
    if (count < *capacity)
        return true;
    size_t wanted = *capacity ? 2 * *capacity : 1024;
    void *grown = realloc(*array, wanted * item_bytes);
    if (!grown) {
        state.short_of_memory = true;
        return false;
    }
    *array = grown;
    *capacity = wanted;
    return true;
}

static void buffer_requested(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    *buffer = aligned_alloc(BUFFER_ALIGN, BUFFER_BYTES);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0;
}

static void take_record(const CUpti_Activity *record)
{
    if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
        const CUpti_ActivityExternalCorrelation *external = (const void *)record;
        if (external->externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 &&
            grow((void **)&state.link, state.links, &state.link_capacity, sizeof *state.link))
            state.link[state.links++] = (struct link){external->externalId, external->correlationId};
    } else if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
        const CUpti_ActivityKernel10 *kernel = (const void *)record;
        /* Both 0: CUPTI could not take the times. */
        if (kernel->end > 0 &&
            grow((void **)&state.kernel, state.kernels, &state.kernel_capacity, sizeof *state.kernel))
            state.kernel[state.kernels++] = (struct kernel){kernel->start, kernel->end, kernel->correlationId};
    }
}

static void buffer_completed(void *ctx, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    void *record = NULL;
    size_t dropped = 0;
    (void)bytes;
    pthread_mutex_lock(&state.lock);
    if (state.api) {
        while (valid_bytes > 0 && state.api->cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
            take_record(record);
        if (state.api->cuptiActivityGetNumDroppedRecords(ctx, stream, &dropped) == CUPTI_SUCCESS)
            state.dropped += dropped;
    }
    pthread_mutex_unlock(&state.lock);
    free(buffer);
}

int activity_start(struct ridge_error *err)
{
    activity_stop();
    const struct cupti_api *api = cupti_api_get(err);
    if (!api)
        return RIDGE_ENVIRONMENT;
    state.api = api;
    int result = api->cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
    if (result != CUPTI_SUCCESS) {
        state.api = NULL;
        return cupti_fail(err, api, result, "cuptiActivityRegisterCallbacks");
    }
    for (int i = 0; i < KINDS; i++) {
        result = api->cuptiActivityEnable(kinds[i]);
        if (result == CUPTI_SUCCESS)
            continue;
        while (i-- > 0)
            api->cuptiActivityDisable(kinds[i]);
        state.api = NULL;
        return cupti_fail(err, api, result, "cuptiActivityEnable");
    }
    return RIDGE_OK;
}

void activity_push(uint64_t id)
{
    if (!state.api)
        return;
    pthread_mutex_lock(&state.lock);
    if (grow((void **)&state.pushed, state.pushes, &state.push_capacity, sizeof *state.pushed))
        state.pushed[state.pushes++] = id;
    pthread_mutex_unlock(&state.lock);
    state.api->cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id);
}

void activity_pop(void)
{
    uint64_t last;
    if (state.api)
        state.api->cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
}

static int compare_link(const void *left, const void *right)
{
    uint32_t a = ((const struct link *)left)->correlation, b = ((const struct link *)right)->correlation;
    return (a > b) - (a < b);
}

static int compare_id(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static int compare_span(const void *left, const void *right)
{
    return compare_id(&((const struct activity_span *)left)->id, &((const struct activity_span *)right)->id);
}

/* One span for each pushed id, in their order, without repeats; allocated. */
static struct activity_span *join(size_t *count)
{
    struct activity_span *span = calloc(state.pushes ? state.pushes : 1, sizeof *span);
    *count = 0;
    if (!span)
        return NULL;
    if (state.pushes)
        qsort(state.pushed, state.pushes, sizeof *state.pushed, compare_id);
    for (size_t i = 0; i < state.pushes; i++)
        if (i == 0 || state.pushed[i] != state.pushed[i - 1])
            span[(*count)++].id = state.pushed[i];
    if (state.links)
        qsort(state.link, state.links, sizeof *state.link, compare_link);
    for (size_t i = 0; i < state.kernels && state.links; i++) {
        const struct kernel *kernel = &state.kernel[i];
        struct link key = {.correlation = kernel->correlation};
        const struct link *link = bsearch(&key, state.link, state.links, sizeof key, compare_link);
        struct activity_span wanted = {.id = link ? link->id : 0};
        struct activity_span *found = link ? bsearch(&wanted, span, *count, sizeof wanted, compare_span) : NULL;
        if (!found)
            continue;
        if (found->kernels == 0 || kernel->start_ns < found->start_ns)
            found->start_ns = kernel->start_ns;
        if (kernel->end_ns > found->end_ns)
            found->end_ns = kernel->end_ns;
        found->kernels++;
    }
    return span;
}

static bool any_without_kernel(const struct activity_span *span, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (span[i].kernels == 0)
            return true;
    return false;
}

static int flush_and_join(uint32_t flag, struct activity_span **span, size_t *count, struct ridge_error *err)
{
    int result = state.api->cuptiActivityFlushAll(flag);
    if (result != CUPTI_SUCCESS)
        return cupti_fail(err, state.api, result, "cuptiActivityFlushAll");
    pthread_mutex_lock(&state.lock);
    free(*span);
    *span = join(count);
    if (!*span)
        state.short_of_memory = true;
    pthread_mutex_unlock(&state.lock);
    return RIDGE_OK;
}

static void forget(void)
{
    state.kernels = state.links = state.pushes = state.dropped = 0;
    state.short_of_memory = false;
}

int activity_collect(struct activity_span *span, size_t capacity, size_t *count, struct ridge_error *err)
{
    struct activity_span *joined = NULL;
    *count = 0;
    if (!state.api)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "kernel tracing is not running");
    int status = flush_and_join(0, &joined, count, err);
    /* The default flush keeps buffers with a record that CUPTI has not completed yet. */
    if (status == RIDGE_OK && joined && any_without_kernel(joined, *count))
        status = flush_and_join(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, &joined, count, err);
    pthread_mutex_lock(&state.lock);
    if (status == RIDGE_OK && state.dropped > 0)
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "CUPTI dropped %zu activity records", state.dropped);
    if (status == RIDGE_OK && state.short_of_memory)
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for activity records");
    forget();
    pthread_mutex_unlock(&state.lock);
    if (status == RIDGE_OK)
        memcpy(span, joined, (*count < capacity ? *count : capacity) * sizeof *span);
    else
        *count = 0;
    free(joined);
    return status;
}

void activity_stop(void)
{
    if (!state.api)
        return;
    /* Disabling the kinds is enough before the range profiler starts; cuptiFinalize would detach CUPTI from the
     * process and take the profiler with it. */
    state.api->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    for (int i = KINDS; i-- > 0;)
        state.api->cuptiActivityDisable(kinds[i]);
    pthread_mutex_lock(&state.lock);
    free(state.kernel);
    free(state.link);
    free(state.pushed);
    state.kernel = NULL;
    state.link = NULL;
    state.pushed = NULL;
    state.kernel_capacity = state.link_capacity = state.push_capacity = 0;
    forget();
    state.api = NULL;
    pthread_mutex_unlock(&state.lock);
}
#endif
