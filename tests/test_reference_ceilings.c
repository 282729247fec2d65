/* SPDX-License-Identifier: Apache-2.0 */
/* References and declared work of the GPU ceilings, against formulas written another way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/family_case.h"

#define FAMILY(name) extern const struct ridge_family ridge_family_ceiling_##name;
FAMILY(hbm_read)
FAMILY(hbm_write) FAMILY(hbm_copy) FAMILY(l2_read) FAMILY(smem_read) FAMILY(dsmem_read) FAMILY(wgmma_bf16)
    FAMILY(wgmma_fp8) FAMILY(fma_f32) FAMILY(ex2) FAMILY(cvt_e4m3_f16) FAMILY(cvt_f16_f32) FAMILY(cvt_f32_bf16)
        FAMILY(mul_bf16) FAMILY(launch) FAMILY(dequant)
#undef FAMILY

            static const
    struct ridge_family *const families[] = {
        &ridge_family_ceiling_hbm_read,     &ridge_family_ceiling_hbm_write,    &ridge_family_ceiling_hbm_copy,
        &ridge_family_ceiling_l2_read,      &ridge_family_ceiling_smem_read,    &ridge_family_ceiling_dsmem_read,
        &ridge_family_ceiling_wgmma_bf16,   &ridge_family_ceiling_wgmma_fp8,    &ridge_family_ceiling_fma_f32,
        &ridge_family_ceiling_ex2,          &ridge_family_ceiling_cvt_e4m3_f16, &ridge_family_ceiling_cvt_f16_f32,
        &ridge_family_ceiling_cvt_f32_bf16, &ridge_family_ceiling_mul_bf16,     &ridge_family_ceiling_launch,
        &ridge_family_ceiling_dequant,
};

static struct ridge_work work_of(const struct ridge_family *family, const int64_t *dim)
{
    struct ridge_work work = {0};
    family->work(dim, &work);
    return work;
}

/* Every shape obeys its own rules, and references fill every element with a finite number. */
static void shapes_and_references(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        const struct ridge_family *family = families[f];
        int quick = 0;
        for (int i = 0; i < family->shapes; i++) {
            quick += family->shape[i].level == RIDGE_QUICK;
            for (int axis = 0; axis < family->axes; axis++) {
                int64_t value = family->shape[i].dim[axis];
                assert_in_range(value, family->axis[axis].min, family->axis[axis].max);
                assert_int_equal(value % family->axis[axis].multiple, 0);
            }
            if (family->shape_error)
                assert_null(family->shape_error(family->shape[i].dim));
        }
        assert_true(quick >= 1);
        for (int i = 0; i < family->check_dims; i++) {
            struct family_case c;
            case_open(&c, family, family->check_dim[i], 0, NULL);
            int64_t outputs = c.count[family->buffers - 1];
            double distinct = 0;
            for (int64_t j = 0; j < outputs; j++) {
                assert_true(isfinite(c.ref[0][j]) && isfinite(c.mag[0][j]));
                distinct += c.ref[0][j] != c.ref[0][0];
            }
            if (outputs > 1)
                assert_true(distinct > (double)outputs / 2);
            case_close(&c);
        }
    }
}

static void checksums(void **state)
{
    (void)state;
    struct family_case c;
    case_open(&c, &ridge_family_ceiling_hbm_read, (const int64_t[]){3 * 8192}, 0, NULL);
    const uint32_t *src = c.buffer[0];
    for (int piece = 0; piece < 3; piece++) {
        uint64_t pairs = 0; /* the two halves of every 8 bytes at once */
        for (int i = 0; i < 1024; i++)
            pairs ^= src[piece * 2048 + 2 * i] | (uint64_t)src[piece * 2048 + 2 * i + 1] << 32;
        assert_true(c.ref[0][piece] == (double)(uint32_t)(pairs ^ pairs >> 32));
    }
    case_close(&c);

    case_open(&c, &ridge_family_ceiling_dsmem_read, (const int64_t[]){7}, 0, NULL);
    src = c.buffer[0];
    uint32_t sum = 0;
    for (int pass = 0; pass < 7; pass++)
        for (int i = 0; i < 16384; i++)
            sum += src[pass % 2 * 16384 + i];
    assert_true(c.ref[0][0] == (double)sum);
    case_close(&c);

    case_open(&c, &ridge_family_ceiling_l2_read, (const int64_t[]){2 * 2048, 3}, 0, NULL);
    src = c.buffer[0];
    sum = 0;
    for (int i = 512; i < 1024; i++)
        sum += src[i];
    assert_true(c.ref[0][1] == (double)(uint32_t)(sum + sum + sum));
    case_close(&c);
}

static void written_values(void **state)
{
    (void)state;
    struct family_case c;
    case_open(&c, &ridge_family_ceiling_hbm_write, (const int64_t[]){32768}, 0, NULL);
    for (int i = 0; i < 8192; i++) {
        double fraction = fmod((double)i * 2654435761.0, 4294967296.0) / 4294967296.0;
        assert_true(c.ref[0][i] == 1 + floor(fraction * 8388608) / 8388608);
    }
    case_close(&c);
}

