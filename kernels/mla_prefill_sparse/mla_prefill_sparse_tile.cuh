/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building blocks of the WGMMA kernels with 64 heads of a query a CTA. Keys are in blocks of 64, each as nine tiles of
 * 64 rows x 64 columns (128 bytes a row, swizzled). Values are the first eight tiles; warpgroup 0 of the two that
 * multiply them owns tiles 0 to 3, which are columns 0 .. 255 of the output, warpgroup 1 the others. The ninth tile has
 * the RoPE part, if d_qk is 576; when a block's scores are there it takes the probabilities.
 *
 * A block is gathered in three parts, tiles 0 to 3, 4 to 7, and the ninth, each with a barrier of its own, and given
 * back in two, by the warpgroup that owns the values. Rows of what is no key are zeros, and no memory is read for them.
 */
#ifndef RIDGE_MLA_PREFILL_SPARSE_TILE_CUH
#define RIDGE_MLA_PREFILL_SPARSE_TILE_CUH

#include "kernels/mla_decode/mla_decode_tile.cuh"
#include "kernels/mla_prefill_sparse/mla_prefill_sparse_gpu.cuh"
#include "kernels/ptx/cp_async_barrier.cuh"

constexpr int prefill_block = 64, prefill_heads = 64, prefill_tile = 64 * 128, prefill_block_bytes = 9 * prefill_tile;

/* Shared memory: q_tiles tiles of q, `blocks` blocks of keys, and of every block: which rows are keys, what rows
 * exchange, barriers. */
template <int q_tiles, int blocks> struct prefill_shared {
    static constexpr int rows_at = q_tiles * prefill_tile + blocks * prefill_block_bytes;
    static constexpr int keys_at = rows_at + blocks * 2 * 64 * (int)sizeof(float), barriers_at = keys_at + blocks * 8;
    static constexpr int bytes = barriers_at + blocks * 6 * 8;
    static_assert(bytes <= 232448, "more than the shared memory of a block");
    uint32_t base;

    __device__ uint32_t q() const
    {
        return base;
    }
    __device__ uint32_t keys(int block) const
    {
        return base + q_tiles * prefill_tile + block * prefill_block_bytes;
    }
    __device__ uint32_t probabilities(int block) const
    {
        return keys(block) + 8 * prefill_tile;
    }
    /* What the sums so far of a row are worth once the block is added; and what they are divided by after the last. */
    __device__ uint32_t factor(int block, int row) const
    {
        return base + rows_at + (block * 128 + row) * 4;
    }
    __device__ uint32_t inverse(int block, int row) const
    {
        return factor(block, 64 + row);
    }
    /* 64 bits. */
    __device__ uint32_t is_key(int block) const
    {
        return base + keys_at + block * 8;
    }
    __device__ uint32_t full(int block, int part) const
    {
        return base + barriers_at + (block * 6 + part) * 8;
    }
    __device__ uint32_t empty(int block, int warpgroup) const
    {
        return base + barriers_at + (block * 6 + 3 + warpgroup) * 8;
    }
    /* The block's probabilities may be multiplied. */
    __device__ uint32_t ready(int block) const
    {
        return base + barriers_at + (block * 6 + 5) * 8;
    }
    /* first(block): the part that is gathered first; two arrivals more say that is_key is there. */
    template <typename function> __device__ void init(const function &first) const
    {
        for (int block = 0; block < blocks; block++) {
            for (int part = 0; part < 3; part++)
                mbarrier_init(full(block, part), part == first(block) ? 128 + 2 : 128);
            mbarrier_init(empty(block, 0), 4);
            mbarrier_init(empty(block, 1), 4);
            mbarrier_init(ready(block), 4);
        }
        mbarrier_init_fence();
    }
};

/* A block of the ring, and the phase of its barriers. */
template <int blocks> struct prefill_place {
    int block;
    uint32_t parity;

    __device__ void next()
    {
        block = block + 1 == blocks ? 0 : block + 1;
        parity ^= block == 0;
    }
};

