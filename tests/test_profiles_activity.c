/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregation of activity records delivered by a fake CUPTI, and its failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "profiles/activity.h"

#ifndef RIDGE_WITH_CUDA
int main(void)
{
    struct ridge_error err = {0};
    if (activity_start(&err) != RIDGE_ENVIRONMENT || !strstr(err.text, "built without the CUDA toolkit"))
        return 1;
    puts("skip: built without the CUDA toolkit");
    return 77;
}
#else
#include <cupti.h>
#include <stdlib.h>

#include "profiles/cupti_api.h"

enum { MAX_RECORDS = 64 };

union record {
    CUpti_Activity any;
    CUpti_ActivityKernel10 kernel;
    CUpti_ActivityExternalCorrelation external;
    CUpti_ActivityAPI call;
};

/* Records wait here until a flush; `late` ones until a forced flush. */
static struct {
    union record record[MAX_RECORDS];
    bool late[MAX_RECORDS];
    int count, next;
    uint64_t pushed[8];
    int depth, enabled, forced_flushes;
    size_t dropped;
    int fail_kind, fail_result;
    cupti_buffer_requested requested;
    cupti_buffer_completed completed;
} fake;

static int fake_string(int result, const char **text)
{
    *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_X";
    return 0;
}

static int fake_register(cupti_buffer_requested requested, cupti_buffer_completed completed)
{
    fake.requested = requested;
    fake.completed = completed;
    return 0;
}

static int fake_enable(int kind)
{
    if (kind == fake.fail_kind)
        return fake.fail_result;
    fake.enabled++;
    return 0;
}

static int fake_disable(int kind)
{
    (void)kind;
    fake.enabled--;
    return 0;
}

