/* SPDX-License-Identifier: Apache-2.0 */
/* One output of 64 x 512 in two halves, two blocks of keys under way. The steps 1 to 11 stand in the order in which
 * two warpgroups (0 owns O_L, 1 owns O_R) hand work to each other; here they run one after the other. */
#include "kernels/mla_decode/mla_decode.h"
#include "kernels/mla_decode/mla_decode_seesaw.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { ROWS = 64, KEYS = 64, HALF = MLA_D_V / 2, LEFT = 0, RIGHT = HALF };

/* A block of keys and what its warpgroup makes of it. p holds scores first, then probabilities. */
struct block {
    int64_t first, keys;
    float k[KEYS][MLA_D_K], p[ROWS][KEYS], scale[ROWS];
};

struct tile {
    int64_t rows, visible[ROWS];
    float q[ROWS][MLA_D_K], o_l[ROWS][HALF], o_r[ROWS][HALF], m[ROWS], l[ROWS];
    struct block block[2];
};

size_t mla_seesaw_workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    (void)dim;
    (void)device;
    return (size_t)omp_get_max_threads() * sizeof(struct tile);
}

static void load_keys(const struct ridge_call *call, int64_t b, int64_t first, struct block *block)
{
    const uint16_t *kv = call->buffer[MLA_KV];
    const int64_t left = ((const int32_t *)call->buffer[MLA_LENGTH])[b] - first;
    block->first = first;
    block->keys = left < 0 ? 0 : left < KEYS ? left : KEYS;
    for (int64_t j = 0; j < block->keys; j++)
        mla_load_row(kv + mla_key_offset(call->dim, call->buffer[MLA_BLOCK_TABLE], b, first + j), block->k[j]);
}

/* p = q K^T, -inf where a row does not see a key. */
static void scores(const struct tile *tile, struct block *block)
{
    for (int64_t r = 0; r < tile->rows; r++)
        for (int64_t j = 0; j < block->keys; j++)
            block->p[r][j] =
                block->first + j < tile->visible[r] ? mla_dot(tile->q[r], block->k[j]) * MLA_SCALE : -INFINITY;
}

/* m rises to the block's maximum; scale is what belongs to sums made before. */
static void raise_maximum(struct tile *tile, struct block *block, mla_rescale_fn rescale)
{
    for (int64_t r = 0; r < tile->rows; r++) {
        const float old = tile->m[r];
        for (int64_t j = 0; j < block->keys; j++)
            tile->m[r] = fmaxf(tile->m[r], block->p[r][j]);
        block->scale[r] = tile->m[r] == old ? 1 : rescale(old, tile->m[r]);
    }
}

/* p = exp(p - m), and the sums of exponentials. */
static void exponentials(struct tile *tile, struct block *block)
{
    for (int64_t r = 0; r < tile->rows; r++) {
        tile->l[r] *= block->scale[r];
        for (int64_t j = 0; j < block->keys; j++) {
            block->p[r][j] = block->p[r][j] == -INFINITY ? 0 : expf(block->p[r][j] - tile->m[r]);
            tile->l[r] += block->p[r][j];
        }
    }
}

static void scale_output(const struct tile *tile, float (*o)[HALF], const float *scale)
{
    for (int64_t r = 0; r < tile->rows; r++)
        for (int i = 0; i < HALF; i++)
            o[r][i] *= scale[r];
}

static void scale_probabilities(const struct tile *tile, struct block *block, const float *scale)
{
    for (int64_t r = 0; r < tile->rows; r++)
        for (int64_t j = 0; j < block->keys; j++)
            block->p[r][j] *= scale[r];
}

/* o += p V, V being HALF columns of K. */
static void add_values(const struct tile *tile, const struct block *block, int column, float (*o)[HALF])
{
    for (int64_t r = 0; r < tile->rows; r++)
        for (int64_t j = 0; j < block->keys; j++)
            for (int i = 0; i < HALF; i++)
                o[r][i] += block->p[r][j] * block->k[j][column + i];
}

