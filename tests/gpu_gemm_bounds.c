/* SPDX-License-Identifier: Apache-2.0 */
/* How much of their error bound the tensor-core GEMMs use: the largest c with which |err| = rel |ref| + c sum|a||b| for
 * an element, over shapes, seeds and hard inputs, beside what is allowed: the family's mag_rel, and on random inputs
 * 2^-10 for FP8 and 2^-20 for BF16. And DeepGEMM's difference of a whole result, 1 - 2 sum(x y) / sum(x x + y y), at
 * most 0.001 for FP8 and 1e-5 for BF16 where sums do not cancel. */
#include "tests/gpu_launch.h"
#include "tests/gpu_records.h"

#include "bench/registry.h"
#include "bench/shape.h"
#include "kernels/support/numeric.h"

#include <math.h>

#ifdef RIDGE_WITH_CUDA

enum { CASES = 3, CANCELLING = 1, SEEDS = 2, MORE = 3 };
static const char *const case_names[CASES] = {"random", "cancelling", "outliers"};

struct family {
    const char *name;
    double random, difference;          /* c of random inputs, the difference: at most; 0: none is asked */
    int64_t more[MORE][RIDGE_MAX_AXES]; /* shapes beside those of ridge check; 0: none */
};

static const struct family families[] = {
    {"gemm_bf16", 0x1p-20, 1e-5, {{4096, 1024, 2048}}},
    {"gemm_fp8_tensor", 0x1p-10, 1e-3, {{4096, 1024, 2048}, {4096, 1024, 512}}},
    {"gemm_fp8_block", 0x1p-10, 1e-3, {{4096, 1024, 2048}, {4096, 1024, 512}, {4096, 1024, 128}}},
    {"gemm_fp8_block_1d1d", 0x1p-10, 1e-3, {{4096, 1024, 2048}, {4096, 1024, 128}}},
    {"gemm_fp8_block_steps", 0, 0, {{4096, 1024, 2048}}},
    {"gemm_fp8_chain", 0x1p-10, 1e-3, {{1024, 1024, 2048}}},
    {"gemm_grouped_contiguous", 0x1p-10, 1e-3, {{4, 1024, 4096, 1024, 2048}, {4, 1024, 4096, 1024, 256}}},
    {"gemm_grouped_masked", 0x1p-10, 1e-3, {{4, 1024, 1024, 1024, 2048}, {4, 1024, 1024, 1024, 256}}},
    {"gemm_grouped_k", 0x1p-10, 1e-3, {{4, 1024, 1024, 2048}}},
};

/* The worst of a case: where c was found, and the largest difference. */
struct worst {
    double c, difference;
    char where[128];
};

struct run {
    const struct family *family;
    const struct ridge_device *device;
    const struct ridge_entry *variant[64];
    int variants, seeds;
    struct worst worst[CASES];
};

static float result_at(const void *out, enum ridge_dtype dtype, int64_t i)
{
    return dtype == RIDGE_BF16 ? bf16_to_f32(((const uint16_t *)out)[i]) : ((const float *)out)[i];
}

static void *downloaded(const void *device, size_t bytes)
{
    struct ridge_error err;
    void *host = malloc(bytes + 1);
    must(device_cuda.download(host, device, bytes, &err), &err);
    return host;
}

/* Elements without a product, such as rows of padding, are no part of it. */
static void measure(const struct problem *problem, int buffer, const float *ref, const float *mag, double *c,
                    double *difference)
{
    const enum ridge_dtype dtype = problem->family->buffer[buffer].dtype;
    const double rel = problem->family->tolerance.rel;
    void *out = downloaded(problem->buffer[buffer], problem->bytes[buffer]);
    double most = 0, errors = 0, squares = 0;
    bool wrong = false;
#pragma omp parallel for reduction(max : most) reduction(+ : errors, squares) reduction(|| : wrong)
    for (int64_t i = 0; i < problem->count[buffer]; i++) {
        const double x = result_at(out, dtype, i), error = fabs(x - ref[i]);
        if (mag[i] == 0)
            continue;
        wrong = wrong || !isfinite(error);
        most = fmax(most, (error - rel * fabs(ref[i])) / mag[i]);
        errors += error * error;
        squares += x * x + (double)ref[i] * ref[i];
    }
    free(out);
    *c = wrong ? INFINITY : most;
    *difference = squares > 0 ? errors / squares : 0;
}

