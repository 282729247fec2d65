/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_masked/gemm_grouped_masked.h"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_problem.h"

enum { CANCELLING = 1, OUTLIERS, UNEVEN, EMPTY, FULL, OUT_OF_RANGE };

static const char *const cases[] = {"cancelling", "outliers", "uneven", "empty", "full", "out_of_range", NULL};

static double rows_all(const int64_t *dim)
{
    return (double)dim[GROUPED_GROUPS] * (double)dim[GROUPED_M];
}

static double count_a(const int64_t *dim)
{
    return rows_all(dim) * (double)dim[GROUPED_K];
}

static double count_scale_a(const int64_t *dim)
{
    return (double)dim[GROUPED_GROUPS] * (double)gemm_fp8_block_count(dim[GROUPED_K]) *
           (double)gemm_fp8_block_pitch_a(dim[GROUPED_M]);
}

static double count_index(const int64_t *dim)
{
    return (double)dim[GROUPED_GROUPS];
}

static double count_d(const int64_t *dim)
{
    return rows_all(dim) * (double)dim[GROUPED_N];
}

static const struct ridge_shape shapes[] = {
    {"quick", RIDGE_QUICK, RIDGE_CUDA, {4, 256, 256, 4096, 7168}},
    {"1x1024-4096x7168", RIDGE_FULL, RIDGE_CUDA, {1, 1024, 1024, 4096, 7168}},
    {"2x512-4096x7168", RIDGE_FULL, RIDGE_CUDA, {2, 512, 512, 4096, 7168}},
    {"1x1024-7168x2048", RIDGE_FULL, RIDGE_CUDA, {1, 1024, 1024, 7168, 2048}},
    {"2x512-7168x2048", RIDGE_FULL, RIDGE_CUDA, {2, 512, 512, 7168, 2048}},
    {"4x256-7168x2048", RIDGE_FULL, RIDGE_CUDA, {4, 256, 256, 7168, 2048}},
    {"32x192-6144x7168", RIDGE_FULL, RIDGE_CUDA, {32, 192, 4096, 6144, 7168}},
    {"32x192-7168x3072", RIDGE_FULL, RIDGE_CUDA, {32, 192, 4096, 7168, 3072}},
    {"6x1024-6144x7168", RIDGE_FULL, RIDGE_CUDA, {6, 1024, 4096, 6144, 7168}},
};

/* Capacities below a tile, no multiple of 4, of several tiles; more groups than a warp has threads; rings that wrap. */
static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 1, 1, 1},         {2, 2, 3, 5, 7},         {3, 60, 65, 33, 16},     {2, 128, 128, 128, 128},
    {4, 192, 256, 200, 144}, {3, 100, 301, 260, 384}, {2, 300, 300, 136, 272}, {5, 33, 130, 208, 2048},
    {2, 200, 257, 522, 400}, {40, 5, 24, 136, 1296},  {1, 17, 63, 272, 640},   {70, 3, 10, 40, 160},
};

static const char *shape_error(const int64_t *dim)
{
    static char text[160];
    if (dim[GROUPED_ROWS] <= dim[GROUPED_M])
        return NULL;
    snprintf(text, sizeof text, "rows=%lld: rows must be at most m=%lld, the capacity of a group",
             (long long)dim[GROUPED_ROWS], (long long)dim[GROUPED_M]);
    return text;
}

static int32_t valid_rows(const int64_t *dim, int hard, uint64_t seed, int64_t group)
{
    const int32_t capacity = (int32_t)dim[GROUPED_M], outside[] = {capacity + 1, -1, INT32_MAX, INT32_MIN, capacity};
    const uint64_t bits = fill_hash(seed ^ 0x3a5c, (uint64_t)group);
    switch (hard) {
    case UNEVEN:
        return bits % 4 == 0 ? 0 : bits % 4 == 1 ? capacity : (int32_t)((bits >> 8) % (uint64_t)(capacity + 1));
    case EMPTY:
        return 0;
    case FULL:
        return capacity;
    case OUT_OF_RANGE:
        return outside[group % 5];
    default:
        return (int32_t)dim[GROUPED_ROWS];
    }
}

