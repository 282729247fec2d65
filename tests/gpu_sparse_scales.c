/* SPDX-License-Identifier: Apache-2.0 */
/* Scales that random inputs do not have, in every variant of mla_decode_sparse_fp8: zero, NaN and infinite ones, and
 * ones that grow by 2^128 over a query's tokens while scores stay as they are. README, "Scales folded out". */
#include "tests/gpu_launch.h"
#include "tests/gpu_records.h"

#include "bench/registry.h"
#include "kernels/mla_decode_sparse_fp8/mla_sparse.h"

#include <math.h>

#ifdef RIDGE_WITH_CUDA

enum { HEADS = 128, TOKENS = 256, TILE = 128, MARKED = 200 };

enum kind { ZERO, NOT_A_NUMBER, INFINITE, GROWING, KINDS };

static const char *const kind_name[] = {"zero scales", "a NaN scale", "an infinite scale", "growing scales"};
static const int64_t dim[RIDGE_MAX_AXES] = {1, 1, HEADS, TOKENS, TOKENS, TOKENS};

/* Every token once, in order; tile 1 gets its scales, and nothing of q, so that scores stay small. */
static void fill(struct problem *problem, enum kind kind)
{
    struct ridge_error err;
    int32_t index[TOKENS];
    uint16_t *q = malloc(problem->bytes[SPARSE_Q]);
    uint8_t *cache = malloc(problem->bytes[SPARSE_CACHE]);
    must(device_cuda.download(q, problem->buffer[SPARSE_Q], problem->bytes[SPARSE_Q], &err), &err);
    must(device_cuda.download(cache, problem->buffer[SPARSE_CACHE], problem->bytes[SPARSE_CACHE], &err), &err);
    for (int head = 0; head < HEADS && kind == GROWING; head++)
        memset(q + head * SPARSE_D_K + TILE, 0, TILE * sizeof *q);
    for (int token = 0; token < TOKENS; token++) {
        uint8_t *scales = cache + kv_scale_offset(KV_V32, TOKENS, token);
        index[token] = token;
        if (kind == ZERO || kind == GROWING)
            kv_store_scale(KV_V32, scales, 1, f32_bits(kind == ZERO ? 0 : ldexpf(1, token / 2 - 64)));
        else if (token == MARKED)
            kv_store_scale(KV_V32, scales, 1, f32_bits(kind == INFINITE ? INFINITY : NAN));
    }
    must(device_cuda.upload(problem->buffer[SPARSE_Q], q, problem->bytes[SPARSE_Q], &err), &err);
    must(device_cuda.upload(problem->buffer[SPARSE_CACHE], cache, problem->bytes[SPARSE_CACHE], &err), &err);
    must(device_cuda.upload(problem->buffer[SPARSE_INDICES], index, sizeof index, &err), &err);
    free(q);
    free(cache);
}

/* Elements of out that are not what README says; `same` is the naive variant's output. in_f16: a token's values are
 * FP16, so that growing ones become infinite, and their products with a q of zero NaN. */
static int wrong(enum kind kind, bool in_f16, const uint16_t *out, const uint16_t *same)
{
    int count = 0;
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

int main(void)
{
    struct registry registry;
    struct device_info info;
    struct timer_quality timer;
    struct ridge_error err;
    struct problem problem;
    int failures = 0, tried = 0;
    uint16_t *out = calloc(HEADS * SPARSE_D_V, 2), *same = calloc(HEADS * SPARSE_D_V, 2);
    gpu_required();
    must(device_cuda.open(&info, &timer, &err), &err);
    must(registry_open(&registry, &err), &err);
    for (int kind = 0; kind < KINDS; kind++) {
        bool first = true;
        for (int i = 0; i < registry.count; i++) {
            const struct ridge_entry *entry = registry.entry[i];
            if (strcmp(entry->family, "mla_decode_sparse_fp8") != 0 || entry->variant->kind != RIDGE_CUDA ||
                entry->variant->min_cc > info.device.cc)
                continue;
            if (first)
                must(problem_open(&problem, &device_cuda, &info.device, entry->problem, dim, FILL_RANDOM, 0, 1, &err),
                     &err);
            if (first)
                fill(&problem, (enum kind)kind);
            gpu_launch(&problem, entry);
            must(device_cuda.download(first ? same : out, problem.buffer[SPARSE_OUT], problem.bytes[SPARSE_OUT], &err),
                 &err);
            const bool in_f16 = strcmp(entry->label, "06_f16") == 0;
            const int bad = wrong((enum kind)kind, in_f16, first ? same : out, same);
            if (bad)
                printf("FAIL: %s, %s: %d values\n", entry->label, kind_name[kind], bad);
            failures += bad > 0;
            tried++;
            first = false;
        }
        if (!first)
            problem_close(&problem);
    }
    printf("%d runs, %d failures\n", tried, failures);
    free(out);
    free(same);
    return failures || !tried;
}

#else

int main(void)
{
    printf("skipped: built without CUDA\n");
    return SKIPPED;
}

#endif
