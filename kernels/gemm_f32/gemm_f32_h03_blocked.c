/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_f32/gemm_f32_blocked.h"

#include <string.h>

/* A slab of K of both operands is packed at once: a panel of B (KC x 32) fills the L1 cache, MC x KC of A a part of L2.
 * MC and NC are multiples of every tile below. */
enum { KC = 384, MC = 144, NC = 256 };

/* The tile of D stays in registers: ROWS x WIDTH vectors, ROWS broadcasts of A and WIDTH loads of B a step. */
#define MICRO_KERNEL(isa, attributes, bytes, ROWS, WIDTH)                                                              \
    typedef float vector_##isa __attribute__((vector_size(bytes), aligned(4)));                                        \
    attributes static void multiply_##isa(int64_t depth, const float *a, const float *b, float *tile, int64_t stride,  \
                                          bool add)                                                                    \
    {                                                                                                                  \
        enum { LANES = bytes / 4 };                                                                                    \
        vector_##isa sum[ROWS][WIDTH] = {{{0}}};                                                                       \
        for (int64_t i = 0; i < depth; i++) {                                                                          \
            _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++)                                                    \
                _Pragma("GCC unroll 16") for (int w = 0; w < WIDTH; w++) sum[r][w] +=                                  \
                a[i * ROWS + r] * *(const vector_##isa *)(b + (i * WIDTH + w) * LANES);                                \
        }                                                                                                              \
        _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++)                                                        \
        {                                                                                                              \
            _Pragma("GCC unroll 16") for (int w = 0; w < WIDTH; w++)                                                   \
            {                                                                                                          \
                vector_##isa *at = (vector_##isa *)(tile + r * stride + w * LANES);                                    \
                if (add)                                                                                               \
                    sum[r][w] += *at;                                                                                  \
                *at = sum[r][w];                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }

#ifdef __x86_64__
MICRO_KERNEL(avx512f, __attribute__((target("avx512f"))), 64, 12, 2)
MICRO_KERNEL(avx2, __attribute__((target("avx2,fma"))), 32, 6, 2)

static bool has_avx512f(void)
{
    return __builtin_cpu_supports("avx512f");
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

MICRO_KERNEL(baseline, , 16, 4, 2)

static bool always(void)
{
    return true;
}

const struct blocked_isa blocked_isas[] = {
#ifdef __x86_64__
    {"avx512f 12x32", 12, 32, has_avx512f, multiply_avx512f},
    {"avx2 6x16", 6, 16, has_avx2, multiply_avx2},
#endif
    {"baseline 4x8", 4, 8, always, multiply_baseline},
};
const int blocked_isa_count = sizeof blocked_isas / sizeof *blocked_isas;

static int64_t round_up(int64_t value, int64_t to)
{
    return (value + to - 1) / to * to;
}

/* Rows [row0, row0 + width) of x, columns [0, depth): packed[i][row], rows past the end zero. */
static inline __attribute__((always_inline)) void pack(const float *x, int64_t stride, int64_t rows, int64_t width,
                                                       int64_t depth, float *packed)
{
    if (rows < width)
        memset(packed, 0, (size_t)(width * depth) * sizeof *packed);
    for (int64_t i = 0; i < depth; i++)
        for (int64_t r = 0; r < rows; r++)
            packed[i * width + r] = x[r * stride + i];
}

static void pack_panels(const float *x, int64_t k, int64_t rows, int64_t width, int64_t depth, float *packed)
{
#pragma omp for nowait
    for (int64_t row = 0; row < rows; row += width)
        pack(x + row * k, k, rows - row < width ? rows - row : width, width, depth, packed + row * depth);
}

/* One block of D, at most MC x NC, from packed panels. */
static void block(const struct blocked_isa *isa, const int64_t *dim, int64_t row0, int64_t column0, int64_t depth,
                  const float *a, const float *b, float *d, bool add)
{
    float edge[MC * 8];
    const int64_t m = dim[0], n = dim[1];
    const int64_t row_end = row0 + MC < m ? row0 + MC : m, column_end = column0 + NC < n ? column0 + NC : n;
    for (int64_t column = column0; column < column_end; column += isa->columns) {
        for (int64_t row = row0; row < row_end; row += isa->rows) {
            const int64_t rows = m - row, columns = n - column;
            float *out = d + row * n + column;
            if (rows >= isa->rows && columns >= isa->columns) {
                isa->multiply(depth, a + row * depth, b + column * depth, out, n, add);
                continue;
            }
            isa->multiply(depth, a + row * depth, b + column * depth, edge, isa->columns, false);
            for (int64_t r = 0; r < rows && r < isa->rows; r++)
                for (int64_t c = 0; c < columns && c < isa->columns; c++)
                    out[r * n + c] = edge[r * isa->columns + c] + (add ? out[r * n + c] : 0);
        }
    }
}

size_t blocked_workspace_bytes(const struct blocked_isa *isa, const int64_t *dim)
{
    return (size_t)(round_up(dim[0], isa->rows) + round_up(dim[1], isa->columns)) * KC * sizeof(float);
}

void blocked_gemm(const struct blocked_isa *isa, const int64_t *dim, const float *a, const float *b, float *d,
                  void *workspace)
{
    const int64_t m = dim[0], n = dim[1], k = dim[2];
    float *packed_b = workspace, *packed_a = packed_b + round_up(n, isa->columns) * KC;
#pragma omp parallel
    for (int64_t k0 = 0; k0 < k; k0 += KC) {
        const int64_t depth = k - k0 < KC ? k - k0 : KC;
        pack_panels(b + k0, k, n, isa->columns, depth, packed_b);
        pack_panels(a + k0, k, m, isa->rows, depth, packed_a);
#pragma omp barrier
#pragma omp for collapse(2) schedule(dynamic)
        for (int64_t row = 0; row < m; row += MC)
            for (int64_t column = 0; column < n; column += NC)
                block(isa, dim, row, column, depth, packed_a, packed_b, d, k0 > 0);
    }
}

static const struct blocked_isa *best(void)
{
    const struct blocked_isa *isa = blocked_isas;
    while (!isa->supported())
        isa++;
    return isa;
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return blocked_workspace_bytes(best(), dim);
}

static const char *describe(void *state)
{
    (void)state;
    return best()->name;
}

static int launch(const struct ridge_call *call)
{
    blocked_gemm(best(), call->dim, call->buffer[0], call->buffer[1], call->buffer[2], call->workspace);
    return 0;
}

const struct ridge_variant ridge_variant_gemm_f32_h03_blocked = {
    .idea = "packed panels, a tile of D in vector registers, best instruction set found at run time",
    .source = "Goto and van de Geijn, ACM TOMS 34(3), 2008",
    .changes = "D in registers: a loaded vector of B serves 12 fused multiply-adds (AVX-512); panels are read in order",
    .kind = RIDGE_HOST,
    .workspace_bytes = workspace_bytes,
    .describe = describe,
    .launch = launch,
};
