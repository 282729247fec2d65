/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block-scaled tiles of the grouped families, one pass over a tile a job: the tile times the B of one group. What the
 * jobs are is known on the device alone. One warp of each CTA walks them (layout::walk), some jobs ahead of the thread
 * that loads their stages, which leaves a job in shared memory beside the first of them for the consumers. The CTAs of
 * a cluster stand side by side along n and share A, so that they have the same jobs without asking each other.
 *
 * layout::walk<tile>(arguments, part) with next(), by a whole warp; layout::rows(arguments, job, row) for the 16 rows
 * of a warp from `row` of the tile on, by a whole warp.
 */
#ifndef RIDGE_GEMM_GROUPED_SCHEDULE_CUH
#define RIDGE_GEMM_GROUPED_SCHEDULE_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block_cluster.cuh"
#include "kernels/ptx/async_seldom.cuh"
#include "kernels/ptx/global.cuh"

template <int count, int row_sets, int width, int boxes> struct gemm_grouped_tile {
    static constexpr int consumers = count, sets = row_sets, rows = 64 * count * sets, columns = width, buffers = boxes;
    static constexpr int a_bytes = rows * gemm_fp8_depth, b_bytes = columns * gemm_fp8_depth;
    static constexpr int stage_bytes = a_bytes + b_bytes, scale_bytes = 4 * rows;
    static constexpr int threads = 128 * (count + 1);
    static constexpr int producer_registers = count == 3 ? 32 : 40, consumer_registers = count == 3 ? 160 : 232;
    static constexpr int group_columns = width == 128 ? 128 : width % 64 == 0 ? 64 : 16;
    static constexpr int groups = width / group_columns;
    static constexpr bool spread = false; /* gemm_grouped_spread.cuh */
    static_assert(width <= 128 + group_columns, "a tile may meet a third column of B scales");
};

template <int count, int row_sets, int width, int boxes>
struct gemm_slab<gemm_grouped_tile<count, row_sets, width, boxes>> {
    static constexpr bool swizzled = width % 64 == 0;
    static constexpr int columns = swizzled ? 64 : width / 2, buffers = boxes;
    static constexpr int box_bytes = 16 * columns * 2, bytes = buffers * box_bytes, bytes_all = 4 * count * bytes;
    static_assert(columns % 8 == 0 && (swizzled || columns / 8 % 2), "rows of a box meet in banks");
};

struct gemm_grouped_arguments {
    gemm_fp8_cluster_arguments cluster; /* out and map of D: all rows; map of B: all groups; order: see the layout */
    CUtensorMap scale_a;                /* boxes of a slice's rows */
    const float *scale_b;
    const int32_t *index; /* groups of rows, or valid rows of groups */
    int groups, n, blocks_n;
    int group_rows, group_blocks; /* from one group to the next in A and D, in scale_a; 0 where rows are not by group */
};

enum { GROUPED_END = -2, GROUPED_NOBODY = -1 };

/* One pass. group: GROUPED_NOBODY for a tile that is not multiplied, GROUPED_END after the last. */
struct gemm_grouped_job {
    int row, column; /* corner of the cluster's tiles; rows count from the group's first where they are by group */
    int group;
    int rows; /* the layout's */
};

/* Of 16 rows: who is written in this pass, and who of them as zeros. */
struct gemm_grouped_rows {
    uint32_t written, zeroed;
};

static __device__ __forceinline__ void gemm_grouped_write(uint32_t address, const gemm_grouped_job &job)
{
    st_shared_v4(address, make_uint4(job.row, job.column, job.group, job.rows));
}

static __device__ __forceinline__ gemm_grouped_job gemm_grouped_read(uint32_t address)
{
    const uint4 v = ld_shared_volatile_v4(address);
    return {(int)v.x, (int)v.y, (int)v.z, (int)v.w};
}

/* The same by a whole warp; the compiler then knows that all threads have the same. */
static __device__ __forceinline__ gemm_grouped_job gemm_grouped_read_warp(uint32_t address)
{
    const gemm_grouped_job job = gemm_grouped_read(address);
    return {__shfl_sync(~0u, job.row, 0), __shfl_sync(~0u, job.column, 0), __shfl_sync(~0u, job.group, 0),
            __shfl_sync(~0u, job.rows, 0)};
}

enum { GROUPED_AHEAD = 4 }; /* jobs that may be found and not begun */

/* Shared memory: stages, slabs, scales of A, barriers, a job a stage, a ring of jobs found, a job a consumer warp. */
struct gemm_grouped_memory {
    ring stages, found;
    uint32_t slabs, scales, begun, done;
};

