/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/block_scale.h"
#include "kernels/support/launch.cuh"

constexpr int SIDE = 32, DEEP = 8;

/* A tile of 32 x 32 goes through shared memory; its rows there are 33 words, so that a column lies in 32 banks. */
static __global__ void __launch_bounds__(SIDE *DEEP)
    transpose_scales_shared_tile(const float *__restrict__ in, float *__restrict__ out, int64_t m, int blocks,
                                 int across)
{
    __shared__ float tile[SIDE][SIDE + 1];
    const int64_t pitch = block_scale_pitch(m), first = (int64_t)(blockIdx.x / across) * SIDE;
    const int left = blockIdx.x % across * SIDE, lane = threadIdx.x % SIDE, line = threadIdx.x / SIDE;
#pragma unroll
    for (int i = line; i < SIDE; i += DEEP)
        tile[i][lane] = first + i < m && left + lane < blocks ? in[(first + i) * blocks + left + lane] : 0;
    __syncthreads();
#pragma unroll
    for (int i = line; i < SIDE; i += DEEP)
        if (left + i < blocks && first + lane < pitch)
            out[(left + i) * pitch + first + lane] = tile[lane][i];
}

static int launch(const struct ridge_call *call)
{
    const int64_t blocks = block_scale_count(call->dim[1]), across = ridge_ceil_div(blocks, SIDE);
    const int64_t grid = ridge_ceil_div(block_scale_pitch(call->dim[0]), SIDE) * across;
    transpose_scales_shared_tile<<<(unsigned)grid, SIDE * DEEP, 0, ridge_stream(call)>>>(
        (const float *)call->buffer[0], (float *)call->buffer[1], call->dim[0], (int)blocks, (int)across);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_transpose_scales_02_shared_tile = {
    .idea = "tiles of 32 x 32 through shared memory",
    .source = "",
    .changes = "loads and stores are whole lines of 128 bytes",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)transpose_scales_shared_tile,
};
