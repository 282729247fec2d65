/* SPDX-License-Identifier: Apache-2.0 */
/* FlashMLA's own bounds, element by element, for every tensor-core variant of the MLA families: an element passes if it
 * is off by less than `abs`, or by less than `rel` of what it should be; and an output as a whole if it is turned by
 * less than `cosine`, 1 - 2 sum(x y) / sum(x x + y y). Inputs, shapes and bounds: tests/test_flash_mla_{dense_decoding,
 * sparse_decoding,sparse_prefill}.py and tests/lib.py of FlashMLA 9241ae3. Their scale of scores is in q here, whose
 * values are not clamped; references are not rounded to BF16, quantised tokens are what their codes mean. */
#include "tests/gpu_launch.h"
#include "tests/gpu_records.h"

#include "bench/registry.h"
#include "kernels/mla_decode/mla_decode.h"
#include "kernels/mla_prefill_sparse/mla_prefill_sparse.h"
#define SPARSE_512 /* sparse_format() by `bytes`, which for mla_decode_sparse_fp8 follows its axes */
#include "kernels/mla_decode_sparse_fp8/mla_sparse.h"
#include "kernels/support/fill.h"

#include <math.h>

#ifdef RIDGE_WITH_CUDA

enum { MOST_VARIANTS = 32, V32_BYTES = 656 };
/* Hard cases, for half of the shapes: short and empty rows, and NaN in what no length, table or index names. Full rows
 * in the others, since rows of one key are exact and large and hide the rest from the cosine difference. */
enum { DENSE_POISONED = 3, SPARSE_INVALID = 1, PREFILL_INVALID = 1 };

struct bound {
    double abs, rel, cosine;
};

struct family {
    const char *name;
    double q_scale;
    int hard;
    struct bound bound[3]; /* by output */
};

static const struct family families[] = {
    {"mla_decode", 0.1, DENSE_POISONED, {{8e-4, 2.01 / 128, 5e-6}, {1e-6, 8.01 / 65536, 1e-7}}},
    {"mla_decode_f16", 0.1, DENSE_POISONED, {{8e-4, 2.01 / 128, 5e-6}, {1e-6, 8.01 / 65536, 1e-7}}},
    {"mla_decode_sparse_fp8", 0.728, SPARSE_INVALID, {{1e-3, 2.01 / 128, 5e-6}, {1e-6, 8.01 / 65536, 1e-7}}},
    {"mla_decode_sparse_512", 0.732, SPARSE_INVALID, {{1e-3, 2.01 / 128, 5e-6}, {1e-6, 8.01 / 65536, 1e-7}}},
    {"mla_prefill_sparse",
     1.2,
     PREFILL_INVALID,
     {{8e-4, 3.01 / 128, 7e-6}, {1e-6, 2.01 / 65536, 1e-7}, {1e-6, 2.01 / 65536, 1e-7}}},
};

/* What a variant has used of the bounds, by output. */
struct used {
    const struct ridge_entry *entry;
    int shapes;
    double share[3], cosine[3];
};

struct run {
    const struct family *family;
    const struct ridge_device *device;
    struct ridge_family problem; /* the family with the peers' inputs */
    struct used used[MOST_VARIANTS];
    int variants;
};

/* Tokens that an index names get values of standard deviation 0.1, all others NaN. */
static void fill_tokens(struct problem *problem, const int64_t *dim)
{
    struct ridge_error err;
    const int64_t indices = sparse_queries(dim) * dim[SPARSE_TOPK];
    int32_t *index = malloc(problem->bytes[SPARSE_INDICES]);
    uint8_t *cache = malloc(problem->bytes[SPARSE_CACHE]), *named = calloc((size_t)sparse_capacity(dim), 1);
    must(device_cuda.download(index, problem->buffer[SPARSE_INDICES], problem->bytes[SPARSE_INDICES], &err), &err);
    memset(cache, 0x7f, problem->bytes[SPARSE_CACHE]);
    for (int64_t i = 0; i < indices; i++)
        if (sparse_valid(dim, index[i]))
            named[index[i]] = 1;
#pragma omp parallel for
    for (int64_t token = 0; token < sparse_capacity(dim); token++) {
        float value[KV_MAX_VALUES];
        const enum kv_format format = sparse_format(dim);
        for (int i = 0; i < kv_values(format) && named[token]; i++)
            value[i] = fill_normal(7, (uint64_t)(token * KV_MAX_VALUES + i), 0.1f);
        if (named[token])
            kv_encode(format, KV_SCALE_FORMAT, value, (int)dim[SPARSE_PAGE_SIZE], (int)(token % dim[SPARSE_PAGE_SIZE]),
                      sparse_block(dim, cache, (int32_t)token));
    }
    must(device_cuda.upload(problem->buffer[SPARSE_CACHE], cache, problem->bytes[SPARSE_CACHE], &err), &err);
    free(index);
    free(cache);
    free(named);
}

