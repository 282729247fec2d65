/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building blocks of the WGMMA kernels with 64 query rows a CTA. Shared memory holds Q and two blocks of 64 keys, each
 * as nine tiles of 64 rows x 64 columns (128 bytes a row, swizzled); values are the first eight tiles of a block of
 * keys. Two consumer warpgroups and one producer warp: warpgroup 0 owns columns 0 .. 255 of the output (tiles 0 to 3),
 * warpgroup 1 the others (tiles 4 to 7). When a block's scores are there, its last tile, which holds no values, takes
 * its probabilities.
 */
#ifndef RIDGE_MLA_DECODE_TILE_CUH
#define RIDGE_MLA_DECODE_TILE_CUH

#include "kernels/mla_decode/mla_decode_split.cuh"
#include "kernels/mla_decode/mla_decode_wgmma.cuh"
#include "kernels/ptx/async.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/mma.cuh"
#include "kernels/ptx/tma.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "kernels/support/tensor_map.h"

constexpr int mla_tile_rows = 64, mla_tiles = mla_d_k / 64, mla_tile_bytes = 64 * 128;
constexpr int mla_block_bytes = mla_tiles * mla_tile_bytes, mla_threads = 384, mla_half = mla_d_v / 2;
constexpr int mla_producer_registers = 40, mla_consumer_registers = 232;

/* Shared memory: q, two blocks of keys, a tile of probabilities, what rows exchange, barriers. */
constexpr int mla_keys_at = mla_block_bytes, mla_p_at = 3 * mla_block_bytes, mla_rows_at = mla_p_at + mla_tile_bytes;
constexpr int mla_barriers_at = mla_rows_at + 6 * 64 * (int)sizeof(float);
constexpr int mla_shared_bytes = mla_barriers_at + 8 * (2 + 2 * mla_tiles + 7);
static_assert(mla_shared_bytes <= 232448, "more than the shared memory of a block");

struct mla_tile_arguments {
    CUtensorMap q, kv;   /* boxes of 64 columns: 64 rows of q; 64 rows of kv */
    CUtensorMap kv_wide; /* two such boxes of kv, side by side there and one after the other in shared memory */
    mla_problem problem;
    mla_split split;
    bool evict_first; /* keys leave L2 first, in variants that ask */
};

/* Addresses of a CTA's shared memory. */
struct mla_shared {
    uint32_t base;

    __device__ uint32_t q() const
    {
        return base;
    }
    __device__ uint32_t keys(int block) const
    {
        return base + mla_keys_at + block * mla_block_bytes;
    }
    __device__ uint32_t p() const
    {
        return base + mla_p_at;
    }
    /* A float a row: the maximum that a warpgroup announces, and its sum for every other request: one warpgroup may
     * be at the next request's end while the other still reads. */
    __device__ uint32_t max(int warpgroup, int row) const
    {
        return base + mla_rows_at + (warpgroup * 64 + row) * 4;
    }
    __device__ uint32_t sum(int warpgroup, int turn, int row) const
    {
        return base + mla_rows_at + ((2 + turn * 2 + warpgroup) * 64 + row) * 4;
    }
    __device__ uint32_t q_full() const
    {
        return base + mla_barriers_at;
    }
    __device__ uint32_t q_empty() const
    {
        return base + mla_barriers_at + 8;
    }
    __device__ uint32_t full(int block, int tile) const
    {
        return base + mla_barriers_at + 16 + (block * mla_tiles + tile) * 8;
    }
    /* Of the last tile of q, where that has other uses. */
    __device__ uint32_t q_last_empty() const
    {
        return empty(2, 0);
    }
    /* Of the part of a block that warpgroup `reader` is the last to read; 2: its last tile, where that is a part. */
    __device__ uint32_t empty(int block, int reader) const
    {
        return base + mla_barriers_at + 16 + 2 * mla_tiles * 8 + (block * 3 + reader) * 8;
    }
};

static __device__ __forceinline__ void mla_init_barriers(const mla_shared &shared, int ctas = 1)
{
    mbarrier_init(shared.q_full(), 1);
    mbarrier_init(shared.q_empty(), 8);
    mbarrier_init(shared.q_last_empty(), 8);
    for (int i = 0; i < 2 * mla_tiles; i++)
        mbarrier_init(shared.full(0, i), 1);
    for (int i = 0; i < 6; i++)
        mbarrier_init(shared.empty(i / 3, i % 3), 4 * ctas);
    mbarrier_init_fence();
}

/* One row of the cache for each of 64 keys, in boxes of consecutive rows. */
template <bool hint = false>
static __device__ __forceinline__ void mla_load_keys(const mla_tile_arguments &arguments, uint32_t shared, int tile,
                                                     int page, int key, uint32_t full)
{
    const int size = arguments.problem.page_size;
    mbarrier_arrive_expect(full, mla_tile_bytes);
    const int row = page * size + key % size;
    if (hint && arguments.evict_first)
        tma_load_hint(shared + tile * mla_tile_bytes, &arguments.kv, tile * 64, row, full, l2_evict_first());
    else
        tma_load(shared + tile * mla_tile_bytes, &arguments.kv, tile * 64, row, full);
}

