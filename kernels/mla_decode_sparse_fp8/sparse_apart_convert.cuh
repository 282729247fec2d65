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

/* Index of the token that a lane looks after: of the warp's 16 in a block token lane % 16, four a slot. */
static __device__ __forceinline__ int32_t apart_index(const sparse_problem &problem, const apart_cursor &at)
{
    const int lane = threadIdx.x % 32, token = lane % 16 / 4 * 16 + threadIdx.x / 32 % 4 * 4 + lane % 4;
    return at.more() ? __ldg(problem.indices + (int64_t)at.piece.query * problem.topk + at.block * sparse_block_tokens +
                             token)
                     : -1;
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

static __device__ __forceinline__ apart_place apart_find(const sparse_problem &problem, const apart_pages &pages,
                                                         int32_t index)
{
    const uint32_t token = (uint32_t)index;
    uint32_t page = __umulhi(token, pages.inverse); /* of an index below 2^31 right, or one too small */
    page += token - page * problem.page_size >= problem.page_size;
    return {token < problem.capacity ? token + page * pages.gap : apart_nowhere, token - page * problem.page_size};
}

/* Copies 16 bytes of a token from byte `at` on; zeros where it is nowhere. */
template <typename tokens>
static __device__ __forceinline__ void apart_copy(const sparse_problem &problem, uint32_t to, uint32_t row, int at)
{
    const bool there = row != apart_nowhere;
    cp_async_16_zfill(to, problem.cache + (uint64_t)(there ? row : 0) * tokens::row_bytes + at, there ? 16 : 0);
}

/* Copies a slot's tokens: heads, then tails; short tails by the lanes that look after the tokens. */
template <typename tokens>
static __device__ __forceinline__ void apart_ask(const sparse_problem &problem, uint32_t staged, int slot, uint4 rows,
                                                 const apart_place &mine)
{
    constexpr int tail_bytes = tokens::row_bytes - tokens::head_bytes, together = 512 / tokens::head_bytes;
    const int lane = thread_again() % 32;
    const uint32_t row[apart_slot_tokens] = {rows.x, rows.y, rows.z, rows.w};
#pragma unroll
    for (int i = 0; i < apart_slot_tokens; i += together) {
        const bool second = together == 2 && lane >= 16;
        apart_copy<tokens>(problem, staged + i * tokens::head_bytes + lane * 16, second ? row[i + 1] : row[i],
                           second ? lane * 16 - 256 : lane * 16);
        if (tail_bytes > 64 && lane < tail_bytes / 16)
            apart_copy<tokens>(problem, staged + apart_slot_tokens * tokens::head_bytes + i * tail_bytes + lane * 16,
                               row[i], tokens::head_bytes + lane * 16);
    }
    if (tail_bytes <= 64 && lane % 16 / apart_slot_tokens == slot) {
        staged += apart_slot_tokens * tokens::head_bytes;
        for (int at = lane / 16 * 16; at < tail_bytes; at += 32)
            apart_copy<tokens>(problem, staged + lane % apart_slot_tokens * tail_bytes + at, mine.row,
                               tokens::head_bytes + at);
        if constexpr (tokens::scales_elsewhere)
            cp_async_8_if(mine.row != apart_nowhere,
                          staged + apart_slot_tokens * tail_bytes + lane % apart_slot_tokens * 8,
                          tokens::scales(problem, mine));
    }
    cp_async_commit();
}

/* A lane's share of a slot: of each token chunk lane and chunk lane + 32 with their scales, and 16 bytes of a RoPE
 * part. */
struct apart_words {
    float2 codes[2 * apart_slot_tokens];
    uint32_t scale[2 * apart_slot_tokens];
    uint4 rope;
};

template <typename tokens> static __device__ __forceinline__ void apart_load(apart_words &words, uint32_t staged)
{
    const int lane = thread_again() % 32; /* addresses made again, or they would be kept in registers */
#pragma unroll
    for (int i = 0; i < 2 * apart_slot_tokens; i++)
        tokens::load(words.codes[i], words.scale[i], staged, lane, i / 2, i % 2);
    if constexpr (tokens::rope_tile > 0)
        words.rope = tokens::rope(staged, lane / 8, lane % 8);
}

/* To rows `row` to row + 3 of the keys; row is a multiple of four. Eight lanes store all of a row of a tile, which is
 * all banks. */
template <typename tokens>
static __device__ __forceinline__ void apart_convert(const apart_words &words, uint32_t keys, int row)
{
    const int lane = thread_again() % 32;
    const uint32_t to = keys + lane / 8 * mla_tile_bytes + swizzle_128(row, lane % 8 * 16);
    if constexpr (tokens::rope_tile > 0) {
        using element = typename tokens::element;
        st_shared_v4(keys + tokens::rope_tile * mla_tile_bytes + swizzle_128(row + lane / 8, lane % 8 * 16),
                     make_uint4(element::of_bf16(words.rope.x), element::of_bf16(words.rope.y),
                                element::of_bf16(words.rope.z), element::of_bf16(words.rope.w)));
    }
#pragma unroll
    for (int i = 0; i < 2 * apart_slot_tokens; i++) {
        const uint4 values = tokens::values(words.codes[i], words.scale[i], lane);
        if (i % 2 == 0 || lane < tokens::chunks - 32)
            st_shared_v4((to ^ i / 2 * 16) + i / 2 * 128 + i % 2 * 4 * mla_tile_bytes, values);
    }
}

static __device__ __forceinline__ void apart_place_rows(const apart_shared &shared, const apart_place &mine)
{
    const uint32_t thread = thread_again();
    __syncwarp(); /* those before have been read */
    if (thread % 32 < apart_warp_tokens)
        st_shared_u32(shared.places(thread / 32 % 4) + thread % 32 * 4, mine.row);
    __syncwarp();
}

/* Which of the warp's 16 tokens are there, as apart_shared::valid has them. */
static __device__ __forceinline__ uint32_t apart_valid(const apart_place &mine)
{
    const uint32_t bits = __ballot_sync(~0u, mine.row != apart_nowhere);
    return (bits & 0xf) | (bits & 0xf0) << 4 | (bits & 0xf00) << 8 | (bits & 0xf000) << 12;
}

/* Loads of a slot and then copies to it come before the stores to keys, which they would wait for. No fence of the
 * async proxy here, it would wait for the copies: who multiplies fences. */
template <typename tokens>
static __device__ __forceinline__ void apart_convert_blocks(const sparse_arguments &arguments,
                                                            const apart_shared &shared)
{
    const sparse_problem &problem = arguments.problem;
    const apart_pages pages = {~0u / problem.page_size,
                               (uint32_t)(problem.block_bytes / tokens::row_bytes) - problem.page_size};
    const int warp = threadIdx.x / 32 % 4;
    const sparse_piece first = sparse_first_piece(problem, arguments.split, blockIdx.y);
    apart_cursor next = {first, first.first}; /* whose indices are loaded */
    apart_place mine = apart_find(problem, pages, apart_index(problem, next));
    bool more = next.more();
    apart_place_rows(shared, mine);
#pragma unroll 1
    for (int slot = 0; slot < apart_slots; slot++)
        apart_ask<tokens>(problem, shared.staged(warp, slot, tokens::slot_bytes), slot,
                          ld_shared_v4(shared.places(warp) + slot * 16), mine);
    apart_advance(problem, arguments.split, next);
    int32_t index = apart_index(problem, next);
#pragma unroll 1
    for (uint32_t count = 0; more; count++) {
        const int block = count & 1;
        const uint32_t parity = (count / 2 & 1) ^ 1, valid = apart_valid(mine);
        mine = apart_find(problem, pages, index);
        apart_place_rows(shared, mine);
        more = next.more();
        apart_advance(problem, arguments.split, next);
        index = apart_index(problem, next);
#pragma unroll 1
        for (int slot = 0; slot < apart_slots; slot++) {
            const uint32_t staged = shared.staged(warp, slot, tokens::slot_bytes);
            apart_words words;
            cp_async_wait<apart_slots - 1>();
            __syncwarp();
            const uint4 rows = ld_shared_v4(shared.places(warp) + slot * 16);
            apart_load<tokens>(words, staged);
            __syncwarp();
            apart_ask<tokens>(problem, staged, slot, rows, mine);
            mbarrier_wait(shared.empty(block, slot), parity);
            if (slot == 0 && threadIdx.x % 32 == 0)
                st_shared_u32(shared.valid(block) + thread_again() / 32 % 4 * 4, valid);
            apart_convert<tokens>(words, shared.keys(block), slot * 16 + warp * 4);
        }
        apart_arrive(shared.full(block));
    }
}

#endif