/* Tiles of 64 heads, of one query after the other; those of a CTA are gridDim.x apart. */
static __device__ __forceinline__ int prefill_head_tiles(const prefill_problem &problem)
{
    return (problem.h + prefill_heads - 1) / prefill_heads;
}

static __device__ __forceinline__ int prefill_query(const prefill_problem &problem, int item)
{
    return item / prefill_head_tiles(problem);
}

static __device__ __forceinline__ int prefill_head0(const prefill_problem &problem, int item)
{
    return item % prefill_head_tiles(problem) * prefill_heads;
}

template <typename function>
static __device__ __forceinline__ void prefill_each_item(const prefill_problem &problem, const function &of_item)
{
#pragma unroll 1
    for (int item = blockIdx.x; item < problem.s_q * prefill_head_tiles(problem); item += gridDim.x)
        of_item(item);
}

/* One arrival a warp. */
static __device__ __forceinline__ void prefill_arrive(uint32_t barrier)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        mbarrier_arrive(barrier);
}

/* The rows of q of up to 64 heads, from row `first` of all on, `taken` of their tiles; zeros for others. By one
 * warpgroup. */
template <int tiles, int taken = tiles>
static __device__ __forceinline__ void prefill_load_q(const prefill_problem &problem, uint32_t q, int64_t first,
                                                      int heads)
{
    const int chunk = threadIdx.x % 8;
#pragma unroll 1
    for (int row = threadIdx.x % 128 / 8; row < 64; row += 16) {
        const bf16 *from = problem.q + (first + (row < heads ? row : 0)) * (tiles * 64) + chunk * 8;
#pragma unroll
        for (int tile = 0; tile < taken; tile++)
            cp_async_16_zfill(q + tile * prefill_tile + swizzle_128(row, chunk * 16), from + tile * 64,
                              row < heads ? 16 : 0);
    }
}

/* The gathering warpgroup's share of a block's indices. */
struct prefill_indices {
    int of_row[4]; /* rows t / 8 + 16 i */
    int of_bit;    /* row t, for is_key */

    __device__ prefill_indices(const int32_t *block)
    {
        const int thread = threadIdx.x % 128;
#pragma unroll
        for (int i = 0; i < 4; i++)
            of_row[i] = __ldg(block + thread / 8 + 16 * i);
        of_bit = __ldg(block + thread % 64);
    }
};

/* Says which rows of a block are keys, for those who wait for `full`. */
template <typename shared_memory>
static __device__ __forceinline__ void prefill_tell_keys(const prefill_problem &problem, const shared_memory &shared,
                                                         int block, const prefill_indices &indices, uint32_t full)
{
    const int thread = threadIdx.x % 128;
    if (thread < 64) {
        const uint32_t is_key = __ballot_sync(~0u, prefill_is_key(problem, indices.of_bit));
        if (thread % 32 == 0) {
            st_shared_u32(shared.is_key(block) + thread / 32 * 4, is_key);
            mbarrier_arrive(full);
        }
    }
}

/* Thread t of the gathering warpgroup copies 16 bytes of rows t / 8 + 16 i of tiles first .. last - 1. */
template <int tiles, int first, int last>
static __device__ __forceinline__ void prefill_gather_tiles(const prefill_problem &problem, uint32_t keys,
                                                            const prefill_indices &indices)
{
    const int thread = threadIdx.x % 128, row = thread / 8, chunk = thread % 8;
    const uint32_t to = keys + swizzle_128(row, chunk * 16);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int bytes = prefill_is_key(problem, indices.of_row[i]) ? 16 : 0;
        const bf16 *from = problem.kv + (bytes ? (int64_t)indices.of_row[i] * (tiles * 64) : 0) + chunk * 8;
#pragma unroll
        for (int tile = first; tile < last; tile++)
            cp_async_16_zfill(to + tile * prefill_tile + i * 2048, from + tile * 64, bytes);
    }
}

