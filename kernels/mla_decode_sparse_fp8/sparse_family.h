/* SPDX-License-Identifier: Apache-2.0 */
/* What mla_decode_sparse_fp8 and mla_decode_sparse_512 have in common: inputs, reference and work. The file that
 * includes it is a family, of tokens of 512 values where it defines SPARSE_512 before. */
#ifndef RIDGE_SPARSE_FAMILY_H
#define RIDGE_SPARSE_FAMILY_H

#include "kernels/mla_decode_sparse_fp8/mla_sparse.h"

#include "kernels/support/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID = 1, ALL_INVALID, RISING, ANY_SCALE, POISONED };
enum { RISE_KEYS = 64, TILE = 64 };

static double count_lse(const int64_t *dim)
{
    return (double)dim[SPARSE_B] * (double)dim[SPARSE_S_Q] * (double)dim[SPARSE_H];
}

static double count_q(const int64_t *dim)
{
    return count_lse(dim) * SPARSE_D_K;
}

static double count_cache(const int64_t *dim)
{
    return (double)sparse_pages(dim) * (double)sparse_block_bytes(dim);
}

static double count_indices(const int64_t *dim)
{
    return (double)dim[SPARSE_B] * (double)dim[SPARSE_S_Q] * (double)dim[SPARSE_TOPK];
}

static double count_out(const int64_t *dim)
{
    return count_lse(dim) * SPARSE_D_V;
}

static const char *const cases[] = {"invalid indices", "all invalid", "rising", "any scale", "poisoned tokens", NULL};

static const char *shape_error(const int64_t *dim)
{
    if (dim[SPARSE_H] != 64 && dim[SPARSE_H] != 128)
        return "h must be 64 or 128";
    if (sparse_capacity(dim) > INT32_MAX)
        return "s_kv, page_size: indices of the cache's tokens must be 32-bit integers";
    if ((double)dim[SPARSE_B] * (double)dim[SPARSE_S_Q] * (double)(dim[SPARSE_TOPK] / 64 + 8) > 1 << 30)
        return "b, s_q, topk: b * s_q * (topk / 64 + 8), what is shared out to SMs, must be at most 2^30";
    return NULL;
}

/* Everything that no token needs: NaN codes, NaN and infinite scales. */
static void fill_poison(const int64_t *dim, uint8_t *cache)
{
    memset(cache, 0x7f, (size_t)count_cache(dim));
}

/* Of eight tiles one is zero, one negative, one 1000 times smaller; a UE8M0 scale, which has neither zero nor sign, is
 * the least that there is, or eight times as large. */
static uint32_t any_scale(enum kv_format format, uint64_t kind, float scale)
{
    const float value = kind == 0 ? 0 : kind == 1 ? -scale : kind == 2 ? scale / 1000 : scale;
    if (format == KV_V32)
        return f32_bits(value);
    if (format == KV_V41_FP4)
        return e4m3_from_f32(value);
    return kind == 0 ? 0 : ue8m0_from_f32(kind == 1 ? 8 * scale : value);
}

static void fill_token(const int64_t *dim, int hard, uint64_t seed, uint8_t *cache, int32_t index)
{
    float value[SPARSE_D_K];
    const int page = (int)dim[SPARSE_PAGE_SIZE], token = (int)(index % page);
    uint8_t *block = sparse_block(dim, cache, index);
    const float spread = hard == RISING ? 3 : 1;
    const double blocks = (double)dim[SPARSE_TOPK] / RISE_KEYS, step = blocks > 64 ? 512 / blocks : 8;
    for (int i = 0; i < SPARSE_D_K; i++)
        value[i] = fill_normal(seed, (uint64_t)index * SPARSE_D_K + (uint64_t)i, spread);
    if (hard == RISING)
        value[SPARSE_D_K - 1] = (float)(step * floor((double)index * blocks / (double)dim[SPARSE_S_KV]));
    const enum kv_format format = sparse_format(dim);
    kv_encode(format, hard == ANY_SCALE ? KV_SCALE_EXACT : KV_SCALE_FORMAT, value, page, token, block);
    uint8_t *scales = block + kv_scale_offset(format, page, token);
    for (int tile = 0; hard == ANY_SCALE && tile < kv_tiles(format); tile++) {
        const uint64_t kind = fill_hash(seed + 31, (uint64_t)index * (uint64_t)kv_tiles(format) + (uint64_t)tile) % 8;
        const float scale = kv_scale_value(format, kv_load_scale(format, scales, tile));
        kv_store_scale(format, scales, tile, any_scale(format, kind, scale));
    }
}