static __device__ __forceinline__ void mla_load_q(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                  int row)
{
    mbarrier_arrive_expect(shared.q_full(), mla_block_bytes);
    for (int tile = 0; tile < mla_tiles; tile++)
        tma_load(shared.q() + tile * mla_tile_bytes, &arguments.q, tile * 64, row, shared.q_full());
}

/* score (+)= q keys^T over one tile of 64 columns. */
static __device__ __forceinline__ void mla_multiply_keys(float (&score)[32], uint32_t q, uint32_t keys, int keep)
{
    const uint64_t a = wgmma_descriptor_128(q), b = wgmma_descriptor_128(keys);
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        mla_wgmma_ss(score, wgmma_descriptor_advance(a, slice * 32), wgmma_descriptor_advance(b, slice * 32),
                     slice > 0 ? 1 : keep);
}

/* Four tiles of values from `tile` on, 64 keys x 256 columns: rows of keys are the k of this product. */
static __device__ __forceinline__ uint64_t mla_values(uint32_t keys, int warpgroup)
{
    return wgmma_descriptor_128(keys + warpgroup * 4 * mla_tile_bytes, 1024, mla_tile_bytes);
}

static __device__ __forceinline__ void mla_add_values(float (&out)[mla_half / 2], const uint32_t (&p)[4][4],
                                                      uint32_t keys, int warpgroup)
{
    const uint64_t values = mla_values(keys, warpgroup);
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        mla_wgmma_rs<1>(out, p[slice], wgmma_descriptor_advance(values, slice * 2048), 1);
}

static __device__ __forceinline__ void mla_add_values(float (&out)[mla_half / 2], uint32_t p, uint32_t keys,
                                                      int warpgroup)
{
    const uint64_t a = wgmma_descriptor_128(p), values = mla_values(keys, warpgroup);
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        mla_wgmma_ss<0, 1>(out, wgmma_descriptor_advance(a, slice * 32), wgmma_descriptor_advance(values, slice * 2048),
                           1);
}

/* As wgmma takes them from registers. */
static __device__ __forceinline__ void mla_round(uint32_t (&p)[4][4], const float (&value)[32])
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        p[i / 4][i % 4] = mla_pack(value[2 * i], value[2 * i + 1]);
}

/* The warp's 16 rows of probabilities to the swizzled tile at `tile`. */
static __device__ __forceinline__ void mla_store_probabilities(uint32_t tile, const uint32_t (&p)[4][4])
{
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        stmatrix_x4(tile + swizzle_128(row, slice * 32 + lane / 16 * 16), p[slice][0], p[slice][1], p[slice][2],
                    p[slice][3]);
    fence_proxy_async();
}

static __device__ __forceinline__ void mla_scale_rows(float (&value)[mla_half / 2], const float (&factor)[2])
{
    if (!__any_sync(~0u, factor[0] != 1 || factor[1] != 1))
        return;
#pragma unroll
    for (int i = 0; i < mla_half / 2; i++)
        value[i] *= factor[i / 2 % 2];
}

/* A thread's two rows: rows lane / 4 and 8 more of the warp's 16. */
struct mla_row_pair {
    float max[2], sum[2]; /* sum: of this thread's columns of this warpgroup's blocks */
    int visible[2];
};

static __device__ __forceinline__ int mla_row_in_tile(int half)
{
    return threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4 + 8 * half;
}

/* Scores of keys that a row does not see become -inf; `key` is the first. */
static __device__ __forceinline__ void mla_mask(float (&score)[32], const int (&visible)[2], int key)
{
    if (key + mla_block_keys <= min(visible[0], visible[1]))
        return;
#pragma unroll
    for (int i = 0; i < 32; i++)
        if (key + wgmma_column(threadIdx.x, i) >= visible[i / 2 % 2])
            score[i] = -INFINITY;
}

/* Raises max to that of the scores. */
static __device__ __forceinline__ void mla_raise(float (&max)[2], const float (&score)[32])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float highs[2] = {score[2 * half], score[2 * half + 1]}; /* two chains of half the latency */
#pragma unroll
        for (int i = 0; i < 32; i++)
            if (i / 2 % 2 == half)
                highs[i % 2] = fmaxf(highs[i % 2], score[i]);
        float high = fmaxf(highs[0], highs[1]);
        high = fmaxf(high, __shfl_xor_sync(~0u, high, 1));
        max[half] = fmaxf(max[half], fmaxf(high, __shfl_xor_sync(~0u, high, 2)));
    }
}

/* What sums that were made with `old` are worth under `now`. Before the first key both are -inf. */
static __device__ __forceinline__ float mla_factor(float old, float now)
{
    return old == now ? 1 : ex2((old - now) * mla_scale_log2);
}

/* score becomes exp(score - max), its sum is added. */
static __device__ __forceinline__ void mla_exponentiate(float (&score)[32], const float (&max)[2], float (&sum)[2])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float base = max[half] == -INFINITY ? 0 : max[half] * mla_scale_log2;
#pragma unroll
        for (int i = 0; i < 32; i++)
            if (i / 2 % 2 == half) {
                score[i] = ex2(fmaf(score[i], mla_scale_log2, -base));
                sum[half] += score[i];
            }
    }
}

