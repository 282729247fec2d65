/* SPDX-License-Identifier: Apache-2.0 */
/* Device files: every one that is built in, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/assets.h"
#include "roofline/device_file.h"

static void near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not %.17g within %g", value, expected, relative);
}

static void all_load(void **state)
{
    (void)state;
    static const char *const expected[] = {"a100-sxm", "h100-pcie", "h100-sxm", "h20",
                                           "h200-sxm", "h800-pcie", "h800-sxm"};
    int count = 0;
    for (; device_spec_id(count); count++) {
        struct device_spec spec;
        struct ridge_error err = {""};
        if (device_spec_load(device_spec_id(count), &spec, &err))
            fail_msg("%s", err.text);
        assert_string_equal(spec.id, device_spec_id(count));
        assert_string_equal(spec.id, expected[count]);
    }
    assert_int_equal(count, 7);
}

static void figures(void **state)
{
    (void)state;
    struct device_spec spec;
    struct ridge_error err;
    assert_int_equal(device_spec_load("h200-sxm", &spec, &err), 0);
    assert_int_equal(spec.sms, 132);
    assert_int_equal(spec.cc, 90);
    near(spec.l2_bytes, 60 * 1048576.0, 0);
    near(spec.specified.hbm_read, 4.8e12, 0);
    near(spec.specified.tensor_bf16, 132 * 4096 * 1830e6, 1e-4); /* dense: 4096 FLOP per clock and SM */
    near(spec.specified.tensor_fp8, 132 * 8192 * 1830e6, 1e-4);
    near(spec.specified.fp32, 132 * 256 * 1980e6, 1e-3);
    near(spec.specified.smem, 132 * 128 * 1980e6, 1e-15);
    near(spec.specified.l2, 132 * 37 * 1980e6, 1e-15);
    near(spec.specified.exp, 132 * 16 * 1980e6, 1e-15);
    assert_true(isnan(spec.specified.dsmem) && isnan(spec.specified.launch_s));

    assert_int_equal(device_spec_load("h20", &spec, &err), 0);
    near(spec.specified.tensor_bf16, 78 * 1024 * 1853e6, 1e-3);
    near(spec.specified.fp32, 39.5e12, 0);
    near(spec.specified.cvt_f32_bf16, 78 * 128 * 1980e6, 1e-15);

    assert_int_equal(device_spec_load("a100-sxm", &spec, &err), 0);
    assert_true(isnan(spec.specified.tensor_fp8));
    near(spec.specified.tensor_bf16, 108 * 2048 * 1410e6, 1e-3);
}

static void unknown_device_lists_those_known(void **state)
{
    (void)state;
    struct device_spec spec;
    struct ridge_error err;
    assert_int_equal(device_spec_load("h21", &spec, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "unknown device 'h21'"));
    assert_non_null(strstr(err.text, "h20, h200-sxm"));
    assert_int_equal(device_spec_load("", &spec, &err), RIDGE_INVALID);
    assert_int_equal(device_spec_load("/nonexistent/x.json", &spec, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "/nonexistent/x.json"));
}

static void an_id_alone_names_no_file(void **state)
{
    (void)state;
    struct device_spec spec;
    struct ridge_error err;
    assert_int_equal(device_spec_builtin("h20", &spec, &err), RIDGE_OK);
    assert_int_equal(device_spec_builtin("/etc/passwd", &spec, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "unknown device '/etc/passwd'"));
    assert_int_equal(device_spec_builtin("../devices/h20", &spec, &err), RIDGE_INVALID);
}

/* h20.json with the first `from` replaced by `to`. */
static char *edited(const char *from, const char *to)
{
    const char *text = asset_find("roofline/devices/h20.json")->text, *at = strstr(text, from);
    assert_non_null(at);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    assert_non_null(out);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static void refused(const char *from, const char *to, const char *key, const char *what)
{
    struct device_spec spec;
    struct ridge_error err = {""};
    char *text = edited(from, to);
    assert_int_equal(device_spec_parse(text, "mine.json", &spec, &err), RIDGE_INVALID);
    free(text);
    if (!strstr(err.text, "mine.json") || !strstr(err.text, key) || !strstr(err.text, what))
        fail_msg("'%s' does not name file, '%s' and '%s'", err.text, key, what);
}

static void faults_name_file_and_key(void **state)
{
    (void)state;
    refused("\"hbm_bytes_per_s\"", "\"hbm\"", "hbm_bytes_per_s", "missing");
    refused("\"value\": 148e12", "\"value\": -148e12", "tensor_bf16_flop_per_s", "not positive");
    refused("\"value\": 148e12", "\"value\": 0", "tensor_bf16_flop_per_s", "not positive");
    refused("\"value\": 148e12", "\"value\": \"148e12\"", "tensor_bf16_flop_per_s", "not a number");
    refused("\"value\": 148e12", "\"value\": null", "tensor_bf16_flop_per_s", "null without a reason");
    refused("\"value\": 78,", "\"value\": null, \"reason\": \"secret\",", "sms", "null");
    refused("\"value\": 78,", "\"value\": 78.5,", "sms", "not a number of SMs");
    refused("\"source\": [\"TH\", \"ZZ\"]", "\"source\": [\"QQ\"]", "tensor_bf16_flop_per_s", "source");
    refused("\"source\": [\"TH\", \"ZZ\"]", "\"source\": []", "tensor_bf16_flop_per_s", "source");
    refused("\"confidence\": \"V\"", "\"confidence\": \"X\"", "tensor_hz", "confidence");
    refused("\"at\": \"max_sm_hz\"", "\"at\": \"boost\"", "l2_bytes_per_clk_sm", "clock");
    refused("\"launch_s\"", "\"launch\"", "launch_s", "missing");
    refused("\"id\": \"h20\"", "\"id\": \"../h20\"", "id", "lower case");
    refused("\"figures\"", "\"figure\"", "sms", "missing");
}

static void bad_json(void **state)
{
    (void)state;
    struct device_spec spec;
    struct ridge_error err;
    assert_int_equal(device_spec_parse("{\n  \"id\": \"x\",\n  oops", "mine.json", &spec, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "mine.json:3"));
    assert_int_equal(device_spec_parse("[]", "mine.json", &spec, &err), RIDGE_INVALID);
    assert_int_equal(device_spec_parse("{\"id\": \"x\", \"id\": \"y\"}", "mine.json", &spec, &err), RIDGE_INVALID);
}

static void own_file(void **state)
{
    (void)state;
    char path[] = "/tmp/ridge_device_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    char *text = edited("\"id\": \"h20\"", "\"id\": \"h20-mine\"");
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    free(text);
    struct device_spec spec;
    struct ridge_error err = {""};
    int status = device_spec_load(path, &spec, &err);
    unlink(path);
    assert_int_equal(status, 0);
    assert_string_equal(spec.id, "h20-mine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_load),
        cmocka_unit_test(figures),
        cmocka_unit_test(unknown_device_lists_those_known),
        cmocka_unit_test(an_id_alone_names_no_file),
        cmocka_unit_test(faults_name_file_and_key),
        cmocka_unit_test(bad_json),
        cmocka_unit_test(own_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
