/* SPDX-License-Identifier: Apache-2.0 */
/* Where FP16 ends, in every variant of mla_decode_sparse_fp8 with tensor cores: those that multiply in it are held to
 * the range that README gives them, and the others, on the same inputs, to the results themselves. Inputs are such that
 * a query's tokens have one score, so that both are known. README, "Scales folded out" and "Scales apart". */
#include "tests/gpu_sparse.h"

#include <math.h>

#ifdef RIDGE_WITH_CUDA

enum { TILES = 4, ROPE = 512 };

/* What a variant has in FP16. */
enum holds { NOTHING, CODES, KEYS };

static enum holds holds_of(const char *label)
{
    if (strcmp(label, "06_f16") == 0)
        return KEYS;
    return strstr(label, "folded") ? CODES : NOTHING;
}

static float f16(float value)
{
    return f16_to_f32(f16_from_f32(value));
}

/* Columns of q from `first` on have a head's value in turn, others none; codes and scales are those of every other
 * token, the tokens between have scale 1 and code 0 where `between`, else the same. */
struct input {
    const char *name;
    int first, columns;
    float q[4], code[TILES], scale[TILES], rope;
    bool between;
};

/* q: exact, the last that is finite and the first that is not; FP16's least normal number, one that loses bits, the
 * last that is rounded up from nothing, and the first that is nothing. */
static const struct input inputs[] = {
    {"large q", 0, TILE, {1, 65280, -65280, 65536}, {1}, {0x1p-18f, 1, 1, 1}, 0, false},
    {"large q of RoPE", ROPE, 64, {1, 65280, -65280, 65536}, {0}, {1, 1, 1, 1}, 0x1p-18f, false},
    {"small q", 0, TILE, {0x1p-14f, 0x1.fep-20f, 0x1.8p-25f, 0x1p-25f}, {1}, {0x1p15f, 1, 1, 1}, 0, false},
    {"small q of RoPE", ROPE, 64, {0x1p-14f, 0x1.fep-20f, 0x1.8p-25f, 0x1p-25f}, {0}, {1, 1, 1, 1}, 0x1p15f, false},
    {"large and small values", 0, 0, {0}, {448, 1.125f, 1, 1}, {0x1p7f, 0x1p-14f, 0x1.8p-25f, 0x1p-25f}, 0, false},
    {"scales of many bits", 0, 0, {0}, {1, 3.5f, 448, 0x1p-9f}, {1.0006f, 0.33333f, 0.0071f, 0.77f}, 0, false},
    {"values beyond FP16", 0, 0, {0}, {448, 1, 1, 1}, {0x1p8f, 1, 1, 1}, 0, false},
    {"scales far apart", 0, 0, {0}, {1, 1, 448, 1}, {0x1p-14f, 0x1p-24f, 0x1p-26f, 0x1p-40f}, 0, true},
};

/* What the variant takes for the head's value of q, and for a value of tile `tile`. */
static float taken_q(const struct input *input, enum holds holds, int head)
{
    const float q = input->columns ? input->q[head % 4] : 0;
    return holds == KEYS || (holds == CODES && input->first < ROPE) ? f16(q) : q;
}

static float taken_value(const struct input *input, enum holds holds, int tile)
{
    const float code = input->code[tile], scale = input->scale[tile];
    if (holds == KEYS)
        return f16(f16(scale) * code);
    if (holds == CODES && input->between) /* in units of 1, times a probability of 1 */
        return f16(scale) * code;
    return scale * code;
}

static void fill(struct problem *problem, int number)
{
    const struct input *input = &inputs[number];
    uint16_t *q = calloc(1, problem->bytes[SPARSE_Q]);
    uint8_t *cache = calloc(1, problem->bytes[SPARSE_CACHE]);
    for (int i = 0; i < HEADS * input->columns; i++) {
        const int head = i / input->columns;
        q[head * SPARSE_D_K + input->first + i % input->columns] = bf16_from_f32(input->q[head % 4]);
    }
    for (int token = 0; token < TOKENS; token++) {
        const bool between = input->between && token % 2 == 0;
        const uint16_t rope = bf16_from_f32(input->rope);
        for (int i = 0; i < TILES * TILE; i++)
            cache[kv_token_offset(KV_V32, token) + i] = between ? 0 : (uint8_t)e4m3_from_f32(input->code[i / TILE]);
        for (int tile = 0; tile < TILES; tile++)
            kv_store_scale(KV_V32, cache + kv_scale_offset(KV_V32, TOKENS, token), tile,
                           f32_bits(between ? 1 : input->scale[tile]));
        for (int i = 0; i < 64; i++)
            memcpy(cache + kv_rope_offset(KV_V32, token) + 2 * i, &rope, 2);
    }
    sparse_upload(problem, q, cache);
    free(q);
    free(cache);
}

/* Of a head's output and lse, how many are not what they should be. */
static int wrong_head(const struct input *input, enum holds holds, int head, const uint16_t *out, float lse)
{
    const float q = taken_q(input, holds, head);
    const float key = input->first == ROPE ? input->rope : taken_value(input, holds, 0);
    const double score = (double)q * (double)key * input->columns / SPARSE_ROOT;
    bool nan = isinf(q);
    int count = 0;
    for (int tile = 0; tile < TILES; tile++)
        nan |= isinf(taken_value(input, holds, tile));
    count += nan ? !isnan(lse) : !(fabs((double)lse - log(TOKENS) - score) <= 2e-4);
    for (int i = 0; i < SPARSE_D_V; i++) {
        const float got = bf16_to_f32(out[i]), want = taken_value(input, holds, i / TILE) / (input->between ? 2 : 1);
        count += nan ? !isnan(got) : !(fabsf(got - want) <= fabsf(want) / 200); /* BF16, and FP16 before it */
    }
    return count;
}

static int wrong(int number, const char *label, const uint16_t *out, const float *lse)
{
    int count = 0;
    for (int head = 0; head < HEADS; head++)
        count += wrong_head(&inputs[number], holds_of(label), head, out + head * SPARSE_D_V, lse[head]);
    return count;
}

static const char *name_of(int number)
{
    return inputs[number].name;
}

int main(void)
{
    const struct sparse_test test = {sizeof inputs / sizeof *inputs, 90, fill, wrong, name_of};
    struct device_info info;
    gpu_open_hopper(&info);
    return sparse_run_all(&test, &info);
}

#else

int main(void)
{
    printf("skipped: built without CUDA\n");
    return SKIPPED;
}

#endif
