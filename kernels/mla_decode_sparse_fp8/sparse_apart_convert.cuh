/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The converter: a warpgroup whose warps each take 16 tokens of a block from the cache to keys. Asynchronous copies go to
 * the slot of the tokens a block before as soon as those are converted, so that a block's bytes are under way, in no
 * registers, and no warp waits for another.
 */
#ifndef RIDGE_SPARSE_APART_CONVERT_CUH
#define RIDGE_SPARSE_APART_CONVERT_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_apart_shared.cuh"

/* A slot's four tokens to rows `row` to row + 3 of the keys; row is a multiple of four. Of the 64 chunks of eight codes
 * a lane has chunk lane and chunk lane + 32: eight lanes store all of a row of a tile, which is all banks. All loads of
 * two tokens are under way before the first is used. */
template <typename element>
static __device__ __forceinline__ void apart_convert(uint32_t staged, uint32_t keys, int row)
{
    const int lane = threadIdx.x % 32;
    const uint32_t to = keys + lane / 8 * mla_tile_bytes + swizzle_128(row, lane % 8 * 16);
    const uint4 rope = ld_shared_v4(staged + lane / 8 * sparse_token_bytes + 528 + lane % 8 * 16);
#pragma unroll
    for (int token = 0; token < apart_slot_tokens; token += 2) {
        float2 codes[4];
        float scale[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t from = staged + (token + i / 2) * sparse_token_bytes;
            codes[i] = ld_shared_v2_f32(from + i % 2 * 256 + lane * 8);
            scale[i] = ld_shared_f32(from + 512 + i % 2 * 8 + lane / 16 * 4);
        }
        if (token == 0)
            st_shared_v4(keys + 8 * mla_tile_bytes + swizzle_128(row + lane / 8, lane % 8 * 16),
                         make_uint4(element::of_bf16(rope.x), element::of_bf16(rope.y), element::of_bf16(rope.z),
                                    element::of_bf16(rope.w)));
#pragma unroll
        for (int i = 0; i < 4; i++)
            st_shared_v4((to ^ (token + i / 2) * 16) + (token + i / 2) * 128 + i % 2 * 4 * mla_tile_bytes,
                         element::chunk(codes[i], scale[i]));
    }
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
    return at.more() ? __ldg(problem.indices + (int64_t)at.piece.query * problem.topk +
                             at.block * sparse_block_tokens + token)
                     : -1;
}

/* Copies a slot's four tokens, 41 pieces of 16 bytes each; mine: lane t has the address of the warp's token t. One that
 * is not there becomes zeros. */
static __device__ __forceinline__ void apart_ask(const sparse_problem &problem, uint32_t staged, int slot,
                                                 const uint8_t *mine)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < apart_slot_tokens; i++) {
        const uint64_t token = __shfl_sync(~0u, (uint64_t)mine, slot * apart_slot_tokens + i);
        const uint32_t to = staged + i * sparse_token_bytes + lane * 16;
        const uint8_t *from = (token ? (const uint8_t *)token : problem.cache) + lane * 16;
        cp_async_16_zfill(to, from, token ? 16 : 0);
        if (lane < (sparse_token_bytes - 512) / 16)
            cp_async_16_zfill(to + 512, from + 512, token ? 16 : 0);
    }
    cp_async_commit();
}

/* Which of the warp's 16 tokens are there, as apart_shared::valid has them. */
static __device__ __forceinline__ uint32_t apart_valid(const uint8_t *mine)
{
    const uint32_t bits = __ballot_sync(~0u, mine != NULL);
    return (bits & 0xf) | (bits & 0xf0) << 4 | (bits & 0xf00) << 8 | (bits & 0xf000) << 12;
}

/* No fence of the async proxy here, it would wait for the copies: who multiplies fences. */
template <typename element>
static __device__ __forceinline__ void apart_convert_blocks(const sparse_arguments &arguments,
                                                            const apart_shared &shared)
{
    const sparse_problem &problem = arguments.problem;
    const int warp = threadIdx.x / 32 % 4;
    const sparse_piece first = sparse_first_piece(problem, arguments.split, blockIdx.y);
    apart_cursor next = {first, first.first}; /* whose indices are loaded */
    bool more = next.more();
    const uint8_t *mine = sparse_token(problem, apart_index(problem, next));
#pragma unroll 1
    for (int slot = 0; slot < apart_slots; slot++)
        apart_ask(problem, shared.staged(warp, slot), slot, mine);
    apart_advance(problem, arguments.split, next);
    int32_t index = apart_index(problem, next);
#pragma unroll 1
    for (uint32_t count = 0; more; count++) {
        const int block = count & 1;
        const uint32_t parity = (count / 2 & 1) ^ 1, valid = apart_valid(mine);
        mine = sparse_token(problem, index);
        more = next.more();
        apart_advance(problem, arguments.split, next);
        index = apart_index(problem, next);
#pragma unroll 1
        for (int slot = 0; slot < apart_slots; slot++) {
            cp_async_wait<apart_slots - 1>();
            __syncwarp();
            mbarrier_wait(shared.empty(block, slot), parity);
            apart_convert<element>(shared.staged(warp, slot), shared.keys(block), slot * 16 + warp * 4);
            __syncwarp();
            apart_ask(problem, shared.staged(warp, slot), slot, mine);
        }
        if (threadIdx.x % 32 == 0)
            st_shared_u32(shared.valid(block) + warp * 4, valid);
        apart_arrive(shared.full(block));
    }
}

#endif
