/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/cold_timer.cuh"
#include "kernels/support/cublaslt.h"
#include "kernels/support/launch.cuh"

#include <algorithm>
#include <cublasLt.h>
#include <dlfcn.h>
#include <stdlib.h>

enum { MAX_ALGORITHMS = 16, LEAST_ROUNDS = 3, MOST_ROUNDS = 9, WORKSPACE_BYTES = 32 << 20 };
static const float TIMING_MS = 100; /* no further round after as much */

#define FUNCTIONS(X)                                                                                                   \
    X(cublasLtGetVersion)                                                                                              \
    X(cublasLtGetStatusString)                                                                                         \
    X(cublasLtCreate)                                                                                                  \
    X(cublasLtDestroy)                                                                                                 \
    X(cublasLtMatmulDescCreate)                                                                                        \
    X(cublasLtMatmulDescSetAttribute)                                                                                  \
    X(cublasLtMatmulDescDestroy)                                                                                       \
    X(cublasLtMatrixLayoutCreate)                                                                                      \
    X(cublasLtMatrixLayoutDestroy)                                                                                     \
    X(cublasLtMatmulPreferenceCreate)                                                                                  \
    X(cublasLtMatmulPreferenceSetAttribute)                                                                            \
    X(cublasLtMatmulPreferenceDestroy)                                                                                 \
    X(cublasLtMatmulAlgoGetHeuristic)                                                                                  \
    X(cublasLtMatmulAlgoConfigGetAttribute)                                                                            \
    X(cublasLtMatmul)

