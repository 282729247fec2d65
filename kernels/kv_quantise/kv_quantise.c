/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"
#include "kernels/kv_quantise/kv_problem.h"
#include "kernels/support/block_scale.h"

#include <stdlib.h>
#include <string.h>

static const struct ridge_shape shapes[] = {KV_SHAPES};
static const int64_t check_dims[][RIDGE_MAX_AXES] = {KV_CHECK_DIMS};

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    block_scale_harden(hard, seed, dim[KV_TOKENS], kv_values(kv_format_of(dim[KV_BYTES])), buffer[0]);
}

static void encode(enum kv_format format, const uint16_t *x, int page, int i, uint8_t *block)
{
    float value[KV_MAX_VALUES];
    for (int j = 0; j < kv_values(format); j++)
        value[j] = bf16_to_f32(x[j]);
    kv_encode(format, KV_SCALE_FORMAT, value, page, i, block);
    if (kv_rope(format))
        memcpy(block + kv_rope_offset(format, i), x + kv_quantised(format), 2 * (size_t)kv_rope(format));
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const enum kv_format format = kv_format_of(dim[KV_BYTES]);
    const int page = (int)dim[KV_PAGE];
    const int64_t block_bytes = kv_block_bytes(format, page), bytes = kv_blocks(dim) * block_bytes;
    const uint16_t *x = buffer[0];
    uint8_t *block = malloc((size_t)block_bytes);
    if (!block)
        abort();
    for (int64_t first = 0; first < bytes; first += block_bytes) {
        const int64_t token = first / block_bytes * page;
        memcpy(block, (const uint8_t *)buffer[1] + first, (size_t)block_bytes);
        for (int i = 0; i < page && token + i < dim[KV_TOKENS]; i++)
            encode(format, x + (token + i) * kv_values(format), page, i, block);
        for (int64_t i = 0; i < block_bytes; i++) {
            ref[0][first + i] = block[i];
            mag[0][first + i] = 0;
        }
    }
    free(block);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_fp32 = (double)dim[KV_TOKENS] * kv_quantised(kv_format_of(dim[KV_BYTES]));
    work->bytes_hbm_read = 2 * kv_count_values(dim);
    work->bytes_hbm_write = (double)dim[KV_TOKENS] * (double)dim[KV_BYTES];
}

const struct ridge_family ridge_family_kv_quantise = {
    .problem = "x[tokens,576 or 512] BF16 into a paged cache of tokens of `bytes` bytes (kernels/support/kv_format.h: "
               "656 V3.2, 584 MODEL1, 528 V4.1 FP8, 288 V4.1 FP4), blocks of page_size tokens one after the other; "
               "values without a scale are moved as they are, other bytes of the cache keep what they hold",
    .axes = 3,
    .axis = {KV_AXES},
    .buffers = 2,
    .buffer =
        {
            {"x", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, kv_count_values},
            {"cache", RIDGE_U8, RIDGE_INOUT, RIDGE_FILL_BITS, 0, kv_count_cache},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = block_scale_cases,
    .tolerance = {0, 0, "exact: kv_encode of kernels/support/kv_format.h"},
    .shape_error = kv_shape_error,
    .fill = fill,
    .reference = reference,
    .work = work,
};
