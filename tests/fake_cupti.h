/* SPDX-License-Identifier: Apache-2.0 */
/* A CUPTI range profiler that logs its calls, fails where told, and returns values told by metric names. */
#ifndef RIDGE_FAKE_CUPTI_H
#define RIDGE_FAKE_CUPTI_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiles/counters.h"
#include "profiles/cupti_api.h"

/* cupti_profiler_host.h is C++; these repeat the leading fields of its parameter structs that the fake touches. */
struct host_params {
    size_t size;
    void *priv;
    void *host;
    const char **name;
    size_t names;
};
struct host_init {
    size_t size;
    void *priv;
    int type;
    const char *chip;
    const uint8_t *availability;
    void *host;
};
struct host_chips {
    size_t size;
    void *priv;
    size_t chips;
    const char *const *chip;
};
struct host_image {
    size_t size;
    void *priv;
    void *host;
    size_t bytes;
    uint8_t *image;
};
struct host_passes {
    size_t size;
    void *priv;
    size_t bytes;
    uint8_t *image;
    size_t passes;
};
struct host_evaluate {
    size_t size;
    void *priv;
    void *host;
    const uint8_t *data;
    size_t bytes, range;
    const char **name;
    size_t names;
    double *value;
};

/* Two metrics fit in a pass beside the anchor. Names tell their values: "m7" is 7. */
enum { METRICS_PER_PASS = 2 };

static struct {
    char log[4096];
    const char *chip;
    const char *fail_call;
    int fail_result, launch_status, ranges;
    int hosts, inits, enabled;
    double anchor[8];
    int anchors;
} fake;

static int note(const char *call)
{
    strcat(fake.log, call);
    strcat(fake.log, " ");
    return fake.fail_call && strcmp(fake.fail_call, call) == 0 ? fake.fail_result : 0;
}

static int fake_string(int result, const char **text)
{
    static char name[32];
    snprintf(name, sizeof name, "result %d", result);
    *text = name;
    return 0;
}

static int fake_init_profiler(void *params)
{
    (void)params;
    return note("Initialize");
}

static int fake_chip(void *params)
{
    CUpti_Device_GetChipName_Params *chip = params;
    assert_int_equal(chip->deviceIndex, 3);
    chip->pChipName = fake.chip;
    return 0;
}

static int fake_chips(void *params)
{
    static const char *const chip[] = {"GA100", "GH100"};
    ((struct host_chips *)params)->chips = 2;
    ((struct host_chips *)params)->chip = chip;
    return 0;
}

static int fake_host_init(void *params)
{
    struct host_init *init = params;
    assert_string_equal(init->chip, "GH100");
    init->host = calloc(1, sizeof(size_t));
    fake.hosts++;
    fake.inits++;
    return 0;
}

static int fake_host_deinit(void *params)
{
    free(((struct host_params *)params)->host);
    fake.hosts--;
    return 0;
}

static int fake_add_metrics(void *params)
{
    struct host_params *add = params;
    *(size_t *)add->host = add->names;
    for (size_t i = 0; i < add->names; i++)
        if (strcmp(add->name[i], "unknown") == 0)
            return CUPTI_ERROR_INVALID_METRIC_NAME;
    return 0;
}

static int fake_image_size(void *params)
{
    ((struct host_image *)params)->bytes = sizeof(size_t);
    return 0;
}

static int fake_image(void *params)
{
    struct host_image *image = params;
    memcpy(image->image, image->host, sizeof(size_t));
    return 0;
}

static int fake_passes(void *params)
{
    struct host_passes *passes = params;
    size_t names;
    memcpy(&names, passes->image, sizeof names);
    passes->passes = names <= METRICS_PER_PASS + 1 ? 1 : 2;
    return 0;
}

static int fake_evaluate(void *params)
{
    struct host_evaluate *evaluate = params;
    assert_int_equal(evaluate->range, 0);
    assert_int_equal(evaluate->data[0], 0xDA);
    for (size_t i = 0; i < evaluate->names; i++)
        evaluate->value[i] =
            strcmp(evaluate->name[i], COUNTERS_ANCHOR) == 0 ? fake.anchor[fake.anchors] : atof(evaluate->name[i] + 1);
    fake.anchors++;
    return note("Evaluate");
}