/* Scales of rows that are not valid are NaN, and in hard cases these rows of A too: neither may reach a result. */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    const int64_t m = dim[GROUPED_M], k = dim[GROUPED_K], pitch = gemm_fp8_block_pitch_a(m);
    const int64_t blocks = gemm_fp8_block_count(k), count = (int64_t)count_scale_a(dim);
    int32_t *valid = buffer[GROUPED_INDEX];
    float *scale_a = buffer[GROUPED_SCALE_A];
    for (int64_t group = 0; group < dim[GROUPED_GROUPS]; group++)
        valid[group] = valid_rows(dim, hard, seed, group);
    grouped_fill_scale_b(dim, seed, buffer[GROUPED_SCALE_B]);
    for (int64_t i = 0; i < count; i++)
        scale_a[i] = i % pitch < masked_rows(valid[i / (pitch * blocks)], (int)m) ? gemm_fp8_scale(seed, i) : NAN;
    if (hard == 0)
        return;
    grouped_harden(dim, dim[GROUPED_GROUPS] * m, hard <= OUTLIERS ? hard : 0, seed, buffer);
    for (int64_t group = 0; group < dim[GROUPED_GROUPS]; group++) {
        const int64_t rows = masked_rows(valid[group], (int)m);
        memset((uint8_t *)buffer[GROUPED_A] + (group * m + rows) * k, GROUPED_NAN_E4M3, (size_t)((m - rows) * k));
    }
}

/* D is in place because rows that are not valid keep what they hold. */
static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const int64_t m = dim[GROUPED_M], pitch = gemm_fp8_block_pitch_a(m);
    const int64_t count = (int64_t)count_d(dim);
    const int32_t *valid = buffer[GROUPED_INDEX];
    for (int64_t i = 0; i < count; i++) {
        ref[0][i] = bf16_to_f32(((const uint16_t *)buffer[GROUPED_D])[i]);
        mag[0][i] = 0;
    }
    for (int64_t group = 0; group < dim[GROUPED_GROUPS]; group++) {
        const struct grouped_run run = {group * m, masked_rows(valid[group], (int)m), group,
                                        group * gemm_fp8_block_count(dim[GROUPED_K]) * pitch, pitch};
        if (run.rows > 0)
            grouped_reference(dim, buffer, &run, ref[0], mag[0]);
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    grouped_work(dim, (double)(dim[GROUPED_GROUPS] * dim[GROUPED_ROWS]), 4.0 * (double)dim[GROUPED_GROUPS], work);
}

const struct ridge_family ridge_family_gemm_grouped_masked = {
    .problem =
        "D[g][r,n] = A[g][r,k] B[g][n,k]^T for the first valid[g] rows r of m, the others of D untouched; e4m3 in, "
        "BF16 out, row-major; FP32 scales: A per row and 128 of k (scale_a [groups][ceil(k/128)][m rounded up to "
        "4]), B per 128 x 128 (scale_b [groups][ceil(n/128)][ceil(k/128)])",
    .axes = 5,
    .axis = {GROUPED_AXIS_GROUPS,
             {"rows", 1, 1 << 20, 1, "valid rows of each group, and what a kernel may expect; at most m"},
             {"m", 1, 1 << 20, 1, "rows of A and D that a group has memory for"},
             GROUPED_AXES_N_K},
    .buffers = 6,
    .buffer = {{"a", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_a},
               {"b", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, grouped_count_b},
               {"scale_a", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_scale_a},
               {"scale_b", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, grouped_count_scale_b},
               {"valid", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_index},
               {"d", RIDGE_BF16, RIDGE_INOUT, RIDGE_FILL_NORMAL, 1, count_d}},
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
