/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry over a fake NVML: values and units, failures, and the library missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiles/nvml_api.h"
#include "profiles/telemetry.h"

static int init_result, handle_result, read_result, opened;
static unsigned long long reasons;
static char device;

static int fake_init(void)
{
    opened += init_result == 0;
    return init_result;
}

static int fake_shutdown(void)
{
    opened--;
    return 0;
}

static const char *fake_error_string(int result)
{
    return result == 6 ? "Not Found" : "Driver Not Loaded";
}

static int fake_driver(char *version, unsigned bytes)
{
    snprintf(version, bytes, "580.159.04");
    return 0;
}

static int fake_handle(const char *uuid, void **out)
{
    *out = &device;
    return strcmp(uuid, "GPU-1") == 0 ? handle_result : 6;
}

static int fake_power(void *handle, unsigned *milliwatt)
{
    assert_ptr_equal(handle, &device);
    *milliwatt = 512345;
    return read_result;
}

static int fake_limit(void *handle, unsigned *milliwatt)
{
    (void)handle;
    *milliwatt = 700000;
    return 0;
}

static int fake_temperature(void *handle, int sensor, unsigned *celsius)
{
    (void)handle;
    assert_int_equal(sensor, 0);
    *celsius = 61;
    return read_result;
}

static int fake_clock(void *handle, int clock, unsigned *megahertz)
{
    (void)handle;
    assert_int_equal(clock, 1);
    *megahertz = 1755;
    return 0;
}

static int fake_reasons(void *handle, unsigned long long *bits)
{
    (void)handle;
    *bits = reasons;
    return 0;
}

static struct nvml_api fake;

static int setup(void **state)
{
    (void)state;
    fake = (struct nvml_api){.nvmlInit_v2 = fake_init,
                             .nvmlShutdown = fake_shutdown,
                             .nvmlErrorString = fake_error_string,
                             .nvmlSystemGetDriverVersion = fake_driver,
                             .nvmlDeviceGetHandleByUUID = fake_handle,
                             .nvmlDeviceGetPowerUsage = fake_power,
                             .nvmlDeviceGetPowerManagementLimit = fake_limit,
                             .nvmlDeviceGetTemperature = fake_temperature,
                             .nvmlDeviceGetClockInfo = fake_clock,
                             .nvmlDeviceGetCurrentClocksEventReasons = fake_reasons};
    init_result = handle_result = read_result = opened = 0;
    reasons = 0;
    nvml_api_inject(&fake);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    telemetry_close();
    nvml_api_inject(NULL);
    assert_int_equal(opened, 0);
    return 0;
}

static void values_have_base_units(void **state)
{
    struct telemetry got;
    (void)state;
    reasons = 0x4 | 0x1;
    assert_int_equal(telemetry_open("GPU-1", NULL), RIDGE_OK);
    assert_true(telemetry_read(&got));
    assert_true(fabs(got.power_w - 512.345) < 1e-9);
    assert_true(fabs(got.power_limit_w - 700) < 1e-9);
    assert_true(got.temperature_c == 61 && got.sm_hz == 1755e6);
    assert_int_equal(got.throttle, 0x5);
    assert_string_equal(telemetry_driver(), "580.159.04");
}

static void unreadable_values_are_nan(void **state)
{
    struct telemetry got;
    (void)state;
    read_result = 3;
    assert_int_equal(telemetry_open("GPU-1", NULL), RIDGE_OK);
    assert_true(telemetry_read(&got));
    assert_true(isnan(got.power_w) && isnan(got.temperature_c));
    assert_true(got.sm_hz == 1755e6);
}

static void older_name_of_the_reasons(void **state)
{
    struct telemetry got;
    (void)state;
    fake.nvmlDeviceGetCurrentClocksEventReasons = NULL;
    fake.nvmlDeviceGetCurrentClocksThrottleReasons = fake_reasons;
    reasons = 0x40;
    assert_int_equal(telemetry_open("GPU-1", NULL), RIDGE_OK);
    assert_true(telemetry_read(&got));
    assert_int_equal(got.throttle, 0x40);
}

static void failures_say_why(void **state)
{
    struct ridge_error err = {0};
    struct telemetry got;
    (void)state;
    assert_int_equal(telemetry_open("GPU-2", &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "GPU-2"));
    assert_non_null(strstr(err.text, "Not Found"));
    assert_false(telemetry_read(&got));
    assert_true(isnan(got.power_w));
    init_result = 9;
    assert_int_equal(telemetry_open("GPU-1", &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "Driver Not Loaded"));
}

static void library_missing(void **state)
{
    struct ridge_error err = {0};
    struct nvml_api api;
    (void)state;
    assert_int_equal(nvml_api_load("libridge-no-such-nvml.so.1", &api, &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "NVML missing"));
    assert_non_null(strstr(err.text, "libridge-no-such-nvml.so.1"));
}

static void throttle_names(void **state)
{
    const char *name[16];
    (void)state;
    assert_int_equal(telemetry_throttle_names(0x1, name, 16), 0);
    assert_int_equal(telemetry_throttle_names(0x4 | 0x8 | 0x20 | 0x40 | 0x80, name, 16), 5);
    assert_string_equal(name[0], "sw_power_cap");
    assert_string_equal(name[1], "hw_slowdown");
    assert_string_equal(name[2], "sw_thermal_slowdown");
    assert_string_equal(name[3], "hw_thermal_slowdown");
    assert_string_equal(name[4], "hw_power_brake_slowdown");
    assert_int_equal(telemetry_throttle_names(~0ull, name, 2), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_have_base_units, setup, teardown),
        cmocka_unit_test_setup_teardown(unreadable_values_are_nan, setup, teardown),
        cmocka_unit_test_setup_teardown(older_name_of_the_reasons, setup, teardown),
        cmocka_unit_test_setup_teardown(failures_say_why, setup, teardown),
        cmocka_unit_test(library_missing),
        cmocka_unit_test(throttle_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
