/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_wgmma_bf16/wgmma_ceiling.h"
#include "kernels/support/numeric.h"

enum { K = WGMMA_K_BYTES / 2 };

static double a_count(const int64_t *dim)
{
    (void)dim;
    return WGMMA_A_TILES * WGMMA_ROWS * K;
}

static double b_count(const int64_t *dim)
{
    return (double)dim[0] * K;
}

static double value(const void *buffer, int64_t i)
{
    return bf16_to_f32(((const uint16_t *)buffer)[i]);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    wgmma_reference(dim, K, value, buffer, ref, mag);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_bf16 = wgmma_flop(dim, K);
    work->bytes_smem = wgmma_bytes_b(dim);
}

static const struct ridge_shape shapes[] = WGMMA_SHAPES;
static const int64_t check_dims[][RIDGE_MAX_AXES] = WGMMA_CHECK_DIMS;

const struct ridge_family ridge_family_ceiling_wgmma_bf16 = {
    .problem =
        "iters products D[64,n] = A B^T over k = 256 from on-chip operands: a [2*64,256], b [n,256]; product t takes "
        "tile t mod 2 of a; d [264*64,n] holds product t of the last 264 in tile t mod 264",
    .axes = 2,
    .axis = {WGMMA_AXES},
    .buffers = 3,
    .buffer =
        {
            {"a", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, a_count},
            {"b", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, b_count},
            {"d", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, wgmma_d_count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance =
        {0, 0x1p-14,
         "16 instructions a sum, each adding 17 addends truncated at 2^-23 of the largest: 16 * 17 * 2^-23 < 2^-14 "
         "of the sum of magnitudes"},
    .shape_error = wgmma_shape_error,
    .reference = reference,
    .work = work,
    .output_columns = wgmma_d_columns,
};
