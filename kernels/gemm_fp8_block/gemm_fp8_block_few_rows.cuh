/* SPDX-License-Identifier: Apache-2.0 */
/* Block-scaled products for gemm_few_rows.cuh. */
#ifndef RIDGE_GEMM_FP8_BLOCK_FEW_ROWS_CUH
#define RIDGE_GEMM_FP8_BLOCK_FEW_ROWS_CUH

#include "kernels/gemm_bf16/gemm_few_rows.cuh"
#include "kernels/gemm_fp8_block/gemm_fp8_block.h"
#include "kernels/support/tensor_map.h"

/* A stage has the scales of its rows of A beside it. The 16 rows of B of a warp have one scale for a block of k: lane i
 * holds that of the i-th block to come. A block is promoted under the WGMMAs that follow it: two sets of sums, 64
 * columns each. */
template <int columns> struct few_rows_fp8_block {
    static constexpr int depth = 128, groups = columns / 8;
    static constexpr few_rows_product traits = {depth, true, true, false};

    struct scales {
        float lane;
    };

    static int encode_scales(const struct ridge_call *call, few_rows_arguments *arguments)
    {
        const int64_t m = call->dim[0], blocks = gemm_fp8_block_count(call->dim[2]);
        const struct tensor_map_matrix scale_a = {RIDGE_F32,
                                                  call->buffer[2],
                                                  blocks,
                                                  m,
                                                  gemm_fp8_block_pitch_a(m),
                                                  arguments->plan.deep,
                                                  arguments->plan.taken,
                                                  0,
                                                  "scale_a"};
        arguments->scale_b = (const float *)call->buffer[3];
        arguments->last_block_b = (int)gemm_fp8_block_count(call->dim[1]) - 1;
        return gemm_fp8_block_scales_refused(call) || tensor_map_encode(call, &scale_a, &arguments->scale_a);
    }

    /* For the warpgroup's 64 rows of B from `row` on; the lane's is block i + lane of the part. */
    static __device__ __forceinline__ scales load_scales(const few_rows_arguments &arguments, const few_rows_part &part,
                                                         int row, int i)
    {
        const int at = min(i + (int)(threadIdx.x % 32), part.blocks - 1);
        const int block_b = min((row + (int)(threadIdx.x / 32 % 4) * 16) / 128, arguments.last_block_b);
        return {__ldg(arguments.scale_b + (int64_t)block_b * arguments.plan.blocks + part.first + at)};
    }

    static __device__ __forceinline__ void start(float (&sum)[columns / 2], const few_rows_reader &reader, int block)
    {
        const uint64_t b = few_rows_b(reader, block), a = few_rows_a(reader, block);
        wgmma_fence();
#pragma unroll
        for (int slice = 0; slice < 4; slice++)
            wgmma_e4m3_ss(sum, wgmma_descriptor_advance(b, slice * 32), wgmma_descriptor_advance(a, slice * 32),
                          slice > 0);
        wgmma_commit();
    }

    /* Once at most `pending` later groups are unfinished. */
    template <int pending>
    static __device__ __forceinline__ void promote(float (&total)[columns / 2], float (&sum)[columns / 2],
                                                   uint32_t scale_a, float scale_b)
    {
        wgmma_wait<pending>();
        wgmma_settle(sum);
#pragma unroll
        for (int group = 0; group < groups; group++) {
            const float2 a = ld_shared_v2_f32(scale_a + group * 32);
            const float even = a.x * scale_b, odd = a.y * scale_b;
            const int at = 4 * group;
            total[at] += even * sum[at];
            total[at + 1] += odd * sum[at + 1];
            total[at + 2] += even * sum[at + 2];
            total[at + 3] += odd * sum[at + 3];
        }
    }

    /* A stage: blocks `lane` and lane + 1 of the 32 whose scales of B are `now`. */
    static __device__ __forceinline__ void multiply(float (&total)[columns / 2], few_rows_reader &reader,
                                                    const scales &now, int lane)
    {
        float even[columns / 2], odd[columns / 2];
        const uint32_t scale_a = reader.scales + reader.at.stage * reader.scale_bytes;
        const float scale_even = __shfl_sync(~0u, now.lane, lane), scale_odd = __shfl_sync(~0u, now.lane, lane + 1);
        mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
        start(even, reader, 0);
        start(odd, reader, 1);
        promote<1>(total, even, scale_a, scale_even);
        promote<0>(total, odd, scale_a + reader.scale_step, scale_odd);
        __syncwarp();
        few_rows_release(ring_empty(reader.stages, reader.at));
        ring_next(reader.stages, reader.at);
    }

    /* No select between `now` and `next` in the inner loop: it would wait for the load of `next` in every stage. */
    static __device__ __forceinline__ void accumulate(float (&total)[columns / 2], const few_rows_arguments &arguments,
                                                      few_rows_reader &reader, const few_rows_part &part, int row,
                                                      scales now)
    {
#pragma unroll 1
        for (int i = 0; i < part.blocks; i += 32) {
            scales next = {};
            if (i + 32 < part.blocks)
                next = load_scales(arguments, part, row, i + 32);
            const int count = min(part.blocks - i, 32);
#pragma unroll 1
            for (int lane = 0; lane < count; lane += 2)
                multiply(total, reader, now, lane);
            now = next;
        }
    }
};

#endif
