/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The converter: a warpgroup whose warps each take 16 tokens of a block from the cache to keys. Asynchronous copies go
 * to the slot of the tokens a block before as soon as those are converted, so that a block's bytes are under way, in no
 * registers, and no warp waits for another.
 *
 * `tokens` is their format, a struct of:
 *   element           what tensor cores multiply (sparse_apart_element.cuh)
 *   row_bytes         from a token to the next of its page
 *   head_bytes        how many of them come first in a slot: the heads of its tokens, then their other bytes
 *   scales_elsewhere  of a token, 8 bytes of scales are at scales(problem, place), and come last in a slot
 *   slot_bytes        all of this for four tokens
 *   chunks            of eight values, that have codes
 *   load, values      a chunk from a slot, with its scale; as elements
 *   rope_tile, rope   tile of the keys that BF16 values go to, or 0; a lane's 16 bytes of them
 */
#ifndef RIDGE_SPARSE_APART_CONVERT_CUH
#define RIDGE_SPARSE_APART_CONVERT_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_apart_shared.cuh"
#include "kernels/ptx/gather.cuh"

/* Addresses that come from it are made again where there are no registers to keep them in. */
static __device__ __forceinline__ uint32_t apart_thread()
{
    return apart_convert_registers < 64 ? thread_again() : threadIdx.x;
}

/* Blocks of a part, one after the other. */
struct apart_cursor {
    sparse_piece piece;
    int block;

    __device__ bool more() const
    {
        return block < piece.last;
    }
};

static __device__ __forceinline__ void apart_advance(const sparse_problem &problem, const sparse_split &split,
                                                     apart_cursor &at)
{
    if (++at.block < at.piece.last)
        return;
    at.piece = sparse_piece_from(problem, split, blockIdx.y, at.piece.query + 1);
    at.block = at.piece.first;
}

/* Index of the token that a lane looks after: of the warp's 16 in a block token lane % 16, four a slot. Behind the
 * part's last block none, or token 0 where all are known to be tokens'. */
template <bool checked>
static __device__ __forceinline__ int32_t apart_index(const sparse_problem &problem, const apart_cursor &at)
{
    const int lane = threadIdx.x % 32, token = lane % 16 / 4 * 16 + threadIdx.x / 32 % 4 * 4 + lane % 4;
    return at.more() ? __ldg(problem.indices + (int64_t)at.piece.query * problem.topk + at.block * sparse_block_tokens +
                             token)
           : checked ? -1
                     : 0;
}

/* Where a token is: in a cache whose blocks are whole rows long, a row a token, MODEL1's scales taking rows of their
 * own; and which of its page it is. */
struct apart_place {
    uint32_t row, in_page;
};

struct apart_pages {
    uint32_t inverse, gap; /* 2^32 / page_size, rounded down; rows between the tokens of pages */
};

constexpr uint32_t apart_nowhere = ~0u;

template <bool checked>
static __device__ __forceinline__ apart_place apart_find(const sparse_problem &problem, const apart_pages &pages,
                                                         int32_t index)
{
    const uint32_t token = (uint32_t)index;
    uint32_t page = __umulhi(token, pages.inverse); /* of an index below 2^31 right, or one too small */
    page += token - page * problem.page_size >= problem.page_size;
    return {!checked || token < problem.capacity ? token + page * pages.gap : apart_nowhere,
            token - page * problem.page_size};
}

/* The rows of a slot's four tokens; mine: lane t has that of the warp's token t. */
static __device__ __forceinline__ void apart_rows(uint32_t (&row)[apart_slot_tokens], int slot, uint32_t mine)
{
#pragma unroll
    for (int i = 0; i < apart_slot_tokens; i++)
        row[i] = __shfl_sync(~0u, mine, slot * apart_slot_tokens + i);
}

/* Copies 16 bytes of a token from byte `at` on; zeros where it is nowhere. */
template <typename tokens, bool checked>
static __device__ __forceinline__ void apart_copy(const sparse_problem &problem, uint32_t to, uint32_t row, int at)
{
    const bool there = !checked || row != apart_nowhere;
    cp_async_16_zfill(to, problem.cache + (uint64_t)(there ? row : 0) * tokens::row_bytes + at, there ? 16 : 0);
}

/* Copies a slot's tokens: heads, then tails; short tails by the lanes that look after the tokens. */
template <typename tokens, bool checked>
static __device__ __forceinline__ void apart_ask(const sparse_problem &problem, uint32_t staged, int slot,
                                                 const uint32_t (&row)[apart_slot_tokens], const apart_place &mine)
{
    constexpr int tail_bytes = tokens::row_bytes - tokens::head_bytes, together = 512 / tokens::head_bytes;
    const int lane = apart_thread() % 32;
#pragma unroll
    for (int i = 0; i < apart_slot_tokens; i += together) {
        const bool second = together == 2 && lane >= 16;
        apart_copy<tokens, checked>(problem, staged + i * tokens::head_bytes + lane * 16, second ? row[i + 1] : row[i],
                                    second ? lane * 16 - 256 : lane * 16);
        if (tail_bytes > 64 && lane < tail_bytes / 16)
            apart_copy<tokens, checked>(problem,
                                        staged + apart_slot_tokens * tokens::head_bytes + i * tail_bytes + lane * 16,
                                        row[i], tokens::head_bytes + lane * 16);
    }
    if (tail_bytes <= 64 && lane % 16 / apart_slot_tokens == slot) {
        staged += apart_slot_tokens * tokens::head_bytes;
        for (int at = lane / 16 * 16; at < tail_bytes; at += 32)
            apart_copy<tokens, checked>(problem, staged + lane % apart_slot_tokens * tail_bytes + at, mine.row,
                                        tokens::head_bytes + at);
        if constexpr (tokens::scales_elsewhere) /* half by each of the two lanes */
            cp_async_4_if(!checked || mine.row != apart_nowhere,
                          staged + apart_slot_tokens * tail_bytes + lane % apart_slot_tokens * 8 + lane / 16 * 4,
                          tokens::scales(problem, mine) + lane / 16 * 4);
    }
    cp_async_commit();
}