static int32_t any_index(const int64_t *dim, uint64_t seed, int64_t i)
{
    return (int32_t)(fill_hash(seed + 17, (uint64_t)i) % (uint64_t)dim[SPARSE_S_KV]);
}

static int32_t invalid_index(const int64_t *dim, uint64_t seed, int64_t i)
{
    const int32_t invalid[] = {-1, -2, (int32_t)sparse_capacity(dim), INT32_MAX, INT32_MIN, -123456};
    return invalid[fill_hash(seed + 19, (uint64_t)i) % 6];
}

/* invalid indices: of every four queries one has none that is valid, one only the last, one any half of them. */
static int32_t fill_index(const int64_t *dim, int hard, uint64_t seed, int64_t query, int64_t j)
{
    const int64_t i = query * dim[SPARSE_TOPK] + j;
    bool valid = hard != ALL_INVALID;
    if (hard == RISING)
        return (int32_t)((double)j * (double)dim[SPARSE_S_KV] / (double)dim[SPARSE_TOPK]);
    if (hard == INVALID || hard == POISONED)
        valid = query % 4 == 0   ? fill_hash(seed + 23, (uint64_t)i) % 2
                : query % 4 == 1 ? j == dim[SPARSE_TOPK] - 1
                                 : query % 4 == 3;
    return valid ? any_index(dim, seed, i) : invalid_index(dim, seed, i);
}

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    int32_t *indices = buffer[SPARSE_INDICES];
    uint8_t *cache = buffer[SPARSE_CACHE];
    fill_poison(dim, cache);
#pragma omp parallel for
    for (int64_t query = 0; query < sparse_queries(dim); query++)
        for (int64_t j = 0; j < dim[SPARSE_TOPK]; j++)
            indices[query * dim[SPARSE_TOPK] + j] = fill_index(dim, hard, seed, query, j);
    if (hard == POISONED) { /* only tokens that a query has are written */
        for (int64_t i = 0; i < sparse_queries(dim) * dim[SPARSE_TOPK]; i++)
            if (sparse_valid(dim, indices[i]))
                fill_token(dim, hard, seed, cache, indices[i]);
        return;
    }
#pragma omp parallel for
    for (int64_t index = 0; index < dim[SPARSE_S_KV]; index++)
        fill_token(dim, hard, seed, cache, (int32_t)index);
    if (hard == RISING)
        for (int64_t row = 0; row < sparse_queries(dim) * dim[SPARSE_H]; row++)
            ((uint16_t *)buffer[SPARSE_Q])[(row + 1) * SPARSE_D_K - 1] = bf16_from_f32(24);
}

/* What the reference keeps of a query's tokens. */
struct tokens {
    int64_t count;
    float *value;    /* [count][SPARSE_D_K] */
    float *rounding; /* the same, what rounding to BF16 takes away */
};

static struct tokens gather(const int64_t *dim, uint8_t *cache, const int32_t *indices)
{
    const size_t bytes = (size_t)dim[SPARSE_TOPK] * SPARSE_D_K * sizeof(float);
    struct tokens tokens = {0, malloc(bytes), malloc(bytes)};
    for (int64_t j = 0; j < dim[SPARSE_TOPK] && tokens.value && tokens.rounding; j++) {
        if (!sparse_valid(dim, indices[j]))
            continue;
        float *value = tokens.value + tokens.count * SPARSE_D_K,
              *rounding = tokens.rounding + tokens.count * SPARSE_D_K;
        sparse_decode(dim, cache, indices[j], value);
        for (int i = 0; i < SPARSE_D_K; i++)
            rounding[i] = value[i] - bf16_to_f32(bf16_from_f32(value[i]));
        tokens.count++;
    }
    return tokens;
}

struct row {
    double *out, *out_mag, *lse, *lse_mag;
};

/* Sum of |q k| / SPARSE_ROOT, root of the sum of squares of what rounding k changes; the largest of all keys. */
struct spread {
    double terms, rounding;
};

static double product(const uint16_t *q, const float *k, const float *rounding, struct spread *largest)
{
    double sum = 0, terms = 0, squares = 0;
    for (int i = 0; i < SPARSE_D_K; i++) {
        const double factor = bf16_to_f32(q[i]), term = factor * k[i], change = factor * rounding[i];
        sum += term;
        terms += fabs(term);
        squares += change * change;
    }
    largest->terms = fmax(largest->terms, terms / SPARSE_ROOT);
    largest->rounding = fmax(largest->rounding, sqrt(squares) / SPARSE_ROOT);
    return sum / SPARSE_ROOT;
}

