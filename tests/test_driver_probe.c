/* SPDX-License-Identifier: Apache-2.0 */
/* Each way a machine can lack a usable GPU, injected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "bench/driver_probe.h"

static int driver, runtime, count_error, count;

static int driver_version(int *version)
{
    *version = driver;
    return 0;
}
static int runtime_version(int *version)
{
    *version = runtime;
    return 0;
}
static int device_count(int *devices)
{
    *devices = count;
    return count_error;
}
static const char *error_string(int error)
{
    return error == 100 ? "no CUDA-capable device is detected" : "unknown error";
}

static int probe(int driver_is, int runtime_is, int error, int devices, struct ridge_error *err)
{
    static const struct driver_calls calls = {driver_version, runtime_version, device_count, error_string};
    driver = driver_is;
    runtime = runtime_is;
    count_error = error;
    count = devices;
    err->text[0] = 0;
    return driver_probe(&calls, err);
}

static void test_usable(void **state)
{
    (void)state;
    struct ridge_error err;
    assert_int_equal(probe(13000, 13000, 0, 1, &err), RIDGE_OK);
    assert_int_equal(probe(13010, 13000, 0, 8, &err), RIDGE_OK);
    assert_int_equal(probe(13000, 13020, 0, 1, &err), RIDGE_OK); /* minor versions are compatible */
}

static void test_no_driver(void **state)
{
    (void)state;
    struct ridge_error err;
    assert_int_equal(probe(0, 13000, 35, 0, &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "libcuda.so.1"));
}

static void test_driver_too_old(void **state)
{
    (void)state;
    struct ridge_error err;
    assert_int_equal(probe(12040, 13000, 35, 0, &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "too old"));
    assert_non_null(strstr(err.text, "12.4"));
    assert_non_null(strstr(err.text, "13.x"));
}

static void test_no_device(void **state)
{
    (void)state;
    struct ridge_error err;
    assert_int_equal(probe(13000, 13000, 100, 0, &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "no CUDA-capable device"));
    assert_int_equal(probe(13000, 13000, 0, 0, &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "CUDA_VISIBLE_DEVICES"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usable),
        cmocka_unit_test(test_no_driver),
        cmocka_unit_test(test_driver_too_old),
        cmocka_unit_test(test_no_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
