/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_contiguous/gemm_grouped_contiguous.h"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_problem.h"

enum { CANCELLING = 1, OUTLIERS, UNEVEN, SCATTERED_PADDING, UNSORTED, ALL_PADDING, OUT_OF_RANGE };

static const char *const cases[] = {"cancelling", "outliers",    "uneven",       "scattered_padding",
                                    "unsorted",   "all_padding", "out_of_range", NULL};

static double count_a(const int64_t *dim)
{
    return (double)dim[GROUPED_M] * (double)dim[GROUPED_K];
}

static double count_scale_a(const int64_t *dim)
{
    return (double)gemm_fp8_block_count(dim[GROUPED_K]) * (double)gemm_fp8_block_pitch_a(dim[GROUPED_M]);
}

static double count_index(const int64_t *dim)
{
    return (double)dim[GROUPED_M];
}

static double count_d(const int64_t *dim)
{
    return (double)dim[GROUPED_M] * (double)dim[GROUPED_N];
}

/* (groups, n, k) of DeepSeek-V3's experts; the last two have groups that start anywhere. */
static const struct ridge_shape shapes[] = {
    {"quick", RIDGE_QUICK, RIDGE_CUDA, {4, 1024, 4096, 4096, 7168}},
    {"4x8192-4096x7168", RIDGE_FULL, RIDGE_CUDA, {4, 8192, 32768, 4096, 7168}},
    {"4x8192-7168x2048", RIDGE_FULL, RIDGE_CUDA, {4, 8192, 32768, 7168, 2048}},
    {"8x4096-4096x7168", RIDGE_FULL, RIDGE_CUDA, {8, 4096, 32768, 4096, 7168}},
    {"8x4096-7168x2048", RIDGE_FULL, RIDGE_CUDA, {8, 4096, 32768, 7168, 2048}},
    {"padded-4x8100-4096x7168", RIDGE_FULL, RIDGE_CUDA, {4, 8100, 32768, 4096, 7168}},
    {"unaligned-8x4033-7168x2048", RIDGE_FULL, RIDGE_CUDA, {8, 4033, 32264, 7168, 2048}},
};

/* Groups in one tile, tiles without a group, more groups than a warp has threads, rings that wrap. */
static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 1, 1, 1},         {2, 1, 3, 5, 7},         {2, 60, 130, 33, 16},     {4, 128, 512, 128, 128},
    {3, 100, 301, 200, 144}, {5, 77, 640, 260, 384},  {2, 300, 601, 130, 272},  {3, 130, 391, 208, 2048},
    {3, 256, 768, 522, 400}, {40, 6, 300, 136, 1296}, {2, 70, 1100, 272, 1040},
};

static const char *shape_error(const int64_t *dim)
{
    static char text[160];
    if (dim[GROUPED_ROWS] <= dim[GROUPED_M] / dim[GROUPED_GROUPS])
        return NULL;
    snprintf(text, sizeof text, "rows=%lld: rows must be at most m / groups = %lld", (long long)dim[GROUPED_ROWS],
             (long long)(dim[GROUPED_M] / dim[GROUPED_GROUPS]));
    return text;
}

static bool has_group(const int64_t *dim, int32_t group)
{
    return group >= 0 && group < dim[GROUPED_GROUPS];
}

/* Groups of random length, some empty, each followed by padding or not. */
static void fill_uneven(const int64_t *dim, uint64_t seed, int32_t *index)
{
    const int64_t m = dim[GROUPED_M], longest = 2 * m / dim[GROUPED_GROUPS];
    int64_t row = 0;
    for (int64_t group = 0; group < dim[GROUPED_GROUPS]; group++) {
        const uint64_t bits = fill_hash(seed, (uint64_t)group);
        const int64_t rows = bits % 4 == 0 ? 0 : (int64_t)(bits >> 8) % (longest + 1);
        const int64_t padding = bits % 8 < 4 ? 0 : (int64_t)(bits >> 40) % 20;
        for (int64_t end = row + rows; row < m && row < end; row++)
            index[row] = (int32_t)group;
        for (int64_t end = row + padding; row < m && row < end; row++)
            index[row] = -1;
    }
    while (row < m)
        index[row++] = -1;
}

