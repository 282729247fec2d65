/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/quantise_1x128/quantise_1x128.cuh"

constexpr int THREADS = 256, CHUNKS = 4;

/* Half warps take blocks in the order of x, CHUNKS each, so that a CTA reads and writes one piece of memory; scales are
 * written one by one, a row of scales apart. */
static __global__ void __launch_bounds__(THREADS)
    quantise_1x128_half_warp(const uint4 *__restrict__ x, uint2 *__restrict__ codes, float *__restrict__ scale,
                             quantise_1x128_shape shape)
{
    const unsigned first = blockIdx.x * (THREADS / 16 * CHUNKS) + threadIdx.x / 16, lane = threadIdx.x % 16;
    uint4 v[CHUNKS];
    unsigned row[CHUNKS], block[CHUNKS];
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        row[i] = (first + i * (THREADS / 16)) / shape.blocks;
        block[i] = (first + i * (THREADS / 16)) - row[i] * shape.blocks;
        v[i] = make_uint4(0, 0, 0, 0);
        if (row[i] < shape.m && block[i] * 16 + lane < shape.pieces)
            v[i] = ld_global_v4(x + (int64_t)row[i] * shape.pieces + block[i] * 16 + lane);
    }
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        const float by = block_scale_of(block_scale_amax_lanes<16>(block_scale_amax_pair(v[i])));
        if (row[i] < shape.m && block[i] * 16 + lane < shape.pieces)
            st_global_v2(codes + (int64_t)row[i] * shape.pieces + block[i] * 16 + lane,
                         block_scale_codes8(v[i], __frcp_rn(by)));
        if (row[i] < shape.pitch && lane == 0)
            scale[block[i] * shape.pitch + row[i]] = row[i] < shape.m ? by : 0;
    }
}

static int launch(const struct ridge_call *call)
{
    const quantise_1x128_shape shape = quantise_1x128_shape_of(call->dim);
    const int64_t grid = ridge_ceil_div(shape.pitch * shape.blocks, THREADS / 16 * CHUNKS);
    quantise_1x128_half_warp<<<(unsigned)grid, THREADS, 0, ridge_stream(call)>>>(
        (const uint4 *)call->buffer[0], (uint2 *)call->buffer[1], (float *)call->buffer[2], shape);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_quantise_1x128_02_half_warp = {
    .idea = "half a warp a block, in the order of x: 16-byte loads, the amax by shuffles, values stay in registers",
    .source = "",
    .changes = "one pass over memory, in whole lines; two conversions an instruction",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = quantise_1x128_unsupported,
    .launch = launch,
    .kernel = (const void *)quantise_1x128_half_warp,
};
