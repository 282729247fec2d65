/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The converter: a warpgroup whose warps each take 16 tokens of a block from the cache to keys. Asynchronous copies go
 * to the slot of the tokens a block before as soon as those are converted, so that a block's bytes are under way, in no
 * registers, and no warp waits for another.
 */
#ifndef RIDGE_SPARSE_512_APART_CONVERT_CUH
#define RIDGE_SPARSE_512_APART_CONVERT_CUH

#include "kernels/mla_decode_sparse_512/sparse_512_apart_shared.cuh"

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

/* Copies a slot's four tokens, in pieces of 16 bytes; mine: lane t has the warp's token t. One that is not there
 * becomes zeros. */
static __device__ __forceinline__ void apart_ask(const sparse_problem &problem, uint32_t staged, int slot,
                                                 const apart_token &mine)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < apart_slot_tokens; i++) {
        const uint64_t token = __shfl_sync(~0u, (uint64_t)mine.bytes, slot * apart_slot_tokens + i);
        const uint32_t to = staged + i * apart_token_bytes + lane * 16;
        const uint8_t *from = (token ? (const uint8_t *)token : problem.cache) + lane * 16;
#pragma unroll
        for (int piece = 0; piece < apart_pieces; piece += 32)
            if (piece + 32 <= apart_pieces || lane < apart_pieces - piece)
                cp_async_16_zfill(to + piece * 16, from + piece * 16, token ? 16 : 0);
    }
    if (lane / apart_slot_tokens == slot)
        apart_ask_rest(staged + lane % apart_slot_tokens * apart_token_bytes, mine);
    cp_async_commit();
}

/* Which of the warp's 16 tokens are there, as apart_shared::valid has them. */
static __device__ __forceinline__ uint32_t apart_valid(const apart_token &mine)
{
    const uint32_t bits = __ballot_sync(~0u, mine.bytes != NULL);
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
    apart_token mine = apart_token_of(problem, apart_index(problem, next));
#pragma unroll 1
    for (int slot = 0; slot < apart_slots; slot++)
        apart_ask(problem, shared.staged(warp, slot), slot, mine);
    apart_advance(problem, arguments.split, next);
    int32_t index = apart_index(problem, next);
#pragma unroll 1
    for (uint32_t count = 0; more; count++) {
        const int block = count & 1;
        const uint32_t parity = (count / 2 & 1) ^ 1, valid = apart_valid(mine);
        mine = apart_token_of(problem, index);
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
