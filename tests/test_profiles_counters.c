/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting counters over a fake CUPTI: order of calls, values by name, spread, and every way to be denied. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiles/counters.h"

#ifndef RIDGE_WITH_CUDA
int main(void)
{
    struct ridge_error err = {0};
    if (counters_open(NULL, &err) != RIDGE_ENVIRONMENT || !strstr(err.text, "built without the CUDA toolkit"))
        return 1;
    puts("skip: built without the CUDA toolkit");
    return 77;
}
#else
#include "fake_cupti.h"

static struct cupti_api api;

static int prepare(void *ctx, struct ridge_error *err)
{
    (void)ctx, (void)err;
    return note("prepare");
}

static int launch(void *ctx, struct ridge_error *err)
{
    assert_ptr_equal(ctx, &fake.log);
    note("launch");
    return fake.launch_status ? ridge_fail(err, fake.launch_status, "launch refused") : 0;
}

static const struct counters_work work = {prepare, launch, fake.log};

static struct metric metric[] = {{.name = "m1"}, {.name = "m2"}, {.name = "m3"}, {.name = "m4"}, {.name = "m5"}};
static const struct metric_group group = {.name = "g", .meaning = "m", .metric = metric, .count = 5};

static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.chip = "GH100";
    fake.ranges = 1;
    fake.anchor[0] = 1000;
    fake.anchor[1] = 1010;
    fake.anchor[2] = 990;
    api = fake_api;
    cupti_api_inject(&api);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    counters_close();
    cupti_api_inject(NULL);
    assert_int_equal(fake.enabled, 0);
    assert_int_equal(fake.hosts, 0);
    return 0;
}

/* CUPTI 13.0 on an H200: one object takes one configuration, and SetConfig needs the size asked for before it. */
#define PASS "Enable Size SetConfig prepare sync Start Push launch Pop sync Stop Decode Evaluate Disable "

static void values_come_back_by_name(void **state)
{
    struct counters_result result;
    (void)state;
    assert_int_equal(counters_open(NULL, NULL), RIDGE_OK);
    fake.log[0] = '\0';
    assert_int_equal(counters_collect(&group, &work, &result, NULL), RIDGE_OK);
    assert_string_equal(fake.log, PASS PASS PASS);
    assert_int_equal(result.count, 5);
    assert_int_equal(result.passes, 3);
    for (size_t i = 0; i < result.count; i++)
        assert_true(result.value[i] == (double)(i + 1));
    assert_true(fabs(result.spread - 0.02) < 1e-12);
    counters_result_free(&result);
    assert_null(result.value);
}

static void a_group_is_packed_once(void **state)
{
    struct counters_result result;
    (void)state;
    assert_int_equal(counters_open(NULL, NULL), RIDGE_OK);
    for (int round = 0, inits = 0; round < 100; round++) {
        fake.log[0] = '\0';
        fake.anchors = 0;
        assert_int_equal(counters_collect(&group, &work, &result, NULL), RIDGE_OK);
        counters_result_free(&result);
        assert_true(round == 0 || fake.inits == inits);
        inits = fake.inits;
        assert_int_equal(fake.enabled, 0);
    }
    assert_int_equal(fake.hosts, 3);
}

/* Opening and then collecting must fail with all parts of `wanted` (separated by '|') in the message. */
static void denied(const char *call, int result, const char *wanted)
{
    char parts[256];
    struct ridge_error err = {0};
    struct counters_result values;
    fake.fail_call = call;
    fake.fail_result = result;
    fake.log[0] = '\0';
    int status = counters_open(NULL, &err);
    if (status == RIDGE_OK)
        status = counters_collect(&group, &work, &values, &err);
    assert_int_equal(status, RIDGE_ENVIRONMENT);
    assert_int_equal(fake.enabled, 0);
    snprintf(parts, sizeof parts, "%s", wanted);
    for (char *save, *part = strtok_r(parts, "|", &save); part; part = strtok_r(NULL, "|", &save))
        if (!strstr(err.text, part))
            fail_msg("\"%s\" does not say \"%s\"", err.text, part);
    fake.fail_call = NULL;
}

