/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of gemm_grouped_schedule.cuh by the consumers of gemm_fp8_block_direct.cuh: totals go from the registers to
 * D under the first WGMMAs of the next job. Scales of B, which a consumer of the dense kernel reads ahead from tile to
 * tile, come into a stage by the thread that loads it: a consumer does not know the next job before its first stage.
 */
#ifndef RIDGE_GEMM_GROUPED_DIRECT_CUH
#define RIDGE_GEMM_GROUPED_DIRECT_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block_direct.cuh"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_plan.cuh"

template <int count, int row_sets, int width>
struct gemm_grouped_direct_tile : gemm_grouped_tile<count, row_sets, width, 1> {
    static constexpr int group = gemm_fp8_block_direct_shape<row_sets, width>::group;
};

template <int count, int row_sets, int width> struct gemm_slab<gemm_grouped_direct_tile<count, row_sets, width>> {
    static constexpr int columns = 64, bytes_all = 0;
};

/* Behind the rest of shared memory: of every stage the scales of B of the tile's first and last column. */
constexpr int gemm_grouped_scales_b_bytes = 8 * GEMM_MAX_STAGES;

template <typename tile>
static __device__ __forceinline__ uint32_t gemm_grouped_scales_b(const gemm_grouped_memory &memory, int stage)
{
    return memory.done + 4 * tile::consumers * (int)sizeof(gemm_grouped_job) + 8 * stage;
}

/* As gemm_grouped_load, with the scales of B, which are loaded a block ahead. A stage's copies do not wait for its
 * scales: their bytes may come before the arrival that expects them. Where stores are spread every stage has its job,
 * and is expected before it is copied. */
template <typename tile>
static __device__ __forceinline__ void gemm_grouped_load_direct(const gemm_grouped_arguments &arguments,
                                                                const gemm_grouped_memory &memory, ring_place &at,
                                                                const gemm_grouped_job &job, const gemm_part &part)
{
    const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
    const int slices = arguments.cluster.cluster.columns, slice = tile::rows / slices;
    const int row = job.row + part.column * slice, row_a = job.group * arguments.group_rows + row;
    const int column = job.column + part.column * tile::columns, row_b = job.group * arguments.n + column;
    const int end = arguments.blocks_n - 1, first = column / 128 < end ? column / 128 : end;
    const int across = (column + tile::columns - 1) / 128 > first && first < end ? gemm.blocks : 0;
    const float *scale_b = arguments.scale_b + ((int64_t)job.group * arguments.blocks_n + first) * gemm.blocks;
    const auto scales_of = [&](int i) {
        return make_float2(__ldg(scale_b + i), tile::groups > 1 ? __ldg(scale_b + across + i) : 0);
    };
    const int blocks = job.group < 0 ? 1 : gemm.blocks;
    float2 scale = {}, ahead = job.group < 0 ? float2{} : scales_of(0);
#pragma unroll 1
    for (int i = 0; i < blocks; i++, ring_next(memory.stages, at)) {
        const uint32_t data = memory.stages.data + at.stage * tile::stage_bytes, full = ring_full(memory.stages, at);
        scale = ahead;
        if (i + 1 < blocks)
            ahead = scales_of(i + 1);
        mbarrier_wait(ring_empty(memory.stages, at), at.parity ^ 1);
        if (i == 0 || tile::spread)
            gemm_grouped_write(memory.begun + 16 * at.stage, job);
        if (job.group < 0) {
            mbarrier_arrive(full);
            continue;
        }
        if constexpr (tile::spread) {
            st_shared_v2_f32(gemm_grouped_scales_b<tile>(memory, at.stage), scale.x, scale.y);
            mbarrier_arrive_expect(full, tile::stage_bytes + tile::scale_bytes);
        }
        gemm_fp8_load_slice(data + part.column * slice * gemm_fp8_depth, gemm.maps.a, i * gemm_fp8_depth, row_a, full,
                            slices, part.a_ctas);
        gemm_fp8_block_load_b<tile>(data + tile::a_bytes, gemm, i * gemm_fp8_depth, row_b, full, 1, part.b_ctas);
        gemm_fp8_load_slice(memory.scales + at.stage * tile::scale_bytes + 4 * part.column * slice, arguments.scale_a,
                            row, job.group * arguments.group_blocks + i, full, slices, part.a_ctas);
        if constexpr (!tile::spread) {
            st_shared_v2_f32(gemm_grouped_scales_b<tile>(memory, at.stage), scale.x, scale.y);
            mbarrier_arrive_expect(full, tile::stage_bytes + tile::scale_bytes);
        }
    }
}