struct library {
    char missing[512]; /* empty: all functions are there */
#define MEMBER(name) decltype(&::name) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

static void *open_library(char *missing, size_t bytes)
{
    static const char *const candidates[] = {
        "libcublasLt.so.13",
        "libcublasLt.so.12",
        "libcublasLt.so",
        "/usr/local/cuda/lib64/libcublasLt.so",
        "/usr/local/cuda/lib/libcublasLt.so",
        "/usr/local/cuda-13.0/lib64/libcublasLt.so.13",
        "/usr/local/cuda-13.0/lib/libcublasLt.so.13",
    };
    const char *named = getenv("RIDGE_CUBLASLT");
    if (named && *named) {
        void *handle = dlopen(named, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            snprintf(missing, bytes, "RIDGE_CUBLASLT: %s", dlerror());
        return handle;
    }
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        void *handle = dlopen(candidates[i], RTLD_NOW | RTLD_LOCAL);
        if (handle)
            return handle;
    }
    snprintf(missing, bytes, "cuBLASLt not found: set RIDGE_CUBLASLT to the path of libcublasLt.so");
    return NULL;
}

/* Loaded at the first use and kept until the process ends. */
static const struct library *library()
{
    static const struct library loaded = [] {
        struct library l = {};
        void *handle = open_library(l.missing, sizeof l.missing);
        if (!handle)
            return l;
#define LOAD(name)                                                                                                     \
    l.name = (decltype(l.name))dlsym(handle, #name);                                                                   \
    if (!l.name)                                                                                                       \
        snprintf(l.missing, sizeof l.missing, "cuBLASLt has no function %s: set RIDGE_CUBLASLT to another", #name);
        FUNCTIONS(LOAD)
#undef LOAD
        return l;
    }();
    return &loaded;
}

struct gemm {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulAlgo_t algorithm;
    int output;           /* index of d among the buffers */
    float beta;           /* d's old values count times this */
    float *padded_scales; /* device memory: scale_b in the library's layout, or NULL */
    char text[160];
};

static int failed(const struct ridge_call *call, cublasStatus_t status, const char *expression)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return 0;
    snprintf(call->error, call->error_bytes, "%s: %s", expression, library()->cublasLtGetStatusString(status));
    return 1;
}

#define CUBLASLT(call, function, ...)                                                                                  \
    do {                                                                                                               \
        if (failed(call, library()->function(__VA_ARGS__), #function))                                                 \
            return 1;                                                                                                  \
    } while (0)

/* The library is column-major: there D^T[n,m] = op(B)[n,k] A[k,m], where B lies as [k,n] and is transposed. */
static int describe_operation(struct ridge_call *call, cudaDataType_t type, cudaDataType_t output_type,
                              struct gemm *gemm)
{
    const uint64_t m = (uint64_t)call->dim[0], n = (uint64_t)call->dim[1], k = (uint64_t)call->dim[2];
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const uint64_t workspace_bytes = WORKSPACE_BYTES;
    /* Split-k partial sums stay FP32: summed in the output's type, they miss the tolerance of FP32 accumulation. */
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    CUBLASLT(call, cublasLtCreate, &gemm->handle);
    CUBLASLT(call, cublasLtMatmulDescCreate, &gemm->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    CUBLASLT(call, cublasLtMatmulDescSetAttribute, gemm->operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
             sizeof transposed);
    CUBLASLT(call, cublasLtMatrixLayoutCreate, &gemm->b, type, k, n, (int64_t)k);
    CUBLASLT(call, cublasLtMatrixLayoutCreate, &gemm->a, type, k, m, (int64_t)k);
    CUBLASLT(call, cublasLtMatrixLayoutCreate, &gemm->d, output_type, n, m, (int64_t)n);
    CUBLASLT(call, cublasLtMatmulPreferenceCreate, &gemm->preference);
    CUBLASLT(call, cublasLtMatmulPreferenceSetAttribute, gemm->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
             &workspace_bytes, sizeof workspace_bytes);
    CUBLASLT(call, cublasLtMatmulPreferenceSetAttribute, gemm->preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
             &reductions, sizeof reductions);
    return 0;
}

static cublasStatus_t multiply(const struct ridge_call *call, const struct gemm *gemm,
                               const cublasLtMatmulAlgo_t *algorithm)
{
    static const float one = 1;
    return library()->cublasLtMatmul(gemm->handle, gemm->operation, &one, call->buffer[1], gemm->b, call->buffer[0],
                                     gemm->a, &gemm->beta, call->buffer[gemm->output], gemm->d,
                                     call->buffer[gemm->output], gemm->d, algorithm, call->workspace, WORKSPACE_BYTES,
                                     ridge_stream(call));
}

struct candidate {
    cublasLtMatmulAlgo_t algorithm;
    int place; /* in the heuristic's order, from 1 */
    float ms[MOST_ROUNDS], median_ms;
};

/* A round times each of them once, so that clock and power, which change with time, are alike for all. */
static int time_rounds(struct ridge_call *call, const struct gemm *gemm, const struct cold_timer *timer,
                       struct candidate *candidate, int count)
{
    float spent_ms = 0;
    int rounds = 0;
    while (rounds < MOST_ROUNDS && (rounds < LEAST_ROUNDS || spent_ms < TIMING_MS)) {
        for (struct candidate *c = candidate; c < candidate + count; c++) {
            if (cold_timer_start(call, timer) || failed(call, multiply(call, gemm, &c->algorithm), "cublasLtMatmul") ||
                cold_timer_stop(call, timer, &c->ms[rounds]))
                return 1;
            spent_ms += c->ms[rounds];
        }
        rounds++;
    }
    for (struct candidate *c = candidate; c < candidate + count; c++) {
        std::nth_element(c->ms, c->ms + rounds / 2, c->ms + rounds);
        c->median_ms = c->ms[rounds / 2];
    }
    return 0;
}

static int time_candidates(struct ridge_call *call, const struct gemm *gemm, struct candidate *candidate, int count)
{
    struct cold_timer timer;
    const int status = cold_timer_open(call, &timer) || time_rounds(call, gemm, &timer, candidate, count);
    cold_timer_close(&timer);
    return status;
}

static uint32_t config(const cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute)
{
    uint32_t value = 0;
    size_t written;
    library()->cublasLtMatmulAlgoConfigGetAttribute(algorithm, attribute, &value, sizeof value, &written);
    return value;
}

static int choose_algorithm(struct ridge_call *call, struct gemm *gemm)
{
    cublasLtMatmulHeuristicResult_t proposed[MAX_ALGORITHMS];
    struct candidate candidate[MAX_ALGORITHMS] = {};
    int count = 0, usable = 0;
    CUBLASLT(call, cublasLtMatmulAlgoGetHeuristic, gemm->handle, gemm->operation, gemm->b, gemm->a, gemm->d, gemm->d,
             gemm->preference, MAX_ALGORITHMS, proposed, &count);
    for (int i = 0; i < count; i++) { /* modules load lazily: a call that is not timed */
        candidate[usable].algorithm = proposed[i].algo;
        candidate[usable].place = i + 1;
        usable += multiply(call, gemm, &proposed[i].algo) == CUBLAS_STATUS_SUCCESS;
    }
    RIDGE_CUDA(call, cudaStreamSynchronize(ridge_stream(call)));
    if (usable == 0) {
        snprintf(call->error, call->error_bytes, "none of the %d algorithms cuBLASLt proposes runs", count);
        return 1;
    }
    if (usable > 1 && time_candidates(call, gemm, candidate, usable))
        return 1;
    const struct candidate *best =
        std::min_element(candidate, candidate + usable, [](const struct candidate &x, const struct candidate &y) {
            return x.median_ms < y.median_ms;
        });
    gemm->algorithm = best->algorithm;
    const size_t version = library()->cublasLtGetVersion();
    snprintf(gemm->text, sizeof gemm->text,
             "cuBLASLt %zu.%zu.%zu, algorithm %d of %d: id %u, tile %u, stages %u, split-k %u", version / 10000,
             version / 100 % 100, version % 100, best->place, count, config(&gemm->algorithm, CUBLASLT_ALGO_CONFIG_ID),
             config(&gemm->algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
             config(&gemm->algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID),
             config(&gemm->algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
    return 0;
}

extern "C" const char *cublaslt_unsupported(const int64_t *dim, const struct ridge_device *device)
{
    (void)dim;
    (void)device;
    return *library()->missing ? library()->missing : NULL;
}

extern "C" size_t cublaslt_workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    (void)dim;
    (void)device;
    return WORKSPACE_BYTES;
}

static int set_attribute(struct ridge_call *call, struct gemm *gemm, cublasLtMatmulDescAttributes_t attribute,
                         const void *value, size_t bytes)
{
    CUBLASLT(call, cublasLtMatmulDescSetAttribute, gemm->operation, attribute, value, bytes);
    return 0;
}

/* The library wants a multiple of four scales a row of B's blocks. */
static int pad_scales(struct ridge_call *call, struct gemm *gemm, const void **scale_b)
{
    const size_t rows = (size_t)ridge_ceil_div(call->dim[1], 128), columns = (size_t)ridge_ceil_div(call->dim[2], 128);
    const size_t pitch = (columns + 3) / 4 * 4;
    *scale_b = call->buffer[3];
    if (pitch == columns)
        return 0;
    RIDGE_CUDA(call, cudaMalloc((void **)&gemm->padded_scales, rows * pitch * sizeof(float)));
    RIDGE_CUDA(call, cudaMemset(gemm->padded_scales, 0, rows * pitch * sizeof(float)));
    RIDGE_CUDA(call, cudaMemcpy2D(gemm->padded_scales, pitch * sizeof(float), *scale_b, columns * sizeof(float),
                                  columns * sizeof(float), rows, cudaMemcpyDeviceToDevice));
    *scale_b = gemm->padded_scales;
    return 0;
}

/* The library's A is B here, and the other way round. */
static int describe_scales(struct ridge_call *call, struct gemm *gemm, enum cublaslt_fp8 mode)
{
    const int8_t fast = mode == CUBLASLT_FP8_FAST;
    const int32_t mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F,
                  mode_b = mode == CUBLASLT_FP8_BLOCK ? CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F : mode_a;
    const bool blocks = mode == CUBLASLT_FP8_BLOCK || mode == CUBLASLT_FP8_VEC128;
    const void *scale_a = call->buffer[2], *scale_b = call->buffer[3];
    if (set_attribute(call, gemm, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast))
        return 1;
    if (blocks && (set_attribute(call, gemm, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &mode_b, sizeof mode_b) ||
                   set_attribute(call, gemm, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &mode_a, sizeof mode_a)))
        return 1;
    if (mode == CUBLASLT_FP8_BLOCK && pad_scales(call, gemm, &scale_b))
        return 1;
    return set_attribute(call, gemm, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &scale_b, sizeof scale_b) ||
           set_attribute(call, gemm, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &scale_a, sizeof scale_a);
}

/* `fp8` is NULL for operands of `type` without scales. */
static int set_up(struct ridge_call *call, cudaDataType_t type, cudaDataType_t output_type,
                  const enum cublaslt_fp8 *fp8, void **state)
{
    struct gemm *gemm = (struct gemm *)calloc(1, sizeof *gemm);
    *state = gemm;
    if (!gemm) {
        snprintf(call->error, call->error_bytes, "out of memory");
        return 1;
    }
    gemm->output = fp8 ? 4 : 2;
    gemm->beta = fp8 && *fp8 == CUBLASLT_FP8_VEC128 ? 1.0f : 0.0f;
    if (describe_operation(call, type, output_type, gemm) || (fp8 && describe_scales(call, gemm, *fp8)) ||
        choose_algorithm(call, gemm)) {
        cublaslt_teardown(gemm);
        *state = NULL;
        return 1;
    }
    return 0;
}

extern "C" int cublaslt_setup(struct ridge_call *call, enum ridge_dtype dtype, void **state)
{
    const cudaDataType_t type = dtype == RIDGE_BF16 ? CUDA_R_16BF : CUDA_R_32F;
    return set_up(call, type, type, NULL, state);
}

extern "C" const char *cublaslt_fp8_unsupported(const int64_t *dim, const struct ridge_device *device,
                                                enum cublaslt_fp8 mode)
{
    const char *reason = cublaslt_unsupported(dim, device);
    if (reason)
        return reason;
    const bool blocks = mode == CUBLASLT_FP8_BLOCK || mode == CUBLASLT_FP8_VEC128;
    if (blocks && library()->cublasLtGetVersion() < 120900)
        return "cuBLASLt before 12.9 has no block scales on Hopper";
    if (dim[2] % 16)
        return "k is not a multiple of 16: cuBLASLt needs rows of FP8 operands at multiples of 16 bytes";
    if (dim[1] % 16)
        return "n is not a multiple of 16, which cuBLASLt needs with FP8";
    if (blocks && dim[0] % 4)
        return "m is not a multiple of 4, which cuBLASLt needs with block scales";
    return NULL;
}

extern "C" int cublaslt_fp8_setup(struct ridge_call *call, enum cublaslt_fp8 mode, void **state)
{
    return set_up(call, CUDA_R_8F_E4M3, mode == CUBLASLT_FP8_VEC128 ? CUDA_R_32F : CUDA_R_16BF, &mode, state);
}

extern "C" int cublaslt_launch(const struct ridge_call *call)
{
    const struct gemm *gemm = (const struct gemm *)call->state;
    return failed(call, multiply(call, gemm, &gemm->algorithm), "cublasLtMatmul");
}

extern "C" const char *cublaslt_describe(void *state)
{
    return state ? ((const struct gemm *)state)->text : "";
}

extern "C" void cublaslt_teardown(void *state)
{
    struct gemm *gemm = (struct gemm *)state;
    if (!gemm)
        return;
    cudaFree(gemm->padded_scales);
    if (gemm->preference)
        library()->cublasLtMatmulPreferenceDestroy(gemm->preference);
    if (gemm->a)
        library()->cublasLtMatrixLayoutDestroy(gemm->a);
    if (gemm->b)
        library()->cublasLtMatrixLayoutDestroy(gemm->b);
    if (gemm->d)
        library()->cublasLtMatrixLayoutDestroy(gemm->d);
    if (gemm->operation)
        library()->cublasLtMatmulDescDestroy(gemm->operation);
    if (gemm->handle)
        library()->cublasLtDestroy(gemm->handle);
    free(gemm);
}
