/* SPDX-License-Identifier: Apache-2.0 */
/* What mla_decode and mla_decode_f16 have in common: inputs, reference and work. The file that includes it is a family,
 * in BF16, or in FP16 where it defines MLA_DECODE_F16 before. */
#ifndef RIDGE_MLA_DECODE_FAMILY_H
#define RIDGE_MLA_DECODE_FAMILY_H

#include "kernels/mla_decode/mla_decode.h"
#include "kernels/support/fill.h"

#include <math.h>
#include <string.h>

#ifdef MLA_DECODE_F16
enum { MLA_ELEMENT = RIDGE_F16 };
static inline float mla_widen(uint16_t bits)
{
    return f16_to_f32(bits);
}
static inline uint16_t mla_narrow(float value)
{
    return f16_from_f32(value);
}
#else
enum { MLA_ELEMENT = RIDGE_BF16 };
static inline float mla_widen(uint16_t bits)
{
    return bf16_to_f32(bits);
}
static inline uint16_t mla_narrow(float value)
{
    return bf16_from_f32(value);
}
#endif

enum { VARIED_LENGTHS = 1, RISING, POISONED_PAGES };
enum { RISE_KEYS = 64, TILE = 64 };

static double count_q(const int64_t *dim)
{
    return (double)dim[MLA_B] * (double)dim[MLA_S_Q] * (double)dim[MLA_H] * MLA_D_K;
}

static double count_kv(const int64_t *dim)
{
    return (double)mla_pages(dim) * (double)dim[MLA_PAGE_SIZE] * MLA_D_K;
}

static double count_block_table(const int64_t *dim)
{
    return (double)mla_pages(dim);
}

static double count_length(const int64_t *dim)
{
    return (double)dim[MLA_B];
}

static double count_lse(const int64_t *dim)
{
    return (double)dim[MLA_B] * (double)dim[MLA_S_Q] * (double)dim[MLA_H];
}

static double count_out(const int64_t *dim)
{
    return count_lse(dim) * MLA_D_V;
}

static const char *const cases[] = {"varied lengths", "rising", "poisoned pages", NULL};

static const char *shape_error(const int64_t *dim)
{
    if ((double)dim[MLA_B] * (double)mla_table_columns(dim) >= MLA_NO_PAGE)
        return "b, s_k, page_size: b * ceil(s_k / page_size) pages must be fewer than 2147480000, which marks none";
    return NULL;
}

/* Of every four requests one has a length that is no multiple of the page, one none, one a token, one any length. */
static int32_t varied_length(const int64_t *dim, uint64_t seed, int64_t request)
{
    const int64_t s_k = dim[MLA_S_K];
    switch (request % 4) {
    case 0:
        return (int32_t)(s_k - s_k / 3 - (s_k > 3 && (s_k - s_k / 3) % dim[MLA_PAGE_SIZE] == 0));
    case 1:
        return 0;
    case 2:
        return 1;
    default:
        return (int32_t)(1 + fill_hash(seed + 17, (uint64_t)request) % (uint64_t)s_k);
    }
}

/* Pages in random order (Fisher and Yates), so that neighbours in a request are not neighbours in memory. */
static void fill_table(const int64_t *dim, uint64_t seed, int32_t *table)
{
    const int64_t pages = mla_pages(dim);
    for (int64_t i = 0; i < pages; i++)
        table[i] = (int32_t)i;
    for (int64_t i = pages - 1; i > 0; i--) {
        const int64_t j = (int64_t)(fill_hash(seed + 29, (uint64_t)i) % (uint64_t)(i + 1));
        const int32_t page = table[i];
        table[i] = table[j];
        table[j] = page;
    }
}

/* Entries that no token needs become no page; with `poison`, cache rows that belong to no token become NaN: whole
 * pages, and what follows the length on a request's last page. */
static void fill_unused(const int64_t *dim, bool poison, void *const *buffer)
{
    const int64_t columns = mla_table_columns(dim), size = dim[MLA_PAGE_SIZE];
    const int32_t *length = buffer[MLA_LENGTH];
    int32_t *table = buffer[MLA_BLOCK_TABLE];
    uint16_t *kv = buffer[MLA_KV];
    for (int64_t i = 0; i < mla_pages(dim); i++) {
        const int64_t rest = length[i / columns] - i % columns * size;
        const int64_t used = rest < 0 ? 0 : rest < size ? rest : size;
        if (poison)
            memset(kv + (table[i] * size + used) * MLA_D_K, 0xff, (size_t)((size - used) * MLA_D_K) * sizeof *kv);
        if (used == 0)
            table[i] = MLA_NO_PAGE;
    }
}

/* Scores of standard deviation 3, and on top a ramp of 8 every 64 keys (512 in all at most, exact in BF16), so that
 * the maximum rises with every block. The ramp is in the RoPE part, so that it is in no value. */
