/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_dequant/dequant.h"
#include "kernels/kernel.h"
#include "kernels/support/fill.h"

static double seed_count(const int64_t *dim)
{
    (void)dim;
    return DEQUANT_WORDS;
}

static double scale_count(const int64_t *dim)
{
    (void)dim;
    return DEQUANT_TILES;
}

static double out_count(const int64_t *dim)
{
    (void)dim;
    return DEQUANT_KEPT * DEQUANT_VALUES;
}

/* Powers of two: all routes round a product with them to the same value. */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    (void)dim;
    (void)hard;
    for (int i = 0; i < DEQUANT_WORDS; i++)
        ((uint32_t *)buffer[0])[i] = (uint32_t)fill_hash(seed, (uint64_t)i);
    for (int i = 0; i < DEQUANT_TILES; i++)
        ((float *)buffer[1])[i] = f32_from_bits((uint32_t)(127 - 8 + fill_hash(~seed, (uint64_t)i) % 9) << 23);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint32_t *seed = buffer[0];
    const float *scale = buffer[1];
    for (int64_t token = dim[0] - DEQUANT_KEPT; token < dim[0]; token++)
        for (int i = 0; i < DEQUANT_VALUES; i++) {
            const uint32_t word = seed[i / 4] + DEQUANT_STRIDE * (uint32_t)token;
            const uint8_t code = (uint8_t)(word >> 8 * (i % 4));
            const int64_t at = token % DEQUANT_KEPT * DEQUANT_VALUES + i;
            ref[0][at] = (code & 0x7f) == 0x7f ? DEQUANT_NAN : f32_bits(e4m3_to_f32(code) * scale[i / 128]);
            mag[0][at] = 0;
        }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->cvt_e4m3_f16 = (double)DEQUANT_VALUES * (double)dim[0];
}

/* About a thousand tokens a warp. */
static const struct ridge_shape shapes[] = {
    {.name = "tokens", .level = RIDGE_QUICK, .kind = RIDGE_CUDA, .dim = {132 * 32 * 1024}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {{264}, {4225}, {100000}};

const struct ridge_family ridge_family_ceiling_dequant = {
    .problem = "tokens of 512 e4m3 codes to 16-bit values that a WGMMA takes, in registers; codes of token t are the "
               "bytes of seed[128] + 0x9e3779b9 t, scale[4] a power of two a tile of 128; out [264,512] holds code "
               "times scale of the last 264 tokens as bits of F32, 0x7fc00000 for NaN codes",
    .axes = 1,
    .axis = {{"tokens", DEQUANT_KEPT, INT64_C(1) << 31, 1, "tokens, dealt to the warps of a resident grid"}},
    .buffers = 3,
    .buffer =
        {
            {"seed", RIDGE_U32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, seed_count},
            {"scale", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, scale_count},
            {"out", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, out_count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "exact: every e4m3 times a power of two near one is an f16 and a BF16"},
    .fill = fill,
    .reference = reference,
    .work = work,
};
