/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_steps/gemm_fp8_block_steps.cuh"

using tile = gemm_fp8_step_tile<2, 40, 232>;

/* The WGMMAs add to the totals themselves, which are scaled once, with the scales of the first block. The tensor cores
 * never wait for the warpgroup: a stage is released when the first group of the next one is queued. */
struct never {
    static constexpr int interval = 0;

    static __device__ __forceinline__ void accumulate(gemm_fp8_block_totals<tile> &total, gemm_fp8_block_reader &reader,
                                                      gemm_fp8_block_b &b, int blocks, int warpgroup)
    {
        gemm_fp8_step_scales scales[tile::sets];
        gemm_fp8_step_stage before = {};
        const float scale_b = gemm_fp8_block_scale(b.first, 0, blocks);
#pragma unroll 1
        for (int i = 0; i < blocks; i++) {
            const gemm_fp8_step_stage stage = gemm_fp8_step_next<tile>(reader);
            mbarrier_wait(stage.full, stage.parity);
            wgmma_fence();
            gemm_fp8_step_multiply<tile>(total[0], stage, warpgroup * tile::sets, 0, 4, i > 0);
            wgmma_commit();
            if (i == 0) {
                scales[0] = gemm_fp8_step_scales_of(stage, 0, scale_b);
                scales[1] = gemm_fp8_step_scales_of(stage, 1, scale_b);
            }
            wgmma_wait<1>();
            if (i > 0)
                gemm_fp8_step_release(reader, before);
            wgmma_fence();
            gemm_fp8_step_multiply<tile>(total[1], stage, warpgroup * tile::sets + 1, 0, 4, i > 0);
            wgmma_commit();
            before = stage;
        }
        wgmma_wait<0>();
        gemm_fp8_step_release(reader, before);
#pragma unroll
        for (int set = 0; set < tile::sets; set++) {
            wgmma_settle(total[set]);
#pragma unroll
            for (int j = 0; j < tile::columns / 2; j++)
                total[set][j] *= j / 2 % 2 ? scales[set].lower : scales[set].upper;
        }
    }
};

using step = gemm_fp8_step<tile, never>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_steps_23_promote_never = {
    .idea = "sums stay in the tensor cores' accumulators to the end, right because scales do not change along k",
    .source = "",
    .changes = "against 01: scaled once at the end; no sums beside the totals, no waits for WGMMA",
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