template <int tiles, typename shared_memory>
static __device__ __forceinline__ void prefill_gather_part(const prefill_problem &problem, const shared_memory &shared,
                                                           int block, const prefill_indices &indices, int part)
{
    if (part == 0)
        prefill_gather_tiles<tiles, 0, 4>(problem, shared.keys(block), indices);
    else if (part == 1)
        prefill_gather_tiles<tiles, 4, 8>(problem, shared.keys(block), indices);
    else
        prefill_gather_tiles<tiles, 8, tiles>(problem, shared.keys(block), indices);
    cp_async_arrive(shared.full(block, part));
}

static __device__ __forceinline__ const int32_t *prefill_list(const prefill_problem &problem, int query)
{
    return problem.indices + (int64_t)query * problem.topk;
}

/* The gathering warpgroup: the blocks of one list, in the order of tiles. */
template <int tiles, int blocks, typename shared_memory>
static __device__ __forceinline__ void prefill_gather(const prefill_problem &problem, const shared_memory &shared,
                                                      int query, prefill_place<blocks> &at)
{
#pragma unroll 1
    for (int first = 0; first < problem.topk; first += prefill_block, at.next()) {
        const prefill_indices indices(prefill_list(problem, query) + first);
        mbarrier_wait(shared.empty(at.block, 0), at.parity ^ 1);
        prefill_tell_keys(problem, shared, at.block, indices, shared.full(at.block, 0));
        prefill_gather_part<tiles>(problem, shared, at.block, indices, 0);
        mbarrier_wait(shared.empty(at.block, 1), at.parity ^ 1);
        prefill_gather_part<tiles>(problem, shared, at.block, indices, 1);
        prefill_gather_part<tiles>(problem, shared, at.block, indices, 2);
    }
}

/* Copies are of the generic proxy, and the products read through the other. */
static __device__ __forceinline__ void prefill_wait_part(uint32_t full, uint32_t parity)
{
    mbarrier_wait(full, parity);
    fence_proxy_async();
}

/* Scores of what is no key become -inf, by the bits that prefill_tell_keys leaves. */
static __device__ __forceinline__ void prefill_mask(float (&score)[32], uint32_t is_key)
{
    const uint32_t low = __float_as_uint(ld_shared_f32(is_key)), high = __float_as_uint(ld_shared_f32(is_key + 4));
    if ((low & high) == ~0u)
        return;
#pragma unroll
    for (int i = 0; i < 32; i++)
        if (!((i < 16 ? low : high) >> (wgmma_column(threadIdx.x, i) % 32) & 1))
            score[i] = -INFINITY;
}

/* From scores to probabilities in shared memory, maxima and sums so far, and the factors for the sums of values.
 * Barrier 1: all warps have their scores, and the RoPE part may be overwritten. */
template <typename shared_memory>
static __device__ __forceinline__ void prefill_softmax(float (&score)[32], const shared_memory &shared, int block,
                                                       mla_row_pair &rows)
{
    const float old[2] = {rows.max[0], rows.max[1]};
    uint32_t p[4][4];
    mla_raise(rows.max, score);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float factor = mla_factor(old[half], rows.max[half]);
        rows.sum[half] *= factor;
        if (threadIdx.x % 4 == 0)
            st_shared_f32(shared.factor(block, mla_row_in_tile(half)), factor);
    }
    mla_exponentiate(score, rows.max, rows.sum);
    mla_round(p, score);
    named_sync(1, 128);
    mla_store_probabilities(shared.probabilities(block), p);
}

/* Of the four threads that share a row. */
static __device__ __forceinline__ float prefill_sum_of_row(float sum)
{
    sum += __shfl_xor_sync(~0u, sum, 1);
    return sum + __shfl_xor_sync(~0u, sum, 2);
}

