/* SPDX-License-Identifier: Apache-2.0 */
/* The resource model against cases worked out by hand; numbers of the walk-through of DeepSeek's kernels. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "roofline/device_file.h"
#include "roofline/resource.h"

static void near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not %.17g within %g", value, expected, relative);
}

static struct ceilings h100(void)
{
    struct ceilings c = ceilings_unknown();
    c.hbm_read = c.hbm_copy = c.hbm_write = 3.35e12;
    c.tensor_bf16 = 989e12;
    c.fp32 = 66.9e12;
    c.sms = 132;
    return c;
}

/* Ceilings of one SM at 1 Hz: seconds are cycles. */
static struct ceilings one_sm(void)
{
    struct ceilings c = ceilings_unknown();
    c.tensor_bf16 = 4096;
    c.cvt_e4m3_f16 = 64;
    c.cvt_f16_f32 = 64;
    c.cvt_f32_bf16 = 16;
    c.mul_bf16 = 256;
    c.exp = 16;
    c.smem = 128;
    c.sms = 1;
    return c;
}

static struct bound bound(const struct ceilings *c, json_t *work)
{
    assert_non_null(work);
    struct bound result = bound_of(work, c);
    json_decref(work);
    return result;
}

static void balance_is_295(void **state)
{
    (void)state;
    struct ceilings c = h100();
    near(c.tensor_bf16 / c.hbm_read, 295.2, 1e-3);
    /* On either side of the balance another roof binds. */
    struct bound below = bound(&c, json_pack("{s:f, s:f}", "flop_bf16", 295.0, "bytes_hbm_read", 1.0));
    struct bound above = bound(&c, json_pack("{s:f, s:f}", "flop_bf16", 296.0, "bytes_hbm_read", 1.0));
    assert_int_equal(below.first, RES_HBM);
    assert_int_equal(below.second, RES_TENSOR_BF16);
    assert_int_equal(above.first, RES_TENSOR_BF16);
    assert_int_equal(above.second, RES_HBM);
}

static void gemm_4096(void **state)
{
    (void)state;
    struct ceilings c = h100();
    double flop = 2 * 4096.0 * 4096 * 4096;
    near(flop, 137.4e9, 1e-3);
    struct bound ideal = bound(&c, json_pack("{s:f, s:f, s:f}", "flop_bf16", flop, "bytes_hbm_read",
                                             2 * 2 * 4096.0 * 4096, "bytes_hbm_write", 2 * 4096.0 * 4096));
    near(ideal.floor_s, 0.139e-3, 2e-3);
    near(ideal.floor_s, flop / 989e12, 1e-15);
    assert_int_equal(ideal.first, RES_TENSOR_BF16);

    /* Naive: every product fetches both operands from HBM, 2 * 4 bytes each. */
    double bytes = 4096.0 * 4096 * 4096 * 8;
    near(bytes, 549.8e9, 1e-3);
    struct bound naive = bound(&c, json_pack("{s:f, s:f}", "flop_fp32", flop, "bytes_hbm_read", bytes));
    near(naive.floor_s, 164e-3, 2e-3);
    assert_int_equal(naive.first, RES_HBM);
}

static void dequantisation_binds_before_mma(void **state)
{
    (void)state;
    struct ceilings c = one_sm();
    struct bound token =
        bound(&c, json_pack("{s:f, s:f, s:f, s:f, s:f}", "flop_bf16", 2.0 * 64 * (576 + 512), "cvt_e4m3_f16", 512.0,
                            "cvt_f16_f32", 512.0, "cvt_f32_bf16", 512.0, "mul_bf16", 512.0));
    near(token.seconds[RES_TENSOR_BF16], 34, 1e-15);
    near(token.seconds[RES_CONVERT], 512.0 / 64 + 512.0 / 16, 1e-15); /* F2FP: to f16 and to BF16 */
    assert_int_equal(token.first, RES_CONVERT);
    assert_int_equal(token.second, RES_TENSOR_BF16);
    assert_string_equal(resource_name(token.first), "convert");
}

/* Rates that an H200 has, in which a token takes 15.1 clocks by all four steps: a floor that adds up both pipes, 18,
 * would make an accounting error of it. */
