/* SPDX-License-Identifier: Apache-2.0 */
/* ref and mag as the C reference of attention_bf16.c makes them, in two passes over the keys: the maximum, then the
 * sums. FP32 products, compensated FP32 sums; scores keep the rounding error of their sum. */
#include "kernels/attention_bf16/attention_bf16_gpu.cuh"
#include "kernels/support/compensated.cuh"

#include <math.h>

enum { ROWS = 8, CHUNK = 32, THREADS = ROWS * CHUNK, TILE = 64, COLUMNS = attention_dim / 32 };

/* Shared memory: a chunk of keys and values, the block's queries. A key's row is padded against bank conflicts. */
struct chunk {
    float q[ROWS][attention_dim], k[CHUNK][attention_dim + 1], v[CHUNK][attention_dim];
    float p[ROWS][CHUNK], out[ROWS][attention_dim];
};

static __device__ void load_chunk(chunk &chunk, const attention_problem &problem, int request, int head, int first)
{
    for (int i = threadIdx.x; i < CHUNK * attention_dim; i += THREADS) {
        const int key = first + i / attention_dim, column = i % attention_dim;
        const int64_t at = attention_at(problem, problem.s_k, request, head, key) + column;
        chunk.k[i / attention_dim][column] = key < problem.s_k ? float(problem.k[at]) : 0;
        chunk.v[i / attention_dim][column] = key < problem.s_k ? float(problem.v[at]) : 0;
    }
}

static __device__ double score_of(const float *q, const float *k, float &magnitude)
{
    compensated sum;
    float absolute = 0;
    for (int i = 0; i < attention_dim; i++) {
        const float product = __fmul_rn(q[i], k[i]);
        sum.add(product);
        absolute += fabsf(product);
    }
    magnitude = fmaxf(magnitude, absolute * attention_scale);
    return ((double)sum.sum + sum.rest) * ATTENTION_SCALE;
}

template <class value> static __device__ value warp_max(value x)
{
    for (int apart = 16; apart > 0; apart /= 2) {
        const value other = __shfl_xor_sync(~0u, x, apart);
        x = other > x || other != other ? other : x;
    }
    return x;
}

/* 64 times what the tolerance allows; see magnitudes() of attention_bf16.c. */
static __device__ void store_row(chunk &chunk, const attention_problem &problem, float *const (&result)[4], int64_t at,
                                 int64_t lse_at, const float (&value)[COLUMNS], double lse, float largest)
{
    const int row = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int c = 0; c < COLUMNS; c++)
        chunk.out[row][c * 32 + lane] = value[c];
    __syncwarp();
    for (int c = 0; c < COLUMNS; c++) {
        float squares = 0;
        for (int i = 0; i < TILE; i++)
            squares += chunk.out[row][c / 2 * TILE + i] * chunk.out[row][c / 2 * TILE + i];
        result[0][at + c * 32 + lane] = value[c];
        result[1][at + c * 32 + lane] = fabsf(value[c]) / 4 + sqrtf(squares / TILE);
    }
    if (lane == 0) {
        result[2][lse_at] = (float)lse;
        result[3][lse_at] = (float)(64 * (8.01 / 65536 * fabs(lse) + 1e-6 * (1 + largest)));
    }
}

/* A block has `ROWS` queries of a head, a warp one of them. */
static __global__ void __launch_bounds__(THREADS)
    attention_reference_kernel(attention_problem problem, float *out, float *out_mag, float *lse, float *lse_mag)
{
    extern __shared__ char memory[];
    chunk &chunk = *(struct chunk *)memory;
    const int row = threadIdx.x / 32, lane = threadIdx.x % 32, groups = (problem.s_q + ROWS - 1) / ROWS;
    const int first = blockIdx.x % groups * ROWS, query = first + row;
    const int head = blockIdx.x / groups % problem.h, request = blockIdx.x / groups / problem.h;
    const int64_t at = attention_at(problem, problem.s_q, request, head, query);
    for (int i = lane; i < attention_dim; i += 32)
        chunk.q[row][i] = query < problem.s_q ? float(problem.q[at + i]) : 0;
    double max = -INFINITY;
    float largest = 0;
    compensated sum, value[COLUMNS];
    for (int pass = 0; pass < 2; pass++) {
        for (int key = 0; key < problem.s_k; key += CHUNK) {
            __syncthreads();
            load_chunk(chunk, problem, request, head, key);
            __syncthreads();
            const bool seen = key + lane < problem.s_k;
            const double score = seen ? score_of(chunk.q[row], chunk.k[lane], largest) : -INFINITY;
            if (pass == 0) {
                max = score > max || score != score ? score : max;
                continue;
            }
            const float p = seen ? expf((float)(score - max)) : 0;
            sum.add(p);
            chunk.p[row][lane] = p;
            __syncwarp();
            for (int j = 0; j < CHUNK; j++)
                for (int c = 0; c < COLUMNS; c++)
                    value[c].add(__fmul_rn(chunk.p[row][j], chunk.v[j][c * 32 + lane]));
        }
        max = warp_max(max);
    }
    double total = (double)sum.sum + sum.rest;
    for (int apart = 16; apart > 0; apart /= 2)
        total += __shfl_xor_sync(~0u, total, apart);
    largest = warp_max(largest);
    if (query >= problem.s_q)
        return;
    float *const result[4] = {out, out_mag, lse, lse_mag};
    float average[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        average[c] = (float)(value[c].value() / total);
    store_row(chunk, problem, result, at, attention_lse_at(problem, request, head, query), average, max + log(total),
              largest);
}

extern "C" int ridge_reference_attention_bf16(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const attention_problem problem = attention_problem_of(call);
    const int64_t blocks = (int64_t)problem.b * problem.h * ridge_ceil_div(problem.s_q, ROWS);
    RIDGE_CUDA(call, cudaFuncSetAttribute(attention_reference_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          sizeof(chunk)));
    attention_reference_kernel<<<(unsigned)blocks, THREADS, sizeof(chunk), ridge_stream(call)>>>(
        problem, ref[0], mag[0], ref[1], mag[1]);
    return RIDGE_LAUNCHED(call);
}
