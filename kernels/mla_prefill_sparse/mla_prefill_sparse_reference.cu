/* SPDX-License-Identifier: Apache-2.0 */
/* ref and mag as the C reference of mla_prefill_sparse.c makes them, in two passes over the keys: the maximum, then the
 * sums. Products of BF16 are exact in FP32; a lane adds 18 of them, all else is compensated or in double precision. */
#include "kernels/mla_prefill_sparse/mla_prefill_sparse_gpu.cuh"
#include "kernels/support/bf16.cuh"
#include "kernels/support/compensated.cuh"

enum { THREADS = 256, WARPS = THREADS / 32, CHUNK = 64, ROWS = 4, TILE = 64, WORDS = prefill_d_max / 64 };

/* Of a chunk of keys: scores and then probabilities against `ROWS` heads of a query, and norms of the keys. */
struct chunk {
    double score[CHUNK][ROWS];
    float p[CHUNK][ROWS];
    int index[CHUNK];
};

static __device__ double add_lanes(double value)
{
    for (int apart = 16; apart > 0; apart /= 2)
        value += __shfl_xor_sync(~0u, value, apart);
    return value;
}

/* A lane's columns of a row: 64 i + 2 lane and the next; zeros behind d_qk and for no row. */
static __device__ void load_columns(float2 (&value)[WORDS], const bf16 *row, int d_qk)
{
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        value[i] = row && 64 * i < d_qk ? bf16x2_unpack(((const uint32_t *)row)[32 * i + threadIdx.x % 32])
                                        : make_float2(0, 0);
}

static __device__ float dot(const float2 (&x)[WORDS], const float2 (&y)[WORDS])
{
    float sum = 0;
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        sum = fmaf(x[i].x, y[i].x, fmaf(x[i].y, y[i].y, sum));
    return sum;
}

/* A warp takes a key at a time. norm: the largest of the keys so far. */
static __device__ void score_chunk(chunk &chunk, const prefill_problem &problem, const float2 (&q)[ROWS][WORDS],
                                   float &norm)
{
    for (int j = threadIdx.x / 32; j < CHUNK; j += WARPS) {
        const bf16 *key = prefill_key(problem, chunk.index[j]);
        float2 k[WORDS];
        load_columns(k, key, problem.d_qk);
        norm = fmaxf(norm, (float)add_lanes(dot(k, k)));
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const double score = add_lanes(dot(q[r], k)) / 24;
            if (threadIdx.x % 32 == 0)
                chunk.score[j][r] = key ? score : -INFINITY;
        }
    }
}

struct row_sums {
    compensated sum, value[2];
};

/* The sums of 64 keys are small enough to be made in plain FP32; they are added up compensated. */
static __device__ void add_chunk(const chunk &chunk, const prefill_problem &problem, row_sums (&sums)[ROWS])
{
    float2 value[ROWS] = {};
    float sum[ROWS] = {};
    for (int j = 0; j < CHUNK; j++) {
        const bf16 *key = prefill_key(problem, chunk.index[j]);
        if (!key)
            continue;
        const float2 v = bf16x2_unpack(((const uint32_t *)key)[threadIdx.x]);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const float p = chunk.p[j][r];
            sum[r] += p;
            value[r].x = fmaf(p, v.x, value[r].x);
            value[r].y = fmaf(p, v.y, value[r].y);
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        sums[r].sum.add(sum[r]);
        sums[r].value[0].add(value[r].x);
        sums[r].value[1].add(value[r].y);
    }
}

/* out, max_logits, lse, and their mags. */
struct results {
    float *ref[3], *mag[3];
};

