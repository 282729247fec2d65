/* SPDX-License-Identifier: Apache-2.0 */
/* ref and mag of out (sum of p |v|) and of lse (1 + |lse|), without online rescaling: one pass over the keys for the
 * maximum, one for the sums. Scores keep the rounding error of their sum, so that exp sees more than FP32. */
#include "kernels/attention_f32/attention_f32_shape.cuh"
#include "kernels/support/compensated.cuh"

#include <math.h>

enum { WARPS = 8, KEYS = 32, MAX_DIM = 256, SLOTS = MAX_DIM / 32 };

struct tile {
    float element[KEYS][MAX_DIM + 1];
};

/* Keys key0..key0+31 of one head, zeros beyond the last. */
static __device__ void load_tile(tile *tile, const float *src, int key0, attention_shape shape)
{
    __syncthreads();
    for (int i = threadIdx.x; i < KEYS * shape.dim; i += WARPS * 32) {
        const int key = i / shape.dim, column = i % shape.dim;
        const bool inside = key0 + key < shape.s_k;
        tile->element[key][column] = inside ? src[(int64_t)(key0 + key) * shape.h * shape.dim + column] : 0;
    }
    __syncthreads();
}

/* Query against this lane's key. */
static __device__ compensated dot(const float *query, const float *key, int dim)
{
    compensated sum;
    for (int i = 0; i < dim; i++)
        sum.add(__fmul_rn(query[i], key[i]));
    return sum;
}

/* A warp has one row; blockIdx.x: head * groups + group of WARPS rows. */
static __global__ void __launch_bounds__(WARPS * 32)
    attention_reference_kernel(const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v,
                               float *__restrict__ out, float *__restrict__ out_mag, float *__restrict__ lse,
                               float *__restrict__ lse_mag, attention_shape shape, int groups, double scale)
{
    __shared__ tile tile;
    __shared__ float queries[WARPS][MAX_DIM];
    const int64_t head = blockIdx.x / groups;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int query = (int)(blockIdx.x % groups) * WARPS + warp;
    const bool active = query < shape.s_q;
    const int64_t row = head * shape.s_q + query;
    for (int i = lane; i < shape.dim; i += 32)
        queries[warp][i] = active ? q[shape.query_of(row) + i] : 0;

    double max = -INFINITY;
    for (int key0 = 0; key0 < shape.s_k; key0 += KEYS) {
        load_tile(&tile, k + shape.keys_of(head), key0, shape);
        const compensated score = dot(queries[warp], tile.element[lane], shape.dim);
        if (active && key0 + lane < shape.s_k)
            max = fmax(max, ((double)score.sum + score.rest) * scale);
    }
    for (int apart = 16; apart > 0; apart /= 2)
        max = fmax(max, __shfl_xor_sync(0xffffffffu, max, apart));

    compensated sum, value[SLOTS];
    float magnitude[SLOTS] = {};
    for (int key0 = 0; key0 < shape.s_k; key0 += KEYS) {
        load_tile(&tile, k + shape.keys_of(head), key0, shape);
        const compensated score = dot(queries[warp], tile.element[lane], shape.dim);
        const bool inside = active && key0 + lane < shape.s_k;
        const float mine = inside ? expf((float)(((double)score.sum + score.rest) * scale - max)) : 0;
        load_tile(&tile, v + shape.keys_of(head), key0, shape);
        for (int key = 0; key < KEYS; key++) {
            const float p = __shfl_sync(0xffffffffu, mine, key);
            sum.add(p);
#pragma unroll
            for (int slot = 0; slot < SLOTS; slot++) {
                if (slot * 32 + lane < shape.dim) {
                    const float product = __fmul_rn(p, tile.element[key][slot * 32 + lane]);
                    value[slot].add(product);
                    magnitude[slot] += fabsf(product);
                }
            }
        }
    }

    if (!active)
        return;
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++) {
        if (slot * 32 + lane < shape.dim) {
            out[shape.query_of(row) + slot * 32 + lane] = value[slot].value() / sum.value();
            out_mag[shape.query_of(row) + slot * 32 + lane] = magnitude[slot] / sum.value();
        }
    }
    if (lane == 0) {
        lse[row] = (float)(max + log((double)sum.value()));
        lse_mag[row] = 1 + fabsf(lse[row]);
    }
}

extern "C" int ridge_reference_attention_f32(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const attention_shape shape = attention_shape_of(call->dim);
    const int64_t heads = call->dim[0] * call->dim[3], groups = ridge_ceil_div(shape.s_q, WARPS);
    attention_reference_kernel<<<(unsigned)(heads * groups), WARPS * 32, 0, ridge_stream(call)>>>(
        (const float *)call->buffer[0], (const float *)call->buffer[1], (const float *)call->buffer[2], ref[0], mag[0],
        ref[1], mag[1], shape, (int)groups, 1 / sqrt((double)shape.dim));
    return RIDGE_LAUNCHED(call);
}