/* Puts max(abs, rel |ref|) where the harness keeps what an element's error is measured in. */
static void set_bounds(struct problem *problem, const struct family *family)
{
    struct ridge_error err;
    for (int i = 0, output = 0; i < problem->family->buffers; i++) {
        if (problem->family->buffer[i].role != RIDGE_OUTPUT)
            continue;
        const struct bound *bound = &family->bound[output];
        const size_t bytes = (size_t)problem->count[i] * sizeof(float);
        float *value = malloc(bytes);
        must(device_cuda.download(value, problem->ref[output], bytes, &err), &err);
#pragma omp parallel for
        for (int64_t j = 0; j < problem->count[i]; j++)
            value[j] = (float)(isfinite(value[j]) ? fmax(bound->abs, bound->rel * fabs(value[j])) : bound->abs);
        must(device_cuda.upload(problem->mag[output++], value, bytes, &err), &err);
        free(value);
    }
}

static void compare(struct problem *problem, struct used *used)
{
    static const struct ridge_tolerance whole = {.rel = 0, .mag_rel = 1};
    struct ridge_error err;
    gpu_launch(problem, used->entry);
    for (int i = 0, output = 0; i < problem->family->buffers; i++) {
        struct compare_result result;
        if (problem->family->buffer[i].role != RIDGE_OUTPUT)
            continue;
        must(device_cuda.compare(problem->buffer[i], problem->family->buffer[i].dtype, problem->ref[output],
                                 problem->mag[output], problem->count[i], 0, &whole, &result, &err),
             &err);
        /* 2 sum(x y) = sum(x x) + sum(y y) - sum((x - y)^2), and |x| >= |y| - |x - y|. */
        const double least = sqrt(result.ref_squares) - sqrt(result.error_squares);
        const double cosine =
            result.error_squares > 0 ? result.error_squares / (result.ref_squares + least * least) : 0;
        if (!(result.max_error <= used->share[output]))
            used->share[output] = result.max_error;
        used->cosine[output] = fmax(used->cosine[output], cosine);
        output++;
    }
    used->shapes++;
}

static void try_shape(struct run *run, const int64_t *dim, bool hard)
{
    struct problem problem;
    struct ridge_error err;
    bool open = false;
    for (int i = 0; i < run->variants; i++) {
        struct used *used = &run->used[i];
        if (used->entry->variant->unsupported && used->entry->variant->unsupported(dim, run->device))
            continue;
        if (!open) {
            must(problem_open(&problem, &device_cuda, run->device, &run->problem, dim, FILL_RANDOM,
                              hard ? run->family->hard : 0, 1, &err),
                 &err);
            if (strstr(run->family->name, "decode_sparse"))
                fill_tokens(&problem, dim);
            must(problem_reference(&problem, used->entry->reference, &err), &err);
            set_bounds(&problem, run->family);
            open = true;
        }
        compare(&problem, used);
    }
    if (open)
        problem_close(&problem);
}

static void try_dense(struct run *run)
{
    static const int64_t b[] = {1, 2, 6, 64}, s_q[] = {1, 2, 4}, s_k[] = {20, 140, 4096},
                         h[] = {1, 3, 9, 63, 64, 126, 128};
    for (int i = 0; i < 4 * 3 * 3 * 7; i++) {
        const int64_t dim[] = {b[i / 63], s_q[i / 21 % 3], s_k[i / 7 % 3], h[i % 7], 64};
        if (dim[MLA_B] < 64 || dim[MLA_S_K] < 4096 || (dim[MLA_H] == 128 && dim[MLA_S_Q] == 2))
            try_shape(run, dim, __builtin_parity((unsigned)i));
    }
}