static void every_denial_has_reason_and_remedy(void **state)
{
    (void)state;
    denied("Enable", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
           "counters denied|NVreg_RestrictProfilingToAdminUsers=0|CAP_SYS_ADMIN|cuptiRangeProfilerEnable");
    denied("Enable", CUPTI_ERROR_HARDWARE_BUSY, "held by another tool|DCGM|Nsight Compute|dcgmi profile --pause");
    denied("Start", CUPTI_ERROR_HARDWARE_BUSY, "held by another tool|dcgmi profile --pause|cuptiRangeProfilerStart");
    denied("Enable", CUPTI_ERROR_UNKNOWN, "may be held by another tool|dcgmi profile --pause");
    denied("Enable", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "another CUPTI tool");
    denied("Enable", CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "MIG");
    denied("Initialize", CUPTI_ERROR_NOT_INITIALIZED, "cuptiProfilerInitialize|15");
    denied("Push", CUPTI_ERROR_INVALID_OPERATION, "cuptiRangeProfilerPushRange");
    denied("Pop", CUPTI_ERROR_INVALID_OPERATION, "cuptiRangeProfilerPopRange");
    denied("Stop", CUPTI_ERROR_INVALID_OPERATION, "cuptiRangeProfilerStop");
    denied("Decode", CUPTI_ERROR_OUT_OF_MEMORY, "memory|cuptiRangeProfilerDecodeData");
    denied("Evaluate", CUPTI_ERROR_INVALID_PARAMETER, "cuptiProfilerHostEvaluateToGpuValues");
    denied("sync", 700, "CUDA error 700|preparing");
    fake.ranges = 0;
    denied(NULL, 0, "returned 0 ranges");
}

static void unknown_chip(void **state)
{
    (void)state;
    fake.chip = "GX123";
    denied(NULL, 0, "unknown chip GX123|GA100 GH100");
}

static void an_old_library_is_named(void **state)
{
    (void)state;
    api.cuptiRangeProfilerSetConfig = NULL;
    denied(NULL, 0, "too old|cuptiRangeProfilerSetConfig|12.6");
}

static void a_failing_launch_leaves_the_profiler_stopped(void **state)
{
    struct counters_result result;
    struct ridge_error err = {0};
    (void)state;
    assert_int_equal(counters_open(NULL, NULL), RIDGE_OK);
    fake.log[0] = '\0';
    fake.launch_status = RIDGE_INVALID;
    assert_int_equal(counters_collect(&group, &work, &result, &err), RIDGE_INVALID);
    assert_string_equal(err.text, "launch refused");
    assert_string_equal(fake.log, "Enable Size SetConfig prepare sync Start Push launch Pop sync Stop Disable ");
    assert_null(result.value);
}

static void an_unknown_metric_is_named(void **state)
{
    struct metric wrong[] = {{.name = "m1"}, {.name = "unknown"}};
    const struct metric_group bad = {.name = "g", .meaning = "m", .metric = wrong, .count = 2};
    struct ridge_error err = {0};
    size_t passes;
    (void)state;
    assert_int_equal(counters_open("GH100", NULL), RIDGE_OK);
    assert_int_equal(counters_validate(&bad, &passes, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "metric unknown is not known to chip GH100"));
    assert_int_equal(fake.hosts, 0);
    assert_int_equal(counters_validate(&group, &passes, &err), RIDGE_OK);
    assert_int_equal(passes, 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(values_come_back_by_name),
        TEST(a_group_is_packed_once),
        TEST(every_denial_has_reason_and_remedy),
        TEST(unknown_chip),
        TEST(an_old_library_is_named),
        TEST(a_failing_launch_leaves_the_profiler_stopped),
        TEST(an_unknown_metric_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