template <typename tile>
constexpr int gemm_grouped_fixed_bytes = gemm_slab<tile>::bytes_all +
                                         (GROUPED_AHEAD + 4 * tile::consumers) * (int)sizeof(gemm_grouped_job) +
                                         16 * GROUPED_AHEAD;

template <typename tile>
static __device__ __forceinline__ gemm_grouped_memory gemm_grouped_memory_at(uint32_t data, int stages)
{
    const uint32_t slabs = data + stages * tile::stage_bytes, scales = slabs + gemm_slab<tile>::bytes_all;
    const uint32_t barriers = scales + stages * tile::scale_bytes, begun = barriers + ring_barrier_bytes(stages);
    const uint32_t found = begun + stages * (int)sizeof(gemm_grouped_job);
    const uint32_t found_barriers = found + GROUPED_AHEAD * (int)sizeof(gemm_grouped_job);
    return {{data, barriers, stages},
            {found, found_barriers, GROUPED_AHEAD},
            slabs,
            scales,
            begun,
            found_barriers + ring_barrier_bytes(GROUPED_AHEAD)};
}

/* One thread: the stages of a job; one without copies where nothing is multiplied. */
template <typename tile>
static __device__ __forceinline__ void gemm_grouped_load(const gemm_grouped_arguments &arguments,
                                                         const gemm_grouped_memory &memory, ring_place &at,
                                                         const gemm_grouped_job &job, const gemm_part &part)
{
    const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
    const int slices = arguments.cluster.cluster.columns, slice = tile::rows / slices,
              scale_slice = tile::scale_bytes / slices;
    const int row = job.row + part.column * slice, row_a = job.group * arguments.group_rows + row;
    const int row_b = job.group * arguments.n + job.column + part.column * tile::columns;
    const int blocks = job.group < 0 ? 1 : gemm.blocks;
#pragma unroll 1
    for (int i = 0; i < blocks; i++, ring_next(memory.stages, at)) {
        const uint32_t data = memory.stages.data + at.stage * tile::stage_bytes, full = ring_full(memory.stages, at);
        mbarrier_wait(ring_empty(memory.stages, at), at.parity ^ 1);
        if (i == 0)
            gemm_grouped_write(memory.begun + 16 * at.stage, job);
        if (job.group < 0) {
            mbarrier_arrive(full);
            continue;
        }
        mbarrier_arrive_expect(full, tile::stage_bytes + tile::scale_bytes);
        gemm_fp8_load_slice(data + part.column * slice * gemm_fp8_depth, gemm.maps.a, i * gemm_fp8_depth, row_a, full,
                            slices, part.a_ctas);
        gemm_fp8_load_slice(data + tile::a_bytes, gemm.maps.b, i * gemm_fp8_depth, row_b, full, 1, part.b_ctas);
        gemm_fp8_load_slice(memory.scales + at.stage * tile::scale_bytes + part.column * scale_slice, arguments.scale_a,
                            row, job.group * arguments.group_blocks + i, full, slices, part.a_ctas);
    }
}

/* Scales of B come by ordinary loads when a consumer begins a job: from L1, if they were asked for before. */
template <typename tile>
static __device__ __forceinline__ void gemm_grouped_prefetch(const gemm_grouped_arguments &arguments,
                                                             const gemm_grouped_job &job, const gemm_part &part)
{
    const int blocks = arguments.cluster.gemm.blocks, column = job.column + part.column * tile::columns;
    const int first = column / 128, last = (column + tile::columns - 1) / 128;
    const float *scale_b = arguments.scale_b + (int64_t)job.group * arguments.blocks_n * blocks;
    for (int i = 32 * (threadIdx.x % 32); job.group >= 0 && i < blocks; i += 1024)
        for (int row = first; row <= last && row < arguments.blocks_n; row++)
            prefetch_global_l1(scale_b + (int64_t)row * blocks + i);
}

/* A whole warp: finds the jobs. */
template <typename tile, typename layout>
static __device__ __forceinline__ void gemm_grouped_find(const gemm_grouped_arguments &arguments, const ring &found,
                                                         const gemm_part &part)
{
    typename layout::template walk<tile> walk(arguments, part);
    ring_place at = {};
    gemm_grouped_job job;
    do {
        job = walk.next();
        if constexpr (tile::spread) {
            mbarrier_wait_seldom(ring_empty(found, at), at.parity ^ 1);
            __syncwarp();
        } else {
            mbarrier_wait(ring_empty(found, at), at.parity ^ 1);
        }
        if (threadIdx.x % 32 == 0) {
            gemm_grouped_write(found.data + 16 * at.stage, job);
            mbarrier_arrive(ring_full(found, at));
        }
        ring_next(found, at);
        gemm_grouped_prefetch<tile>(arguments, job, part);
        __syncwarp();
    } while (job.group != GROUPED_END);
}

