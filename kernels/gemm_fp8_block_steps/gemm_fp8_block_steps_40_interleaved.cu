/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_steps/gemm_fp8_block_steps.cuh"

using tile = gemm_fp8_step_tile<1, 40, 232>;

/* Blocks alternate between two sets of sums: one is promoted while the WGMMAs of the next block fill the other. */
struct interleaved {
    static constexpr int interval = 128;

    struct block {
        gemm_fp8_step_stage stage;
        gemm_fp8_step_scales scales;
    };

    static __device__ __forceinline__ block start(float (&sum)[tile::columns / 2], gemm_fp8_block_reader &reader,
                                                  gemm_fp8_block_b &b, int i, int blocks, int warpgroup)
    {
        const gemm_fp8_step_stage stage = gemm_fp8_step_next<tile>(reader);
        mbarrier_wait(stage.full, stage.parity);
        wgmma_fence();
        gemm_fp8_step_multiply<tile>(sum, stage, warpgroup, 0, 4, 0);
        wgmma_commit();
        return {stage, gemm_fp8_step_scales_of(stage, 0, gemm_fp8_block_scale(b.first, i, blocks))};
    }

    /* Once at most `pending` later blocks are unfinished. */
    template <int pending>
    static __device__ __forceinline__ void promote(gemm_fp8_block_totals<tile> &total, float (&sum)[tile::columns / 2],
                                                   const gemm_fp8_block_reader &reader, const block &done)
    {
        wgmma_wait<pending>();
        wgmma_settle(sum);
        gemm_fp8_step_release(reader, done.stage);
        gemm_fp8_step_add(total[0], sum, done.scales);
    }

    static __device__ __forceinline__ void accumulate(gemm_fp8_block_totals<tile> &total, gemm_fp8_block_reader &reader,
                                                      gemm_fp8_block_b &b, int blocks, int warpgroup)
    {
        float even[tile::columns / 2], odd[tile::columns / 2];
        block last = start(even, reader, b, 0, blocks, warpgroup);
        int i = 1;
#pragma unroll 1
        for (; i + 1 < blocks; i += 2) {
            const block next = start(odd, reader, b, i, blocks, warpgroup);
            promote<1>(total, even, reader, last);
            last = start(even, reader, b, i + 1, blocks, warpgroup);
            promote<1>(total, odd, reader, next);
        }
        if (i < blocks) {
            const block next = start(odd, reader, b, i, blocks, warpgroup);
            promote<1>(total, even, reader, last);
            promote<0>(total, odd, reader, next);
        } else {
            promote<0>(total, even, reader, last);
        }
    }
};

using step = gemm_fp8_step<tile, interleaved>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_steps_40_interleaved = {
    .idea = "two sets of sums a consumer: a block is promoted while the WGMMAs of the next one run",
    .source = "",
    .changes = "against 31: a consumer's own WGMMAs cover its promotion, as in gemm_fp8_block_03 but with multicast",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .ladder_break = true,
    .unsupported = gemm_fp8_unsupported,
    .issued = step::issued,
    .setup = step::setup,
    .teardown = free,
    .describe = step::describe,
    .launch = step::launch,
    .kernel = (const void *)step::kernel,
};
