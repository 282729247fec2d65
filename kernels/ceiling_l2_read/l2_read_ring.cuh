/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_L2_READ_RING_CUH
#define RIDGE_L2_READ_RING_CUH

#include "kernels/ceiling_l2_read/l2_read.cuh"
#include "kernels/ptx/async.cuh"

constexpr int L2_RING = 8, L2_STAGE_PIECES = 8, L2_STAGE_BYTES = L2_STAGE_PIECES * L2_PIECE_BYTES;
constexpr int L2_RING_THREADS = (1 + L2_RING) * 32;

/* The sum of a stage's pieces, piece p in lane p. */
static __device__ __forceinline__ uint32_t l2_stage_sums(uint32_t stage, int lane)
{
    uint32_t mine = 0;
#pragma unroll
    for (int piece = 0; piece < L2_STAGE_PIECES; piece++) {
        uint32_t word = 0;
#pragma unroll
        for (int j = 0; j < L2_PIECE_BYTES / 512; j++)
            word += add(ld_shared_v4(stage + piece * L2_PIECE_BYTES + j * 512 + lane * 16));
        word = __reduce_add_sync(~0u, word);
        mine = lane == piece ? word : mine;
    }
    return mine;
}

/* One CTA an SM. `sharers` neighbouring CTAs make a group, which owns stages group, group + groups, ... of src; each of
 * them reads all of these in the same order, its share of the passes, so that they want the same lines at about the
 * same time. Warp 0 keeps the copy engine busy; slot i of the ring belongs to warp i + 1, which adds up what comes
 * there. `sum` holds zeros before. */
static __global__ void __launch_bounds__(L2_RING_THREADS)
    l2_read_ring(const char *__restrict__ src, uint32_t *__restrict__ sum, int stages, unsigned passes, int sharers)
{
    extern __shared__ __align__(128) char ring[];
    __shared__ uint64_t full[L2_RING], empty[L2_RING];
    uint32_t *piece_sum = (uint32_t *)(ring + L2_RING * L2_STAGE_BYTES);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, groups = gridDim.x / sharers;
    const int group = blockIdx.x / sharers, member = blockIdx.x % sharers;
    const int own = group < stages ? (stages - 1 - group) / groups + 1 : 0;
    const long long total = (long long)own * (passes / sharers + (member < passes % sharers));

    for (int i = threadIdx.x; i < own * L2_STAGE_PIECES; i += L2_RING_THREADS)
        piece_sum[i] = 0;
    if (threadIdx.x == 0) {
        for (int i = 0; i < L2_RING; i++) {
            mbarrier_init(shared_address(&full[i]), 1);
            mbarrier_init(shared_address(&empty[i]), 1);
        }
        mbarrier_init_fence();
    }
    __syncthreads();

    if (warp == 0 && lane == 0) {
        int stage = 0;
        for (long long i = 0; i < total; i++) {
            const int slot = i % L2_RING;
            mbarrier_wait(shared_address(&empty[slot]), (i / L2_RING & 1) ^ 1);
            mbarrier_arrive_expect(shared_address(&full[slot]), L2_STAGE_BYTES);
            bulk_load(shared_address(ring + slot * L2_STAGE_BYTES),
                      src + (size_t)(group + stage * groups) * L2_STAGE_BYTES, L2_STAGE_BYTES,
                      shared_address(&full[slot]));
            stage = stage + 1 < own ? stage + 1 : 0;
        }
    }
    __syncwarp();
    if (warp > 0) {
        const int slot = warp - 1;
        const uint32_t from = shared_address(ring + slot * L2_STAGE_BYTES);
        uint32_t parity = 0;
        for (long long i = slot; i < total; i += L2_RING, parity ^= 1) {
            mbarrier_wait(shared_address(&full[slot]), parity);
            const uint32_t mine = l2_stage_sums(from, lane);
            if (lane == 0)
                mbarrier_arrive(shared_address(&empty[slot]));
            if (lane < L2_STAGE_PIECES)
                atomicAdd(&piece_sum[(int)(i % own) * L2_STAGE_PIECES + lane], mine);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < own * L2_STAGE_PIECES; i += L2_RING_THREADS)
        atomicAdd(&sum[(group + i / L2_STAGE_PIECES * groups) * L2_STAGE_PIECES + i % L2_STAGE_PIECES], piece_sum[i]);
}

/* A ring and the sums of a group's pieces. SMs that fill no group stay idle. */
static inline int l2_ring_bytes(const int64_t *dim, const struct ridge_device *device, int sharers)
{
    const int groups = device->sms / sharers;
    const int64_t own = ridge_ceil_div(dim[0] / L2_STAGE_BYTES, groups);
    return (int)(L2_RING * L2_STAGE_BYTES + own * L2_STAGE_PIECES * 4);
}

static inline const char *l2_ring_unsupported(const int64_t *dim, const struct ridge_device *device, int sharers)
{
    if (dim[0] % L2_STAGE_BYTES)
        return "bytes must be a multiple of 16384 here";
    if (device->sms < sharers)
        return "fewer SMs than share their lines here";
    return l2_ring_bytes(dim, device, sharers) > device->smem_optin_bytes
               ? "bytes: the partial sums do not fit shared memory"
               : NULL;
}

static int l2_ring_launch(const struct ridge_call *call, int sharers)
{
    const int bytes = l2_ring_bytes(call->dim, call->device, sharers);
    RIDGE_CUDA(call, cudaFuncSetAttribute(l2_read_ring, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    RIDGE_CUDA(call,
               cudaMemsetAsync(call->buffer[1], 0, (size_t)(call->dim[0] / L2_PIECE_BYTES) * 4, ridge_stream(call)));
    l2_read_ring<<<call->device->sms / sharers * sharers, L2_RING_THREADS, bytes, ridge_stream(call)>>>(
        (const char *)call->buffer[0], (uint32_t *)call->buffer[1], (int)(call->dim[0] / L2_STAGE_BYTES),
        (unsigned)call->dim[1], sharers);
    return RIDGE_LAUNCHED(call);
}

#endif
