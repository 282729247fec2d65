/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared memory of the kernel with scores apart (sparse_apart.cuh): the tiles of q that are not held in registers; a
 * tile of probabilities; two blocks of 64 tokens as keys; and tokens as they lie in the cache, which copies bring while
 * those before them are converted.
 *
 * Each of the converter's four warps has 16 tokens of every block, in four slots of four: token 16 s + 4 w + t of a
 * block is token t of slot s of warp w.
 */
#ifndef RIDGE_SPARSE_APART_SHARED_CUH
#define RIDGE_SPARSE_APART_SHARED_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_apart_element.cuh"

constexpr int apart_threads = 512, apart_tiles = sparse_d_k / 64, apart_block_bytes = apart_tiles * mla_tile_bytes;
constexpr int apart_held_tiles = apart_tiles - 4; /* tiles of q in registers */
constexpr int apart_value_registers = 160, apart_score_registers = 64 + 16 * apart_held_tiles;
constexpr int apart_convert_registers = 512 - 2 * apart_value_registers - apart_score_registers;
constexpr int apart_slots = 4, apart_slot_tokens = 4;

/* Tokens come last: the format says how many bytes a slot has. */
struct apart_shared {
    static constexpr int q_bytes = (apart_tiles - apart_held_tiles) * mla_tile_bytes;
    static constexpr int keys_at = q_bytes + mla_tile_bytes, rows_at = keys_at + 2 * apart_block_bytes;
    static constexpr int valid_at = rows_at + 4 * sparse_rows * (int)sizeof(float), barriers_at = valid_at + 2 * 16;
    static constexpr int staged_at = (barriers_at + (5 + 2 * apart_slots) * 8 + 127) / 128 * 128;
    uint32_t base;

    __device__ uint32_t q(int tile) const
    {
        return base + (tile - apart_held_tiles) * mla_tile_bytes;
    }
    __device__ uint32_t keys(int block) const
    {
        return base + keys_at + block * apart_block_bytes;
    }
    __device__ uint32_t probabilities() const
    {
        return base + q_bytes;
    }
    __device__ uint32_t staged(int warp, int slot, int slot_bytes) const
    {
        return base + staged_at + (warp * apart_slots + slot) * slot_bytes;
    }
    /* What sums so far of a row are worth once the block is added; and what they are multiplied by after the last. */
    __device__ uint32_t factor(int block, int row) const
    {
        return base + rows_at + (block * 2 * sparse_rows + row) * 4;
    }
    __device__ uint32_t inverse(int block, int row) const
    {
        return factor(block, sparse_rows + row);
    }
    /* Which tokens are there: a word a warp, of which byte s has a bit for each token of slot s. */
    __device__ uint32_t valid(int block) const
    {
        return base + valid_at + block * 16;
    }
    __device__ uint32_t q_full() const
    {
        return base + barriers_at;
    }
    /* Keys of a block are there; its probabilities and factors are there. */
    __device__ uint32_t full(int block) const
    {
        return base + barriers_at + (1 + block) * 8;
    }
    __device__ uint32_t ready(int block) const
    {
        return base + barriers_at + (3 + block) * 8;
    }
    /* Tokens of all warps' slot s have been multiplied. */
    __device__ uint32_t empty(int block, int slot) const
    {
        return base + barriers_at + (5 + block * apart_slots + slot) * 8;
    }
    __device__ void init() const
    {
        mbarrier_init(q_full(), 1);
        for (int block = 0; block < 2; block++) {
            mbarrier_init(full(block), 4);
            mbarrier_init(ready(block), 128);
            for (int slot = 0; slot < apart_slots; slot++)
                mbarrier_init(empty(block, slot), 8);
        }
        mbarrier_init_fence();
    }
};

/* One arrival a warp. */
static __device__ __forceinline__ void apart_arrive(uint32_t barrier)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        mbarrier_arrive(barrier);
}

#endif
