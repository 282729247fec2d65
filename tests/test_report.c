/* SPDX-License-Identifier: Apache-2.0 */
/* Golden report of hand-made records: a skip, a failure, a time below the quantum, a point above its roof, a
 * contradicted mode, absent counters, nulls, unknown keys, a partial last line, a host beside a GPU.
 * RIDGE_GOLDEN_UPDATE=1 rewrites the expected files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reports/bound_chart.h"
#include "reports/model.h"
#include "reports/tables.h"

static struct record_list list;
static struct report report;

static int setup(void **state)
{
    (void)state;
    const char *source = getenv("RIDGE_SOURCE"), *path = "fixtures/report_ladder.jsonl";
    char folder[4096];
    struct ridge_error err = {""};
    snprintf(folder, sizeof folder, "%s/tests", source ? source : ".");
    if (chdir(folder) != 0)
        return -1;
    if (record_list_read(&list, &path, 1, &err) || report_build(&report, &list, NULL, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    report_free(&report);
    record_list_free(&list);
    return 0;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    if (!file)
        return NULL;
    if (getdelim(&text, &room, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

static void expect_text(const char *text, const char *golden)
{
    if (getenv("RIDGE_GOLDEN_UPDATE")) {
        FILE *file = fopen(golden, "w");
        assert_non_null(file);
        fputs(text, file);
        fclose(file);
    }
    char *expected = read_text(golden);
    assert_non_null(expected);
    assert_string_equal(text, expected);
    free(expected);
}

static void test_console(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(report_print(&report, out, NULL), RIDGE_OK);
    fclose(out);
    expect_text(text, "fixtures/report_ladder.txt");
    free(text);
}

static void touch(const char *dir, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static void test_markdown(void **state)
{
    (void)state;
    static const char *const images[] = {"roofline_host_hbm.svg",      "roofline_host_hbm.png",
                                         "roofline_h20_placed_l2.svg", "roofline_fixtures-report_device-json_hbm.png",
                                         "bound_gemm_f32.png",         "bound_gemm_f32_host.svg"};
    char dir[] = "/tmp/ridge_report_XXXXXX", path[128];
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        touch(dir, images[i]);
    assert_int_equal(report_markdown(&report, dir, NULL), RIDGE_OK);
    snprintf(path, sizeof path, "%s/report.md", dir);
    char *text = read_text(path);
    assert_non_null(text);
    expect_text(text, "fixtures/report_ladder.md");
    free(text);
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, images[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/report.md", dir);
    unlink(path);
    rmdir(dir);
}

static const struct report_row *find(const char *family, const char *label, const char *shape)
{
    for (size_t i = 0; i < report.rows; i++)
        if (strcmp(report.row[i].family, family) == 0 && strcmp(report.row[i].label, label) == 0 &&
            strcmp(report.row[i].shape, shape) == 0)
            return &report.row[i];
    fail_msg("no row %s %s %s", family, label, shape);
    return NULL;
}

static void assert_near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.9g, expected %.9g", value, expected);
}

static void test_rates(void **state)
{
    (void)state;
    const struct report_row *row = find("gemm_f32", "90_cublaslt", "4096x4096x4096");
    double seconds = record_number(row->record, "time.median_ns") * 1e-9;
    assert_near(row->flop_s, 2.0 * 4096 * 4096 * 4096 / seconds, 1e-12);
    assert_near(row->byte_s, 3.0 * 4 * 4096 * 4096 / seconds, 1e-12);
    assert_int_equal(row->bound.first, RES_FP32);
    double fma = record_number(find("ceiling_fma_f32", "01_ilp8", "100000")->record, "time.median_ns");
    assert_near(row->roof_share, row->flop_s / (58.9e9 / (fma * 1e-9)), 1e-12);
}

static void test_ratios(void **state)
{
    (void)state;
    const struct report_row *library = find("gemm_f32", "90_cublaslt", "1024x1024x1024");
    const struct report_row *two = find("gemm_f32", "02_smem_tile", "1024x1024x1024");
    const struct report_row *four = find("gemm_f32", "04_async_copy", "1024x1024x1024");
    assert_ptr_equal(four->over, two);                                   /* 03 failed */
    assert_near(four->speedup, (190e3 - 2100) / (88.5e3 - 2100), 1e-12); /* by kernel clock */
    assert_near(four->vendor_share, (60e3 - 2100) / (88.5e3 - 2100), 1e-12);
    assert_true(isnan(library->speedup));
    assert_ptr_equal(library->library, library);
    const struct report_row *host = find("gemm_f32", "h02_tiled", "1024x1024x1024");
    assert_string_equal(host->over->label, "h01_naive");
    assert_string_equal(host->library->label, "h90_openblas");
    assert_true(isnan(find("rope", "04_lut_float2_unaligned", "8192x128x64x65536")->speedup)); /* ladder_break */
}

static void test_states(void **state)
{
    (void)state;
    assert_int_equal(find("gemm_f32", "03_register_tile", "1024x1024x1024")->state, ROW_FAIL);
    assert_int_equal(find("rope", "03_lut_constant", "8192x128x64x65536")->state, ROW_SKIP);
    assert_int_equal(find("rope", "02_lut_float2", "1x8x64x64")->state, ROW_BELOW_QUANTUM);
    assert_true(find("rope", "05_too_good", "8192x128x64x65536")->above_roof);
    assert_false(find("rope", "02_lut_float2", "8192x128x64x65536")->above_roof);
}

static void test_unknown_device(void **state)
{
    (void)state;
    struct report other;
    struct ridge_error err = {""};
    assert_int_equal(report_build(&other, &list, "h2000", &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "h2000"));
}

static void test_no_interpreter(void **state)
{
    (void)state;
    char dir[] = "/tmp/ridge_report_XXXXXX", path[64], note[9000];
    assert_non_null(mkdtemp(dir));
    assert_int_equal(bound_chart_draw(&report, dir, note, sizeof note, NULL), RIDGE_OK);
    snprintf(path, sizeof path, "%s/bound_chart.json", dir);
    json_t *data = json_load_file(path, 0, NULL);
    json_t *chart = json_array_get(json_object_get(data, "charts"), 0);
    assert_string_equal(json_string_value(json_object_get(chart, "file")), "bound_gemm_f32");
    json_t *row = json_array_get(json_object_get(json_array_get(json_object_get(chart, "groups"), 0), "rows"), 4);
    assert_string_equal(json_string_value(json_object_get(row, "bound")), "fp32");
    assert_near(json_number_value(json_object_get(json_object_get(row, "share"), "fp32")),
                find("gemm_f32", "90_cublaslt", "4096x4096x4096")->roof_share, 1e-5);
    json_decref(data);
    snprintf(path, sizeof path, "%s/bound_gemm_f32.png", dir);
    struct stat info;
    if (note[0])
        assert_non_null(strstr(note, "no bound charts"));
    else
        assert_true(stat(path, &info) == 0 && info.st_size > 10000);
    snprintf(path, sizeof path, "rm -r %s", dir);
    assert_int_equal(system(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_console),        cmocka_unit_test(test_markdown), cmocka_unit_test(test_rates),
        cmocka_unit_test(test_ratios),         cmocka_unit_test(test_states),   cmocka_unit_test(test_unknown_device),
        cmocka_unit_test(test_no_interpreter),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