/* Zeros for the rows of values that belong to no key: 0 times what they hold may be NaN. By one warpgroup, of all of a
 * block's values. */
static __device__ __forceinline__ void mla_clear_values(uint32_t keys, int valid)
{
    for (int i = valid * 64 + threadIdx.x % 128; i < 64 * 64; i += 128)
        st_shared_v4(keys + i % 64 / 8 * mla_tile_bytes + i / 64 * 128 + i % 8 * 16, make_uint4(0, 0, 0, 0));
    fence_proxy_async();
}

/* The warpgroup's half of the rows, through the memory of q to global memory 16 bytes at a time. */
static __device__ __forceinline__ void mla_store_whole(const mla_problem &problem, uint32_t q,
                                                       const float (&out)[mla_half / 2], const float (&factor)[2],
                                                       int warpgroup, int request, int row0)
{
    const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 % 4 * 16, rows = mla_rows_of(problem) - row0;
    const uint32_t half = q + warpgroup * 4 * mla_tile_bytes;
#pragma unroll
    for (int i = 0; i < mla_half / 2; i += 8) {
        uint32_t word[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            word[j] = mla_pack(out[i + 2 * j] * factor[j % 2], out[i + 2 * j + 1] * factor[j % 2]);
        stmatrix_x4(half + i / 32 * mla_tile_bytes +
                        swizzle_128(warp_row + lane % 16, i % 32 / 8 * 32 + lane / 16 * 16),
                    word[0], word[1], word[2], word[3]);
    }
    __syncwarp();
    mla_element *dst = problem.out + ((int64_t)request * mla_rows_of(problem) + row0) * mla_d_v + warpgroup * mla_half;
    for (int i = 0; i < 16; i++)
        if (warp_row + i < rows)
            st_global_v4(
                dst + (int64_t)(warp_row + i) * mla_d_v + lane * 8,
                ld_shared_volatile_v4(half + lane / 8 * mla_tile_bytes + swizzle_128(warp_row + i, lane % 8 * 16)));
}

static __device__ __forceinline__ void mla_store_part(const mla_problem &problem, const mla_split &split,
                                                      const float (&out)[mla_half / 2], const float (&factor)[2],
                                                      int warpgroup, int slot, int row0)
{
#pragma unroll
    for (int i = 0; i < mla_half / 2; i += 2) {
        const int half = i / 2 % 2, row = row0 + mla_row_in_tile(half);
        if (row < mla_rows_of(problem))
            __stcg((float2 *)(split.part_out + ((int64_t)slot * mla_rows_of(problem) + row) * mla_d_v +
                              warpgroup * mla_half + wgmma_column(threadIdx.x, i)),
                   make_float2(out[i] * factor[half], out[i + 1] * factor[half]));
    }
}

/* End of a request: sums of both warpgroups (barrier 5), of which factor becomes the inverse. Warpgroup 0 writes lse.
 */
static __device__ __forceinline__ void mla_total(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                 const mla_piece &piece, int turn, int row0, int warpgroup,
                                                 const mla_row_pair &rows, float (&factor)[2])
{
    const mla_problem &problem = arguments.problem;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float sum = rows.sum[half] + __shfl_xor_sync(~0u, rows.sum[half], 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        st_shared_f32(shared.sum(warpgroup, turn, mla_row_in_tile(half)), sum);
    }
    named_sync(5, 256);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = mla_row_in_tile(half);
        const float sum = ld_shared_f32(shared.sum(0, turn, row)) + ld_shared_f32(shared.sum(1, turn, row));
        const float lse = sum > 0 || sum != sum ? rows.max[half] * mla_scale_log2 + log2f(sum) : -INFINITY;
        factor[half] = sum > 0 || sum != sum ? 1 / sum : 0;
        if (warpgroup == 0 && threadIdx.x % 4 == 0 && row0 + row < mla_rows_of(problem)) {
            if (piece.whole)
                problem.lse[mla_lse_at(problem, piece.request, row0 + row)] =
                    lse == -INFINITY ? INFINITY : lse * mla_ln2;
            else
                __stcg(arguments.split.part_lse + (int64_t)piece.slot * mla_rows_of(problem) + row0 + row, lse);
        }
    }
}

static __device__ __forceinline__ void mla_finish(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                  const mla_piece &piece, int turn, int row0, int warpgroup,
                                                  const float (&out)[mla_half / 2], const mla_row_pair &rows)
{
    const mla_problem &problem = arguments.problem;
    float factor[2];
    mla_total(arguments, shared, piece, turn, row0, warpgroup, rows, factor);
    if (piece.whole)
        mla_store_whole(problem, shared.q(), out, factor, warpgroup, piece.request, row0);
    else
        mla_store_part(problem, arguments.split, out, factor, warpgroup, piece.slot, row0);
    fence_proxy_async();
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        mbarrier_arrive(shared.q_empty());
}

#endif