static void fill_even(const int64_t *dim, int32_t *index)
{
    for (int64_t row = 0; row < dim[GROUPED_M]; row++)
        index[row] = -1;
    for (int64_t group = 0; group < dim[GROUPED_GROUPS]; group++)
        for (int64_t row = 0; row < dim[GROUPED_ROWS]; row++)
            index[contiguous_start(dim, group) + row] = (int32_t)group;
}

static void fill_index(const int64_t *dim, int hard, uint64_t seed, int32_t *index)
{
    const int32_t groups = (int32_t)dim[GROUPED_GROUPS];
    const int32_t outside[] = {groups, groups + 1, INT32_MAX, INT32_MIN, -2};
    fill_even(dim, index);
    if (hard == UNEVEN)
        fill_uneven(dim, seed, index);
    for (int64_t row = 0; row < dim[GROUPED_M]; row++) {
        const uint64_t bits = fill_hash(seed ^ 0x9e0, (uint64_t)row);
        if (hard == UNSORTED)
            index[row] = (int32_t)((bits >> 8) % (uint64_t)groups);
        if (hard == ALL_PADDING || ((hard == SCATTERED_PADDING || hard == UNSORTED) && bits % 4 == 0))
            index[row] = -1;
        if (hard == OUT_OF_RANGE && bits % 4 == 0)
            index[row] = outside[(bits >> 8) % 5];
    }
}

/* Scales of padding rows are NaN, and in hard cases their rows of A too: neither may reach a result. */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    const int64_t m = dim[GROUPED_M], k = dim[GROUPED_K], pitch = gemm_fp8_block_pitch_a(m);
    const int64_t count = (int64_t)count_scale_a(dim);
    const int32_t *index = buffer[GROUPED_INDEX];
    float *scale_a = buffer[GROUPED_SCALE_A];
    fill_index(dim, hard, seed, buffer[GROUPED_INDEX]);
    grouped_fill_scale_b(dim, seed, buffer[GROUPED_SCALE_B]);
    for (int64_t i = 0; i < count; i++)
        scale_a[i] = i % pitch < m && has_group(dim, index[i % pitch]) ? gemm_fp8_scale(seed, i) : NAN;
    if (hard > 0)
        grouped_harden(dim, m, hard <= OUTLIERS ? hard : 0, seed, buffer);
    for (int64_t row = 0; hard > 0 && row < m; row++)
        if (!has_group(dim, index[row]))
            memset((uint8_t *)buffer[GROUPED_A] + row * k, GROUPED_NAN_E4M3, (size_t)k);
}

/* Rows without a group are zeros. */
static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const int64_t m = dim[GROUPED_M], n = dim[GROUPED_N];
    const int32_t *index = buffer[GROUPED_INDEX];
    memset(ref[0], 0, (size_t)(m * n) * sizeof(double));
    memset(mag[0], 0, (size_t)(m * n) * sizeof(double));
    for (int64_t row = 0, end; row < m; row = end) {
        for (end = row + 1; end < m && index[end] == index[row];)
            end++;
        const struct grouped_run run = {row, end - row, index[row], row, gemm_fp8_block_pitch_a(m)};
        if (has_group(dim, index[row]))
            grouped_reference(dim, buffer, &run, ref[0], mag[0]);
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    grouped_work(dim, (double)dim[GROUPED_M], 4.0 * (double)dim[GROUPED_M], work);
}

const struct ridge_family ridge_family_gemm_grouped_contiguous = {
    .problem =
        "row r of D[m,n] = row r of A[m,k] times B[group[r]][n,k]^T, zeros where group[r] is no group (-1); e4m3 "
        "in, BF16 out, row-major; FP32 scales: A per row and 128 of k (scale_a [ceil(k/128)][m rounded up to 4]), "
        "B per 128 x 128 (scale_b [groups][ceil(n/128)][ceil(k/128)])",
    .axes = 5,
    .axis = {GROUPED_AXIS_GROUPS,
             {"rows", 1, 1 << 20, 1, "rows that each group has; at most m / groups"},
             {"m", 1, 1 << 20, 1, "rows of A and D, padding included"},
             GROUPED_AXES_N_K},
    .buffers = 6,
    .buffer = {{"a", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_a},
               {"b", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, grouped_count_b},
               {"scale_a", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_scale_a},
               {"scale_b", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, grouped_count_scale_b},
               {"group", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_index},
               {"d", RIDGE_BF16, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_d}},
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = cases,
    .tolerance = GROUPED_TOLERANCE,
    .shape_error = shape_error,
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = grouped_output_columns,
};
