/* SPDX-License-Identifier: Apache-2.0 */
/* What gemm_fp8_block_one_wave.cuh is told, its tiles, and the warps that load. */
#ifndef RIDGE_GEMM_FP8_BLOCK_ONE_WAVE_LOAD_CUH
#define RIDGE_GEMM_FP8_BLOCK_ONE_WAVE_LOAD_CUH

#include "kernels/gemm_bf16/gemm_plan.cuh"
#include "kernels/gemm_fp8_block/gemm_fp8_block.h"
#include "kernels/gemm_fp8_block/gemm_fp8_block_one_wave_plan.h"
#include "kernels/ptx/tma.cuh"

enum {
    ONE_WAVE_CONSUMERS = 256, /* threads */
    ONE_WAVE_LOADERS = 96,    /* two warps for B, whose stages they take in turn, and one for A and its scales */
    ONE_WAVE_THREADS = 384,
};

struct one_wave_arguments {
    CUtensorMap b, a, scale_a; /* boxes of a piece's rows of B, all rows of A, their scales; 128 of k */
    struct one_wave_plan plan;
    gemm_output out;
    const float *scale_b;
    int last_block_b; /* of the rows of scale_b */
    bool whole;       /* rows of D begin at multiples of 16 bytes */
};

template <int tile_rows, int piece> struct one_wave_tile {
    static constexpr int rows = tile_rows, columns = piece;
    static constexpr int own = piece * tile_rows / 128; /* columns of a warpgroup */
    static constexpr int a_bytes = rows * 128, b_bytes = columns * 128, scale_bytes = rows * 4;
    /* Columns that share a scale of B wherever a piece is, in groups, of which those before some are of one row of
     * scale_b and the others of the next one. */
    static constexpr int groups = own == 192 ? 3 : 1, group_columns = own / groups;
    /* Columns that are final together, and leave while the products of the next ones run. */
    static constexpr int part = own % 64 == 0 ? 64 : 32, parts = own / part;
    static_assert(own <= 128 || own == 192, "a warpgroup's columns meet three rows of scale_b");
};

/* The pieces of this CTA that begin inside D. */
static __device__ __forceinline__ int one_wave_pieces(const one_wave_arguments &arguments)
{
    const one_wave_plan &plan = arguments.plan;
    const int rest = (int)arguments.out.n - (int)blockIdx.x * plan.pieces * plan.columns;
    return min(plan.pieces, (rest + plan.columns - 1) / plan.columns);
}

/* A loading warp's place: a step is a block of k of a piece. */
struct one_wave_cursor {
    ring_place at;
    int step, piece, block;
};

static __device__ __forceinline__ void one_wave_advance(const ring &ring, one_wave_cursor &next, int blocks)
{
    ring_next(ring, next.at);
    next.step++;
    if (++next.block == blocks) {
        next.block = 0;
        next.piece++;
    }
}

/* The step's rows of B, and the bytes of all that comes with them. */
template <typename tile>
static __device__ __forceinline__ void one_wave_load_b(const one_wave_arguments &arguments, const ring &ring,
                                                       const one_wave_cursor &next, uint64_t once)
{
    const one_wave_plan &plan = arguments.plan;
    const uint32_t full = ring_full(ring, next.at), data = ring.data + next.at.stage * tile::b_bytes;
    const int row = ((int)blockIdx.x * plan.pieces + next.piece) * tile::columns;
    mbarrier_arrive_expect(full, tile::b_bytes + (next.piece == 0 ? plan.copied : 0));
    tma_load_hint(data, &arguments.b, next.block * 128, row, full, once);
}

template <typename tile>
static __device__ __forceinline__ void one_wave_load_a(const one_wave_arguments &arguments, const ring &ring,
                                                       uint32_t data, const one_wave_cursor &next)
{
    const one_wave_plan &plan = arguments.plan;
    const int place = plan.pieces > 1 ? next.block : next.at.stage;
    const uint32_t full = ring_full(ring, next.at);
    tma_load(data + place * tile::a_bytes, &arguments.a, next.block * 128, 0, full);
    tma_load(data + plan.scales + place * tile::scale_bytes, &arguments.scale_a, 0, next.block, full);
}

/* A loading warp's steps up to `last`: of B, even or odd ones, or of A, those of the first piece. `again`: stages have
 * been read before. */
template <typename tile>
static __device__ __forceinline__ void one_wave_load(const one_wave_arguments &arguments, const ring &ring,
                                                     uint32_t data, one_wave_cursor &next, int last, bool again, bool a)
{
    const int blocks = arguments.plan.blocks;
    const uint64_t once = l2_evict_first();
#pragma unroll 1
    while (next.step < last) {
        if (again)
            mbarrier_wait(ring_empty(ring, next.at), next.at.parity ^ 1);
        if (a)
            one_wave_load_a<tile>(arguments, ring, data, next);
        else
            one_wave_load_b<tile>(arguments, ring, next, once);
        one_wave_advance(ring, next, blocks);
        if (!a)
            one_wave_advance(ring, next, blocks);
    }
}

/* Of warp 0, 1 (B) or 2 (A) of those that load. The first initialises the barriers that copies complete on; those that
 * give stages back are the consumers' to initialise, and not needed before the second round. */
template <typename tile>
static __device__ __forceinline__ void one_wave_supply(const one_wave_arguments &arguments, const ring &ring,
                                                       uint32_t data, int warp)
{
    const one_wave_plan &plan = arguments.plan;
    one_wave_cursor next = {};
    if (warp == 0) {
        if (elect()) {
#pragma unroll 1
            for (int stage = 0; stage < plan.stages; stage++)
                mbarrier_init(ring.barriers + 8 * stage, 1);
            mbarrier_init_fence();
        }
        __syncwarp();
        named_arrive(3, ONE_WAVE_LOADERS);
        named_arrive(1, ONE_WAVE_CONSUMERS + 32);
    } else {
        named_sync(3, ONE_WAVE_LOADERS);
    }
    const bool a = warp == 2;
    const int steps = plan.blocks * (a ? 1 : one_wave_pieces(arguments));
    if (warp == 1)
        one_wave_advance(ring, next, plan.blocks);
    if (elect())
        one_wave_load<tile>(arguments, ring, data, next, min(plan.stages, steps), false, a);
    __syncwarp();
    named_sync(2, ONE_WAVE_LOADERS + 32);
    if (elect())
        one_wave_load<tile>(arguments, ring, data, next, steps, true, a);
}

#endif
