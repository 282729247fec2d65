/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_steps/gemm_fp8_block_steps.cuh"

using tile = gemm_fp8_step_tile<2, 40, 232>;

/* The one set of sums serves two sets of rows, so both stages of a pair are held until the second set has read them.
 * A pair is promoted with the scales of its first block. */
struct pairs {
    static constexpr int interval = 256;

    /* `span` blocks from block i on. */
    template <int span>
    static __device__ __forceinline__ void promote(gemm_fp8_block_totals<tile> &total, gemm_fp8_block_reader &reader,
                                                   gemm_fp8_block_b &b, int i, int blocks, int warpgroup)
    {
        float sum[tile::columns / 2];
        gemm_fp8_step_stage stage[span];
        gemm_fp8_step_scales scales[tile::sets];
#pragma unroll
        for (int j = 0; j < span; j++)
            stage[j] = gemm_fp8_step_next<tile>(reader);
#pragma unroll
        for (int set = 0; set < tile::sets; set++) {
#pragma unroll
            for (int j = 0; j < span; j++) {
                if (set == 0)
                    mbarrier_wait(stage[j].full, stage[j].parity);
                wgmma_fence();
                gemm_fp8_step_multiply<tile>(sum, stage[j], warpgroup * tile::sets + set, 0, 4, j > 0);
            }
            wgmma_commit();
            if (set == 0) {
                const float scale_b = gemm_fp8_block_scale(b.first, i, blocks);
                if (span == 2)
                    gemm_fp8_block_scale(b.first, i + 1, blocks);
                for (int other = 0; other < tile::sets; other++)
                    scales[other] = gemm_fp8_step_scales_of(stage[0], other, scale_b);
            }
            wgmma_wait<0>();
            wgmma_settle(sum);
            if (set == tile::sets - 1)
                for (int j = 0; j < span; j++)
                    gemm_fp8_step_release(reader, stage[j]);
            gemm_fp8_step_add(total[set], sum, scales[set]);
        }
    }

    static __device__ __forceinline__ void accumulate(gemm_fp8_block_totals<tile> &total, gemm_fp8_block_reader &reader,
                                                      gemm_fp8_block_b &b, int blocks, int warpgroup)
    {
        int i = 0;
#pragma unroll 1
        for (; i + 1 < blocks; i += 2)
            promote<2>(total, reader, b, i, blocks, warpgroup);
        if (i < blocks)
            promote<1>(total, reader, b, i, blocks, warpgroup);
    }
};

using step = gemm_fp8_step<tile, pairs>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_steps_22_promote_256 = {
    .idea = "promotion after every second block, right because scales do not change along k",
    .source = "",
    .changes = "against 01: promoted every 256 of k, holding two stages at a time",
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
