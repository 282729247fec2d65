/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/quantise_1x128/quantise_1x128.cuh"

constexpr int THREADS = 256, ROWS = 64, STEP = THREADS / 16, CHUNKS = ROWS / STEP;

/* A CTA takes one block of k of 64 rows, a half warp four of these. Its scales are gathered in shared memory and
 * written as two lines. */
static __global__ void __launch_bounds__(THREADS)
    quantise_1x128_tall_tile(const uint4 *__restrict__ x, uint2 *__restrict__ codes, float *__restrict__ scale,
                             quantise_1x128_shape shape)
{
    __shared__ float scales[ROWS];
    const unsigned down = blockIdx.x / shape.blocks, block = blockIdx.x - down * shape.blocks;
    const int lane = threadIdx.x % 16, piece = block * 16 + lane, line = threadIdx.x / 16;
    const int64_t first = (int64_t)down * ROWS;
    const int64_t at = (first + line) * shape.pieces + piece, step = (int64_t)STEP * shape.pieces;
    const int rows = piece < shape.pieces ? (int)min(shape.m - first, (int64_t)ROWS) - line : 0;
    uint4 v[CHUNKS];
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        v[i] = make_uint4(0, 0, 0, 0);
        if (i * STEP < rows)
            v[i] = ld_global_v4(x + at + i * step);
    }
    float amax = 0; /* of chunk lane % CHUNKS */
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        const float chunk = block_scale_amax_lanes<16>(block_scale_amax_pair(v[i]));
        amax = lane % CHUNKS == i ? chunk : amax;
    }
    const float by = block_scale_of(amax), inverse = __frcp_rn(by);
    if (lane < CHUNKS)
        scales[line + lane * STEP] = first + line + lane * STEP < shape.m ? by : 0;
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        const uint2 chunk = block_scale_codes8(v[i], __shfl_sync(~0u, inverse, i, 16));
        if (i * STEP < rows)
            st_global_v2(codes + at + i * step, chunk);
    }
    __syncthreads();
    if (threadIdx.x < ROWS && first + threadIdx.x < shape.pitch)
        scale[block * shape.pitch + first + threadIdx.x] = scales[threadIdx.x];
}

static int launch(const struct ridge_call *call)
{
    const quantise_1x128_shape shape = quantise_1x128_shape_of(call->dim);
    const int64_t grid = ridge_ceil_div(shape.pitch, ROWS) * shape.blocks;
    quantise_1x128_tall_tile<<<(unsigned)grid, THREADS, 0, ridge_stream(call)>>>(
        (const uint4 *)call->buffer[0], (uint2 *)call->buffer[1], (float *)call->buffer[2], shape);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_quantise_1x128_03_tall_tile = {
    .idea = "tiles of 64 rows of one block of k; a lane does the divisions of one block and hands the inverse round",
    .source = "",
    .changes = "scales are written in whole lines, and divided for once a block instead of in every lane",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = quantise_1x128_unsupported,
    .launch = launch,
    .kernel = (const void *)quantise_1x128_tall_tile,
};
