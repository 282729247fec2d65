/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_DEQUANT_CUH
#define RIDGE_DEQUANT_CUH

#include "kernels/ceiling_dequant/dequant.h"
#include "kernels/ptx/arithmetic.cuh"
#include "kernels/support/bf16.cuh"
#include "kernels/support/launch.cuh"

#include <stdio.h>
#include <string.h>

constexpr int DEQUANT_THREADS = 512, DEQUANT_CTAS_PER_SM = 2;

/* Plans: as many warps an SM as convert fastest, or the four of a warpgroup of producers. */
static const char *const dequant_plan[] = {"32_warps", "4_warps"};

static int dequant_plans(const int64_t *, const struct ridge_device *, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    int count = 0;
    for (; count < 2 && count < max; count++)
        snprintf(plan[count], RIDGE_PLAN_BYTES, "%s", dequant_plan[count]);
    return count;
}

/* Four words of f32 in the order of the codes. */
static __device__ __forceinline__ float4 dequant_f32(uint2 halves)
{
    return make_float4(cvt_f32_f16((uint16_t)halves.x), cvt_f32_f16((uint16_t)(halves.x >> 16)),
                       cvt_f32_f16((uint16_t)halves.y), cvt_f32_f16((uint16_t)(halves.y >> 16)));
}

static __device__ __forceinline__ uint2 dequant_bf16(float4 v)
{
    return make_uint2(cvt_bf16x2_f32(v.x, v.y), cvt_bf16x2_f32(v.z, v.w));
}

static __device__ __forceinline__ float4 dequant_value_bf16(uint2 pairs)
{
    const float2 low = bf16x2_unpack(pairs.x), high = bf16x2_unpack(pairs.y);
    return make_float4(low.x, low.y, high.x, high.y);
}

static __device__ __forceinline__ uint32_t dequant_bits(float value, uint32_t code)
{
    return (code & 0x7f) == 0x7f ? DEQUANT_NAN : __float_as_uint(value);
}

/* `route` has:
 *   factor(scale)         what it multiplies by, as a word; once a tile, outside the loop
 *   convert(word, factor) four codes to two words of 16-bit values
 *   value(words, scale)   what these words stand for
 * Warp w has tokens w, w + warps, ...; a lane has words lane, lane + 32, ... of a token, one of every tile. What a
 * token gives is folded, as the bits of floats, by an FMA in a pipe that converts nothing; the last
 * token's values are written. */
template <class route>
static __global__ void __launch_bounds__(DEQUANT_THREADS, DEQUANT_CTAS_PER_SM)
    dequant_tokens(const uint32_t *__restrict__ seed, const float *__restrict__ scale, uint4 *__restrict__ out,
                   float *__restrict__ sink, unsigned tokens)
{
    const unsigned in_cta = blockDim.x / 32, warps = gridDim.x * in_cta, lane = threadIdx.x % 32;
    const unsigned first = blockIdx.x * in_cta + threadIdx.x / 32;
    if (first >= tokens)
        return;
    const unsigned more = (tokens - 1 - first) / warps, last = first + more * warps, step = warps * DEQUANT_STRIDE;
    uint32_t word[DEQUANT_TILES], factor[DEQUANT_TILES];
    float folded = 0;
#pragma unroll
    for (int i = 0; i < DEQUANT_TILES; i++) {
        word[i] = seed[lane + 32 * i] + DEQUANT_STRIDE * first;
        factor[i] = route::factor(scale[i]);
    }
#pragma unroll 8
    for (unsigned j = 0; j < more; j++) {
#pragma unroll
        for (int i = 0; i < DEQUANT_TILES; i++) {
            const uint2 pairs = route::convert(word[i], factor[i]);
            folded = fmaf(__uint_as_float(pairs.x), __uint_as_float(pairs.y), folded);
            word[i] += step;
        }
    }
    sink[blockIdx.x * blockDim.x + threadIdx.x] = folded;
    if (last + DEQUANT_KEPT < tokens)
        return;
#pragma unroll
    for (int i = 0; i < DEQUANT_TILES; i++) {
        const float4 v = route::value(route::convert(word[i], factor[i]), scale[i]);
        const uint32_t codes = word[i];
        out[last % DEQUANT_KEPT * DEQUANT_WORDS + lane + 32 * i] =
            make_uint4(dequant_bits(v.x, codes), dequant_bits(v.y, codes >> 8), dequant_bits(v.z, codes >> 16),
                       dequant_bits(v.w, codes >> 24));
    }
}

static size_t dequant_workspace(const int64_t *dim, const struct ridge_device *device)
{
    (void)dim;
    return (size_t)device->sms * DEQUANT_CTAS_PER_SM * DEQUANT_THREADS * 4;
}

template <class route> static int dequant_launch(const struct ridge_call *call)
{
    const char *plan = call->device->plan;
    const bool few = plan && strcmp(plan, dequant_plan[1]) == 0;
    if (plan && !few && strcmp(plan, dequant_plan[0]) != 0) {
        snprintf(call->error, call->error_bytes, "plan: '%s': must be %s or %s", plan, dequant_plan[0], dequant_plan[1]);
        return 1;
    }
    const int ctas = call->device->sms * (few ? 1 : DEQUANT_CTAS_PER_SM);
    dequant_tokens<route><<<ctas, few ? 128 : DEQUANT_THREADS, 0, ridge_stream(call)>>>(
        (const uint32_t *)call->buffer[0], (const float *)call->buffer[1], (uint4 *)call->buffer[2],
        (float *)call->workspace, (unsigned)call->dim[0]);
    return RIDGE_LAUNCHED(call);
}

#endif