static void pipes_convert_side_by_side(void **state)
{
    (void)state;
    struct ceilings c = one_sm();
    c.cvt_e4m3_f16 = c.cvt_f32_bf16 = 125;
    struct bound token = bound(&c, json_pack("{s:f, s:f, s:f, s:f}", "cvt_e4m3_f16", 512.0, "cvt_f16_f32", 512.0,
                                             "cvt_f32_bf16", 512.0, "mul_bf16", 512.0));
    near(token.floor_s, 512.0 / 64 + 512.0 / 256, 1e-15); /* HADD2.F32 and HMUL2 */
    assert_false(bound_exceeded(15.1, token.floor_s));

    c.cvt_f32_bf16 = NAN;
    token = bound(&c, json_pack("{s:f, s:f}", "cvt_f16_f32", 512.0, "cvt_f32_bf16", 512.0));
    assert_int_equal(token.unknown, RES_CONVERT);
    c.cvt_f32_bf16 = 125;
    c.mul_bf16 = NAN;
    token = bound(&c, json_pack("{s:f, s:f}", "mul_bf16", 512.0, "cvt_f32_bf16", 512.0));
    assert_int_equal(token.unknown, RES_CONVERT);
}

static void m64n16_starves_on_shared_memory(void **state)
{
    (void)state;
    struct ceilings c = one_sm();
    /* m64n16k16: A is 64 x 16 BF16 and B 16 x 16 BF16, both from shared memory. */
    struct bound b =
        bound(&c, json_pack("{s:f, s:f}", "flop_bf16", 2.0 * 64 * 16 * 16, "bytes_smem", 2.0 * (64 * 16 + 16 * 16)));
    assert_int_equal(b.first, RES_SMEM);
    near(b.seconds[RES_SMEM], 20, 1e-15);
    near(b.seconds[RES_TENSOR_BF16], 8, 1e-15);
}

static void hbm_is_interpolated_in_the_write_share(void **state)
{
    (void)state;
    struct ceilings c = ceilings_unknown();
    c.hbm_read = 4500;
    c.hbm_copy = 4100;
    c.hbm_write = 3900;
    static const double cases[][3] = {{100, 0, 4500}, {75, 25, 4300}, {50, 50, 4100}, {25, 75, 4000}, {0, 100, 3900}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bound b =
            bound(&c, json_pack("{s:f, s:f}", "bytes_hbm_read", cases[i][0], "bytes_hbm_write", cases[i][1]));
        near(b.floor_s, 100 / cases[i][2], 1e-14);
    }
    c.hbm_copy = NAN; /* then between read and write */
    near(bound(&c, json_pack("{s:f, s:f}", "bytes_hbm_read", 50.0, "bytes_hbm_write", 50.0)).floor_s, 100 / 4200.0,
         1e-14);
    c.hbm_write = NAN; /* then the nearest that is known */
    near(bound(&c, json_pack("{s:f, s:f}", "bytes_hbm_read", 50.0, "bytes_hbm_write", 50.0)).floor_s, 100 / 4500.0,
         1e-14);
}

static void last_wave(void **state)
{
    (void)state;
    struct ceilings c = h100();
    double flop = 989e12; /* one second */
    struct bound even = bound(&c, json_pack("{s:f, s:f}", "flop_bf16", flop, "tiles", 264.0));
    assert_int_equal(even.first, RES_TENSOR_BF16);
    assert_true(even.floor_s == 1 && even.seconds[RES_WAVE] == 0 && even.wave == 1);

    struct bound odd = bound(&c, json_pack("{s:f, s:f}", "flop_bf16", flop, "tiles", 133.0));
    assert_int_equal(odd.first, RES_WAVE);
    assert_int_equal(odd.second, RES_TENSOR_BF16);
    near(odd.floor_s, 2 * 132 / 133.0, 1e-15);

    /* 1024 tiles: 7.76 waves, 3 % lost at the end. The tensor cores bind and not the wave. */
    struct bound nearly = bound(&c, json_pack("{s:f, s:f}", "flop_bf16", flop, "tiles", 1024.0));
    assert_int_equal(nearly.first, RES_TENSOR_BF16);
    assert_true(nearly.floor_s == 1 && nearly.seconds[RES_WAVE] == 0);
    near(nearly.wave, 8 * 132 / 1024.0, 1e-15);

    /* HBM is shared: a partly filled wave does not slow it, and here it stays the bound. */
    struct bound hbm =
        bound(&c, json_pack("{s:f, s:f, s:f}", "flop_bf16", flop, "bytes_hbm_read", 2 * 3.35e12, "tiles", 133.0));
    assert_int_equal(hbm.first, RES_HBM);
    assert_true(hbm.floor_s == 2 && hbm.seconds[RES_WAVE] == 0);
}

