/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ptx/global.cuh"
#include "kernels/support/block_scale.h"
#include "kernels/support/launch.cuh"
#include "kernels/support/scale_slab.h"

constexpr int THREADS = 256, BATCH = 4;

/* The slab lies in shared memory column by column, in groups of four rows; the group's place is its index XOR a quarter
 * of the column, which spreads what a warp stores over eight groups and leaves what it loads contiguous. */
static __device__ __forceinline__ int place(int column, int row, int shift)
{
    return (column << shift) + (((row >> 2) ^ (column >> 2 & 7)) << 2 | (row & 3));
}

/* Four neighbouring values of in, from element `at` of the slab; zeros from element `end` on. */
static __device__ __forceinline__ uint4 load(const uint32_t *slab, int at, int end)
{
    if (at + 4 <= end)
        return ld_global_v4(slab + at);
    return make_uint4(at < end ? slab[at] : 0, at + 1 < end ? slab[at + 1] : 0, at + 2 < end ? slab[at + 2] : 0, 0);
}

static __global__ void __launch_bounds__(THREADS)
    transpose_scales_row_slab(const uint32_t *__restrict__ in, uint32_t *__restrict__ out, int64_t m, int blocks,
                              int shift)
{
    extern __shared__ __align__(16) uint32_t tile[];
    const int64_t pitch = block_scale_pitch(m), first = (int64_t)blockIdx.x << shift;
    const int rows = (int)min((int64_t)1 << shift, m - first), groups = (blocks << shift) / 4;
    const uint32_t *slab = in + first * blocks;
    for (int group = threadIdx.x; group < groups; group += BATCH * THREADS) {
        uint4 v[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            v[i] = load(slab, 4 * (group + i * THREADS), rows * blocks);
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            const unsigned at = 4 * (group + i * THREADS);
            if (at >= 4u * groups)
                break;
            int row = at / blocks, column = at - row * blocks;
            const uint32_t value[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
#pragma unroll
            for (int j = 0; j < 4; j++) {
                tile[place(column, row, shift)] = value[j];
                const bool wrap = ++column == blocks;
                column = wrap ? 0 : column;
                row += wrap;
            }
        }
    }
    __syncthreads();
    for (int group = threadIdx.x; group < groups; group += THREADS) {
        const int column = group >> (shift - 2), row = 4 * (group - (column << (shift - 2)));
        if (first + row < pitch)
            st_global_v4(out + column * pitch + first + row, *(const uint4 *)&tile[place(column, row, shift)]);
    }
}

static int launch(const struct ridge_call *call)
{
    const int blocks = (int)block_scale_count(call->dim[1]), shift = scale_slab_shift(blocks);
    const int bytes = 4 * blocks << shift;
    RIDGE_CUDA(call,
               cudaFuncSetAttribute(transpose_scales_row_slab, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    transpose_scales_row_slab<<<(unsigned)ridge_ceil_div(call->dim[0], (int64_t)1 << shift), THREADS, bytes,
                                ridge_stream(call)>>>((const uint32_t *)call->buffer[0], (uint32_t *)call->buffer[1],
                                                      call->dim[0], blocks, shift);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_transpose_scales_03_row_slab = {
    .idea = "a CTA reads whole rows, one piece of memory, and writes a piece of every column; swizzled shared memory",
    .source = "",
    .changes = "16-byte loads and stores, 64 bytes a thread under way",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = scale_slab_unsupported,
    .launch = launch,
    .kernel = (const void *)transpose_scales_row_slab,
};
