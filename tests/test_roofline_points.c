/* SPDX-License-Identifier: Apache-2.0 */
/* Measured ceilings and points from a file of records, and the charts made of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "roofline/plot.h"

static struct record_list h200, host;

static void near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not %.17g within %g", value, expected, relative);
}

static void load(struct record_list *list, const char *name)
{
    char path[1024];
    const char *file = path, *source = getenv("RIDGE_SOURCE");
    struct ridge_error err = {""};
    snprintf(path, sizeof path, "%s/tests/fixtures/%s", source ? source : ".", name);
    if (record_list_read(list, &file, 1, &err))
        fail_msg("%s", err.text);
}

static int setup(void **state)
{
    (void)state;
    load(&h200, "roofline_h200.jsonl");
    load(&host, "roofline_host.jsonl");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    record_list_free(&h200);
    record_list_free(&host);
    return 0;
}

static json_t *find_record(const struct record_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (record_is(list->record[i], "variant.name", name))
            return list->record[i];
    fail_msg("no record of %s", name);
    return NULL;
}

static void measured_ceilings(void **state)
{
    (void)state;
    struct ceilings c;
    const json_t *from[CEILING_COUNT];
    assert_int_equal(ceilings_with_evidence(h200.record, h200.count, "NVIDIA H200", &c, from, NULL), 0);
    near(c.hbm_read, 4.543e12, 1e-4);
    near(c.hbm_copy, 4.12e12, 1e-4);
    near(c.hbm_write, 4.22e12, 1e-4);
    near(c.l2, 9.2e12, 1e-4);
    near(c.tensor_bf16, 940e12, 1e-3);
    near(c.exp, 132 * 15.9 * 1.98e9, 1e-4);
    near(c.launch_s, 1.18e-6, 1e-6); /* the graph record: the smaller one */
    assert_int_equal(c.sms, 132);
    assert_string_equal(record_string(from[6], "shape.name"), "256x1024"); /* best n of tensor_bf16 */
    assert_int_equal(ceilings_from_records(h200.record, h200.count, "another", &c, NULL), 0);
    assert_true(isnan(c.hbm_read) && c.sms == 0);
}

static void host_ceilings(void **state)
{
    (void)state;
    struct ceilings c;
    assert_int_equal(ceilings_from_records(host.record, host.count, NULL, &c, NULL), 0);
    near(c.smem, 180e9, 1e-4);
    near(c.l2, 70e9, 1e-4);
    near(c.hbm_read, 19e9, 1e-4);
    near(c.hbm_copy, 16e9, 1e-4);
    near(c.fp32, 182e9, 1e-4);
    near(c.tensor_bf16, c.fp32, 0);
    assert_true(isnan(c.dsmem));
}

static void only_sound_records_make_ceilings(void **state)
{
    (void)state;
    static const char *const spoil[][2] = {{"status", "fail"},
                                           {"check.status", "none"},
                                           {"mode.fill.requested", "zeros"},
                                           {"mode.emulate.requested", "h20"}};
    double rate;
    assert_int_equal(ceiling_of_record(h200.record[0], &rate), 0);
    for (size_t i = 0; i < sizeof spoil / sizeof *spoil; i++) {
        json_t *record = json_deep_copy(h200.record[0]);
        record_set_string(record, spoil[i][0], spoil[i][1]);
        assert_int_equal(ceiling_of_record(record, &rate), -1);
        json_decref(record);
    }
}

static const struct point *find(const struct point_list *points, const char *family, const char *name)
{
    for (size_t i = 0; i < points->count; i++)
        if (strcmp(points->point[i].family, family) == 0 && strcmp(points->point[i].name, name) == 0)
            return &points->point[i];
    fail_msg("no point %s %s", family, name);
    return NULL;
}

