/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building blocks of the WGMMA kernels: one tile of D, computed by `warpgroups` consumers of 64 rows each.
 * A stage holds 64 elements of k: the A tile [rows, 64] and behind it the B tile [columns, 64], both rows of 128 bytes
 * under the 128-byte swizzle.
 */
#ifndef RIDGE_GEMM_TILE_CUH
#define RIDGE_GEMM_TILE_CUH

#include "kernels/gemm_bf16/gemm_store.cuh"
#include "kernels/ptx/shared.cuh"
#include "kernels/ptx/tma.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "kernels/ptx/wgmma.cuh"
#include "kernels/support/ring.cuh"

constexpr int gemm_depth = 64;

template <int warpgroups, int width> struct gemm_tile {
    static constexpr int consumers = warpgroups, rows = 64 * warpgroups, columns = width;
    static constexpr int a_bytes = rows * gemm_depth * 2, b_bytes = columns * gemm_depth * 2;
    static constexpr int stage_bytes = a_bytes + b_bytes;
    /* With a producer warpgroup beside the consumers: registers at entry are 65536 / threads, rounded down to 8. */
    static constexpr int threads = 128 * (warpgroups + 1);
    static constexpr int producer_registers = warpgroups == 3 ? 32 : 40;
    static constexpr int consumer_registers = warpgroups == 3 ? 160 : 232;
};

/* Uniform over the warp, for the compiler too. */
static __device__ __forceinline__ int gemm_warpgroup()
{
    return __shfl_sync(~0u, threadIdx.x / 128, 0);
}

static __host__ __device__ __forceinline__ int gemm_blocks(int k)
{
    return (k + gemm_depth - 1) / gemm_depth;
}

/* Slices [first, last) of the four of 16 elements in the stage at `data`; without `keep` the first overwrites sum. */
template <typename tile, int first, int last>
static __device__ __forceinline__ void gemm_multiply(float (&sum)[tile::columns / 2], uint32_t data, int warpgroup,
                                                     int keep)
{
    const uint64_t a = wgmma_descriptor_128(data + warpgroup * 64 * 128);
    const uint64_t b = wgmma_descriptor_128(data + tile::a_bytes);
#pragma unroll
    for (int slice = first; slice < last; slice++)
        wgmma_bf16_ss(sum, wgmma_descriptor_advance(a, slice * 32), wgmma_descriptor_advance(b, slice * 32),
                      slice > 0 ? 1 : keep);
}

/* A warp has read a stage. Bit r of `ctas`: CTA r of the cluster writes into this CTA's stages. */
static __device__ __forceinline__ void gemm_release(uint32_t empty, uint32_t ctas)
{
    const uint32_t lane = threadIdx.x % 32;
    if (ctas >> lane & 1)
        mbarrier_arrive_at(empty, lane);
}

static __device__ __forceinline__ void gemm_release(uint32_t empty)
{
    if (threadIdx.x % 32 == 0)
        mbarrier_arrive(empty);
}

/* sum = the product over `blocks` stages. The tensor cores never wait for the warpgroup: a stage is released, and the
 * barrier of the next one asked for, while wgmmas are queued; the first slice of a stage is a group of its own, so that
 * the stage before is released as soon as its last slice is done. */
template <typename tile, typename... cluster_ctas>
static __device__ __forceinline__ void gemm_accumulate(float (&sum)[tile::columns / 2], const ring &ring,
                                                       ring_place &at, int blocks, int warpgroup, cluster_ctas... ctas)
{
    uint32_t used = 0;
    for (int i = 0; i < blocks; i++) {
        const uint32_t data = ring.data + at.stage * tile::stage_bytes;
        mbarrier_wait(ring_full(ring, at), at.parity);
        wgmma_fence();
        gemm_multiply<tile, 0, 1>(sum, data, warpgroup, i > 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (i > 0)
            gemm_release(used, ctas...);
        gemm_multiply<tile, 1, 4>(sum, data, warpgroup, 1);
        wgmma_commit();
        used = ring_empty(ring, at);
        ring_next(ring, at);
    }
    wgmma_wait<0>();
    gemm_release(used, ctas...);
}

template <bool even, int count>
static __device__ __forceinline__ void gemm_store_pairs(const gemm_output &out, int64_t row0, int64_t column0,
                                                        const float (&sum)[count])
{
#pragma unroll
    for (int i = 0; i < count; i += 2)
        gemm_store_pair<even>(out, row0 + wgmma_row(threadIdx.x, i), column0 + wgmma_column(threadIdx.x, i), sum[i],
                              sum[i + 1]);
}

/* From the registers to D; (row0, column0) is the corner of the warpgroup's 64 x n. */
template <int count>
static __device__ __forceinline__ void gemm_store_registers(const gemm_output &out, int64_t row0, int64_t column0,
                                                            const float (&sum)[count])
{
    if (out.n % 2 == 0)
        gemm_store_pairs<true>(out, row0, column0, sum);
    else
        gemm_store_pairs<false>(out, row0, column0, sum);
}

#endif