/* A warp's 16 rows, of which the first is `row`, from column `column` on: where the rows of B are in order. */
template <typename tile>
static __device__ __forceinline__ void gemm_grouped_store_rows(const gemm_output &out, int64_t row, int column,
                                                               const gemm_grouped_rows &rows,
                                                               const float (&total)[tile::columns / 2])
{
    constexpr int group = tile::group;
    const int lane = (int)thread_again() % 32, first = column + lane % 4 * (group / 4);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int at_row = lane / 4 + 8 * h;
        const bool zeroed = rows.zeroed >> at_row & 1;
        bf16 *d = out.d + (row + at_row) * out.n + first;
        if (!(rows.written >> at_row & 1) || row + at_row >= out.m)
            continue;
#pragma unroll
        for (int g = 0; g < tile::columns / group; g++) {
            uint32_t words[group / 8];
#pragma unroll
            for (int i = 0; i < group / 8; i++) {
                const int at = g * (group / 2) + 4 * i + 2 * h;
                words[i] = zeroed ? 0 : cvt_bf16x2_f32(total[at], total[at + 1]);
            }
            if (first + g * group >= out.n)
                continue;
            if constexpr (group == 32)
                *(uint4 *)(d + g * group) = make_uint4(words[0], words[1], words[2], words[3]);
            else
                *(uint2 *)(d + g * group) = make_uint2(words[0], words[1]);
        }
    }
}

/* The same where they are not. */
template <typename tile>
static __device__ __forceinline__ void gemm_grouped_store_pairs(const gemm_output &out, int64_t row, int column,
                                                                const gemm_grouped_rows &rows,
                                                                const float (&total)[tile::columns / 2])
{
    const int lane = (int)thread_again() % 32;
    const bool even = out.n % 2 == 0;
#pragma unroll
    for (int i = 0; i < tile::columns / 2; i += 2) {
        const int at_row = wgmma_row(lane, i), at_column = column + wgmma_column(lane, i);
        const uint32_t word = rows.zeroed >> at_row & 1 ? 0 : cvt_bf16x2_f32(total[i], total[i + 1]);
        bf16 *d = out.d + (row + at_row) * out.n + at_column;
        if (!(rows.written >> at_row & 1) || row + at_row >= out.m || at_column >= out.n)
            continue;
        if (even) {
            *(uint32_t *)d = word;
            continue;
        }
        *(uint16_t *)d = (uint16_t)word;
        if (at_column + 1 < out.n)
            *(uint16_t *)(d + 1) = (uint16_t)(word >> 16);
    }
}

/* One set of a warpgroup's rows of a job; of the end, nothing. */
template <typename tile, typename layout>
static __device__ __forceinline__ void gemm_grouped_store_set(const gemm_grouped_arguments &arguments,
                                                              const gemm_grouped_job &job, const gemm_part &part,
                                                              int set, const float (&total)[tile::columns / 2])
{
    const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
    const int column = job.column + part.column * tile::columns, row = set * 64;
    const int64_t first = (int64_t)job.group * arguments.group_rows + job.row + row;
    if (job.group == GROUPED_END)
        return;
    const int of_warp = (int)thread_again() / 32 % 4 * 16;
    const gemm_grouped_rows rows = layout::rows(arguments, job, row + of_warp);
    if (!rows.written)
        return;
    if (gemm.tensor_store && rows.written == 0xffff && rows.zeroed == 0)
        gemm_fp8_block_store_direct<tile>(gemm, (int)first, column, total);
    else if (gemm.tensor_store)
        gemm_grouped_store_rows<tile>(gemm.out, first + of_warp, column, rows, total);
    else
        gemm_grouped_store_pairs<tile>(gemm.out, first + of_warp, column, rows, total);
}

/* One word of a job. */
static __device__ __forceinline__ int gemm_grouped_read_word(uint32_t address)
{
    return (int)__float_as_uint(ld_shared_f32(address));
}

/* What a consumer carries from block to block and from job to job. */
struct gemm_grouped_carry {
    gemm_fp8_block_operands first, operands; /* in stage 0 and of the block at hand */
    uint32_t used;                           /* the barrier that gives the block before back; 0: there is none */
    int split;                               /* groups of columns of the first row of scales of B */
};