static void fill_rising(const int64_t *dim, void *const *buffer)
{
    uint16_t *q = buffer[MLA_Q], *kv = buffer[MLA_KV];
    const int64_t queries = dim[MLA_B] * mla_rows(dim), blocks = (dim[MLA_S_K] + RISE_KEYS - 1) / RISE_KEYS;
    const double step = blocks > 64 ? 512.0 / (double)blocks : 8;
    for (int64_t i = 0; i < queries; i++)
        q[(i + 1) * MLA_D_K - 1] = mla_narrow(1 / MLA_SCALE);
    for (int64_t b = 0; b < dim[MLA_B]; b++) {
        for (int64_t key = 0; key < dim[MLA_S_K]; key++) {
            uint16_t *row = kv + mla_key_offset(dim, buffer[MLA_BLOCK_TABLE], b, key);
            for (int i = 0; i < MLA_D_K - 1; i++)
                row[i] = mla_narrow(3 * mla_widen(row[i]));
            row[MLA_D_K - 1] = mla_narrow((float)(step * (double)(key / RISE_KEYS)));
        }
    }
}

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    int32_t *length = buffer[MLA_LENGTH];
    for (int64_t b = 0; b < dim[MLA_B]; b++)
        length[b] =
            hard == VARIED_LENGTHS || hard == POISONED_PAGES ? varied_length(dim, seed, b) : (int32_t)dim[MLA_S_K];
    fill_table(dim, seed, buffer[MLA_BLOCK_TABLE]);
    if (hard == RISING)
        fill_rising(dim, buffer);
    fill_unused(dim, hard == POISONED_PAGES, buffer);
}

struct row {
    double *out, *out_mag, *lse, *lse_mag;
};

static double product(const uint16_t *q, const uint16_t *k, double *magnitude)
{
    double sum = 0;
    *magnitude = 0;
    for (int i = 0; i < MLA_D_K; i++) {
        const double term = (double)mla_widen(q[i]) * mla_widen(k[i]);
        sum += term;
        *magnitude += fabs(term);
    }
    sum /= 24;
    *magnitude /= 24;
    return sum;
}

/* 64 times what the tolerance allows: |out| 2^-8 + 2^-6 of the root mean square of the row's 64 columns around it,
 * |lse| 8.01 / 65536 + 1e-6 (1 + largest sum of |q k| / 24). */
static void magnitudes(struct row *row, double largest)
{
    for (int tile = 0; tile < MLA_D_V; tile += TILE) {
        double squares = 0;
        for (int i = tile; i < tile + TILE; i++)
            squares += row->out[i] * row->out[i];
        for (int i = tile; i < tile + TILE; i++)
            row->out_mag[i] = fabs(row->out[i]) / 4 + sqrt(squares / TILE);
    }
    *row->lse_mag = 64 * (8.01 / 65536 * fabs(*row->lse) + 1e-6 * (1 + largest));
}

/* Two passes over the keys: the maximum, then the sums. */
static void reference_row(const int64_t *dim, const uint16_t *q, const uint16_t *kv, const int32_t *table, int64_t b,
                          int64_t keys, struct row row)
{
    double max = -INFINITY, sum = 0, magnitude, largest = 0;
    memset(row.out, 0, MLA_D_V * sizeof *row.out);
    memset(row.out_mag, 0, MLA_D_V * sizeof *row.out_mag);
    *row.lse = INFINITY;
    *row.lse_mag = 0;
    if (keys == 0)
        return;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t key = 0; key < keys; key++) {
            const uint16_t *k = kv + mla_key_offset(dim, table, b, key);
            const double score = product(q, k, &magnitude);
            largest = fmax(largest, magnitude);
            if (pass == 0) {
                max = score > max || isnan(score) ? score : max;
                continue;
            }
            const double p = exp(score - max);
            sum += p;
            for (int i = 0; i < MLA_D_V; i++)
                row.out[i] += p * mla_widen(k[i]);
        }
    }
    for (int i = 0; i < MLA_D_V; i++)
        row.out[i] /= sum;
    *row.lse = max + log(sum);
    magnitudes(&row, largest);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const int64_t rows = mla_rows(dim);
    const int32_t *length = buffer[MLA_LENGTH];
    const uint16_t *q = buffer[MLA_Q];
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (int64_t b = 0; b < dim[MLA_B]; b++) {
        for (int64_t r = 0; r < rows; r++) {
            const int64_t at = b * rows + r, l = mla_lse_offset(dim, b, r);
            reference_row(dim, q + at * MLA_D_K, buffer[MLA_KV], buffer[MLA_BLOCK_TABLE], b,
                          mla_visible(dim, length[b], r / dim[MLA_H]),
                          (struct row){ref[0] + at * MLA_D_V, mag[0] + at * MLA_D_V, ref[1] + l, mag[1] + l});
        }
    }
}

/* Lengths are s_k. As the public benchmarks count, without taking off what the causal mask hides. */
static void work(const int64_t *dim, struct ridge_work *work)
{
    const double scores = count_lse(dim) * (double)dim[MLA_S_K];
    work->flop_bf16 = 2 * scores * (MLA_D_K + MLA_D_V);
    work->exp = scores;
    work->bytes_hbm_read = 2 * (count_q(dim) + (double)dim[MLA_B] * (double)dim[MLA_S_K] * MLA_D_K) +
                           4 * (count_block_table(dim) + count_length(dim));
    work->bytes_hbm_write = 2 * count_out(dim) + 4 * count_lse(dim);
}

static int64_t output_columns(const int64_t *dim)
{
    (void)dim;
    return MLA_D_V;
}

#endif