/* 64 times what the tolerance allows; see magnitudes() of mla_prefill_sparse.c. */
static __device__ void store_row(const results &results, int64_t row, float2 value, double max, double sum,
                                 double norms)
{
    __shared__ float square[THREADS];
    __syncthreads();
    square[threadIdx.x] = value.x * value.x + value.y * value.y;
    __syncthreads();
    float squares = 0;
    for (int i = 0; i < TILE / 2; i++)
        squares += square[threadIdx.x / (TILE / 2) * (TILE / 2) + i];
    const float root = sqrtf(squares / TILE);
    ((float2 *)(results.ref[0] + row * prefill_d_v))[threadIdx.x] = value;
    ((float2 *)(results.mag[0] + row * prefill_d_v))[threadIdx.x] =
        make_float2(fabsf(value.x) / 4 + root, fabsf(value.y) / 4 + root);
    if (threadIdx.x)
        return;
    const double ref[2] = {max, max == -INFINITY ? INFINITY : max + log(sum)};
    for (int i = 0; i < 2; i++) {
        results.ref[1 + i][row] = (float)ref[i];
        results.mag[1 + i][row] = isinf(ref[i]) ? 0 : (float)(64 * (2.01 / 65536 * fabs(ref[i]) + 1e-6 * (1 + norms)));
    }
}

/* A block has `ROWS` heads of a query; a thread has two columns of each. */
static __global__ void __launch_bounds__(THREADS) prefill_reference_kernel(prefill_problem problem, results results)
{
    __shared__ chunk chunk;
    __shared__ double max[ROWS];
    __shared__ float norm_of_warp[WARPS];
    const int groups = (problem.h + ROWS - 1) / ROWS;
    const int64_t query = blockIdx.x / groups;
    const int head0 = blockIdx.x % groups * ROWS;
    float2 q[ROWS][WORDS];
    float norm = 0;
    row_sums sums[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        load_columns(q[r], head0 + r < problem.h ? problem.q + (query * problem.h + head0 + r) * problem.d_qk : NULL,
                     problem.d_qk);
    if (threadIdx.x < ROWS)
        max[threadIdx.x] = -INFINITY;
    for (int pass = 0; pass < 2; pass++) {
        for (int first = 0; first < problem.topk; first += CHUNK) {
            __syncthreads();
            if (threadIdx.x < CHUNK)
                chunk.index[threadIdx.x] = problem.indices[query * problem.topk + first + threadIdx.x];
            __syncthreads();
            score_chunk(chunk, problem, q, norm);
            __syncthreads();
            if (pass == 0) {
                for (int j = 0; threadIdx.x < ROWS && j < CHUNK; j++) {
                    const double score = chunk.score[j][threadIdx.x];
                    max[threadIdx.x] = score > max[threadIdx.x] || isnan(score) ? score : max[threadIdx.x];
                }
                continue;
            }
            for (int i = threadIdx.x; i < CHUNK * ROWS; i += THREADS)
                chunk.p[i / ROWS][i % ROWS] = expf((float)(chunk.score[i / ROWS][i % ROWS] - max[i % ROWS]));
            __syncthreads();
            add_chunk(chunk, problem, sums);
        }
    }
    if (threadIdx.x % 32 == 0)
        norm_of_warp[threadIdx.x / 32] = norm;
    __syncthreads();
    for (int w = 0; w < WARPS; w++)
        norm = fmaxf(norm, norm_of_warp[w]);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const float sum = sums[r].sum.value();
        const bool none = max[r] == -INFINITY;
        const double norms = sqrt(add_lanes(dot(q[r], q[r])) * norm) / 24;
        const float2 value =
            none ? make_float2(0, 0) : make_float2(sums[r].value[0].value() / sum, sums[r].value[1].value() / sum);
        if (head0 + r < problem.h)
            store_row(results, query * problem.h + head0 + r, value, max[r], sum, norms);
    }
}

extern "C" int ridge_reference_mla_prefill_sparse(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const prefill_problem problem = prefill_problem_of(call);
    const int64_t blocks = problem.s_q * ridge_ceil_div(problem.h, ROWS);
    const results results = {{ref[0], ref[1], ref[2]}, {mag[0], mag[1], mag[2]}};
    prefill_reference_kernel<<<(unsigned)blocks, THREADS, 0, ridge_stream(call)>>>(problem, results);
    return RIDGE_LAUNCHED(call);
}
