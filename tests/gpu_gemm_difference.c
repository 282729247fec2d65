/* SPDX-License-Identifier: Apache-2.0 */
/* DeepGEMM's own rule (deep_gemm/testing/numeric.py of 54e2261): a result x of what should be y passes if
 * 1 - 2 sum(x y) / sum(x x + y y) = sum((x - y)^2) / sum(x x + y y) is below 1e-5 in BF16, and in FP8 with block scales
 * below 1e-3, where y is the product of the operands before they were quantised: most of it is the quantiser's. Beside
 * it the same against the dequantised operands, which is the kernel's own. */
#include "tests/gpu_launch.h"
#include "tests/gpu_records.h"

#include "bench/registry.h"
#include "kernels/gemm_fp8_block/gemm_fp8_block.h"
#include "kernels/gemm_fp8_tensor/gemm_fp8.h"
#include "kernels/support/block_scale.h"

#include <math.h>

#ifdef RIDGE_WITH_CUDA

enum { SIDE = BLOCK_SCALE_SIDE, MOST_VARIANTS = 32 };
static const double bf16_limit = 1e-5, fp8_limit = 1e-3;

/* Those of at most 128 rows: k in parts, and every tile of gemm_fp8_block_15. */
static const int64_t shapes[][RIDGE_MAX_AXES] = {{128, 2112, 7168}, {64, 7168, 2048},  {128, 7168, 2048},
                                                 {64, 32768, 512},  {128, 32768, 512}, {128, 24576, 1536},
                                                 {4096, 576, 7168}, {4096, 4096, 2048}};

struct used {
    const struct ridge_entry *entry;
    double difference, own; /* largest; own: against dequantised operands */
};

static struct used used[2][MOST_VARIANTS]; /* gemm_bf16, gemm_fp8_block */
static int variants[2];

/* The codes of a block of `rows` x 128 of x [.., k] at most, and its scale. */
static float quantise(const uint16_t *x, int64_t rows, int64_t columns, int64_t k, uint8_t *code)
{
    uint32_t amax = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < columns; i++)
            amax = block_scale_larger(amax, x[r * k + i]);
    const float scale = block_scale_of(bf16_to_f32((uint16_t)amax)), inverse = 1 / scale;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < columns; i++)
            code[r * k + i] = block_scale_code(bf16_to_f32(x[r * k + i]), inverse);
    return scale;
}

/* Operand GEMM_A or GEMM_B of `plain` into `fp8`, with its scales. */
static void quantise_operand(const struct problem *plain, struct problem *fp8, int operand)
{
    struct ridge_error err;
    const int64_t *dim = plain->dim, k = dim[GEMM_K], rows = operand == GEMM_A ? dim[GEMM_M] : dim[GEMM_N];
    const int64_t high = operand == GEMM_A ? 1 : SIDE, blocks = block_scale_count(k), pitch = block_scale_pitch(rows);
    const int scales = operand == GEMM_A ? GEMM_FP8_SCALE_A : GEMM_FP8_SCALE_B;
    uint16_t *x = malloc(plain->bytes[operand]);
    uint8_t *code = malloc(fp8->bytes[operand]);
    float *scale = calloc(fp8->bytes[scales], 1);
    must(device_cuda.download(x, plain->buffer[operand], plain->bytes[operand], &err), &err);
#pragma omp parallel for
    for (int64_t row = 0; row < rows; row += high)
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t at = row * k + block * SIDE, height = rows - row < high ? rows - row : high;
            const int64_t width = k - block * SIDE < SIDE ? k - block * SIDE : SIDE;
            scale[operand == GEMM_A ? block * pitch + row : row / SIDE * blocks + block] =
                quantise(x + at, height, width, k, code + at);
        }
    must(device_cuda.upload(fp8->buffer[operand], code, fp8->bytes[operand], &err), &err);
    must(device_cuda.upload(fp8->buffer[scales], scale, fp8->bytes[scales], &err), &err);
    free(x);
    free(code);
    free(scale);
}

