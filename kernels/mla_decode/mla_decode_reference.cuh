/* SPDX-License-Identifier: Apache-2.0 */
/* ref and mag as the C reference of mla_decode_family.h makes them, in two passes over the keys: the maximum, then the
 * sums. FP32 products, compensated FP32 sums; scores keep the rounding error of their sum. */
#ifndef RIDGE_MLA_DECODE_REFERENCE_CUH
#define RIDGE_MLA_DECODE_REFERENCE_CUH

#include "kernels/mla_decode/mla_decode_gpu.cuh"
#include "kernels/support/compensated.cuh"

#include <math.h>

enum { THREADS = 256, WARPS = THREADS / 32, CHUNK = 64, ROWS = 4, TILE = 64 };

/* Scores of the chunk's keys against `ROWS` rows, and their sums of magnitudes; a warp takes a key at a time. */
struct chunk {
    double score[ROWS][CHUNK];
    float largest[WARPS][ROWS];
};

static __device__ void score_chunk(chunk &chunk, const mla_problem &problem, const float (*q)[mla_d_k], int request,
                                   int first, int keys, float (&largest)[ROWS])
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int j = warp; j < CHUNK && first + j < keys; j += WARPS) {
        const mla_element *k = mla_key(problem, request, first + j);
        for (int r = 0; r < ROWS; r++) {
            compensated sum;
            float magnitude = 0;
            for (int i = lane; i < mla_d_k; i += 32) {
                const float product = __fmul_rn(q[r][i], k ? mla_to_float(k[i]) : 0);
                sum.add(product);
                magnitude += fabsf(product);
            }
            double score = (double)sum.sum + sum.rest;
            for (int apart = 16; apart > 0; apart /= 2) {
                score += __shfl_xor_sync(~0u, score, apart);
                magnitude += __shfl_xor_sync(~0u, magnitude, apart);
            }
            chunk.score[r][j] = score / 24;
            largest[r] = fmaxf(largest[r], magnitude / 24);
        }
    }
}

/* 64 times what the tolerance allows; see magnitudes() of mla_decode_family.h. */
static __device__ void store_row(const mla_problem &problem, float *const (&result)[4], int request, int row,
                                 const float (&value)[2], double lse, double largest)
{
    __shared__ float square[mla_d_v];
    const int64_t at = ((int64_t)request * mla_rows_of(problem) + row) * mla_d_v;
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
        const int64_t l = mla_lse_at(problem, request, row);
        result[2][l] = (float)lse;
        result[3][l] = (float)(isinf(lse) ? 0 : 64 * (8.01 / 65536 * fabs(lse) + 1e-6 * (1 + largest)));
    }
}

struct row_sums {
    compensated sum, value[2];
    double max = -INFINITY;
};

/* A block has `ROWS` rows of a request; a thread has two columns of each. */
static __global__ void __launch_bounds__(THREADS)
    mla_reference_kernel(mla_problem problem, float *out, float *out_mag, float *lse, float *lse_mag)
{
    __shared__ chunk chunk;
    __shared__ float q[ROWS][mla_d_k];
    const int rows = mla_rows_of(problem), groups = (rows + ROWS - 1) / ROWS;
    const int request = blockIdx.x / groups, row0 = blockIdx.x % groups * ROWS;
    const int length = mla_length(problem, request);
    float largest[ROWS] = {};
    row_sums sums[ROWS];
    for (int i = threadIdx.x; i < ROWS * mla_d_k; i += THREADS) {
        const int row = row0 + i / mla_d_k;
        q[i / mla_d_k][i % mla_d_k] =
            row < rows ? mla_to_float(problem.q[((int64_t)request * rows + row) * mla_d_k + i % mla_d_k]) : 0;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int first = 0; first < length; first += CHUNK) {
            __syncthreads();
            score_chunk(chunk, problem, q, request, first, length, largest);
            __syncthreads();
            for (int j = 0; j < CHUNK && first + j < length; j++) {
                const mla_element *k = mla_key(problem, request, first + j);
                for (int r = 0; r < ROWS; r++) {
                    const double score = chunk.score[r][j];
                    if (first + j >= mla_visible(problem, length, row0 + r))
                        continue;
                    if (pass == 0) {
                        sums[r].max = score > sums[r].max || isnan(score) ? score : sums[r].max;
                        continue;
                    }
                    const float p = expf((float)(score - sums[r].max));
                    sums[r].sum.add(p);
                    for (int c = 0; c < 2; c++)
                        sums[r].value[c].add(__fmul_rn(p, k ? mla_to_float(k[c * THREADS + threadIdx.x]) : 0));
                }
            }
        }
    }
    for (int r = 0; r < ROWS; r++)
        if (threadIdx.x % 32 == 0)
            chunk.largest[threadIdx.x / 32][r] = largest[r];
    __syncthreads();
    float *const result[4] = {out, out_mag, lse, lse_mag};
    for (int r = 0; r < ROWS && row0 + r < rows; r++) {
        const bool empty = mla_visible(problem, length, row0 + r) == 0;
        float most = 0, value[2] = {};
        for (int w = 0; w < WARPS; w++)
            most = fmaxf(most, chunk.largest[w][r]);
        for (int c = 0; c < 2 && !empty; c++)
            value[c] = sums[r].value[c].value() / sums[r].sum.value();
        store_row(problem, result, request, row0 + r, value,
                  empty ? INFINITY : sums[r].max + log((double)sums[r].sum.value()), most);
    }
}

static int mla_reference(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const mla_problem problem = mla_problem_of(call);
    const int64_t blocks = problem.b * ridge_ceil_div(mla_rows_of(problem), ROWS);
    mla_reference_kernel<<<(unsigned)blocks, THREADS, 0, ridge_stream(call)>>>(problem, ref[0], mag[0], ref[1], mag[1]);
    return RIDGE_LAUNCHED(call);
}

#endif