static int fake_next(uint8_t *buffer, size_t valid_bytes, void **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + sizeof(union record) : buffer;
    if (next >= buffer + valid_bytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = next;
    return 0;
}

static int fake_dropped(void *ctx, uint32_t stream, size_t *dropped)
{
    (void)ctx, (void)stream;
    *dropped = fake.dropped;
    fake.dropped = 0;
    return 0;
}

/* One buffer per record, so that a kernel and its id never share one. */
static int fake_flush(uint32_t forced)
{
    fake.forced_flushes += forced != 0;
    for (int i = 0; i < fake.count; i++) {
        uint8_t *buffer = NULL;
        size_t bytes = 0, records = 0;
        if (fake.late[i] && !forced)
            continue;
        if (fake.record[i].any.kind == CUPTI_ACTIVITY_KIND_INVALID)
            continue;
        fake.requested(&buffer, &bytes, &records);
        assert_non_null(buffer);
        assert_int_equal(bytes, 8 << 20);
        memcpy(buffer, &fake.record[i], sizeof fake.record[i]);
        fake.record[i].any.kind = CUPTI_ACTIVITY_KIND_INVALID;
        fake.completed(NULL, 0, buffer, bytes, sizeof fake.record[i]);
    }
    return 0;
}

static int fake_push(int kind, uint64_t id)
{
    assert_int_equal(kind, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
    fake.pushed[fake.depth++] = id;
    return 0;
}

static int fake_pop(int kind, uint64_t *last)
{
    (void)kind;
    *last = fake.pushed[--fake.depth];
    return 0;
}

static union record *add(CUpti_ActivityKind kind)
{
    assert_true(fake.count < MAX_RECORDS);
    union record *record = &fake.record[fake.count++];
    record->any.kind = kind;
    return record;
}

static void kernel(uint32_t correlation, uint64_t start_ns, uint64_t end_ns)
{
    CUpti_ActivityKernel10 *kernel = &add(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)->kernel;
    kernel->correlationId = correlation;
    kernel->start = start_ns;
    kernel->end = end_ns;
}

/* A call whose `kernels` kernels all carry its correlation, as the nodes of a graph launch do. */
static void launch(uint32_t correlation, uint64_t start_ns, uint64_t each_ns, int kernels)
{
    for (int i = 0; i < kernels; i++)
        kernel(correlation, start_ns + (uint64_t)i * each_ns, start_ns + (uint64_t)(i + 1) * each_ns);
    for (int i = 0; i < fake.depth; i++) {
        CUpti_ActivityExternalCorrelation *external = &add(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)->external;
        external->externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
        external->externalId = fake.pushed[i];
        external->correlationId = correlation;
    }
    add(CUPTI_ACTIVITY_KIND_RUNTIME)->call.correlationId = correlation;
}

static const struct cupti_api api = {
    .cuptiGetResultString = fake_string,
    .cuptiActivityRegisterCallbacks = fake_register,
    .cuptiActivityEnable = fake_enable,
    .cuptiActivityDisable = fake_disable,
    .cuptiActivityFlushAll = fake_flush,
    .cuptiActivityGetNextRecord = fake_next,
    .cuptiActivityGetNumDroppedRecords = fake_dropped,
    .cuptiActivityPushExternalCorrelationId = fake_push,
    .cuptiActivityPopExternalCorrelationId = fake_pop,
};

static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    cupti_api_inject(&api);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    activity_stop();
    cupti_api_inject(NULL);
    assert_int_equal(fake.enabled, 0);
    return 0;
}

static void spans_reach_from_first_to_last_kernel(void **state)
{
    struct activity_span span[4];
    size_t count;
    (void)state;
    assert_int_equal(activity_start(NULL), RIDGE_OK);
    kernel(1, 10, 20); /* outside every span */
    activity_push(9);
    launch(4, 1000, 5, 1);
    launch(3, 900, 7, 1);
    activity_pop();
    activity_push(2);
    launch(7, 5000, 10, 3);
    activity_pop();
    kernel(8, 9000, 9999);
    assert_int_equal(activity_collect(span, 4, &count, NULL), RIDGE_OK);
    assert_int_equal(count, 2);
    assert_int_equal(span[0].id, 2);
    assert_int_equal(span[0].kernels, 3);
    assert_int_equal(span[0].start_ns, 5000);
    assert_int_equal(span[0].end_ns, 5030);
    assert_int_equal(span[1].id, 9);
    assert_int_equal(span[1].kernels, 2);
    assert_int_equal(span[1].start_ns, 900);
    assert_int_equal(span[1].end_ns, 1005);
    assert_int_equal(fake.forced_flushes, 0);
    assert_int_equal(activity_collect(span, 4, &count, NULL), RIDGE_OK);
    assert_int_equal(count, 0);
}

static void late_records_are_forced_out(void **state)
{
    struct activity_span span[1];
    size_t count;
    (void)state;
    assert_int_equal(activity_start(NULL), RIDGE_OK);
    activity_push(5);
    launch(11, 100, 8, 1);
    fake.late[0] = true;
    activity_pop();
    assert_int_equal(activity_collect(span, 1, &count, NULL), RIDGE_OK);
    assert_int_equal(fake.forced_flushes, 1);
    assert_int_equal(span[0].kernels, 1);
    assert_int_equal(span[0].end_ns, 108);
}

static void a_span_without_kernels_is_there(void **state)
{
    struct activity_span span[2];
    size_t count;
    (void)state;
    assert_int_equal(activity_start(NULL), RIDGE_OK);
    activity_push(5);
    launch(1, 0, 0, 0); /* a call that launches nothing */
    kernel(1, 0, 0);    /* and a kernel whose times CUPTI could not take */
    activity_pop();
    assert_int_equal(activity_collect(span, 2, &count, NULL), RIDGE_OK);
    assert_int_equal(count, 1);
    assert_int_equal(span[0].id, 5);
    assert_int_equal(span[0].kernels, 0);
    assert_int_equal(span[0].start_ns, 0);
    assert_int_equal(span[0].end_ns, 0);
}

static void capacity_is_kept(void **state)
{
    struct activity_span span[2] = {{.id = 77}, {.id = 77}};
    size_t count;
    (void)state;
    assert_int_equal(activity_start(NULL), RIDGE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        activity_push(i);
        launch(i + 1, 10 * i + 1, 4, 1);
        activity_pop();
    }
    assert_int_equal(activity_collect(span, 1, &count, NULL), RIDGE_OK);
    assert_int_equal(count, 3);
    assert_int_equal(span[0].id, 0);
    assert_int_equal(span[1].id, 77);
}

static void dropped_records_are_an_error(void **state)
{
    struct activity_span span[1];
    struct ridge_error err = {0};
    size_t count;
    (void)state;
    assert_int_equal(activity_start(NULL), RIDGE_OK);
    activity_push(1);
    launch(1, 1, 1, 1);
    activity_pop();
    fake.dropped = 12;
    assert_int_equal(activity_collect(span, 1, &count, &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "dropped 12"));
    assert_int_equal(count, 0);
}

static void a_refused_kind_leaves_nothing_enabled(void **state)
{
    struct activity_span span[1];
    struct ridge_error err = {0};
    size_t count;
    (void)state;
    fake.fail_kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    fake.fail_result = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    assert_int_equal(activity_start(&err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"));
    assert_int_equal(fake.enabled, 0);
    activity_push(1);
    activity_pop();
    assert_int_equal(activity_collect(span, 1, &count, &err), RIDGE_ENVIRONMENT);
}

static void it_can_start_again(void **state)
{
    struct activity_span span[1];
    size_t count;
    (void)state;
    for (uint32_t round = 1; round <= 3; round++) {
        assert_int_equal(activity_start(NULL), RIDGE_OK);
        activity_push(round);
        launch(round, 100 * round, 9, 1);
        activity_pop();
        assert_int_equal(activity_collect(span, 1, &count, NULL), RIDGE_OK);
        assert_int_equal(count, 1);
        assert_int_equal(span[0].id, round);
        assert_int_equal(span[0].end_ns - span[0].start_ns, 9);
        activity_stop();
        assert_int_equal(fake.enabled, 0);
    }
}

static void library_missing(void **state)
{
    struct cupti_api none;
    struct ridge_error err = {0};
    (void)state;
    assert_int_equal(cupti_api_load("/nowhere/libcupti.so", &none, &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "CUPTI library missing"));
    assert_non_null(strstr(err.text, "/nowhere/libcupti.so"));
    setenv("RIDGE_CUPTI", "/nowhere/else.so", 1);
    assert_int_equal(activity_start(&err), RIDGE_ENVIRONMENT);
    unsetenv("RIDGE_CUPTI");
    assert_non_null(strstr(err.text, "/nowhere/else.so"));
    assert_int_equal(cupti_api_load("libm.so.6", &none, &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "not CUPTI"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(spans_reach_from_first_to_last_kernel),
        TEST(late_records_are_forced_out),
        TEST(a_span_without_kernels_is_there),
        TEST(capacity_is_kept),
        TEST(dropped_records_are_an_error),
        TEST(a_refused_kind_leaves_nothing_enabled),
        TEST(it_can_start_again),
        cmocka_unit_test(library_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
