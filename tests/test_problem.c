/* SPDX-License-Identifier: Apache-2.0 */
/* The checker must find every kind of wrong variant: values, NaN, unwritten elements, writes outside, moving bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "bench/problem.h"

/* y = 2 x, in place of a kernel. */
static double count_of(const int64_t *dim)
{
    return (double)dim[0];
}

static void doubled(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    for (int64_t i = 0; i < dim[0]; i++) {
        ref[0][i] = 2.0 * ((const float *)buffer[0])[i];
        mag[0][i] = fabs(ref[0][i]);
    }
}

static void no_work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_hbm_read = work->bytes_hbm_write = 4.0 * (double)dim[0];
}

static const struct ridge_family family = {
    .problem = "y = 2 x",
    .axes = 1,
    .axis = {{"n", 1, INT64_C(1) << 60, 1, "elements"}},
    .buffers = 2,
    .buffer = {{"x", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_of},
               {"y", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 1, count_of}},
    .tolerance = {1e-6, 0, "test"},
    .reference = doubled,
    .work = no_work,
};

static enum { RIGHT, SLIGHTLY_WRONG, NOT_A_NUMBER, UNWRITTEN, BEFORE, BEHIND, ON_INPUT, MOVING } fault;

static int launch(const struct ridge_call *call)
{
    static int launches;
    const float *x = call->buffer[0];
    float *y = call->buffer[1];
    int64_t n = call->dim[0];
    launches++;
    for (int64_t i = 0; i < n; i++)
        if (fault != UNWRITTEN || i != n / 2)
            y[i] = 2 * x[i];
    if (fault == SLIGHTLY_WRONG)
        y[n - 1] *= 1.00001f;
    if (fault == NOT_A_NUMBER)
        y[0] = NAN;
    if (fault == BEFORE)
        y[-1] = 0;
    if (fault == BEHIND)
        y[n] = 0;
    if (fault == ON_INPUT)
        ((float *)call->buffer[0])[n - 1] = 1000; /* after its use: the output is right */
    if (fault == MOVING && launches % 2)
        y[0] = nextafterf(y[0], 0);
    return 0;
}

static struct check_result check(int fault_is, bool may_differ)
{
    const struct ridge_variant variant = {.idea = "test", .kind = RIDGE_HOST, .launch = launch, .may_differ = may_differ};
    const struct ridge_entry entry = {"double", "h01_test", "", &family, &variant, NULL};
    const struct ridge_device device = {.kind = RIDGE_HOST, .sms = 1};
    const struct modes modes = MODES_DEFAULT;
    struct problem problem;
    struct ridge_error err;
    struct check_result result;
    const int64_t dim[RIDGE_MAX_AXES] = {1000};
    fault = fault_is;
    assert_int_equal(problem_open(&problem, &device_host, &device, &family, dim, FILL_RANDOM, 0, 7, &err), RIDGE_OK);
    assert_int_equal(problem_reference(&problem, NULL, &err), RIDGE_OK);
    struct ridge_call call = {.dim = problem.dim, .buffer = problem.buffer, .device = &device};
    struct device_task task = {&entry, &call, problem.bytes, &modes};
    assert_int_equal(problem_check(&problem, &task, &result, &err), RIDGE_OK);
    problem_close(&problem);
    return result;
}

static void test_right(void **state)
{
    (void)state;
    struct check_result result = check(RIGHT, false);
    assert_true(result.ok);
    assert_true(result.max_error <= 1);
    assert_true(result.repeatable);
    assert_string_equal(result.against, "c-reference");
    assert_true(result.rmse[1] == 0 && fabs(result.ref_rms[1] - 2) < 0.2); /* y = 2 x of standard deviation 1 */
    assert_int_equal(result.tiles, 1);
}

static void test_wrong_values(void **state)
{
    (void)state;
    struct check_result result = check(SLIGHTLY_WRONG, false);
    assert_false(result.ok);
    assert_true(result.max_error > 9 && result.max_error < 11);
    assert_non_null(strstr(result.text, "y[999]"));
    assert_false(check(NOT_A_NUMBER, false).ok);
    assert_false(check(UNWRITTEN, false).ok);
    assert_non_null(strstr(check(UNWRITTEN, false).text, "y[500]"));
}

static void test_guards(void **state)
{
    (void)state;
    struct check_result before = check(BEFORE, false), behind = check(BEHIND, false);
    assert_false(before.ok);
    assert_non_null(strstr(before.text, "outside buffer y: 4 bytes before"));
    assert_false(behind.ok);
    assert_non_null(strstr(behind.text, "4 after"));
}