/* 64 times what the tolerance allows, see its source. */
static void magnitudes(struct row *row, struct spread largest)
{
    for (int tile = 0; tile < SPARSE_D_V; tile += TILE) {
        double squares = 0;
        for (int i = tile; i < tile + TILE; i++)
            squares += row->out[i] * row->out[i];
        for (int i = tile; i < tile + TILE; i++)
            row->out_mag[i] = fabs(row->out[i]) / 4 + sqrt(squares / TILE);
    }
    *row->lse_mag = 64 * (8.01 / 65536 * fabs(*row->lse) + 1e-6 * (1 + largest.terms) + 4 * largest.rounding);
}

/* Two passes over the keys: the maximum, then the sums. */
static void reference_row(const struct tokens *tokens, const uint16_t *q, struct row row)
{
    struct spread largest = {0, 0};
    double max = -INFINITY, sum = 0;
    memset(row.out, 0, SPARSE_D_V * sizeof *row.out);
    memset(row.out_mag, 0, SPARSE_D_V * sizeof *row.out_mag);
    *row.lse = INFINITY;
    *row.lse_mag = 0;
    if (tokens->count == 0)
        return;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < tokens->count; j++) {
            const float *k = tokens->value + j * SPARSE_D_K;
            const double score = product(q, k, tokens->rounding + j * SPARSE_D_K, &largest);
            if (pass == 0) {
                max = score > max || isnan(score) ? score : max;
                continue;
            }
            const double p = exp(score - max);
            sum += p;
            for (int i = 0; i < SPARSE_D_V; i++)
                row.out[i] += p * k[i];
        }
    }
    for (int i = 0; i < SPARSE_D_V; i++)
        row.out[i] /= sum;
    *row.lse = max + log(sum);
    magnitudes(&row, largest);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint16_t *q = buffer[SPARSE_Q];
#pragma omp parallel for schedule(dynamic)
    for (int64_t query = 0; query < sparse_queries(dim); query++) {
        const struct tokens tokens =
            gather(dim, buffer[SPARSE_CACHE], (const int32_t *)buffer[SPARSE_INDICES] + query * dim[SPARSE_TOPK]);
        for (int64_t head = 0; head < dim[SPARSE_H]; head++) {
            const int64_t at = query * dim[SPARSE_H] + head, l = sparse_lse_offset(dim, query, head);
            reference_row(&tokens, q + at * SPARSE_D_K,
                          (struct row){ref[0] + at * SPARSE_D_V, mag[0] + at * SPARSE_D_V, ref[1] + l, mag[1] + l});
        }
        free(tokens.value);
        free(tokens.rounding);
    }
}

/* As FlashMLA's tests count: all indices, whether valid or not. Bytes of the cache: the tokens that random indices are
 * expected to name at least once. A token is dequantised once for all heads of a query. */
static void work(const int64_t *dim, struct ridge_work *work)
{
    const double scores = count_lse(dim) * (double)dim[SPARSE_TOPK], gathered = count_indices(dim);
    const double tokens = (double)dim[SPARSE_S_KV], named = tokens * (1 - exp(-gathered / tokens));
    work->flop_bf16 = 2 * scores * (SPARSE_D_K + SPARSE_D_V);
    work->exp = scores;
    work->cvt_e4m3_f16 = sparse_format(dim) == KV_V41_FP4 ? 0 : gathered * kv_quantised(sparse_format(dim));
    work->bytes_hbm_read = 2 * count_q(dim) + named * kv_token_bytes(sparse_format(dim)) + 4 * gathered;
    work->bytes_hbm_write = 2 * count_out(dim) + 4 * count_lse(dim);
}

static int64_t output_columns(const int64_t *dim)
{
    (void)dim;
    return SPARSE_D_V;
}

#define SPARSE_TOLERANCE                                                                                               \
    {                                                                                                                  \
        .rel = 0, .mag_rel = 0x1p-6,                                                                                   \
        .source =                                                                                                      \
            "out: 2^-8 |ref| + 2^-6 RMS(row, 64 columns), as in mla_decode. lse: 8.01 / 65536 |ref| + 1e-6 (1 + "      \
            "sum |q k| / root of d) + 4 times the standard deviation of what rounding k to BF16 changes "              \
            "(nothing where scales are powers of two or have four bits)"                                               \
    }

#endif
