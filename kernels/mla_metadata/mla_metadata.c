/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_metadata/mla_metadata.h"
#include "kernels/support/fill.h"

enum { EVEN = 1, EMPTY, OUTSIDE };

static double count_length(const int64_t *dim)
{
    return (double)dim[META_B];
}

static double count_range(const int64_t *dim)
{
    return (double)dim[META_PARTS] * META_WORDS;
}

static const struct ridge_shape shapes[] = {
    {"b1", RIDGE_FULL, RIDGE_CUDA, {1, 131072, 132}},       {"b32", RIDGE_FULL, RIDGE_CUDA, {32, 65536, 132}},
    {"b128", RIDGE_STANDARD, RIDGE_CUDA, {128, 4096, 132}}, {"b512", RIDGE_FULL, RIDGE_CUDA, {512, 4096, 132}},
    {"b512-66", RIDGE_FULL, RIDGE_CUDA, {512, 4096, 66}},   {"b128", RIDGE_STANDARD, RIDGE_HOST, {128, 4096, 132}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 1},        {1, 131072, 132}, {3, 100, 7},         {31, 4096, 132},    {32, 4096, 78},
    {33, 64, 132},    {128, 4096, 132}, {255, 512, 131},     {256, 524288, 132}, {257, 3, 132},
    {512, 4096, 300}, {1000, 70, 1},    {2048, 524288, 132},
};

static const char *const cases[] = {"even", "empty", "outside", NULL};

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    static const int32_t outside[4] = {-1, INT32_MIN, INT32_MAX, 0};
    const int64_t s_k = dim[META_S_K];
    int32_t *length = buffer[META_LENGTH];
    for (int64_t i = 0; i < dim[META_B]; i++) {
        const uint64_t bits = fill_hash(seed, (uint64_t)i);
        length[i] = hard == EVEN ? (int32_t)s_k : (int32_t)(bits % (uint64_t)(s_k + 1));
        if (hard == EMPTY && bits >> 40 & 1)
            length[i] = 0;
        if (hard == OUTSIDE && bits >> 40 & 1)
            length[i] = outside[bits >> 41 & 3];
    }
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const int32_t *length = buffer[META_LENGTH];
    const int b = (int)dim[META_B], parts = (int)dim[META_PARTS];
    int total = 0;
    for (int i = 0; i < b; i++) {
        ref[1][i] = metadata_length(dim, length, i);
        mag[1][i] = 0;
        total += mla_blocks((int)ref[1][i]) + MLA_OVERHEAD;
    }
    const int share = mla_share(total, b, parts);
    for (int p = 0, request = 0, start = 0; p < parts; p++) {
        const int64_t first = (int64_t)p * share, last = first + share;
        while (request < b && start + mla_blocks((int)ref[1][request]) + MLA_OVERHEAD <= first)
            start += mla_blocks((int)ref[1][request++]) + MLA_OVERHEAD;
        double *row = ref[0] + (int64_t)p * META_WORDS;
        row[META_FIRST] = (double)first;
        row[META_LAST] = (double)(last < total ? last : total);
        row[META_REQUEST] = request;
        row[META_START] = request < b ? start : 0;
        for (int i = 0; i < META_WORDS; i++)
            mag[0][(int64_t)p * META_WORDS + i] = 0;
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_hbm_read = 4 * count_length(dim);
    work->bytes_hbm_write = 4 * (count_range(dim) + count_length(dim));
    work->launches = 1;
}

static int64_t output_columns(const int64_t *dim)
{
    (void)dim;
    return META_WORDS;
}

const struct ridge_family ridge_family_mla_metadata = {
    .problem =
        "length[b] I32 to range[parts,4] I32: the units of work [first, last) of a part of mla_decode, the request "
        "where they begin and its first unit, and made_for[b] I32, the lengths that holds for",
    .axes = 3,
    .axis =
        {
            {"b", 1, 1 << 11, 1, "requests"},
            {"s_k", 1, 1 << 19, 1, "keys that the block table has room for"},
            {"parts", 1, 1 << 10, 1, "parts, one a CTA of the decode kernel"},
        },
    .buffers = 3,
    .buffer =
        {
            {"length", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 1, count_length},
            {"range", RIDGE_I32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 1, count_range},
            {"made_for", RIDGE_I32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 1, count_length},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = cases,
    .tolerance = {0, 0, "exact: integers"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};