/* Of the last output buffer of `problem`, against ref. `zero` has as many zeros. */
static double difference(const struct problem *problem, const float *ref, const float *zero)
{
    static const struct ridge_tolerance any = {.rel = 1, .mag_rel = 1};
    struct ridge_error err;
    struct compare_result apart, size;
    const int d = problem->family->buffers - 1;
    const int64_t count = problem->count[d];
    must(device_cuda.compare(problem->buffer[d], RIDGE_BF16, ref, problem->mag[0], count, 0, &any, &apart, &err), &err);
    must(device_cuda.compare(problem->buffer[d], RIDGE_BF16, zero, problem->mag[0], count, 0, &any, &size, &err), &err);
    return apart.error_squares / (apart.ref_squares + size.error_squares);
}

static void try_family(int family, struct problem *problem, const float *ref, const float *zero)
{
    for (int i = 0; i < variants[family]; i++) {
        struct used *u = &used[family][i];
        if (u->entry->variant->unsupported && u->entry->variant->unsupported(problem->dim, problem->device))
            continue;
        gpu_launch(problem, u->entry);
        const double now = difference(problem, ref, zero), own = difference(problem, problem->ref[0], zero);
        if (!(now <= u->difference))
            u->difference = now;
        if (!(own <= u->own))
            u->own = own;
    }
}

static void try_shape(const struct ridge_device *device, const int64_t *dim)
{
    const struct ridge_entry *bf16 = used[0][0].entry, *block = used[1][0].entry;
    struct problem plain, fp8;
    struct ridge_error err;
    void *zero = NULL;
    const size_t bytes = (size_t)(dim[GEMM_M] * dim[GEMM_N]) * sizeof(float);
    must(problem_open(&plain, &device_cuda, device, bf16->problem, dim, FILL_RANDOM, 0, 1, &err), &err);
    must(problem_reference(&plain, bf16->reference, &err), &err);
    must(problem_open(&fp8, &device_cuda, device, block->problem, dim, FILL_RANDOM, 0, 1, &err), &err);
    quantise_operand(&plain, &fp8, GEMM_A);
    quantise_operand(&plain, &fp8, GEMM_B);
    must(problem_reference(&fp8, block->reference, &err), &err);
    must(device_cuda.alloc(&zero, bytes, &err), &err);
    must(device_cuda.set(zero, 0, bytes, &err), &err);
    try_family(0, &plain, plain.ref[0], zero);
    try_family(1, &fp8, plain.ref[0], zero);
    device_cuda.free(zero);
    problem_close(&fp8);
    problem_close(&plain);
}

/* Tensor-core variants and the vendor's. */
static void choose(int family, const char *name, int cc)
{
    for (int i = 0; i < ridge_builtin_entry_count && variants[family] < MOST_VARIANTS; i++) {
        const struct ridge_entry *entry = &ridge_builtin_entries[i];
        if (strcmp(entry->family, name) == 0 && entry->variant->kind == RIDGE_CUDA && entry->variant->min_cc <= cc &&
            (entry->variant->min_cc >= 90 || entry->label[0] == '9'))
            used[family][variants[family]++].entry = entry;
    }
}

static int report(int family, double limit)
{
    int failures = 0;
    for (int i = 0; i < variants[family]; i++) {
        const struct used *u = &used[family][i];
        const bool good = u->difference > 0 && u->difference < limit;
        printf("%s_%s: %.2e", u->entry->family, u->entry->label, u->difference);
        if (family == 1)
            printf(", against dequantised operands %.2e", u->own);
        printf("%s\n", good ? "" : " FAIL");
        failures += !good;
    }
    return failures;
}

int main(void)
{
    struct device_info info;
    struct timer_quality timer;
    struct ridge_error err;
    gpu_required();
    must(device_cuda.open(&info, &timer, &err), &err);
    choose(0, "gemm_bf16", info.device.cc);
    choose(1, "gemm_fp8_block", info.device.cc);
    if (info.device.cc < 90 || !variants[0] || !variants[1]) {
        printf("skipped: no variant with tensor-core instructions for compute capability %d\n", info.device.cc);
        return SKIPPED;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        try_shape(&info.device, shapes[i]);
    device_cuda.close();
    return report(0, bf16_limit) + report(1, fp8_limit) > 0;
}

#else

int main(void)
{
    printf("skipped: built without CUDA\n");
    return SKIPPED;
}

#endif