static void two_blocks(struct tile *tile, mla_rescale_fn rescale)
{
    struct block *zero = &tile->block[0], *one = &tile->block[1];
    float both[ROWS] = {0};
    scores(tile, zero);                         /*  1, warpgroup 0 */
    scores(tile, one);                          /*  2, warpgroup 1 */
    raise_maximum(tile, zero, rescale);         /*  3, warpgroup 0: scale_0 = exp(m_old - m_new) */
    exponentials(tile, zero);                   /*  4, warpgroup 0 */
    scale_output(tile, tile->o_l, zero->scale); /*  5, warpgroup 0: O_L = scale_0 O_L + p_0 V_0L */
    add_values(tile, zero, LEFT, tile->o_l);
    raise_maximum(tile, one, rescale); /*  6, warpgroup 1 */
    exponentials(tile, one);           /*  7, warpgroup 1 */
    for (int64_t r = 0; r < tile->rows; r++)
        both[r] = zero->scale[r] * one->scale[r];
    scale_output(tile, tile->o_r, both); /*  8, warpgroup 1: O_R = scale_0 scale_1 O_R + p_1 V_1R */
    add_values(tile, one, RIGHT, tile->o_r);
    scale_probabilities(tile, zero, one->scale); /*  9, warpgroup 0: p_0 = scale_1 p_0 */
    add_values(tile, zero, RIGHT, tile->o_r);    /* 10, warpgroup 1: O_R = O_R + p_0 V_0R */
    scale_output(tile, tile->o_l, one->scale);   /* 11, warpgroup 0: O_L = scale_1 O_L + p_1 V_1L */
    add_values(tile, one, LEFT, tile->o_l);
}

static void open_tile(const struct ridge_call *call, int64_t b, int64_t first_row, struct tile *tile)
{
    const int64_t *dim = call->dim, rows = mla_rows(dim);
    const uint16_t *q = call->buffer[MLA_Q];
    const int32_t *length = call->buffer[MLA_LENGTH];
    tile->rows = rows - first_row < ROWS ? rows - first_row : ROWS;
    memset(tile->o_l, 0, sizeof tile->o_l);
    memset(tile->o_r, 0, sizeof tile->o_r);
    for (int64_t r = 0; r < tile->rows; r++) {
        mla_load_row(q + (b * rows + first_row + r) * MLA_D_K, tile->q[r]);
        tile->visible[r] = mla_visible(dim, length[b], (first_row + r) / dim[MLA_H]);
        tile->m[r] = -INFINITY;
        tile->l[r] = 0;
    }
}

static void close_tile(const struct ridge_call *call, int64_t b, int64_t first_row, const struct tile *tile)
{
    float *lse = call->buffer[MLA_LSE];
    for (int64_t r = 0; r < tile->rows; r++) {
        uint16_t *out = (uint16_t *)call->buffer[MLA_OUT] + (b * mla_rows(call->dim) + first_row + r) * MLA_D_V;
        const bool empty = tile->visible[r] == 0;
        for (int i = 0; i < HALF; i++) {
            out[LEFT + i] = bf16_from_f32(empty ? 0 : tile->o_l[r][i] / tile->l[r]);
            out[RIGHT + i] = bf16_from_f32(empty ? 0 : tile->o_r[r][i] / tile->l[r]);
        }
        lse[mla_lse_offset(call->dim, b, first_row + r)] = empty ? INFINITY : tile->m[r] + logf(tile->l[r]);
    }
}

int mla_seesaw(const struct ridge_call *call, mla_rescale_fn rescale)
{
    const int64_t *dim = call->dim, tiles = (mla_rows(dim) + ROWS - 1) / ROWS;
    const int32_t *length = call->buffer[MLA_LENGTH];
    if (mla_check_inputs(call))
        return 1;
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (int64_t b = 0; b < dim[MLA_B]; b++) {
        for (int64_t t = 0; t < tiles; t++) {
            struct tile *tile = (struct tile *)call->workspace + omp_get_thread_num();
            open_tile(call, b, t * ROWS, tile);
            for (int64_t first = 0; first < length[b]; first += 2 * KEYS) {
                load_keys(call, b, first, &tile->block[0]);
                load_keys(call, b, first + KEYS, &tile->block[1]);
                two_blocks(tile, rescale);
            }
            close_tile(call, b, t * ROWS, tile);
        }
    }
    return 0;
}

static float rescale(float m_old, float m_new)
{
    return expf(m_old - m_new);
}

static int launch(const struct ridge_call *call)
{
    return mla_seesaw(call, rescale);
}

const struct ridge_variant ridge_variant_mla_decode_h03_seesaw_order = {
    .idea = "the seesaw schedule step by step: two blocks of keys under way, output in halves of 256 columns",
    .source = "FlashMLA docs/20250422-new-kernel-deep-dive.md, steps 0 to 11",
    .changes = "order of the steps; 64 rows and twice 64 keys at a time; no split of the keys",
    .kind = RIDGE_HOST,
    .workspace_bytes = mla_seesaw_workspace_bytes,
    .launch = launch,
};