/* One thread: load(at, job) of every job that was found. Returns the place behind the last stage. */
template <typename function>
static __device__ __forceinline__ ring_place gemm_grouped_produce(const gemm_grouped_memory &memory,
                                                                  const function &load)
{
    ring_place at = {}, next = {};
    gemm_grouped_job job;
    do {
        mbarrier_wait(ring_full(memory.found, next), next.parity);
        job = gemm_grouped_read(memory.found.data + 16 * next.stage);
        mbarrier_arrive(ring_empty(memory.found, next));
        ring_next(memory.found, next);
        load(at, job);
    } while (job.group != GROUPED_END);
    return at;
}

/* The rows of a box in a slab that are written; (row, column) is its corner in D. */
template <typename tile>
static __device__ __forceinline__ void gemm_grouped_copy_rows(const gemm_output &out, uint32_t box, int64_t row,
                                                              int column, uint32_t written)
{
    using slab = gemm_slab<tile>;
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
        if (!(written >> i & 1) || row + i >= out.m)
            continue;
        bf16 *d = out.d + (row + i) * out.n;
#pragma unroll 1
        for (int at = 2 * (threadIdx.x % 32); at < slab::columns && column + at < out.n; at += 64) {
            const int unit = slab::swizzled ? at / 8 ^ i % 8 : at / 8;
            const uint32_t pair = __float_as_uint(ld_shared_f32(box + i * slab::columns * 2 + unit * 16 + at % 8 * 2));
            if (out.n % 2 == 0) {
                *(uint32_t *)(d + column + at) = pair;
            } else {
                d[column + at] = bf16{(uint16_t)pair};
                if (column + at + 1 < out.n)
                    d[column + at + 1] = bf16{(uint16_t)(pair >> 16)};
            }
        }
    }
    __syncwarp();
}

/* Rows of a box become zeros. */
template <typename tile> static __device__ __forceinline__ void gemm_grouped_clear_rows(uint32_t box, uint32_t zeroed)
{
    constexpr int units = gemm_slab<tile>::columns / 8;
    const int lane = threadIdx.x % 32;
    __syncwarp();
#pragma unroll 1
    for (int i = 0; i < 16; i++)
        if (zeroed >> i & 1 && lane < units)
            st_shared_v4(box + (i * units + lane) * 16, make_uint4(0, 0, 0, 0));
}

/* gemm_store_slab for 16 rows of which some are written. */
template <typename tile, int box = 0>
static __device__ __forceinline__ void gemm_grouped_store_slab(const gemm_fp8_arguments &gemm, uint32_t slab_data,
                                                               int64_t row, int column, const gemm_grouped_rows &rows,
                                                               const float (&total)[tile::columns / 2])
{
    using slab = gemm_slab<tile>;
    if constexpr (box * slab::columns < tile::columns) {
        const uint32_t data = slab_data + box % slab::buffers * slab::box_bytes;
        if (threadIdx.x % 32 == 0 && box == 0)
            bulk_wait_read<0>();
        if (threadIdx.x % 32 == 0 && box >= slab::buffers)
            bulk_wait_read<slab::buffers - 1>();
        __syncwarp();
        gemm_fill_box<tile, box * slab::columns>(data, total);
        if (rows.zeroed)
            gemm_grouped_clear_rows<tile>(data, rows.zeroed);
        fence_proxy_async();
        __syncwarp();
        if (rows.written != 0xffff || !gemm.tensor_store) {
            gemm_grouped_copy_rows<tile>(gemm.out, data, row, column + box * slab::columns, rows.written);
        } else if (threadIdx.x % 32 == 0) {
            tma_store(&gemm.maps.d, column + box * slab::columns, (int)row, data);
            bulk_commit();
        }
        gemm_grouped_store_slab<tile, box + 1>(gemm, slab_data, row, column, rows, total);
    }
}

template <typename tile, typename layout>
static __device__ __forceinline__ void gemm_grouped_store(const gemm_grouped_arguments &arguments, uint32_t slab,
                                                          const gemm_grouped_job &job, const gemm_part &part,
                                                          int warpgroup, const gemm_fp8_block_totals<tile> &total)
{
    const int64_t first = (int64_t)job.group * arguments.group_rows + job.row;
    const int column = job.column + part.column * tile::columns;
#pragma unroll
    for (int set = 0; set < tile::sets; set++) {
        const int row = (warpgroup * tile::sets + set) * 64 + threadIdx.x / 32 % 4 * 16;
        const gemm_grouped_rows rows = layout::rows(arguments, job, row);
        if (rows.written)
            gemm_grouped_store_slab<tile>(arguments.cluster.gemm, slab, first + row, column, rows, total[set]);
    }
}