static void test_inputs_are_kept(void **state)
{
    (void)state;
    assert_string_equal(check(ON_INPUT, false).text, "wrote into its inputs");
}

/* A variant's writes outside its outputs must not be found again under the next one's name. */
static void test_damage_does_not_last(void **state)
{
    (void)state;
    const struct ridge_variant variant = {.idea = "test", .kind = RIDGE_HOST, .launch = launch};
    const struct ridge_entry entry = {"double", "h01_test", "", &family, &variant, NULL};
    const struct ridge_device device = {.kind = RIDGE_HOST, .sms = 1};
    const struct modes modes = MODES_DEFAULT;
    struct problem problem;
    struct ridge_error err;
    struct check_result result;
    const int64_t dim[RIDGE_MAX_AXES] = {1000};
    assert_int_equal(problem_open(&problem, &device_host, &device, &family, dim, FILL_RANDOM, 0, 7, &err), RIDGE_OK);
    assert_int_equal(problem_reference(&problem, NULL, &err), RIDGE_OK);
    struct ridge_call call = {.dim = problem.dim, .buffer = problem.buffer, .device = &device};
    struct device_task task = {&entry, &call, problem.bytes, &modes};
    for (int i = BEFORE; i <= ON_INPUT; i++)
        for (int again = 0; again < 2; again++) {
            fault = again ? RIGHT : i;
            assert_int_equal(problem_place(&problem, &variant, &err), RIDGE_OK);
            assert_int_equal(problem_check(&problem, &task, &result, &err), RIDGE_OK);
            assert_int_equal(result.ok, again);
        }
    problem_close(&problem);
}

static void test_impossible_counts(void **state)
{
    (void)state;
    struct problem problem;
    struct ridge_error err;
    struct ridge_family none = family;
    const struct ridge_device device = {.kind = RIDGE_HOST, .sms = 1};
    const int64_t zero[RIDGE_MAX_AXES] = {0}, negative[RIDGE_MAX_AXES] = {-4};
    none.axis[0].min = INT64_MIN;
    assert_int_equal(problem_open(&problem, &device_host, &device, &none, zero, FILL_RANDOM, 0, 1, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "buffer x would have 0 elements"));
    assert_int_equal(problem_open(&problem, &device_host, &device, &none, negative, FILL_RANDOM, 0, 1, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "buffer x would have -4 elements"));
}

static void test_moving_bits(void **state)
{
    (void)state;
    assert_false(check(MOVING, false).ok);
    assert_non_null(strstr(check(MOVING, false).text, "different bits"));
    struct check_result allowed = check(MOVING, true);
    assert_true(allowed.ok);
    assert_false(allowed.repeatable);
}

static void test_too_large(void **state)
{
    (void)state;
    struct problem problem;
    struct ridge_error err;
    const struct ridge_device device = {.kind = RIDGE_HOST, .sms = 1};
    const int64_t dim[RIDGE_MAX_AXES] = {INT64_C(1) << 50};
    assert_int_equal(problem_open(&problem, &device_host, &device, &family, dim, FILL_RANDOM, 0, 1, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "18014398509481984 bytes")); /* (2 buffers + ref + mag) * 4 * 2^50 */
}

static void test_fill_is_deterministic_and_modes_apply(void **state)
{
    (void)state;
    struct ridge_error err;
    float a[64], b[64];
    const struct ridge_buffer *spec = &family.buffer[0];
    device_host.fill(a, spec, 64, FILL_RANDOM, 3, &err);
    device_host.fill(b, spec, 32, FILL_RANDOM, 3, &err);
    assert_memory_equal(a, b, 32 * sizeof *a);
    device_host.fill(b, spec, 64, FILL_RANDOM, 4, &err);
    assert_memory_not_equal(a, b, sizeof a);
    device_host.fill(b, spec, 64, FILL_ONES, 3, &err);
    assert_true(b[0] == 1 && b[63] == 1);
    device_host.fill(b, spec, 64, FILL_ZEROS, 3, &err);
    assert_true(b[0] == 0 && b[63] == 0);
}

/* One element in a thousand from N(0, 101): the mean square is 1.1, and the others are what they were. */
static void test_outliers_are_few_and_large(void **state)
{
    (void)state;
    enum { COUNT = 1 << 18 };
    struct ridge_error err;
    static float plain[COUNT], outliers[COUNT];
    const struct ridge_buffer *spec = &family.buffer[0];
    double square = 0;
    int moved = 0;
    device_host.fill(plain, spec, COUNT, FILL_RANDOM, 3, &err);
    device_host.fill(outliers, spec, COUNT, FILL_OUTLIERS, 3, &err);
    for (int i = 0; i < COUNT; i++) {
        square += (double)outliers[i] * outliers[i] / COUNT;
        moved += outliers[i] != plain[i];
    }
    assert_true(moved > 180 && moved < 350);
    assert_true(square > 1.05 && square < 1.15);
}

