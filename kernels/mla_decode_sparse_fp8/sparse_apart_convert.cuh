/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The converter: a warpgroup whose warps each take 16 tokens of a block from the cache to keys. Asynchronous copies go
 * to the slot of the tokens a block before as soon as those are converted, so that a block's bytes are under way, in no
 * registers, and no warp waits for another.
 */
#ifndef RIDGE_SPARSE_APART_CONVERT_CUH
#define RIDGE_SPARSE_APART_CONVERT_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_apart_shared.cuh"

/* A slot's four tokens to rows `row` to row + 3 of the keys; row is a multiple of four. Of the 64 chunks of eight codes
 * a lane has chunk lane and chunk lane + 32: eight lanes store all of a row of a tile, which is all banks. Loads are
 * under way before the first is used, since one behind stores waits for them. */
template <typename element>
static __device__ __forceinline__ void apart_convert(uint32_t staged, uint32_t keys, int row)
{
    const int lane = thread_again() % 32; /* addresses made again, or they would be kept in registers */
    const uint32_t to = keys + lane / 8 * mla_tile_bytes + swizzle_128(row, lane % 8 * 16);
    const uint4 rope = ld_shared_v4(staged + apart_tails_at + lane / 8 * apart_tail_bytes + 16 + lane % 8 * 16);
    float2 codes[2 * apart_slot_tokens];
    float scale[2 * apart_slot_tokens];
#pragma unroll
    for (int i = 0; i < 2 * apart_slot_tokens; i++) {
        codes[i] = ld_shared_v2_f32(staged + i / 2 * sparse_d_v + i % 2 * 256 + lane * 8);
        scale[i] = ld_shared_f32(staged + apart_tails_at + i / 2 * apart_tail_bytes + i % 2 * 8 + lane / 16 * 4);
    }
    st_shared_v4(keys + 8 * mla_tile_bytes + swizzle_128(row + lane / 8, lane % 8 * 16),
                 make_uint4(element::of_bf16(rope.x), element::of_bf16(rope.y), element::of_bf16(rope.z),
                            element::of_bf16(rope.w)));
#pragma unroll
    for (int i = 0; i < 2 * apart_slot_tokens; i++)
        st_shared_v4((to ^ i / 2 * 16) + i / 2 * 128 + i % 2 * 4 * mla_tile_bytes, element::chunk(codes[i], scale[i]));
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

/* Index of the token that a lane looks after: of the warp's 16 in a block token lane % 16, four a slot. */
static __device__ __forceinline__ int32_t apart_index(const sparse_problem &problem, const apart_cursor &at)
{
    const int lane = threadIdx.x % 32, token = lane % 16 / 4 * 16 + threadIdx.x / 32 % 4 * 4 + lane % 4;
    return at.more() ? __ldg(problem.indices + (int64_t)at.piece.query * problem.topk + at.block * sparse_block_tokens +
                             token)
                     : -1;
}

/* Pages of a cache whose blocks are whole tokens long: the row of a token, that is its address in tokens. */
struct apart_pages {
    uint32_t inverse, gap; /* 2^32 / page_size, rounded down; tokens between pages */
};

constexpr uint32_t apart_nowhere = ~0u;

static __device__ __forceinline__ uint32_t apart_row(const sparse_problem &problem, const apart_pages &pages,
                                                     int32_t index)
{
    const uint32_t token = (uint32_t)index;
    uint32_t page = __umulhi(token, pages.inverse); /* of an index below 2^31 right, or one too small */
    page += token - page * problem.page_size >= problem.page_size;
    return token < problem.capacity ? token + page * pages.gap : apart_nowhere;
}

/* The rows of a slot's four tokens; mine: lane t has that of the warp's token t. */
static __device__ __forceinline__ void apart_rows(uint32_t (&row)[apart_slot_tokens], int slot, uint32_t mine)
{
#pragma unroll
    for (int i = 0; i < apart_slot_tokens; i++)
        row[i] = __shfl_sync(~0u, mine, slot * apart_slot_tokens + i);
}

/* Copies a slot's tokens, 41 pieces of 16 bytes each. One that is nowhere becomes zeros. */
static __device__ __forceinline__ void apart_ask(const sparse_problem &problem, uint32_t staged,
                                                 const uint32_t (&row)[apart_slot_tokens])
{
    const int lane = thread_again() % 32;
#pragma unroll
    for (int i = 0; i < apart_slot_tokens; i++) {
        const bool there = row[i] != apart_nowhere;
        const uint8_t *from = problem.cache + (uint64_t)(there ? row[i] : 0) * sparse_token_bytes + lane * 16;
        cp_async_16_zfill(staged + lane * 16 + i * sparse_d_v, from, there ? 16 : 0);
        if (lane < apart_tail_bytes / 16)
            cp_async_16_zfill(staged + lane * 16 + apart_tails_at + i * apart_tail_bytes, from + sparse_d_v,
                              there ? 16 : 0);
    }
    cp_async_commit();
}

/* Which of the warp's 16 tokens are there, as apart_shared::valid has them. */
static __device__ __forceinline__ uint32_t apart_valid(uint32_t mine)
{
    const uint32_t bits = __ballot_sync(~0u, mine != apart_nowhere);
    return (bits & 0xf) | (bits & 0xf0) << 4 | (bits & 0xf00) << 8 | (bits & 0xf000) << 12;
}

/* No fence of the async proxy here, it would wait for the copies: who multiplies fences. */
template <typename element>
static __device__ __forceinline__ void apart_convert_blocks(const sparse_arguments &arguments,
                                                            const apart_shared &shared)
{
    const sparse_problem &problem = arguments.problem;
    const apart_pages pages = {~0u / problem.page_size,
                               (uint32_t)(problem.block_bytes / sparse_token_bytes) - problem.page_size};
    const int warp = threadIdx.x / 32 % 4;
    const sparse_piece first = sparse_first_piece(problem, arguments.split, blockIdx.y);
    apart_cursor next = {first, first.first}; /* whose indices are loaded */
    uint32_t mine = apart_row(problem, pages, apart_index(problem, next));
    bool more = next.more();
#pragma unroll 1
    for (int slot = 0; slot < apart_slots; slot++) {
        uint32_t row[apart_slot_tokens];
        apart_rows(row, slot, mine);
        apart_ask(problem, shared.staged(warp, slot), row);
    }
    apart_advance(problem, arguments.split, next);
    int32_t index = apart_index(problem, next);
#pragma unroll 1
    for (uint32_t count = 0; more; count++) {
        const int block = count & 1;
        const uint32_t parity = (count / 2 & 1) ^ 1, valid = apart_valid(mine);
        mbarrier_wait(shared.empty(block, 0), parity);
        if (threadIdx.x % 32 == 0)
            st_shared_u32(shared.valid(block) + warp * 4, valid);
        mine = apart_row(problem, pages, index);
        more = next.more();
        apart_advance(problem, arguments.split, next);
        index = apart_index(problem, next);
#pragma unroll 1
        for (int slot = 0; slot < apart_slots; slot++) {
            uint32_t row[apart_slot_tokens];
            const uint32_t staged = shared.staged(warp, slot);
            cp_async_wait<apart_slots - 1>();
            __syncwarp();
            mbarrier_wait(shared.empty(block, slot), parity);
            apart_convert<element>(staged, shared.keys(block), slot * 16 + warp * 4);
            apart_rows(row, slot, mine);
            __syncwarp();
            apart_ask(problem, staged, row);
        }
        apart_arrive(shared.full(block));
    }
}

#endif