static void try_sparse(struct run *run)
{
    static const int64_t tokens[][3] = {/* s_k of a request, topk, page_size */
                                        {512, 64, 2},    {512, 64, 64},   {512, 64, 69},    {1024, 576, 2},
                                        {1024, 576, 61}, {2046, 2048, 2}, {2046, 2048, 64}, {2046, 2048, 576}};
    static const int64_t b[] = {4, 74}, s_q[] = {1, 3}, h[] = {64, 128}, bytes[] = {584, 528, 288};
    const bool v32 = strcmp(run->family->name, "mla_decode_sparse_fp8") == 0;
    for (int i = 0; i < 8 * 2 * 2 * 2; i++) {
        const int64_t *t = tokens[i / 8], requests = b[i / 4 % 2], page = t[2];
        const int64_t dim[RIDGE_MAX_AXES] = {
            requests, s_q[i / 2 % 2], h[i % 2], t[1], requests * t[0], page, v32 ? V32_BYTES : bytes[i % 3]};
        if (requests < 74 || t[1] < 2048 || page == 64) /* the largest once */
            try_shape(run, dim, __builtin_parity((unsigned)i));
    }
}

static void try_prefill(struct run *run)
{
    static const int64_t keys[][2] = {/* s_kv, topk */
                                      {128, 128},  {256, 256}, {512, 512}, {592, 128}, {1840, 256}, {1592, 384},
                                      {1521, 512}, {95, 128},  {153, 256}, {114, 384}, {8192, 2048}};
    static const int64_t s_q[] = {1, 62, 213}, h[] = {128, 64}, d_qk[] = {512, 576};
    for (int i = 0; i < 11 * 3 * 2 * 2; i++) {
        const int64_t *k = keys[i / 12];
        const int64_t dim[] = {s_q[i / 4 % 3], k[0], h[i / 2 % 2], k[1], d_qk[i % 2]};
        try_shape(run, dim, __builtin_parity((unsigned)i));
    }
}

/* 1 for a variant that is not within the bounds. */
static int report(const struct run *run, const struct used *used)
{
    bool good = used->shapes > 0;
    printf("%s_%s, %d shapes:", run->family->name, used->entry->label, used->shapes);
    for (int i = 0, output = 0; i < run->problem.buffers; i++) {
        if (run->problem.buffer[i].role != RIDGE_OUTPUT)
            continue;
        const double cosine = used->cosine[output] / run->family->bound[output].cosine;
        good = good && used->share[output] <= 1 && cosine <= 1;
        printf("%s %s %.3f, cosine %.3f", output ? ";" : "", run->problem.buffer[i].name, used->share[output], cosine);
        output++;
    }
    printf("%s\n", good ? "" : " FAIL");
    return !good;
}

static int try_family(const struct family *family, const struct ridge_device *device)
{
    struct run run = {.family = family, .device = device};
    int failures = 0;
    for (int i = 0; i < ridge_builtin_entry_count; i++) {
        const struct ridge_entry *entry = &ridge_builtin_entries[i];
        if (!gpu_on_hopper(entry, family->name, device))
            continue;
        if (run.variants == MOST_VARIANTS) {
            printf("FAIL: %s has more variants than %d\n", family->name, MOST_VARIANTS);
            return 1;
        }
        run.problem = *entry->problem;
        run.used[run.variants++].entry = entry;
    }
    if (run.variants == 0)
        return 0;
    run.problem.buffer[0].scale = family->q_scale;
    run.problem.buffer[1].scale = 0.1; /* kv */
    (strstr(family->name, "prefill") ? try_prefill : strstr(family->name, "sparse") ? try_sparse : try_dense)(&run);
    for (int i = 0; i < run.variants; i++)
        failures += report(&run, &run.used[i]);
    return failures;
}

/* gpu_peer_bounds [family] */
int main(int argc, char **argv)
{
    struct device_info info;
    int failures = 0;
    gpu_open_hopper(&info);
    printf("largest share of FlashMLA's bounds that is used, of elements and of the cosine difference\n");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (argc < 2 || strcmp(argv[1], families[i].name) == 0)
            failures += try_family(&families[i], &info.device);
    device_cuda.close();
    return failures > 0;
}

#else

int main(void)
{
    printf("skipped: built without CUDA\n");
    return SKIPPED;
}

#endif