static void points_carry_both_kinds_of_work(void **state)
{
    (void)state;
    struct point_list points;
    assert_int_equal(points_of_device(&h200, "NVIDIA H200", &points, NULL), 0);
    assert_int_equal(points.count, 34);
    assert_int_equal(points.families, 5);

    const struct point *padded = find(&points, "mla_decode", "04_seesaw"); /* one shape: the label is enough */
    near(padded->issued_flop, 4 * padded->useful_flop, 1e-12);
    assert_true(point_differs(padded, LEVEL_HBM) && !padded->level[LEVEL_HBM].counted);

    const struct point *gemm = find(&points, "gemm_f32", "01_naive 4096x4096x4096");
    assert_true(gemm->level[LEVEL_HBM].counted && point_differs(gemm, LEVEL_HBM));
    near(gemm->level[LEVEL_HBM].useful_bytes, 12.0 * 4096 * 4096, 1e-12);
    near(gemm->level[LEVEL_HBM].issued_bytes, 1.9 * (8 + 0.9 * 4) * 4096 * 4096, 1e-6);
    near(gemm->useful_flop, 2 * 4096.0 * 4096 * 4096, 1e-12);
    point_list_free(&points);
}

/* flop_bf16 is BF16 and FP16, which the hardware counts apart. */
static void counted_tensor_work_has_both_types(void **state)
{
    (void)state;
    struct record_list list = {.count = 1};
    json_t *record = json_deep_copy(find_record(&h200, "mla_decode_04_seesaw"));
    const double declared = record_number(record, "work.issued.flop_bf16");
    list.record = &record;
    json_object_set_new(record, "counters",
                        json_pack("{s:s, s:{s:f, s:f}}", "source", "cupti", "values",
                                  "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum", declared / 4,
                                  "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum", declared));
    struct point_list points;
    assert_int_equal(points_of_device(&list, "NVIDIA H200", &points, NULL), 0);
    near(points.point[0].issued_flop, 1.25 * declared, 1e-9);
    point_list_free(&points);
    json_decref(record);
}

static void the_last_record_of_a_key_counts(void **state)
{
    (void)state;
    struct record_list twice = {.count = 2};
    json_t *record[2] = {json_incref(h200.record[h200.count - 1]), json_deep_copy(h200.record[h200.count - 1])};
    record_set_number(record[1], "time.median_ns", 1e6);
    twice.record = record;
    struct point_list points;
    assert_int_equal(points_of_device(&twice, "NVIDIA H200", &points, NULL), 0);
    assert_int_equal(points.count, 1);
    assert_int_equal(points.replaced, 1);
    near(points.point[0].time_s, 1e-3, 1e-12);
    point_list_free(&points);
    record_set_string(record[1], "check.status", "fail"); /* a later failure is not papered over by an older success */
    assert_int_equal(points_of_device(&twice, "NVIDIA H200", &points, NULL), 0);
    assert_int_equal(points.count, 0);
    assert_int_equal(points.left_out, 1);
    point_list_free(&points);
    json_decref(record[0]);
    json_decref(record[1]);
}

static char *script_of(struct chart *chart)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    assert_int_equal(plot_script(chart, out, NULL), 0);
    fclose(out);
    return text;
}

static void holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("the script does not hold: %s", part);
}

static void measured_chart(void **state)
{
    (void)state;
    struct point_list points;
    struct ceilings c;
    struct device_spec spec;
    struct chart chart;
    points_of_device(&h200, "NVIDIA H200", &points, NULL);
    ceilings_from_records(h200.record, h200.count, NULL, &c, NULL);
    assert_int_equal(device_spec_load("h200-sxm", &spec, NULL), 0);
    assert_int_equal(chart_measured(&points, LEVEL_HBM, &c, &spec, &chart, NULL), 0);
    assert_string_equal(chart.stem, "roofline_h200-sxm_hbm");
    assert_int_equal(chart.entries, 34);
    char *script = script_of(&chart);
    holds(script, "HBM read 4.54 TB/s measured");
    holds(script, "HBM copy 4.12 TB/s measured");
    holds(script, "HBM 4.80 TB/s specified");
    holds(script, "BF16 tensor 940 TFLOP/s measured, 989 TFLOP/s specified");
    holds(script, "ridge 207 FLOP/B");
    holds(script, "set output 'roofline_h200-sxm_hbm.svg'");
    free(script);
    chart_free(&chart);

    /* BF16 records declare nothing below HBM, so their roof is not drawn there. */
    assert_int_equal(chart_measured(&points, LEVEL_SMEM, &c, &spec, &chart, NULL), 0);
    for (int i = 0; i < chart.roofs; i++)
        assert_null(strstr(chart.roof[i].label, "BF16"));
    chart_free(&chart);
    point_list_free(&points);
}