/* As gemm_fp8_block_multiply_direct. A stage always follows, and ahead() runs when it is full. */
template <typename tile, bool opens, typename function, typename look>
static __device__ __forceinline__ void
gemm_grouped_multiply_direct(const gemm_grouped_memory &memory, gemm_fp8_block_totals<tile> &total,
                             float (&sum)[tile::columns / 2], gemm_fp8_block_reader &reader, gemm_grouped_carry &carry,
                             const function &under, const look &ahead)
{
    const ring &ring = reader.stages;
    const int stage = reader.at.stage;
    const uint32_t empty = ring_empty(ring, reader.at), scales = reader.scales + stage * tile::scale_bytes;
    constexpr int splits = tile::groups == 1 ? 1 : 128 / tile::group_columns;
#pragma unroll
    for (int set = 0; set < tile::sets; set++) {
        gemm_fp8_block_issue<tile>(sum, carry.operands, set);
        if (set == 0) {
            if (carry.used)
                gemm_release(carry.used, reader.ctas);
            carry.used = empty;
            ring_next(ring, reader.at);
        }
        if (opens)
            under(set);
        const float2 b = ld_shared_v2_f32(gemm_grouped_scales_b<tile>(memory, stage));
        const float upper = ld_shared_f32(scales + 256 * set), lower = ld_shared_f32(scales + 256 * set + 32);
        const gemm_fp8_block_products products = {{upper * b.x, lower * b.x}, {upper * b.y, lower * b.y}};
        if (set == tile::sets - 1) {
            carry.operands = gemm_fp8_block_operands_at<tile>(carry.first, reader.at.stage);
            mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
            ahead();
        }
        wgmma_wait<0>();
        wgmma_settle(sum);
        gemm_fp8_block_add_split<tile, opens, 1, splits>(total[set], sum, products, carry.split);
    }
    __syncwarp();
}

/* Passes over a stage in which nothing is multiplied. */
template <typename tile>
static __device__ __forceinline__ void gemm_grouped_pass_over(gemm_fp8_block_reader &reader, gemm_grouped_carry &carry)
{
    if (carry.used)
        gemm_release(carry.used, reader.ctas);
    carry.used = ring_empty(reader.stages, reader.at);
    ring_next(reader.stages, reader.at);
    carry.operands = gemm_fp8_block_operands_at<tile>(carry.first, reader.at.stage);
}

/* Stores a set of the job at `done`; then the one at `begun`, which it makes room for, takes its place. */
template <typename tile, typename layout>
static __device__ __forceinline__ void
gemm_grouped_change_job(const gemm_grouped_arguments &arguments, const gemm_part &part, uint32_t done, uint32_t begun,
                        int warpgroup, int set, const gemm_fp8_block_totals<tile> &total, gemm_grouped_carry &carry)
{
    gemm_grouped_store_set<tile, layout>(arguments, gemm_grouped_read_warp(done), part, warpgroup * tile::sets + set,
                                         total[set]);
    if (tile::groups > 1 && set == 0) {
        const int column = gemm_grouped_read_word(begun + offsetof(gemm_grouped_job, column));
        carry.split = (128 - (column + part.column * tile::columns) % 128) / tile::group_columns;
    }
    if (set == tile::sets - 1) {
        __syncwarp();
        if (thread_again() % 32 == 0)
            gemm_grouped_write(done, gemm_grouped_read(begun));
        __syncwarp();
    }
}

