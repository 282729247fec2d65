/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/ceiling_ex2/ex2.h"
#include "kernels/ceiling_fma_f32/alu_ceiling.h"
#include "kernels/support/numeric.h"

static double unit(const uint32_t *seed, uint32_t parameter, int kind)
{
    double sum = 0;
    (void)parameter;
    for (int chain = 0; chain < ALU_CHAINS; chain++) {
        double start = ldexp(f32_from_bits(seed[chain]), -kind), x = start;
        for (int step = 0; step < EX2_STEPS; step++)
            x = exp2(start - x / 2);
        sum += x;
    }
    return sum;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    alu_reference(buffer[0], NULL, dim[0], unit, ref[0], mag[0]);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->exp = alu_steps(dim, EX2_STEPS);
    work->flop_fp32 = 2 * alu_steps(dim, EX2_STEPS);
}

static const struct ridge_shape shapes[] = ALU_SHAPES(40);
static const int64_t check_dims[][RIDGE_MAX_AXES] = ALU_CHECK_DIMS;

const struct ridge_family ridge_family_ceiling_ex2 = {
    .problem =
        "iters units of 512 threads x 8 chains of 256 steps x = 2^(s - x/2), x = s at first, from seed [512,8]; s is "
        "seed / 2^(u mod 3) in unit u; out [264,512] holds the sums over the chains of the last 264 units",
    .axes = 1,
    .axis = {ALU_AXES},
    .buffers = 2,
    .buffer =
        {
            {"seed", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_UNIFORM, 1, alu_seed_count},
            {"out", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, alu_word_count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance =
        {0x1p-19, 0,
         "ex2.approx.ftz within 2^-22 relative (PTX ISA 9.0, 9.7.3.22); a step damps the error before it by ln 2 or "
         "more for results up to 2, so 3.3 of them, the rounding of 8 sums and of the FMA: below 2^-19"},
    .reference = reference,
    .work = work,
};