static void other_device_is_labelled(void **state)
{
    (void)state;
    struct point_list points;
    struct device_spec here, there;
    struct chart chart;
    points_of_device(&h200, "NVIDIA H200", &points, NULL);
    assert_int_equal(device_spec_load("h200-sxm", &here, NULL), 0);
    assert_int_equal(device_spec_load("h20", &there, NULL), 0);
    assert_int_equal(chart_elsewhere(&points, LEVEL_HBM, &here.specified, &there, &chart, NULL), 0);
    assert_string_equal(chart.stem, "roofline_h20_placed_hbm");
    for (int i = 0; i < chart.roofs; i++)
        assert_false(chart.roof[i].measured);
    for (size_t i = 0; i < chart.entries; i++) {
        const struct chart_entry *e = &chart.entry[i];
        assert_int_equal(e->main.mark, MARK_PROJECTED);
        assert_int_equal(e->second.mark, MARK_PLACED);
        assert_true(e->low <= e->main.y && e->main.y <= e->high);
        assert_true(e->high <= e->second.y * (1 + 1e-12)); /* no projection above what is attainable */
    }
    char *script = script_of(&chart);
    holds(script, "placed and projected from NVIDIA H200");
    holds(script, "Nothing here was measured on NVIDIA H20 96 GB");
    free(script);
    chart_free(&chart);
    point_list_free(&points);
}

static void a_point_above_the_roof_is_an_error(void **state)
{
    (void)state;
    struct record_list list = {.count = 1};
    json_t *record = json_deep_copy(h200.record[h200.count - 1]);
    list.record = &record;
    record_set_number(record, "time.median_ns", 1e5);
    struct point_list points;
    struct device_spec spec;
    struct chart chart;
    struct ceilings none = ceilings_unknown();
    assert_int_equal(device_spec_load("h200-sxm", &spec, NULL), 0);
    assert_int_equal(points_of_device(&list, "NVIDIA H200", &points, NULL), 0);
    assert_int_equal(chart_measured(&points, LEVEL_HBM, &none, &spec, &chart, NULL), 0);
    assert_true(chart.entry[0].above_roof);
    char *script = script_of(&chart);
    holds(script, "ABOVE roof: hbm");
    holds(script, "above a roof: accounting error");
    free(script);
    chart_free(&chart);
    point_list_free(&points);
    json_decref(record);
}

static void names_cannot_break_the_script(void **state)
{
    (void)state;
    struct record_list list = {.count = 1};
    json_t *record = json_deep_copy(h200.record[h200.count - 1]);
    list.record = &record;
    record_set_string(record, "variant.label", "it's\n\"$x\"`");
    struct point_list points;
    struct ceilings c;
    struct chart chart;
    ceilings_from_records(h200.record, h200.count, NULL, &c, NULL);
    assert_int_equal(points_of_device(&list, "NVIDIA H200", &points, NULL), 0);
    assert_int_equal(chart_measured(&points, LEVEL_HBM, &c, NULL, &chart, NULL), 0);
    char *script = script_of(&chart);
    holds(script, "set label 'it''s \"$x\"`'");
    free(script);
    chart_free(&chart);
    point_list_free(&points);
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_ceilings),
        cmocka_unit_test(host_ceilings),
        cmocka_unit_test(only_sound_records_make_ceilings),
        cmocka_unit_test(points_carry_both_kinds_of_work),
        cmocka_unit_test(counted_tensor_work_has_both_types),
        cmocka_unit_test(the_last_record_of_a_key_counts),
        cmocka_unit_test(measured_chart),
        cmocka_unit_test(other_device_is_labelled),
        cmocka_unit_test(a_point_above_the_roof_is_an_error),
        cmocka_unit_test(names_cannot_break_the_script),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