/* Fills and uploads of the device, and what the family's fill was given. */
static int fills, uploads;
static bool normal_given, output_given;

static int counted_fill(void *dst, const struct ridge_buffer *spec, int64_t count, enum fill_mode mode, uint64_t seed,
                        struct ridge_error *err)
{
    fills++;
    return device_host.fill(dst, spec, count, mode, seed, err);
}

static int counted_upload(void *dst, const void *src, size_t bytes, struct ridge_error *err)
{
    uploads++;
    return device_host.upload(dst, src, bytes, err);
}

static void fill_index(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    (void)seed;
    normal_given = buffer[0] != NULL;
    output_given = buffer[2] != NULL;
    for (int64_t i = 0; i < dim[0]; i++)
        ((int32_t *)buffer[1])[i] = (int32_t)(dim[0] - i);
    if (hard)
        ((float *)buffer[0])[0] *= 1000;
}

/* Only what the family fills passes through the host, unless a hard case may rewrite the rest. */
static void test_custom_buffers_alone_are_uploaded(void **state)
{
    (void)state;
    static const char *const cases[] = {"outlier", NULL};
    struct ridge_family indexed = family;
    struct device_ops counted = device_host;
    const struct ridge_device device = {.kind = RIDGE_HOST, .sms = 1};
    const int64_t dim[RIDGE_MAX_AXES] = {100};
    struct problem random, hard;
    struct ridge_error err;
    indexed.buffers = 3;
    indexed.buffer[2] = indexed.buffer[1];
    indexed.buffer[1] = (struct ridge_buffer){"index", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_of};
    indexed.fill = fill_index;
    indexed.cases = cases;
    counted.fill = counted_fill;
    counted.upload = counted_upload;
    fills = uploads = 0;
    assert_int_equal(problem_open(&random, &counted, &device, &indexed, dim, FILL_RANDOM, 0, 7, &err), RIDGE_OK);
    assert_int_equal(fills * 10 + uploads, 11);
    assert_false(normal_given || output_given);
    assert_int_equal(problem_reference(&random, NULL, &err), RIDGE_OK);
    assert_true(normal_given && output_given); /* the C reference needs all of them on the host */
    for (int i = 0; i < 100; i++) {
        assert_int_equal(((int32_t *)random.buffer[1])[i], 100 - i);
        assert_true(random.ref[0][i] == 2 * ((float *)random.buffer[0])[i]); /* the same inputs both ways */
    }
    fills = uploads = 0;
    assert_int_equal(problem_open(&hard, &counted, &device, &indexed, dim, FILL_RANDOM, 1, 7, &err), RIDGE_OK);
    assert_int_equal(fills * 10 + uploads, 2);
    assert_true(((float *)hard.buffer[0])[0] == 1000 * ((float *)random.buffer[0])[0]);
    assert_memory_equal((float *)hard.buffer[0] + 1, (float *)random.buffer[0] + 1, 99 * sizeof(float));
    problem_close(&random);
    problem_close(&hard);
}

static void test_fill_is_normal(void **state)
{
    (void)state;
    enum { N = 1 << 16 };
    static float x[N];
    struct ridge_error err;
    double sum = 0, squares = 0;
    device_host.fill(x, &family.buffer[0], N, FILL_RANDOM, 1, &err);
    for (int i = 0; i < N; i++) {
        sum += x[i];
        squares += (double)x[i] * x[i];
    }
    assert_true(fabs(sum / N) < 0.016);       /* four standard errors */
    assert_true(fabs(squares / N - 1) < 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),          cmocka_unit_test(test_wrong_values),
        cmocka_unit_test(test_guards),         cmocka_unit_test(test_moving_bits),
        cmocka_unit_test(test_inputs_are_kept), cmocka_unit_test(test_damage_does_not_last),
        cmocka_unit_test(test_impossible_counts),
        cmocka_unit_test(test_too_large),      cmocka_unit_test(test_fill_is_deterministic_and_modes_apply),
        cmocka_unit_test(test_outliers_are_few_and_large),
        cmocka_unit_test(test_fill_is_normal), cmocka_unit_test(test_custom_buffers_alone_are_uploaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
