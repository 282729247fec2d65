/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"
#include "kernels/kv_quantise/kv_problem.h"
#include "kernels/support/fill.h"

static const struct ridge_shape shapes[] = {KV_SHAPES};
static const int64_t check_dims[][RIDGE_MAX_AXES] = {KV_CHECK_DIMS};
static const char *const cases[] = {"bits", NULL};

/* Tokens of normal values; where there is none, and in all of the cache in the case "bits", random bits: every code and
 * scale that a cache could hold. */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    const enum kv_format format = kv_format_of(dim[KV_BYTES]);
    const int page = (int)dim[KV_PAGE], values = kv_values(format);
    const int64_t block_bytes = kv_block_bytes(format, page), bytes = kv_blocks(dim) * block_bytes;
    uint8_t *cache = buffer[0];
#pragma omp parallel for
    for (int64_t i = 0; i < bytes; i++)
        cache[i] = (uint8_t)fill_hash(~seed, (uint64_t)i);
#pragma omp parallel for
    for (int64_t token = 0; token < (hard ? 0 : dim[KV_TOKENS]); token++) {
        float value[KV_MAX_VALUES];
        for (int j = 0; j < values; j++)
            value[j] = fill_normal(seed, (uint64_t)(token * values + j), 1);
        kv_encode(format, KV_SCALE_FORMAT, value, page, (int)(token % page), cache + token / page * block_bytes);
    }
}

/* NaN, whose bits differ between processors, becomes the one that cvt.rn.bf16x2.f32 gives. */
static uint16_t bf16_of(float value)
{
    return value != value ? 0x7fff : bf16_from_f32(value);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const enum kv_format format = kv_format_of(dim[KV_BYTES]);
    const int page = (int)dim[KV_PAGE], values = kv_values(format);
    for (int64_t token = 0; token < dim[KV_TOKENS]; token++) {
        const int i = (int)(token % page);
        const uint8_t *block = (const uint8_t *)buffer[0] + token / page * kv_block_bytes(format, page);
        float value[KV_MAX_VALUES];
        uint16_t out[KV_MAX_VALUES];
        kv_decode(format, block, page, i, value);
        for (int j = 0; j < kv_quantised(format); j++)
            out[j] = bf16_of(value[j]);
        for (int j = 0; j < 2 * kv_rope(format); j += 2) {
            const uint8_t *rope = block + kv_rope_offset(format, i) + j;
            out[kv_quantised(format) + j / 2] = (uint16_t)(rope[0] | rope[1] << 8);
        }
        for (int j = 0; j < values; j += 2) {
            ref[0][(token * values + j) / 2] = out[j] | (uint32_t)out[j + 1] << 16;
            mag[0][(token * values + j) / 2] = 0;
        }
    }
}

/* e2m1 has no conversion: it becomes f16 by integers. */
static void work(const int64_t *dim, struct ridge_work *work)
{
    const enum kv_format format = kv_format_of(dim[KV_BYTES]);
    const double quantised = (double)dim[KV_TOKENS] * kv_quantised(format);
    work->flop_fp32 = quantised;
    work->cvt_e4m3_f16 = format == KV_V41_FP4 ? 0 : quantised;
    work->cvt_f16_f32 = work->cvt_f32_bf16 = quantised;
    work->bytes_hbm_read = (double)dim[KV_TOKENS] * (double)dim[KV_BYTES];
    work->bytes_hbm_write = 2 * kv_count_values(dim);
}

const struct ridge_family ridge_family_kv_dequantise = {
    .problem = "a paged cache of tokens of `bytes` bytes (kernels/support/kv_format.h: 656 V3.2, 584 MODEL1, 528 V4.1 "
               "FP8, 288 V4.1 FP4), blocks of page_size tokens one after the other, to out[tokens,576 or 512] BF16: "
               "code times scale in FP32, then BF16, NaN as 0x7fff; values without a scale are moved as they are",
    .axes = 3,
    .axis = {KV_AXES},
    .buffers = 2,
    .buffer =
        {
            {"cache", RIDGE_U8, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, kv_count_cache},
            {"out", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, kv_count_pairs},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = cases,
    .tolerance = {0, 0, "exact: kv_decode of kernels/support/kv_format.h and one rounding to BF16, compared as bits"},
    .shape_error = kv_shape_error,
    .fill = fill,
    .reference = reference,
    .work = work,
};
