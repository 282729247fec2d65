/* SPDX-License-Identifier: Apache-2.0 */
/* ref and mag as the C reference makes them, in two passes over the tokens: the maximum, then the sums. FP32 products,
 * compensated FP32 sums. */
#ifndef RIDGE_SPARSE_REFERENCE_CUH
#define RIDGE_SPARSE_REFERENCE_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_gpu.cuh"
#include "kernels/support/compensated.cuh"

#include <math.h>

enum { THREADS = 256, WARPS = THREADS / 32, CHUNK = 8, ROWS = 4, TILE = 64 };

/* CHUNK tokens, decoded, and the scores of ROWS heads. */
struct chunk {
    float value[CHUNK][sparse_d_k];
    double score[ROWS][CHUNK];
    float terms[WARPS][ROWS], rounding[WARPS][ROWS];
    bool valid[CHUNK];
};

struct spread {
    float terms[ROWS], rounding[ROWS];
};

static __device__ void load_chunk(chunk &chunk, const sparse_problem &problem, int query, int first)
{
    for (int j = threadIdx.x / 32; j < CHUNK; j += WARPS) {
        const sparse_place token = sparse_place_of(problem, problem.indices[(int64_t)query * problem.topk + first + j]);
        for (int i = threadIdx.x % 32; i < sparse_d_k; i += 32)
            chunk.value[j][i] = token.block ? sparse_value(problem, token, i) : 0;
        if (threadIdx.x % 32 == 0)
            chunk.valid[j] = token.block != NULL;
    }
}

/* A warp takes a token at a time. */
static __device__ void score_chunk(chunk &chunk, const float (*q)[sparse_d_k], spread &largest)
{
    const int lane = threadIdx.x % 32;
    for (int j = threadIdx.x / 32; j < CHUNK; j += WARPS) {
        for (int r = 0; r < ROWS && chunk.valid[j]; r++) {
            compensated sum;
            float terms = 0, squares = 0;
            for (int i = lane; i < sparse_d_k; i += 32) {
                const float k = chunk.value[j][i], product = __fmul_rn(q[r][i], k);
                const float change = q[r][i] * (k - float(to_bf16(k)));
                sum.add(product);
                terms += fabsf(product);
                squares += change * change;
            }
            double score = (double)sum.sum + sum.rest;
            for (int apart = 16; apart > 0; apart /= 2) {
                score += __shfl_xor_sync(~0u, score, apart);
                terms += __shfl_xor_sync(~0u, terms, apart);
                squares += __shfl_xor_sync(~0u, squares, apart);
            }
            chunk.score[r][j] = score / SPARSE_ROOT;
            largest.terms[r] = fmaxf(largest.terms[r], terms / (float)SPARSE_ROOT);
            largest.rounding[r] = fmaxf(largest.rounding[r], sqrtf(squares) / (float)SPARSE_ROOT);
        }
    }
}

struct row_sums {
    compensated sum, value[2];
    double max = -INFINITY;
};

static __device__ void add_chunk(const chunk &chunk, bool maximum, row_sums (&sums)[ROWS])
{
    for (int j = 0; j < CHUNK; j++) {
        for (int r = 0; r < ROWS && chunk.valid[j]; r++) {
            const double score = chunk.score[r][j];
            if (maximum) {
                sums[r].max = score > sums[r].max || isnan(score) ? score : sums[r].max;
                continue;
            }
            const float p = expf((float)(score - sums[r].max));
            sums[r].sum.add(p);
            for (int c = 0; c < 2; c++)
                sums[r].value[c].add(__fmul_rn(p, chunk.value[j][c * THREADS + threadIdx.x]));
        }
    }
}

/* 64 times what the tolerance allows; see magnitudes() of sparse_family.h. */
static __device__ void store_row(const sparse_problem &problem, float *const (&result)[4], int query, int head,
                                 const float (&value)[2], double lse, float terms, float rounding)
{
    __shared__ float square[sparse_d_v];
    const int64_t at = ((int64_t)query * problem.h + head) * sparse_d_v;
    __syncthreads();
    for (int c = 0; c < 2; c++)
        square[c * THREADS + threadIdx.x] = value[c] * value[c];
    __syncthreads();
    for (int c = 0; c < 2; c++) {
        const int column = c * THREADS + threadIdx.x;
        float sum = 0;
        for (int i = 0; i < TILE; i++)
            sum += square[column / TILE * TILE + i];
        result[0][at + column] = value[c];
        result[1][at + column] = fabsf(value[c]) / 4 + sqrtf(sum / TILE);
    }
    if (threadIdx.x == 0) {
        const int64_t l = sparse_lse_at(problem, query, head);
        result[2][l] = (float)lse;
        result[3][l] = (float)(isinf(lse) ? 0 : 64 * (8.01 / 65536 * fabs(lse) + 1e-6 * (1 + terms) + 4 * rounding));
    }
}

/* A block has `ROWS` heads of a query; a thread has two columns of each. */
static __global__ void __launch_bounds__(THREADS)
    sparse_reference_kernel(sparse_problem problem, float *out, float *out_mag, float *lse, float *lse_mag)
{
    __shared__ chunk chunk;
    __shared__ float q[ROWS][sparse_d_k];
    const int groups = problem.h / ROWS, query = blockIdx.x / groups, row0 = blockIdx.x % groups * ROWS;
    spread largest = {};
    row_sums sums[ROWS];
    for (int i = threadIdx.x; i < ROWS * sparse_d_k; i += THREADS)
        q[i / sparse_d_k][i % sparse_d_k] = float(problem.q[((int64_t)query * problem.h + row0) * sparse_d_k + i]);
    for (int pass = 0; pass < 2; pass++) {
        for (int first = 0; first < problem.topk; first += CHUNK) {
            __syncthreads();
            load_chunk(chunk, problem, query, first);
            __syncthreads();
            score_chunk(chunk, q, largest);
            __syncthreads();
            add_chunk(chunk, pass == 0, sums);
        }
    }
    for (int r = 0; r < ROWS; r++)
        if (threadIdx.x % 32 == 0) {
            chunk.terms[threadIdx.x / 32][r] = largest.terms[r];
            chunk.rounding[threadIdx.x / 32][r] = largest.rounding[r];
        }
    __syncthreads();
    float *const result[4] = {out, out_mag, lse, lse_mag};
    for (int r = 0; r < ROWS; r++) {
        const bool empty = sums[r].max == -INFINITY && sums[r].sum.value() == 0;
        float terms = 0, rounding = 0, value[2] = {};
        for (int w = 0; w < WARPS; w++) {
            terms = fmaxf(terms, chunk.terms[w][r]);
            rounding = fmaxf(rounding, chunk.rounding[w][r]);
        }
        for (int c = 0; c < 2 && !empty; c++)
            value[c] = sums[r].value[c].value() / sums[r].sum.value();
        store_row(problem, result, query, row0 + r, value,
                  empty ? INFINITY : sums[r].max + log((double)sums[r].sum.value()), terms, rounding);
    }
}

static int sparse_reference(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const sparse_problem problem = sparse_problem_of(call);
    const unsigned blocks = (unsigned)(problem.queries * (problem.h / ROWS));
    sparse_reference_kernel<<<blocks, THREADS, 0, ridge_stream(call)>>>(problem, ref[0], mag[0], ref[1], mag[1]);
    return RIDGE_LAUNCHED(call);
}

#endif