static int fake_enable(void *params)
{
    CUpti_RangeProfiler_Enable_Params *enable = params;
    int result = note("Enable");
    assert_ptr_equal(enable->ctx, &fake);
    enable->pRangeProfilerObject = (void *)&fake;
    fake.enabled += result == 0;
    return result;
}

static int fake_disable(void *params)
{
    (void)params;
    fake.enabled--;
    return note("Disable");
}

static int fake_data_size(void *params)
{
    ((CUpti_RangeProfiler_GetCounterDataSize_Params *)params)->counterDataSize = 16;
    return note("Size");
}

static uint8_t *data_image;

static int fake_clear(void *params)
{
    memset(((CUpti_RangeProfiler_CounterDataImage_Initialize_Params *)params)->pCounterData, 0, 16);
    return 0;
}

static int fake_set_config(void *params)
{
    CUpti_RangeProfiler_SetConfig_Params *set = params;
    assert_int_equal(set->range, CUPTI_UserRange);
    assert_int_equal(set->replayMode, CUPTI_UserReplay);
    assert_int_equal(set->maxRangesPerPass, 1);
    assert_int_equal(set->counterDataImageSize, 16);
    data_image = set->pCounterDataImage;
    return note("SetConfig");
}

#define FAKE(function, call)                                                                                           \
    static int function(void *params)                                                                                  \
    {                                                                                                                  \
        (void)params;                                                                                                  \
        return note(call);                                                                                             \
    }
FAKE(fake_start, "Start")
FAKE(fake_push, "Push")
FAKE(fake_pop, "Pop")

static int fake_stop(void *params)
{
    ((CUpti_RangeProfiler_Stop_Params *)params)->isAllPassSubmitted = 1;
    return note("Stop");
}

static int fake_decode(void *params)
{
    (void)params;
    data_image[0] = 0xDA;
    return note("Decode");
}

static int fake_info(void *params)
{
    ((CUpti_RangeProfiler_GetCounterDataInfo_Params *)params)->numTotalRanges = (size_t)fake.ranges;
    return 0;
}

static int fake_context(void **ctx, size_t *device)
{
    *ctx = &fake;
    *device = 3;
    return 0;
}

static int fake_synchronize(void)
{
    return note("sync");
}

static const struct cupti_api fake_api = {
    .cuptiGetResultString = fake_string,
    .cuptiDeviceGetChipName = fake_chip,
    .cuptiProfilerInitialize = fake_init_profiler,
    .cuptiProfilerHostInitialize = fake_host_init,
    .cuptiProfilerHostDeinitialize = fake_host_deinit,
    .cuptiProfilerHostGetSupportedChips = fake_chips,
    .cuptiProfilerHostConfigAddMetrics = fake_add_metrics,
    .cuptiProfilerHostGetConfigImageSize = fake_image_size,
    .cuptiProfilerHostGetConfigImage = fake_image,
    .cuptiProfilerHostGetNumOfPasses = fake_passes,
    .cuptiProfilerHostEvaluateToGpuValues = fake_evaluate,
    .cuptiRangeProfilerEnable = fake_enable,
    .cuptiRangeProfilerDisable = fake_disable,
    .cuptiRangeProfilerSetConfig = fake_set_config,
    .cuptiRangeProfilerStart = fake_start,
    .cuptiRangeProfilerStop = fake_stop,
    .cuptiRangeProfilerPushRange = fake_push,
    .cuptiRangeProfilerPopRange = fake_pop,
    .cuptiRangeProfilerDecodeData = fake_decode,
    .cuptiRangeProfilerGetCounterDataSize = fake_data_size,
    .cuptiRangeProfilerCounterDataImageInitialize = fake_clear,
    .cuptiRangeProfilerGetCounterDataInfo = fake_info,
    .current_context = fake_context,
    .synchronize = fake_synchronize,
};

#endif
