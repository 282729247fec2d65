/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/ceiling_cvt_f32_bf16/cvt_f32_bf16.h"
#include "kernels/ceiling_fma_f32/alu_ceiling.h"
#include "kernels/support/numeric.h"

static double unit(const uint32_t *seed, uint32_t parameter, int kind)
{
    uint32_t x[ALU_CHAINS], word = 0;
    (void)parameter;
    for (int chain = 0; chain < ALU_CHAINS; chain++)
        x[chain] = f32_bits(ldexpf(f32_from_bits(seed[chain]), -kind));
    for (int step = 0; step < CVT_BF16_STEPS; step++)
        for (int chain = 0; chain < ALU_CHAINS; chain++)
            x[chain] = (uint32_t)bf16_from_f32(f32_from_bits(x[chain])) << 16 |
                       bf16_from_f32(f32_from_bits(x[(chain + 1) % ALU_CHAINS]));
    for (int chain = 0; chain < ALU_CHAINS; chain++)
        word ^= x[chain];
    return word;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    alu_reference(buffer[0], NULL, dim[0], unit, ref[0], mag[0]);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->cvt_f32_bf16 = 2 * alu_steps(dim, CVT_BF16_STEPS);
}

static const struct ridge_shape shapes[] = ALU_SHAPES(40);
static const int64_t check_dims[][RIDGE_MAX_AXES] = ALU_CHECK_DIMS;

const struct ridge_family ridge_family_ceiling_cvt_f32_bf16 = {
    .problem =
        "iters units of 512 threads x 8 chains of 256 steps, chain after chain, x[j] = (bf16(x[j]) in the high half, "
        "bf16(x[(j+1) mod 8]) in the low one), read as f32 again; from seed [512,8] / 2^(u mod 3) in unit u; out "
        "[264,512] "
        "holds the XOR over the chains of the last 264 units",
    .axes = 1,
    .axis = {ALU_AXES},
    .buffers = 2,
    .buffer =
        {
            {"seed", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, alu_seed_count},
            {"out", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, alu_word_count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "exact: IEEE 754 rounding to nearest even"},
    .reference = reference,
    .work = work,
};