/* The products of a job with the scales of its B. under_first as in gemm_fp8_block_multiply. */
template <typename tile, typename function>
static __device__ __forceinline__ void
gemm_grouped_multiply(const gemm_grouped_arguments &arguments, const gemm_grouped_job &job, const gemm_part &part,
                      gemm_fp8_block_totals<tile> &total, float (&sum)[tile::columns / 2],
                      gemm_fp8_block_reader &reader, int warpgroup, const function &under_first)
{
    const int blocks = arguments.cluster.gemm.blocks, blocks_n = arguments.blocks_n;
    const float *scale_b = arguments.scale_b + (int64_t)job.group * blocks_n * blocks;
    gemm_fp8_block_b b =
        gemm_fp8_block_b_at<tile>(scale_b, blocks_n - 1, blocks, job.column + part.column * tile::columns);
    gemm_fp8_block_multiply<tile, false, true>(total, sum, reader, b, 0, blocks, warpgroup, under_first);
#pragma unroll 1
    for (int i = 1; i < blocks; i++)
        gemm_fp8_block_multiply<tile, false, false>(total, sum, reader, b, i, blocks, warpgroup, [] {});
}

/* early: a job's result is stored under the first WGMMAs of the next one. The job waits for that in shared memory,
 * since registers are scarce. */
template <typename tile, typename layout, bool early>
static __device__ __forceinline__ void gemm_grouped_consume(const gemm_grouped_arguments &arguments,
                                                            const gemm_grouped_memory &memory, const gemm_part &part,
                                                            int warpgroup)
{
    const int warp = threadIdx.x / 32, row = warpgroup * tile::sets * 64 + wgmma_row(threadIdx.x, 0);
    const uint32_t slab = memory.slabs + warp * gemm_slab<tile>::bytes, done = memory.done + 16 * warp;
    gemm_fp8_block_reader reader = {memory.stages, memory.scales + 4 * row, (uint32_t)(part.a_ctas | part.b_ctas), {}};
    gemm_fp8_block_totals<tile> total = {};
    float sum[tile::columns / 2];
    gemm_grouped_job job;
    bool late = false; /* a job is done and not stored */
    const auto store_late = [&] {
        if (late)
            gemm_grouped_store<tile, layout>(arguments, slab, gemm_grouped_read_warp(done), part, warpgroup, total);
        late = false;
    };
    const auto keep_job = [&] {
        if (threadIdx.x % 32 == 0)
            gemm_grouped_write(done, job);
        __syncwarp();
    };
    const auto under_first = [&] {
        if (early)
            store_late();
        keep_job();
    };
    while (true) {
        mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
        job = gemm_grouped_read_warp(memory.begun + 16 * reader.at.stage);
        if (!early || job.group < 0)
            store_late();
        if (job.group == GROUPED_END)
            break;
        if (job.group >= 0) {
            gemm_grouped_multiply<tile>(arguments, job, part, total, sum, reader, warpgroup, under_first);
        } else {
            keep_job();
            gemm_release(ring_empty(reader.stages, reader.at), reader.ctas);
            ring_next(reader.stages, reader.at);
        }
        late = true;
    }
    if (threadIdx.x % 32 == 0)
        bulk_wait<0>();
}

template <typename tile, typename layout, bool early>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_grouped(const __grid_constant__ gemm_grouped_arguments arguments)
{
    extern __shared__ __align__(1024) char shared[];
    const gemm_fp8_cluster_arguments &cluster = arguments.cluster;
    const gemm_grouped_memory memory = gemm_grouped_memory_at<tile>(shared_address(shared), cluster.stages);
    const gemm_part part = gemm_part_of(cluster.cluster);
    const int warpgroup = gemm_warpgroup();

    if (threadIdx.x == 0) {
        tma_prefetch_map(&cluster.gemm.maps.a);
        tma_prefetch_map(&cluster.gemm.maps.b);
        tma_prefetch_map(&cluster.gemm.maps.d);
        tma_prefetch_map(&arguments.scale_a);
        ring_init(memory.stages, gemm_readers(cluster.cluster, tile::consumers));
        ring_init(memory.found, 1);
    }
    cluster_sync();
    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        if (threadIdx.x % 128 == 0)
            gemm_grouped_produce(memory, [&](ring_place &at, const gemm_grouped_job &job) {
                gemm_grouped_load<tile>(arguments, memory, at, job, part);
            });
        if (threadIdx.x / 32 % 4 == 1)
            gemm_grouped_find<tile, layout>(arguments, memory.found, part);
        __syncwarp();
    } else {
        registers_take<tile::consumer_registers>();
        gemm_grouped_consume<tile, layout, early>(arguments, memory, part, warpgroup);
        __syncwarp();
    }
    cluster_sync(); /* shared memory lives until the others have written and arrived for the last time */
}

#endif
