/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_mul_bf16/mul_bf16.h"
#include "kernels/ceiling_fma_f32/alu_ceiling.h"
#include "kernels/support/fill.h"
#include "kernels/support/numeric.h"

/* Seeds: bf16 pairs in +-[1, 2). Factors: +-(1 + t / 128) or +-(1 - t / 256) with t = 0, 1, 2. */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    uint32_t *seeds = buffer[0], *a = buffer[1];
    (void)dim, (void)hard;
    for (int i = 0; i < ALU_THREADS * ALU_CHAINS; i++) {
        fill_element(seeds, RIDGE_U32, RIDGE_FILL_BITS, 0, 0, seed, i);
        seeds[i] = (seeds[i] & 0x807f807f) | 0x3f803f80;
    }
    for (int i = 0; i < ALU_THREADS; i++) {
        fill_element(a, RIDGE_U32, RIDGE_FILL_BITS, 0, 0, seed + 1, i);
        uint32_t low = 0x3f7e + (a[i] & 0x7fff) % 5, high = 0x3f7e + (a[i] >> 16 & 0x7fff) % 5;
        a[i] = (a[i] & 0x80008000) | high << 16 | low;
    }
}

/* The product of two 8-bit mantissas is exact in f32, so there is one rounding. */
static uint32_t product(uint32_t a, uint32_t b)
{
    return bf16_from_f32(bf16_to_f32((uint16_t)a) * bf16_to_f32((uint16_t)b));
}

static double unit(const uint32_t *seed, uint32_t factor, int kind)
{
    uint32_t word = 0;
    for (int chain = 0; chain < ALU_CHAINS; chain++) {
        uint32_t low = (seed[chain] & 0xffff) ^ (uint32_t)kind, high = (seed[chain] >> 16) ^ (uint32_t)kind;
        for (int step = 0; step < MUL_BF16_STEPS; step++) {
            low = product(low, factor & 0xffff);
            high = product(high, factor >> 16);
        }
        word ^= high << 16 | low;
    }
    return word;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    alu_reference(buffer[0], buffer[1], dim[0], unit, ref[0], mag[0]);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->mul_bf16 = 2 * alu_steps(dim, MUL_BF16_STEPS);
}

static const struct ridge_shape shapes[] = ALU_SHAPES(80);
static const int64_t check_dims[][RIDGE_MAX_AXES] = ALU_CHECK_DIMS;

const struct ridge_family ridge_family_ceiling_mul_bf16 = {
    .problem = "iters units of 512 threads x 8 chains of 1024 steps x = x * a, x and a pairs of bf16, from seed "
               "[512,8] and a [512]; "
               "the lowest bits of both seeds are changed by u mod 3 in unit u; out [264,512] holds the XOR over the "
               "chains of the "
               "last 264 units",
    .axes = 1,
    .axis = {ALU_AXES},
    .buffers = 3,
    .buffer =
        {
            {"seed", RIDGE_U32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, alu_seed_count},
            {"a", RIDGE_U32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, alu_parameter_count},
            {"out", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, alu_word_count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "exact: one rounding to nearest even a product"},
    .fill = fill,
    .reference = reference,
    .work = work,
};