/* 0 for a row without keys; a NaN stays. */
static __device__ __forceinline__ float prefill_inverse(float sum)
{
    return sum == 0 ? 0 : 1 / sum;
}

static __device__ __forceinline__ void prefill_store_row(const prefill_problem &problem, int query, int head, float max,
                                                         float sum)
{
    if (threadIdx.x % 4 == 0 && head < problem.h) {
        const int64_t at = (int64_t)query * problem.h + head;
        problem.max_logits[at] = max * prefill_scale;
        problem.lse[at] = sum == 0 ? INFINITY : max * prefill_scale + logf(sum);
    }
}

/* After the last block: max_logits, lse, and the inverse of the sums for who has the values. */
template <typename shared_memory>
static __device__ __forceinline__ void prefill_finish_rows(const prefill_problem &problem, const shared_memory &shared,
                                                           int block, int query, int head0, const mla_row_pair &rows)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float sum = prefill_sum_of_row(rows.sum[half]);
        st_shared_f32(shared.inverse(block, mla_row_in_tile(half)), prefill_inverse(sum));
        prefill_store_row(problem, query, head0 + mla_row_in_tile(half), rows.max[half], sum);
    }
}

/* Adds a block's values to a warpgroup's half of the output. meanwhile(): while the tensor cores work. */
template <typename shared_memory, typename function>
static __device__ __forceinline__ void prefill_add_values(float (&out)[mla_half / 2], const shared_memory &shared,
                                                          int block, uint32_t keys, int warpgroup,
                                                          const function &meanwhile)
{
    const float factor[2] = {ld_shared_f32(shared.factor(block, mla_row_in_tile(0))),
                             ld_shared_f32(shared.factor(block, mla_row_in_tile(1)))};
    mla_scale_rows(out, factor);
    wgmma_fence();
    mla_add_values(out, shared.probabilities(block), keys, warpgroup);
    wgmma_commit();
    meanwhile();
    wgmma_wait<0>();
    wgmma_settle(out);
}

/* A warpgroup's half of the output, through four tiles of shared memory that nobody reads. */
static __device__ __forceinline__ void prefill_store(const prefill_problem &problem, uint32_t staging, int query,
                                                     int head0, int warpgroup, const float (&out)[mla_half / 2],
                                                     const float (&inverse)[2])
{
    const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 % 4 * 16;
#pragma unroll
    for (int i = 0; i < mla_half / 2; i += 8) {
        uint32_t word[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            word[j] = cvt_bf16x2_f32(out[i + 2 * j] * inverse[j % 2], out[i + 2 * j + 1] * inverse[j % 2]);
        stmatrix_x4(staging + i / 32 * prefill_tile +
                        swizzle_128(warp_row + lane % 16, i % 32 / 8 * 32 + lane / 16 * 16),
                    word[0], word[1], word[2], word[3]);
    }
    __syncwarp();
    bf16 *to = problem.out + ((int64_t)query * problem.h + head0) * prefill_d_v + warpgroup * mla_half;
#pragma unroll 4
    for (int row = warp_row; row < min(warp_row + 16, problem.h - head0); row++)
        st_global_v4(to + (int64_t)row * prefill_d_v + lane * 8,
                     ld_shared_volatile_v4(staging + lane / 8 * prefill_tile + swizzle_128(row, lane % 8 * 16)));
}

/* The same through the warpgroup's own tiles of values, which all of it has read. */
template <typename shared_memory>
static __device__ __forceinline__ void
prefill_store_through(const prefill_problem &problem, const shared_memory &shared, int block, uint32_t keys, int query,
                      int head0, int warpgroup, const float (&out)[mla_half / 2])
{
    const float inverse[2] = {ld_shared_f32(shared.inverse(block, mla_row_in_tile(0))),
                              ld_shared_f32(shared.inverse(block, mla_row_in_tile(1)))};
    prefill_store(problem, keys + warpgroup * 4 * prefill_tile, query, head0, warpgroup, out, inverse);
}

#endif