static void unknown_ceilings(void **state)
{
    (void)state;
    struct ceilings c = ceilings_unknown();
    struct bound none = bound(&c, json_pack("{s:f}", "flop_fp8", 1.0));
    assert_true(none.floor_s == 0 && isnan(none.seconds[RES_TENSOR_FP8]));
    assert_int_equal(none.unknown, RES_TENSOR_FP8);
    assert_true(bound_of(NULL, &c).floor_s == 0);
    assert_int_equal(bound_of(NULL, &c).unknown, RES_COUNT);
    c.hbm_read = 10;
    struct bound some = bound(&c, json_pack("{s:f, s:f, s:i}", "flop_fp8", 1.0, "bytes_hbm_read", 5.0, "launches", 1));
    assert_int_equal(some.first, RES_HBM);
    assert_true(some.floor_s == 0.5 && some.first == some.second);
}

static void launches(void **state)
{
    (void)state;
    struct ceilings c = h100();
    c.launch_s = 1.5e-6;
    struct bound b = bound(&c, json_pack("{s:i, s:f}", "launches", 3, "bytes_hbm_read", 1000.0));
    assert_int_equal(b.first, RES_LAUNCH);
    near(b.floor_s, 4.5e-6, 1e-15);
}

static void above_the_roof(void **state)
{
    (void)state;
    assert_false(bound_exceeded(1.0, 1.0));
    assert_false(bound_exceeded(0.99, 1.0));
    assert_true(bound_exceeded(0.97, 1.0));
    assert_false(bound_exceeded(NAN, 1.0));
    assert_false(bound_exceeded(1.0, 0));
}

static json_t *record(double median_ns, const char *cache, json_t *useful)
{
    return json_pack("{s:{s:f}, s:{s:{s:s}}, s:{s:f}, s:{s:O, s:o}}", "time", "median_ns", median_ns, "mode", "cache",
                     "requested", cache, "device", "l2_bytes", 62914560.0, "work", "issued", useful, "useful", useful);
}

static void accounting_errors_are_found(void **state)
{
    (void)state;
    struct ceilings c = h100();
    c.launch_s = 1;
    json_t *fast = record(0.9e9, "cold", json_pack("{s:f, s:i}", "bytes_hbm_read", 3.35e12, "launches", 1));
    json_t *slow = record(1.1e9, "cold", json_pack("{s:f, s:i}", "bytes_hbm_read", 3.35e12, "launches", 9));
    assert_true(record_exceeds(fast, &c));
    assert_false(record_exceeds(slow, &c)); /* the launch floor is no law */
    json_decref(fast);
    json_decref(slow);
}

static void hot_operands_come_from_l2(void **state)
{
    (void)state;
    struct ceilings c = h100();
    c.l2 = 9e12;
    json_t *hot = record(1e3, "hot", json_pack("{s:f}", "bytes_hbm_read", 45e6));
    json_t *large = record(1e3, "hot", json_pack("{s:f}", "bytes_hbm_read", 90e6));
    assert_int_equal(record_bound(hot, &c).first, RES_L2);
    near(record_bound(hot, &c).floor_s, 5e-6, 1e-14);
    assert_int_equal(record_bound(large, &c).first, RES_HBM);
    json_decref(hot);
    json_decref(large);
}