static void try_variant(struct run *run, struct problem *problem, const struct ridge_entry *entry, float *const *ref,
                        float *const *mag)
{
    struct worst *worst = &run->worst[problem->hard];
    char name[96];
    gpu_launch(problem, entry);
    for (int i = 0, output = 0; i < problem->family->buffers; i++) {
        double c, difference;
        if (problem->family->buffer[i].role == RIDGE_INPUT)
            continue;
        measure(problem, i, ref[output], mag[output], &c, &difference);
        output++;
        worst->difference = fmax(worst->difference, difference);
        if (c <= worst->c)
            continue;
        worst->c = c;
        shape_name(problem->family, problem->dim, name, sizeof name);
        snprintf(worst->where, sizeof worst->where, "%.24s %s", entry->label, name);
    }
}

static void try_shape(struct run *run, const int64_t *dim, int hard, uint64_t seed)
{
    const struct ridge_entry *first = run->variant[0];
    float *ref[RIDGE_MAX_BUFFERS] = {0}, *mag[RIDGE_MAX_BUFFERS] = {0};
    struct problem problem;
    struct ridge_error err;
    must(problem_open(&problem, &device_cuda, run->device, first->problem, dim, FILL_RANDOM, hard, seed, &err), &err);
    must(problem_reference(&problem, first->reference, &err), &err);
    for (int i = 0, output = 0; i < problem.family->buffers; i++) {
        if (problem.family->buffer[i].role == RIDGE_INPUT)
            continue;
        const size_t bytes = (size_t)problem.count[i] * sizeof(float);
        ref[output] = downloaded(problem.ref[output], bytes);
        mag[output] = downloaded(problem.mag[output], bytes);
        output++;
    }
    for (int i = 0; i < run->variants; i++) {
        const struct ridge_variant *variant = run->variant[i]->variant;
        if (!variant->unsupported || !variant->unsupported(problem.dim, run->device))
            try_variant(run, &problem, run->variant[i], ref, mag);
    }
    for (int i = 0; i < RIDGE_MAX_BUFFERS; i++) {
        free(ref[i]);
        free(mag[i]);
    }
    problem_close(&problem);
}

/* 1 where more is used than allowed. */
static int report(const struct run *run, int hard)
{
    const struct worst *worst = &run->worst[hard];
    const double most = run->family->difference;
    const double allowed =
        hard == 0 && run->family->random > 0 ? run->family->random : run->variant[0]->problem->tolerance.mag_rel;
    const bool good = worst->c <= allowed && (most == 0 || hard == CANCELLING || worst->difference <= most);
    printf("%-24s %-10s c 2^%.2f of 2^%.0f (%s), difference %.2g%s\n", run->family->name, case_names[hard],
           log2(worst->c), log2(allowed), worst->where, worst->difference, good ? "" : " FAIL");
    return !good;
}

static int try_family(const struct family *family, const struct ridge_device *device, int seeds)
{
    struct run run = {.family = family, .device = device, .seeds = seeds};
    int failures = 0;
    for (int i = 0; i < ridge_builtin_entry_count && run.variants < 64; i++) {
        const struct ridge_entry *entry = &ridge_builtin_entries[i];
        if (gpu_on_hopper(entry, family->name, device))
            run.variant[run.variants++] = entry;
    }
    if (run.variants == 0)
        return 0;
    const struct ridge_family *problem = run.variant[0]->problem;
    for (int hard = 0; hard < (problem->cases ? CASES : 1); hard++) {
        run.worst[hard].c = -1;
        for (int seed = 1; seed <= seeds; seed++) {
            for (int i = 0; i < problem->check_dims; i++)
                try_shape(&run, problem->check_dim[i], hard, (uint64_t)seed);
            for (int i = 0; i < MORE && family->more[i][0] > 0; i++)
                try_shape(&run, family->more[i], hard, (uint64_t)seed);
        }
        failures += report(&run, hard);
    }
    return failures;
}

/* gpu_gemm_bounds [family [seeds]] */
int main(int argc, char **argv)
{
    struct device_info info;
    int failures = 0;
    gpu_open_hopper(&info);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (argc < 2 || strcmp(argv[1], families[i].name) == 0)
            failures += try_family(&families[i], &info.device, argc > 2 ? atoi(argv[2]) : SEEDS);
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