template <typename tile, typename layout>
static __device__ __forceinline__ void gemm_grouped_consume_direct(const gemm_grouped_arguments &arguments,
                                                                   const gemm_grouped_memory &memory,
                                                                   const gemm_part &part, int warpgroup)
{
    const uint32_t done = memory.done + 16 * (threadIdx.x / 32);
    const int first_row = warpgroup * tile::sets * 64 + wgmma_row(threadIdx.x, 0),
              blocks = arguments.cluster.gemm.blocks;
    gemm_fp8_block_reader reader = {
        memory.stages, memory.scales + 4 * first_row, (uint32_t)(part.a_ctas | part.b_ctas), {}};
    const gemm_fp8_block_operands first = gemm_fp8_block_operands_of<tile>(reader.stages, 0, warpgroup);
    gemm_grouped_carry carry = {first, first, 0, 0};
    gemm_fp8_block_totals<tile> total = {};
    float sum[tile::columns / 2];
    int group; /* of the job at hand, then of the next one */
    const auto look = [&](bool last) {
        const uint32_t begun = memory.begun + 16 * reader.at.stage;
        if (last)
            group = __shfl_sync(~0u, gemm_grouped_read_word(begun + offsetof(gemm_grouped_job, group)), 0);
    };
    if (threadIdx.x % 32 == 0)
        gemm_grouped_write(done, {0, 0, GROUPED_END, 0});
    __syncwarp();
    mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
    look(true);
    while (true) {
        const uint32_t begun = memory.begun + 16 * reader.at.stage;
        const auto under = [&](int set) {
            gemm_grouped_change_job<tile, layout>(arguments, part, done, begun, warpgroup, set, total, carry);
        };
        if (group >= 0) {
            gemm_grouped_multiply_direct<tile, true>(memory, total, sum, reader, carry, under,
                                                     [&] { look(blocks == 1); });
#pragma unroll 1
            for (int i = 1; i < blocks; i++)
                gemm_grouped_multiply_direct<tile, false>(
                    memory, total, sum, reader, carry, [](int) {}, [&] { look(i + 1 == blocks); });
        } else {
#pragma unroll
            for (int set = 0; set < tile::sets; set++)
                under(set);
            gemm_grouped_pass_over<tile>(reader, carry);
            if (group == GROUPED_END)
                break;
            mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
            look(true);
        }
    }
    gemm_release(carry.used, reader.ctas);
}

/* The body of a kernel: consume(arguments, memory, part, warpgroup) does all jobs of a consumer. As in
 * gemm_fp8_block_direct, no barrier of the cluster waits for the stores to D. */
template <typename tile, typename layout, auto consume>
static __device__ __forceinline__ void gemm_grouped_run_direct(const gemm_grouped_arguments &arguments, uint32_t data)
{
    const gemm_fp8_cluster_arguments &cluster = arguments.cluster;
    const gemm_grouped_memory memory = gemm_grouped_memory_at<tile>(data, cluster.stages);
    const gemm_part part = gemm_part_of(cluster.cluster);
    const int warpgroup = gemm_warpgroup();

    if (threadIdx.x == 0) {
        tma_prefetch_map(&cluster.gemm.maps.a);
        tma_prefetch_map(&cluster.gemm.maps.b);
        tma_prefetch_map(&arguments.scale_a);
        ring_init(memory.stages, gemm_readers(cluster.cluster, tile::consumers));
        ring_init(memory.found, 1);
    }
    __syncwarp();
    cluster_sync_relaxed();
    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        if (threadIdx.x % 128 == 0) {
            ring_place end = gemm_grouped_produce(memory, [&](ring_place &at, const gemm_grouped_job &job) {
                gemm_grouped_load_direct<tile>(arguments, memory, at, job, part);
            });
            ring_drain(memory.stages, end);
        }
        if (threadIdx.x / 32 % 4 == 1)
            gemm_grouped_find<tile, layout>(arguments, memory.found, part);
    } else {
        registers_take<tile::consumer_registers>();
        consume(arguments, memory, part, warpgroup);
    }
}

template <typename tile, typename layout>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_grouped_direct(const __grid_constant__ gemm_grouped_arguments arguments)
{
    extern __shared__ __align__(1024) char shared[];
    gemm_grouped_run_direct<tile, layout, gemm_grouped_consume_direct<tile, layout>>(arguments, shared_address(shared));
}

/* For the table of a variant. */
template <typename tile>
static struct gemm_grouped_compiled gemm_grouped_compiled_as(void (*kernel)(gemm_grouped_arguments))
{
    const int stage_bytes = tile::stage_bytes + tile::scale_bytes + (int)sizeof(gemm_grouped_job);
    return {{tile::rows, tile::columns, stage_bytes, gemm_grouped_fixed_bytes<tile> + gemm_grouped_scales_b_bytes,
             tile::group},
            kernel,
            tile::threads,
            gemm_slab<tile>::columns};
}

template <typename tile, typename layout> static struct gemm_grouped_compiled gemm_grouped_compile_direct()
{
    return gemm_grouped_compiled_as<tile>(gemm_grouped_direct<tile, layout>);
}

#endif
