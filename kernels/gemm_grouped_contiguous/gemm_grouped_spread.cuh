/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of gemm_grouped_schedule.cuh by the consumers of gemm_fp8_block_spread.cuh: the stores of a job stand
 * between the WGMMAs of its last block of k and of the next job's first. That is for jobs that write whole rows of
 * their tile from the first one on; another one is stored apart, when its products are done and before the next ones.
 *
 * Every stage has its job, so that a consumer keeps none from the first block of k to the last.
 */
#ifndef RIDGE_GEMM_GROUPED_SPREAD_CUH
#define RIDGE_GEMM_GROUPED_SPREAD_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block_spread.cuh"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_direct.cuh"

template <int row_sets, int width> struct gemm_grouped_spread_tile : gemm_grouped_direct_tile<2, row_sets, width> {
    static constexpr bool spread = true;
};

template <int row_sets, int width> struct gemm_slab<gemm_grouped_spread_tile<row_sets, width>> {
    static constexpr int columns = 64, bytes_all = 0;
};

/* What a consumer carries from block to block and from job to job. */
struct gemm_grouped_spread_carry {
    gemm_fp8_block_operands first, operands; /* in stage 0 and of the block at hand */
    gemm_fp8_block_target target;            /* of stores that are spread */
    bool apart;                              /* and none are */
    bool multiplies;                         /* so does the job of the stage at hand */
};

/* Where the stores of a job go. */
template <typename tile, typename layout>
static __device__ __forceinline__ void gemm_grouped_aim(const gemm_grouped_arguments &arguments,
                                                        const gemm_grouped_job &job, const gemm_part &part,
                                                        int warpgroup, gemm_grouped_spread_carry &carry)
{
    const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
    const int thread = (int)thread_again(), lane = thread % 32, rows = layout::whole(arguments, job);
    const int row = warpgroup * tile::sets * 64 + thread / 32 % 4 * 16 + lane / 4;
    const int column = job.column + part.column * tile::columns + lane % 4 * (tile::group / 4);
    carry.apart = __any_sync(~0u, !gemm.tensor_store || rows == 0);
    carry.target = {gemm.out.d + (job.group * arguments.group_rows + job.row + row) * gemm.out.n + column, rows - row,
                    carry.apart ? 0 : (int)gemm.out.n - column};
}

template <typename tile, typename layout>
static __device__ __forceinline__ void gemm_grouped_store_apart(const gemm_grouped_arguments &arguments,
                                                                const gemm_part &part, const gemm_grouped_job &job,
                                                                int warpgroup, const gemm_fp8_block_totals<tile> &total)
{
    const gemm_grouped_job same = {__shfl_sync(~0u, job.row, 0), __shfl_sync(~0u, job.column, 0),
                                   __shfl_sync(~0u, job.group, 0), __shfl_sync(~0u, job.rows, 0)};
#pragma unroll
    for (int set = 0; set < tile::sets; set++)
        gemm_grouped_store_set<tile, layout>(arguments, same, part, warpgroup * tile::sets + set, total[set]);
    __syncwarp();
}

/* One block of k as gemm_fp8_block_multiply_spread. A stage always follows, and ahead() runs when it is full. */
template <typename tile, bool opens, typename function, typename look>
static __device__ __forceinline__ void
gemm_grouped_multiply_spread(const gemm_grouped_memory &memory, gemm_fp8_block_totals<tile> &total,
                             float (&sum)[tile::columns / 2], gemm_fp8_block_reader &reader,
                             gemm_grouped_spread_carry &carry, const function &behind, const look &ahead)
{
    static_assert(tile::groups == 1, "one scale of B for all columns");
    const ring &ring = reader.stages;
    const uint32_t scales = reader.scales + reader.at.stage * tile::scale_bytes;
    const uint32_t scales_b = gemm_grouped_scales_b<tile>(memory, reader.at.stage);
    float b;
#pragma unroll
    for (int set = 0; set < tile::sets; set++) {
        gemm_fp8_block_issue_spread<tile>(sum, carry.operands, set, [&](auto slice) { behind(set, slice); });
        __syncwarp();
        if (set == 0)
            b = ld_shared_f32(scales_b);
        const float upper = b * ld_shared_f32(scales + 256 * set), lower = b * ld_shared_f32(scales + 256 * set + 32);
        const uint32_t empty = ring_empty(ring, reader.at);
        if (set == tile::sets - 1) {
            ring_next(ring, reader.at);
            carry.operands = gemm_fp8_block_operands_at<tile>(carry.first, reader.at.stage);
            mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
            ahead();
            __syncwarp(); /* all lanes have read the stage: one gives it back */
        }
        wgmma_wait<0>();
        wgmma_settle(sum);
        if (set == tile::sets - 1)
            gemm_release(empty, reader.ctas);
        gemm_fp8_block_add_split<tile, opens, 1, 1>(total[set], sum, {{upper, lower}, {upper, lower}}, 1);
    }
}

