/* SPDX-License-Identifier: Apache-2.0 */
/* Scales that random inputs do not have, in every variant of mla_decode_sparse_fp8: zero, NaN and infinite ones, and
 * ones that grow by 2^128 over a query's tokens while scores stay as they are. README, "Scales folded out". */
#include "tests/gpu_sparse.h"

#include <math.h>

#ifdef RIDGE_WITH_CUDA

enum { MARKED = 200 };

enum kind { ZERO, NOT_A_NUMBER, INFINITE, GROWING, KINDS };

static const char *const kind_name[] = {"zero scales", "a NaN scale", "an infinite scale", "growing scales"};

/* Tile 1 gets its scales, and nothing of q, so that scores stay small. */
static void fill(struct problem *problem, int kind)
{
    struct ridge_error err;
    uint16_t *q = malloc(problem->bytes[SPARSE_Q]);
    uint8_t *cache = malloc(problem->bytes[SPARSE_CACHE]);
    must(device_cuda.download(q, problem->buffer[SPARSE_Q], problem->bytes[SPARSE_Q], &err), &err);
    must(device_cuda.download(cache, problem->buffer[SPARSE_CACHE], problem->bytes[SPARSE_CACHE], &err), &err);
    for (int head = 0; head < HEADS && kind == GROWING; head++)
        memset(q + head * SPARSE_D_K + TILE, 0, TILE * sizeof *q);
    for (int token = 0; token < TOKENS; token++) {
        uint8_t *scales = cache + kv_scale_offset(KV_V32, TOKENS, token);
        if (kind == ZERO || kind == GROWING)
            kv_store_scale(KV_V32, scales, 1, f32_bits(kind == ZERO ? 0 : ldexpf(1, token / 2 - 64)));
        else if (token == MARKED)
            kv_store_scale(KV_V32, scales, 1, f32_bits(kind == INFINITE ? INFINITY : NAN));
    }
    sparse_upload(problem, q, cache);
    free(q);
    free(cache);
}

/* Elements of out that are not what README says; growing values are compared with those of the naive variant, which
 * comes first. 06 has a token's values in FP16, so that they become infinite, and their products with a q of zero NaN.
 */
static int wrong(int kind, const char *label, const uint16_t *out, const float *lse)
{
    static uint16_t same[HEADS * SPARSE_D_V];
    const bool in_f16 = strcmp(label, "06_f16") == 0;
    int count = 0;
    (void)lse;
    if (strcmp(label, "01_naive") == 0)
        memcpy(same, out, sizeof same);
    for (int i = 0; i < HEADS * SPARSE_D_V; i++) {
        const float got = bf16_to_f32(out[i]), want = bf16_to_f32(same[i]);
        const bool in_tile = i % SPARSE_D_V / TILE == 1;
        if (kind == ZERO)
            count += in_tile ? got != 0 : !isfinite(got);
        else if (kind == NOT_A_NUMBER || (kind == INFINITE && in_tile) || (kind == GROWING && in_f16))
            count += !isnan(got);
        else if (kind == GROWING) /* values of up to 2^72 times a probability of about 2^-8; others of about 1 */
            count += !(fabsf(got - want) <= fabsf(want) / 64 + (in_tile ? 0x1p57f : 0x1p-6f));
    }
    return count;
}

static const char *name_of(int kind)
{
    return kind_name[kind];
}

int main(void)
{
    const struct sparse_test test = {KINDS, 0, fill, wrong, name_of};
    struct device_info info;
    struct timer_quality timer;
    struct ridge_error err;
    gpu_required();
    must(device_cuda.open(&info, &timer, &err), &err);
    return sparse_run_all(&test, &info);
}

#else

int main(void)
{
    printf("skipped: built without CUDA\n");
    return SKIPPED;
}

#endif