static void placement(void **state)
{
    (void)state;
    struct device_spec h800, h20;
    struct ridge_error err;
    assert_int_equal(device_spec_load("h800-sxm", &h800, &err), 0);
    assert_int_equal(device_spec_load("h20", &h20, &err), 0);
    /* MLA decode, 128 heads: 242 FLOP/B, below H800's 295 and far above H20's 37. */
    json_t *mla = record(1e6, "cold", json_pack("{s:f, s:f}", "flop_bf16", 242e9, "bytes_hbm_read", 1e9));
    struct placed on_h800 = place(mla, &h800.specified), on_h20 = place(mla, &h20.specified);
    assert_int_equal(on_h800.bound, RES_HBM);
    near(on_h800.floor_s, 1e9 / 3.35e12, 1e-14);
    assert_int_equal(on_h20.bound, RES_TENSOR_BF16);
    near(on_h20.floor_s, 242e9 / 148e12, 1e-14);
    json_decref(mla);
}

static void projection(void **state)
{
    (void)state;
    struct ceilings here = h100(), there = h100();
    here.exp = 4e12;
    there.hbm_read = there.hbm_copy = there.hbm_write = 4.0e12;
    there.tensor_bf16 = 148e12;
    there.exp = 2e12;
    /* 2 ms measured; HBM floor 1 ms, MUFU floor 0.5 ms. */
    json_t *r = record(2e6, "cold", json_pack("{s:f, s:f}", "bytes_hbm_read", 3.35e9, "exp", 2e9));
    struct projected p = project(r, &here, &there);
    assert_int_equal(p.bound, RES_HBM);
    near(p.seconds, 2e-3 * 3.35 / 4.0, 1e-14);
    near(p.low_s, 2e-3 * 3.35 / 4.0, 1e-14);
    near(p.high_s, 2e-3 * 2, 1e-14);
    json_decref(r);

    /* Tensor work of 0.5 ms here is 3.34 ms there: the HBM ratio would promise less than the roof allows. */
    r = record(2e6, "cold", json_pack("{s:f, s:f}", "bytes_hbm_read", 3.35e9, "flop_bf16", 494.5e9));
    p = project(r, &here, &there);
    assert_int_equal(p.bound, RES_TENSOR_BF16);
    near(p.seconds, 494.5e9 / 148e12, 1e-14);
    near(p.low_s, p.seconds, 0);
    near(p.high_s, 2e-3 * 989 / 148, 1e-14);
    json_decref(r);

    /* 132 tiles are one full wave here and two waves of 78 SMs there. */
    there.sms = 78;
    r = record(2e6, "cold", json_pack("{s:f, s:f}", "flop_bf16", 989e9, "tiles", 132.0));
    p = project(r, &here, &there);
    near(p.seconds, 2e-3 * 989 / 148 * 2 * 78 / 132, 1e-14);
    json_decref(r);

    there.tensor_bf16 = NAN;
    r = record(2e6, "cold", json_pack("{s:f}", "flop_bf16", 989e9));
    assert_true(isnan(project(r, &here, &there).seconds));
    json_decref(r);
}

static void merge(void **state)
{
    (void)state;
    struct ceilings measured = ceilings_unknown(), specified = h100();
    measured.hbm_read = 3.0e12;
    measured.fp32 = 60e12;
    struct ceilings merged = ceilings_merge(&measured, &specified);
    assert_true(merged.hbm_read == 3.0e12 && merged.fp32 == 60e12);
    assert_true(isnan(merged.hbm_copy)); /* a specified copy roof over a measured read roof would mislead */
    assert_true(merged.tensor_bf16 == 989e12 && merged.sms == 132);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balance_is_295),
        cmocka_unit_test(gemm_4096),
        cmocka_unit_test(dequantisation_binds_before_mma),
        cmocka_unit_test(pipes_convert_side_by_side),
        cmocka_unit_test(m64n16_starves_on_shared_memory),
        cmocka_unit_test(hbm_is_interpolated_in_the_write_share),
        cmocka_unit_test(last_wave),
        cmocka_unit_test(unknown_ceilings),
        cmocka_unit_test(launches),
        cmocka_unit_test(above_the_roof),
        cmocka_unit_test(accounting_errors_are_found),
        cmocka_unit_test(hot_operands_come_from_l2),
        cmocka_unit_test(placement),
        cmocka_unit_test(projection),
        cmocka_unit_test(merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