/* One job with products. Its last stores are left to the next one. */
template <typename tile, typename layout, typename look>
static __device__ __forceinline__ void
gemm_grouped_multiply_job(const gemm_grouped_arguments &arguments, const gemm_grouped_memory &memory,
                          const gemm_part &part, int warpgroup, gemm_fp8_block_totals<tile> &total,
                          float (&sum)[tile::columns / 2], gemm_fp8_block_reader &reader,
                          gemm_grouped_spread_carry &carry, const look &ahead)
{
    const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
    gemm_grouped_job job;
    const auto job_of_stage = [&] { return gemm_grouped_read(memory.begun + 16 * reader.at.stage); };
    const auto store = [&](auto twelfth) {
        gemm_fp8_block_store_part<tile, twelfth, 12>(carry.target, gemm.out.n, total);
        __syncwarp();
    };
    const auto under_first = [&](int set, auto slice) {
        if (set == 0)
            store(gemm_fp8_block_number<4 + slice>());
        else
            store(gemm_fp8_block_number<8 + slice>());
        if (set == 1 && slice == 3) {
            job = job_of_stage();
            gemm_grouped_aim<tile, layout>(arguments, job, part, warpgroup, carry);
        }
    };
    const auto under_last = [&](int set, auto slice) {
        if (set == 0 && slice == 3)
            job = job_of_stage();
        if (set == 1)
            store(slice);
    };
    gemm_grouped_multiply_spread<tile, true>(memory, total, sum, reader, carry, under_first, ahead);
#pragma unroll 1
    for (int i = 1; i + 1 < gemm.blocks; i++)
        gemm_grouped_multiply_spread<tile, false>(
            memory, total, sum, reader, carry, [](int, auto) {}, [] {});
    if (gemm.blocks > 1) {
        gemm_grouped_multiply_spread<tile, false>(memory, total, sum, reader, carry, under_last, ahead);
    } else {
        gemm_fp8_block_store_part<tile, 0, 1>(carry.target, gemm.out.n, total);
        carry.target.columns = 0;
    }
    if (carry.apart)
        gemm_grouped_store_apart<tile, layout>(arguments, part, job, warpgroup, total);
}

template <typename tile, typename layout>
static __device__ __forceinline__ void gemm_grouped_consume_spread(const gemm_grouped_arguments &arguments,
                                                                   const gemm_grouped_memory &memory,
                                                                   const gemm_part &part, int warpgroup)
{
    const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
    const int first_row = warpgroup * tile::sets * 64 + wgmma_row(threadIdx.x, 0);
    gemm_fp8_block_reader reader = {
        memory.stages, memory.scales + 4 * first_row, (uint32_t)(part.a_ctas | part.b_ctas), {}};
    const gemm_fp8_block_operands first = gemm_fp8_block_operands_of<tile>(reader.stages, 0, warpgroup);
    gemm_grouped_spread_carry carry = {first, first, {gemm.out.d, 0, 0}, false, false};
    gemm_fp8_block_totals<tile> total = {};
    float sum[tile::columns / 2];
    const auto look = [&] {
        const uint32_t begun = memory.begun + 16 * reader.at.stage;
        carry.multiplies = __any_sync(~0u, gemm_grouped_read_word(begun + offsetof(gemm_grouped_job, group)) >= 0);
    };
    gemm_grouped_job job;
    do {
        mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
        look();
        while (carry.multiplies)
            gemm_grouped_multiply_job<tile, layout>(arguments, memory, part, warpgroup, total, sum, reader, carry,
                                                    look);
        gemm_fp8_block_store_part<tile, 0, 1>(carry.target, gemm.out.n, total);
        carry.target.columns = 0;
        job = gemm_grouped_read_warp(memory.begun + 16 * reader.at.stage);
        gemm_grouped_store_apart<tile, layout>(arguments, part, job, warpgroup, total);
        gemm_release(ring_empty(reader.stages, reader.at), reader.ctas);
        ring_next(reader.stages, reader.at);
        carry.operands = gemm_fp8_block_operands_at<tile>(carry.first, reader.at.stage);
    } while (job.group != GROUPED_END);
}

template <typename tile, typename layout>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_grouped_spread(const __grid_constant__ gemm_grouped_arguments arguments)
{
    extern __shared__ __align__(1024) char shared[];
    gemm_grouped_run_direct<tile, layout, gemm_grouped_consume_spread<tile, layout>>(arguments, shared_address(shared));
}

/* For the table of a variant. */
template <typename tile, typename layout> static struct gemm_grouped_compiled gemm_grouped_compile_spread()
{
    return gemm_grouped_compiled_as<tile>(gemm_grouped_spread<tile, layout>);
}

#endif
