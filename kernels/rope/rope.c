/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"
#include "kernels/support/fill.h"

#include <math.h>

enum { TOKENS, HEADS, DIM, POSITIONS };
enum { OUT_OF_RANGE = 1 };
static const double theta = 10000;

static double count_x(const int64_t *dim)
{
    return (double)dim[TOKENS] * (double)dim[HEADS] * (double)dim[DIM];
}

static double count_position(const int64_t *dim)
{
    return (double)dim[TOKENS];
}

static double count_table(const int64_t *dim)
{
    return (double)dim[POSITIONS] * (double)dim[DIM];
}

static const struct ridge_shape shapes[] = {
    {"quick", RIDGE_QUICK, RIDGE_CUDA, {1024, 128, 64, 256}},
    {"prefill", RIDGE_STANDARD, RIDGE_CUDA, {8192, 128, 64, 8192}},
    {"prefill-256", RIDGE_STANDARD, RIDGE_CUDA, {8192, 128, 64, 256}},
    {"decode", RIDGE_FULL, RIDGE_CUDA, {128, 128, 64, 8192}},
    {"prefill-dim128", RIDGE_FULL, RIDGE_CUDA, {8192, 64, 128, 8192}},
    {"quick", RIDGE_QUICK, RIDGE_HOST, {64, 16, 64, 256}},
    {"prefill", RIDGE_STANDARD, RIDGE_HOST, {512, 32, 64, 4096}},
    {"prefill-1024", RIDGE_FULL, RIDGE_HOST, {1024, 128, 64, 8192}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 2, 1}, {3, 5, 6, 7}, {17, 3, 64, 256}, {65, 4, 128, 1000}, {33, 16, 64, 8192}, {9, 2, 10, 100000},
};

static const char *const cases[] = {"out_of_range", NULL};

static double angle_of(int64_t position, int64_t pair, int64_t dim)
{
    return (double)position * pow(theta, -2 * (double)pair / (double)dim);
}

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    const int64_t positions = dim[POSITIONS], pairs = dim[DIM] / 2;
    const int32_t outside[4] = {-1, INT32_MIN, INT32_MAX, (int32_t)positions};
    int32_t *position = buffer[1];
    for (int64_t t = 0; t < dim[TOKENS]; t++) {
        const uint64_t bits = fill_hash(seed, (uint64_t)t);
        position[t] = (int32_t)(bits % (uint64_t)positions);
        if (hard == OUT_OF_RANGE && t % 2 == 1)
            position[t] = outside[t / 2 % 4];
    }
    float *table = buffer[2];
#pragma omp parallel for
    for (int64_t i = 0; i < pairs; i++) {
        const double frequency = angle_of(1, i, dim[DIM]);
        for (int64_t p = 0; p < positions; p++) {
            table[(p * pairs + i) * 2] = (float)cos((double)p * frequency);
            table[(p * pairs + i) * 2 + 1] = (float)sin((double)p * frequency);
        }
    }
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint16_t *x = buffer[0];
    const int32_t *position = buffer[1];
    const int64_t heads = dim[HEADS], pairs = dim[DIM] / 2;
#pragma omp parallel for
    for (int64_t t = 0; t < dim[TOKENS]; t++) {
        const bool inside = position[t] >= 0 && position[t] < dim[POSITIONS];
        for (int64_t i = 0; i < pairs; i++) {
            const double angle = inside ? angle_of(position[t], i, dim[DIM]) : 0, c = cos(angle), s = sin(angle);
            for (int64_t h = 0; h < heads; h++) {
                const int64_t at = ((t * heads + h) * pairs + i) * 2;
                const double x0 = bf16_to_f32(x[at]), x1 = bf16_to_f32(x[at + 1]);
                ref[0][at] = x0 * c - x1 * s;
                ref[0][at + 1] = x0 * s + x1 * c;
                mag[0][at] = mag[0][at + 1] = fabs(x0) + fabs(x1);
            }
        }
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    /* Rows of the table that random positions touch, on average. */
    const double share = 1 - pow(1 - 1 / (double)dim[POSITIONS], (double)dim[TOKENS]);
    work->flop_fp32 = 3 * count_x(dim); /* 4 multiplications and 2 additions a pair */
    work->bytes_hbm_read = 2 * count_x(dim) + 4 * count_position(dim) + 4 * share * count_table(dim);
    work->bytes_hbm_write = 2 * count_x(dim);
}

static int64_t output_columns(const int64_t *dim)
{
    return dim[DIM];
}

const struct ridge_family ridge_family_rope = {
    .problem = "x[tokens,heads,dim] BF16, in place: pairs (2i, 2i+1) rotated by position * 10000^(-2i/dim); "
               "position[tokens] I32, table[positions,dim/2,2] F32 holds (cos, sin). A token whose position is outside "
               "[0, positions) keeps its values",
    .axes = 4,
    .axis =
        {
            {"tokens", 1, 1 << 24, 1, "tokens"},
            {"heads", 1, 1 << 12, 1, "heads a token"},
            {"dim", 2, 1 << 12, 2, "rotated elements a head"},
            {"positions", 1, 1 << 24, 1, "rows of the table"},
        },
    .buffers = 3,
    .buffer =
        {
            {"x", RIDGE_BF16, RIDGE_INOUT, RIDGE_FILL_NORMAL, 1, count_x},
            {"position", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_position},
            {"table", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_table},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = cases,
    .tolerance = {.rel = 0x1p-8,
                  .mag_rel = 0x1p-20,
                  .source =
                      "rel: BF16 has 8 significant bits, so rounding the result is at most 2^-8 of it. mag_rel: cosine "
                      "and sine rounded to FP32, products and sum in FP32: 3 2^-24 of |x0| + |x1|; the rest is for "
                      "sincosf of a reduced angle. An angle formed in FP32 is off by up to position 2^-24 and fails"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};
