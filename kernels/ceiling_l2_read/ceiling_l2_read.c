/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_l2_read/l2_read.h"
#include "kernels/kernel.h"

static double src_count(const int64_t *dim)
{
    return (double)dim[0] / 4;
}

static double sum_count(const int64_t *dim)
{
    return (double)dim[0] / L2_PIECE_BYTES;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint32_t *src = buffer[0];
    for (int64_t piece = 0; piece < dim[0] / L2_PIECE_BYTES; piece++) {
        uint32_t sum = 0;
        for (int64_t i = 0; i < L2_PIECE_BYTES / 4; i++)
            sum += src[piece * (L2_PIECE_BYTES / 4) + i];
        sum *= (uint32_t)dim[1];
        ref[0][piece] = sum;
        mag[0][piece] = 0;
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_l2 = (double)dim[0] * (double)dim[1];
    work->bytes_hbm_read = (double)dim[0];
    work->bytes_hbm_write = 4 * sum_count(dim);
}

/* Multiples of 64 KiB an SM on 132 SMs, so that every warp of every variant has as many pieces. About 2 ms each. */
#define UNIT (INT64_C(132) << 16)
static const struct ridge_shape shapes[] = {
    {.name = "8MiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {UNIT, 1200}},
    {.name = "17MiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {2 * UNIT, 600}},
    {.name = "25MiB", .level = RIDGE_QUICK, .kind = RIDGE_CUDA, .dim = {3 * UNIT, 400}},
    {.name = "33MiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {4 * UNIT, 300}},
    {.name = "41MiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {5 * UNIT, 240}},
    {.name = "50MiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {6 * UNIT, 200}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {{L2_PIECE_BYTES, 1}, {L2_PIECE_BYTES * 77, 3}, {UNIT, 5}};

const struct ridge_family ridge_family_ceiling_l2_read = {
    .problem =
        "reads src `passes` times: sum[i] is the sum, modulo 2^32, of the 32-bit words of the i-th 2 KiB over all "
        "passes",
    .axes = 2,
    .axis =
        {
            {"bytes", L2_PIECE_BYTES, INT64_C(1) << 29, L2_PIECE_BYTES, "working set"},
            {"passes", 1, INT64_C(1) << 31, 1, "times that it is read"},
        },
    .buffers = 2,
    .buffer =
        {
            {"src", RIDGE_U32, RIDGE_INPUT, RIDGE_FILL_BITS, 0, src_count},
            {"sum", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, sum_count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "exact: integer sums"},
    .reference = reference,
    .work = work,
};
