/* SPDX-License-Identifier: Apache-2.0 */
/* Metric group files: the built-in ones, and what is wrong with others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiles/counters.h"

static const char *const builtin[] = {"roofline", "memory", "tensor", "stalls", "instructions"};

static void builtin_groups_load(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++) {
        struct metric_group group;
        struct ridge_error err = {0};
        assert_int_equal(metric_group_load(builtin[i], &group, &err), RIDGE_OK);
        assert_string_equal(group.name, builtin[i]);
        assert_true(group.count >= 10 && strlen(group.meaning) > 20);
        for (size_t m = 0; m < group.count; m++) {
            assert_non_null(strstr(group.metric[m].name, "__"));
            assert_true(strlen(group.metric[m].unit) > 0 && strlen(group.metric[m].meaning) > 10);
        }
        metric_group_free(&group);
        assert_null(group.metric);
    }
}

static void roofline_has_what_the_model_reads(void **state)
{
    static const char *const wanted[] = {"dram__bytes_read.sum",
                                         "dram__bytes_write.sum",
                                         "lts__t_bytes.sum",
                                         "smsp__inst_executed.sum",
                                         "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum",
                                         "sm__ops_path_tensor_src_fp8_sparsity_off.sum",
                                         "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
                                         "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"};
    struct metric_group group;
    (void)state;
    assert_int_equal(metric_group_load("roofline", &group, NULL), RIDGE_OK);
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
        size_t at = 0;
        while (at < group.count && strcmp(group.metric[at].name, wanted[w]) != 0)
            at++;
        if (at == group.count)
            fail_msg("roofline lacks %s", wanted[w]);
    }
    metric_group_free(&group);
}

static void unknown_group_names_those_there_are(void **state)
{
    struct metric_group group;
    struct ridge_error err = {0};
    (void)state;
    assert_int_equal(metric_group_load("rooflin", &group, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "\"rooflin\""));
    for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)
        assert_non_null(strstr(err.text, builtin[i]));
    assert_int_equal(metric_group_load("/nowhere/g.json", &group, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "/nowhere/g.json"));
}

/* Loads a file with this text; it must be refused with all parts of `wanted` (separated by '|') in the message. */
static void refuse(const char *text, const char *wanted)
{
    char path[] = "/tmp/ridge_group_XXXXXX.json", parts[256];
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    struct metric_group group;
    struct ridge_error err = {0};
    int status = metric_group_load(path, &group, &err);
    unlink(path);
    if (status != RIDGE_INVALID)
        fail_msg("accepted: %s", text);
    assert_null(group.metric);
    assert_non_null(strstr(err.text, path));
    snprintf(parts, sizeof parts, "%s", wanted);
    for (char *save, *part = strtok_r(parts, "|", &save); part; part = strtok_r(NULL, "|", &save))
        if (!strstr(err.text, part))
            fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
#define METRIC "{\"name\": \"a__b.sum\", \"unit\": \"byte\", \"meaning\": \"x\"}"
    refuse("{\"name\": \"g\", \n\"meaning\" \"m\"}", ":2:");
    refuse("[]", "not a JSON object");
    refuse("", ":1:");
    refuse("{\"name\": \"g\", \"meaning\": \"m\", \"metrics\": [" METRIC "], \"passes\": 3}", "unknown key \"passes\"");
    refuse("{\"meaning\": \"m\", \"metrics\": [" METRIC "]}", "no \"name\"");
    refuse("{\"name\": 7, \"meaning\": \"m\", \"metrics\": [" METRIC "]}", "\"name\" must be a string");
    refuse("{\"name\": \"\", \"meaning\": \"m\", \"metrics\": [" METRIC "]}", "\"name\" must be a string");
    refuse("{\"name\": \"g\", \"meaning\": \"m\"}", "no \"metrics\"");
    refuse("{\"name\": \"g\", \"meaning\": \"m\", \"metrics\": []}", "at least one");
    refuse("{\"name\": \"g\", \"meaning\": \"m\", \"metrics\": \"a__b.sum\"}", "array");
    refuse("{\"name\": \"g\", \"meaning\": \"m\", \"metrics\": [\"a__b.sum\"]}", "metrics[0]|not an object");
    refuse("{\"name\": \"g\", \"meaning\": \"m\", \"metrics\": [" METRIC ", {\"unit\": \"byte\", \"meaning\": \"x\"}]}",
           "metrics[1]|no \"name\"");
    refuse("{\"name\": \"g\", \"meaning\": \"m\", \"metrics\": [{\"name\": \"a__b.sum\", \"unit\": \"byte\", "
           "\"meaning\": \"x\", \"scale\": 2}]}",
           "metrics[0]|unknown key \"scale\"");
    refuse("{\"name\": \"g\", \"meaning\": \"m\", \"metrics\": [" METRIC ", " METRIC "]}", "a__b.sum is there twice");
    refuse("{\"name\": \"g\", \"name\": \"h\", \"meaning\": \"m\", \"metrics\": [" METRIC "]}", "name");
#undef METRIC
}

static void a_file_is_read(void **state)
{
    char path[] = "/tmp/ridge_group_XXXXXX.json";
    static const char text[] = "{\"name\": \"mine\", \"meaning\": \"m\", \"metrics\": [{\"name\": \"a__b.sum\", "
                               "\"unit\": \"byte\", \"meaning\": \"x\"}]}";
    int fd = mkstemps(path, 5);
    struct metric_group group;
    (void)state;
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    assert_int_equal(metric_group_load(path, &group, NULL), RIDGE_OK);
    unlink(path);
    assert_string_equal(group.name, "mine");
    assert_int_equal(group.count, 1);
    assert_string_equal(group.metric[0].name, "a__b.sum");
    assert_string_equal(group.metric[0].unit, "byte");
    metric_group_free(&group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builtin_groups_load),
        cmocka_unit_test(roofline_has_what_the_model_reads),
        cmocka_unit_test(unknown_group_names_those_there_are),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(a_file_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