/* A slot's tokens to rows `row` to row + 3 of the keys; row is a multiple of four. Of the 64 chunks of eight values of
 * a token a lane has chunk lane and chunk lane + 32: eight lanes store all of a row of a tile, which is all banks.
 * Loads are under way before the first is used, since one behind stores waits for them. */
template <typename tokens> static __device__ __forceinline__ void apart_convert(uint32_t staged, uint32_t keys, int row)
{
    const int lane = apart_thread() % 32;
    const uint32_t to = keys + lane / 8 * mla_tile_bytes + swizzle_128(row, lane % 8 * 16);
    uint4 rope;
    float2 codes[2 * apart_slot_tokens];
    uint32_t scale[2 * apart_slot_tokens];
    if constexpr (tokens::rope_tile > 0)
        rope = tokens::rope(staged, lane / 8, lane % 8);
#pragma unroll
    for (int i = 0; i < 2 * apart_slot_tokens; i++)
        tokens::load(codes[i], scale[i], staged, lane, i / 2, i % 2);
    if constexpr (tokens::rope_tile > 0)
        st_shared_v4(keys + tokens::rope_tile * mla_tile_bytes + swizzle_128(row + lane / 8, lane % 8 * 16),
                     make_uint4(tokens::element::of_bf16(rope.x), tokens::element::of_bf16(rope.y),
                                tokens::element::of_bf16(rope.z), tokens::element::of_bf16(rope.w)));
#pragma unroll
    for (int i = 0; i < 2 * apart_slot_tokens; i++) {
        const uint4 values = tokens::values(codes[i], scale[i], lane);
        if (i % 2 == 0 || lane < tokens::chunks - 32)
            st_shared_v4((to ^ i / 2 * 16) + i / 2 * 128 + i % 2 * 4 * mla_tile_bytes, values);
    }
}

/* Which of the warp's 16 tokens are there, as apart_shared::valid has them. */
static __device__ __forceinline__ uint32_t apart_valid(const apart_place &mine)
{
    const uint32_t bits = __ballot_sync(~0u, mine.row != apart_nowhere);
    return (bits & 0xf) | (bits & 0xf0) << 4 | (bits & 0xf00) << 8 | (bits & 0xf000) << 12;
}

/* No fence of the async proxy here, it would wait for the copies: who multiplies fences. */
template <typename tokens, bool checked>
static __device__ __forceinline__ void apart_convert_blocks(const sparse_arguments &arguments,
                                                            const apart_shared &shared)
{
    const sparse_problem &problem = arguments.problem;
    const apart_pages pages = {~0u / problem.page_size,
                               (uint32_t)(problem.block_bytes / tokens::row_bytes) - problem.page_size};
    const int warp = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0); /* in a uniform register */
    const sparse_piece first = sparse_first_piece(problem, arguments.split, blockIdx.y);
    apart_cursor next = {first, first.first}; /* whose indices are loaded */
    apart_place mine = apart_find<checked>(problem, pages, apart_index<checked>(problem, next));
    bool more = next.more();
#pragma unroll 1
    for (int slot = 0; slot < apart_slots; slot++) {
        uint32_t row[apart_slot_tokens];
        apart_rows(row, slot, mine.row);
        apart_ask<tokens, checked>(problem, shared.staged(warp, slot, tokens::slot_bytes), slot, row, mine);
    }
    apart_advance(problem, arguments.split, next);
    int32_t index = apart_index<checked>(problem, next);
#pragma unroll 1
    for (uint32_t count = 0; more; count++) {
        const int block = count & 1;
        const uint32_t parity = (count / 2 & 1) ^ 1, valid = checked ? apart_valid(mine) : 0;
        mbarrier_wait(shared.empty(block, 0), parity);
        if (checked && threadIdx.x % 32 == 0)
            st_shared_u32(shared.valid(block) + warp * 4, valid);
        mine = apart_find<checked>(problem, pages, index);
        more = next.more();
        apart_advance(problem, arguments.split, next);
        index = apart_index<checked>(problem, next);
#pragma unroll 1
        for (int slot = 0; slot < apart_slots; slot++) {
            uint32_t row[apart_slot_tokens];
            const uint32_t staged = shared.staged(warp, slot, tokens::slot_bytes);
            cp_async_wait<apart_slots - 1>();
            __syncwarp();
            mbarrier_wait(shared.empty(block, slot), parity);
            apart_convert<tokens>(staged, shared.keys(block), slot * 16 + warp * 4);
            apart_rows(row, slot, mine.row);
            __syncwarp();
            apart_ask<tokens, checked>(problem, staged, slot, row, mine);
        }
        apart_arrive(shared.full(block));
    }
}

#endif
