/* SPDX-License-Identifier: Apache-2.0 */
/* One query over all tokens of a cache, in order, in every GPU variant of mla_decode_sparse_fp8, for tests that make
 * its inputs and look at its results themselves. */
#ifndef RIDGE_GPU_SPARSE_H
#define RIDGE_GPU_SPARSE_H

#include "tests/gpu_launch.h"

#include "bench/registry.h"
#include "kernels/mla_decode_sparse_fp8/mla_sparse.h"

enum { HEADS = 128, TOKENS = 256, TILE = 128 };

struct sparse_test {
    int inputs, least_cc; /* of variants */
    void (*fill)(struct problem *problem, int input);
    int (*wrong)(int input, const char *label, const uint16_t *out, const float *lse); /* how many values are */
    const char *(*name)(int input);
};

static inline void sparse_upload(const struct problem *problem, const uint16_t *q, const uint8_t *cache)
{
    struct ridge_error err;
    int32_t index[TOKENS];
    for (int token = 0; token < TOKENS; token++)
        index[token] = token;
    must(device_cuda.upload(problem->buffer[SPARSE_Q], q, problem->bytes[SPARSE_Q], &err), &err);
    must(device_cuda.upload(problem->buffer[SPARSE_CACHE], cache, problem->bytes[SPARSE_CACHE], &err), &err);
    must(device_cuda.upload(problem->buffer[SPARSE_INDICES], index, sizeof index, &err), &err);
}

/* 1 where the variant's results are wrong. */
static inline int sparse_run(const struct sparse_test *test, struct problem *problem, const struct ridge_entry *entry,
                             int input)
{
    static uint16_t out[HEADS * SPARSE_D_V];
    static float lse[HEADS];
    struct ridge_error err;
    gpu_launch(problem, entry);
    must(device_cuda.download(out, problem->buffer[SPARSE_OUT], sizeof out, &err), &err);
    must(device_cuda.download(lse, problem->buffer[SPARSE_LSE], sizeof lse, &err), &err);
    const int count = test->wrong(input, entry->label, out, lse);
    if (count)
        printf("FAIL: %s, %s: %d values\n", entry->label, test->name(input), count);
    return count > 0;
}

/* The program's exit status, on an open device. */
static inline int sparse_run_all(const struct sparse_test *test, const struct device_info *info)
{
    static const int64_t dim[RIDGE_MAX_AXES] = {1, 1, HEADS, TOKENS, TOKENS, TOKENS};
    struct registry registry;
    struct ridge_error err;
    struct problem problem;
    int failures = 0, tried = 0;
    must(registry_open(&registry, &err), &err);
    for (int input = 0; input < test->inputs; input++) {
        bool first = true;
        for (int i = 0; i < registry.count; i++) {
            const struct ridge_entry *entry = registry.entry[i];
            const struct ridge_variant *variant = entry->variant;
            if (strcmp(entry->family, "mla_decode_sparse_fp8") != 0 || variant->kind != RIDGE_CUDA ||
                variant->min_cc < test->least_cc || variant->min_cc > info->device.cc)
                continue;
            if (first) {
                must(problem_open(&problem, &device_cuda, &info->device, entry->problem, dim, FILL_RANDOM, 0, 1, &err),
                     &err);
                test->fill(&problem, input);
            }
            failures += sparse_run(test, &problem, entry, input);
            first = false;
            tried++;
        }
        if (!first)
            problem_close(&problem);
    }
    printf("%d runs, %d failures\n", tried, failures);
    return failures || !tried;
}

#endif