/* Tile t holds A[t mod 2] B^T: with B a slice of the identity, d is a part of A. */
static void wgmma_products(void **state)
{
    (void)state;
    struct family_case c;
    const int64_t dim[] = {8, 264};
    case_open(&c, &ridge_family_ceiling_wgmma_bf16, dim, 0, NULL);
    uint16_t *a = c.buffer[0], *b = c.buffer[1];
    for (int i = 0; i < 8 * 256; i++)
        b[i] = i % 256 == 100 + i / 256 ? bf16_from_f32(1) : 0;
    c.family->reference(dim, c.buffer, c.ref, c.mag);
    for (int tile = 0; tile < 264; tile++)
        for (int i = 0; i < 64 * 8; i++) {
            double expected = bf16_to_f32(a[(tile % 2 * 64 + i / 8) * 256 + 100 + i % 8]);
            assert_true(c.ref[0][tile * 512 + i] == expected && c.mag[0][tile * 512 + i] == fabs(expected));
        }
    case_close(&c);

    assert_true(work_of(&ridge_family_ceiling_wgmma_bf16, (const int64_t[]){256, 1000}).flop_bf16 ==
                1000.0 * 16 * 2 * 64 * 256 * 16);
    assert_true(work_of(&ridge_family_ceiling_wgmma_fp8, (const int64_t[]){96, 1000}).flop_fp8 ==
                1000.0 * 16 * 2 * 64 * 96 * 32);
    assert_non_null(ridge_family_ceiling_wgmma_bf16.shape_error((const int64_t[]){24, 264}));
}

/* Fixed points: x = 2^(s - x/2) holds for the result of every chain, so sums agree with a bisection. */
static void ex2_fixed_points(void **state)
{
    (void)state;
    struct family_case c;
    case_open(&c, &ridge_family_ceiling_ex2, (const int64_t[]){264}, 0, NULL);
    const float *seed = c.buffer[0];
    for (int thread = 0; thread < 512; thread += 37) {
        double sum = 0;
        for (int chain = 0; chain < 8; chain++) {
            double low = 0, high = 4, s = seed[thread * 8 + chain];
            for (int i = 0; i < 60; i++) {
                double middle = (low + high) / 2;
                *(middle > exp2(s - middle / 2) ? &high : &low) = middle;
            }
            sum += low;
        }
        assert_true(fabs(c.ref[0][thread] - sum) <= 1e-12 * sum); /* unit 0 is of kind 0 */
    }
    case_close(&c);
}

/* Bits of a float, or the mark of a NaN code; codes of the first tokens are the seed's bytes. */
static void dequantised_tokens(void **state)
{
    (void)state;
    struct family_case c;
    case_open(&c, &ridge_family_ceiling_dequant, (const int64_t[]){264}, 0, NULL);
    const uint8_t *code = c.buffer[0];
    const float *scale = c.buffer[1];
    int nan = 0;
    for (int i = 0; i < 512; i++) {
        nan += (code[i] & 0x7f) == 0x7f;
        const float value = e4m3_to_f32(code[i]) * scale[i / 128];
        assert_true(c.ref[0][i] == ((code[i] & 0x7f) == 0x7f ? 0x7fc00000 : f32_bits(value)));
        assert_true((code[i] & 0x7f) == 0x7f || bf16_to_f32(bf16_from_f32(value)) == value);
    }
    assert_true(nan < 32 && scale[0] <= 1 && scale[0] >= 0x1p-8f);
    case_close(&c);
    assert_true(work_of(&ridge_family_ceiling_dequant, (const int64_t[]){1000}).cvt_e4m3_f16 == 512000);
}

static void instruction_counts(void **state)
{
    (void)state;
    const int64_t one[] = {1000};
    assert_true(work_of(&ridge_family_ceiling_fma_f32, one).flop_fp32 == 1000.0 * 4096 * 1024 * 2);
    assert_true(work_of(&ridge_family_ceiling_ex2, one).exp == 1000.0 * 4096 * 256);
    assert_true(work_of(&ridge_family_ceiling_cvt_e4m3_f16, one).cvt_e4m3_f16 == 1000.0 * 4096 * 256 * 4);
    assert_true(work_of(&ridge_family_ceiling_cvt_f16_f32, one).cvt_f16_f32 == 1000.0 * 4096 * 256 * 2);
    assert_true(work_of(&ridge_family_ceiling_cvt_f32_bf16, one).cvt_f32_bf16 == 1000.0 * 4096 * 256 * 2);
    assert_true(work_of(&ridge_family_ceiling_mul_bf16, one).mul_bf16 == 1000.0 * 4096 * 1024 * 2);
    assert_true(work_of(&ridge_family_ceiling_hbm_copy, (const int64_t[]){32768}).bytes_hbm_write == 32768);
    assert_true(work_of(&ridge_family_ceiling_launch, (const int64_t[]){20}).launches == 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_and_references), cmocka_unit_test(checksums),
        cmocka_unit_test(written_values),        cmocka_unit_test(wgmma_products),
        cmocka_unit_test(ex2_fixed_points),      cmocka_unit_test(dequantised_tokens),
        cmocka_unit_test(instruction_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
