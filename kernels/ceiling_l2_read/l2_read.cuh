/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_L2_READ_CUH
#define RIDGE_L2_READ_CUH

#include "kernels/ceiling_l2_read/l2_read.h"
#include "kernels/ptx/global.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/ptx/reduce.cuh"

static __device__ __forceinline__ uint32_t add(uint4 v)
{
    return v.x + v.y + v.z + v.w;
}

/* Pieces of one warp when `warps` warps share them. */
static inline int64_t l2_pieces_per_warp(const int64_t *dim, int64_t warps)
{
    return (dim[0] / L2_PIECE_BYTES + warps - 1) / warps;
}

constexpr int L2_THREADS = 1024;

/* One CTA an SM; warp w of the machine owns pieces w, w + warps, ... in every pass. A lane's sum of each of its pieces
 * waits in shared memory: 4 bytes moved there for 64 loaded. */
template <uint4 (*load)(const void *)>
static __global__ void __launch_bounds__(L2_THREADS)
    l2_read(const uint4 *__restrict__ src, uint32_t *__restrict__ sum, int pieces, unsigned passes)
{
    extern __shared__ uint32_t lane_sum[];
    int warps = gridDim.x * (L2_THREADS / 32);
    int first = blockIdx.x * (L2_THREADS / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;

    for (int piece = first, i = threadIdx.x; piece < pieces; piece += warps, i += L2_THREADS)
        lane_sum[i] = 0;
    for (unsigned pass = 0; pass < passes; pass++) {
#pragma unroll 2
        for (int piece = first, i = threadIdx.x; piece < pieces; piece += warps, i += L2_THREADS) {
            const uint4 *from = src + (size_t)piece * (L2_PIECE_BYTES / 16) + lane;
            uint4 v[4];
#pragma unroll
            for (int j = 0; j < 4; j++)
                v[j] = load(from + j * 32);
            lane_sum[i] += add(v[0]) + add(v[1]) + add(v[2]) + add(v[3]);
        }
    }
    for (int piece = first, i = threadIdx.x; piece < pieces; piece += warps, i += L2_THREADS) {
        uint32_t word = add_warp(lane_sum[i]);
        if (lane == 0)
            sum[piece] = word;
    }
}

static inline int l2_shared_bytes(const int64_t *dim, const struct ridge_device *device)
{
    return (int)(l2_pieces_per_warp(dim, (int64_t)device->sms * (L2_THREADS / 32)) * L2_THREADS * 4);
}

static inline const char *l2_unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return l2_shared_bytes(dim, device) > device->smem_optin_bytes ? "bytes: the partial sums do not fit shared memory"
                                                                   : NULL;
}

template <uint4 (*load)(const void *)> static int l2_launch(const struct ridge_call *call)
{
    auto kernel = l2_read<load>;
    int bytes = l2_shared_bytes(call->dim, call->device);
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    /* The largest share for shared memory leaves 28 KB of L1 on Hopper, a seventh of what an SM reads in a pass. */
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
    kernel<<<call->device->sms, L2_THREADS, bytes, ridge_stream(call)>>>(
        (const uint4 *)call->buffer[0], (uint32_t *)call->buffer[1], (int)(call->dim[0] / L2_PIECE_BYTES),
        (unsigned)call->dim[1]);
    return RIDGE_LAUNCHED(call);
}

#endif
