/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block-scaled tiles in clusters whose totals go from the registers to D in whole sectors: the copy engine brings the
 * rows of B in the order that gives a thread neighbouring columns of D (gemm_bf16_10_ordered_rows). A set of rows is
 * stored under the first WGMMAs of the same set of the next tile, without shared memory and without a wait.
 *
 * What a consumer does between the wait for its WGMMAs and the next ones is time that the tensor cores may not have:
 * the next stage is waited for before, a stage is given back after.
 */
#ifndef RIDGE_GEMM_FP8_BLOCK_DIRECT_CUH
#define RIDGE_GEMM_FP8_BLOCK_DIRECT_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block_stream.cuh"

template <int row_sets, int width> struct gemm_fp8_block_direct_shape : gemm_fp8_block_shape<row_sets, width, 1> {
    /* Rows of B that change places; a thread has a quarter of their columns side by side. */
    static constexpr int group = width % 32 == 0 ? 32 : 16;
    static constexpr int scale_a_bytes = gemm_fp8_block_shape<row_sets, width, 1>::scale_bytes;
    static constexpr bool staged = false;
};

/* The scales of B that a tile meets, and its corner, lie behind those of A in a stage; copies begin at multiples of 128
 * bytes. */
template <int row_sets, int width> struct gemm_fp8_block_staged_shape : gemm_fp8_block_direct_shape<row_sets, width> {
    static constexpr int scale_bytes = gemm_fp8_block_direct_shape<row_sets, width>::scale_a_bytes + 128;
    static constexpr bool staged = true;
};

/* A slice of B, its rows in order if n is whole groups. */
template <typename tile>
static __device__ __forceinline__ void gemm_fp8_block_load_b(uint32_t shared, const gemm_fp8_arguments &gemm,
                                                             int column, int row, uint32_t full, int slices,
                                                             uint16_t ctas)
{
    if (!gemm.tensor_store)
        gemm_fp8_load_slice(shared, gemm.maps.b, column, row, full, slices, ctas);
    else if (slices == 1)
        tma_load_grouped(shared, &gemm.maps.b, column, row / tile::group, full);
    else
        tma_load_grouped_multicast(shared, &gemm.maps.b, column, row / tile::group, full, ctas);
}

/* Of block i of k: scales of B of the tile's first column, and of the next row of scale_b if the tile may meet it. */
template <typename tile>
static __device__ __forceinline__ float2 gemm_fp8_block_scales_b(const gemm_fp8_block_cluster_arguments &arguments,
                                                                 int column, int i)
{
    const int blocks = arguments.cluster.gemm.blocks, row = column / 128, last = arguments.last_block_n;
    const float *first = arguments.scale_b + i;
    return {__ldg(first + (int64_t)min(row, last) * blocks),
            tile::groups > 1 ? __ldg(first + (int64_t)min(row + 1, last) * blocks) : 0};
}

/* The producer; `scales`: those of A in stage 0. */
template <typename tile>
static __device__ __forceinline__ void gemm_fp8_block_produce_direct(const gemm_fp8_block_cluster_arguments &arguments,
                                                                     const ring &ring, const gemm_part &part,
                                                                     uint32_t scales)
{
    const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
    const gemm_cluster &cluster = arguments.cluster.cluster;
    const int slice_a = tile::rows / cluster.columns, slice_b = tile::columns / cluster.rows;
    ring_place at = {};
    for (int index = part.cluster; index < tile_count(gemm.order); index += part.clusters) {
        const gemm_fp8_corner corner = gemm_fp8_corner_of<tile>(arguments.cluster, tile_at(gemm.order, index), part);
        const int row_a = corner.row + part.column * slice_a, row_b = corner.column + part.row * slice_b;
#pragma unroll 1
        for (int i = 0; i < gemm.blocks; i++, ring_next(ring, at)) {
            const uint32_t data = ring.data + at.stage * tile::stage_bytes, full = ring_full(ring, at);
            float2 b;
            if constexpr (tile::staged)
                b = gemm_fp8_block_scales_b<tile>(arguments, corner.column, i);
            mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
            if constexpr (tile::staged)
                st_shared_v4(scales + at.stage * tile::scale_bytes + tile::scale_a_bytes,
                             make_uint4(__float_as_uint(b.x), __float_as_uint(b.y), (uint32_t)corner.row,
                                        (uint32_t)corner.column));
            mbarrier_arrive_expect(full, tile::stage_bytes + tile::scale_a_bytes);
            gemm_fp8_load_slice(data + part.column * slice_a * 128, gemm.maps.a, i * gemm_fp8_depth, row_a, full,
                                cluster.columns, part.a_ctas);
            gemm_fp8_block_load_b<tile>(data + tile::a_bytes + part.row * slice_b * 128, gemm, i * gemm_fp8_depth,
                                        row_b, full, cluster.rows, part.b_ctas);
            gemm_fp8_load_slice(scales + at.stage * tile::scale_bytes + 4 * part.column * slice_a, arguments.scale_a,
                                row_a, i, full, cluster.columns, part.a_ctas);
        }
    }
    ring_drain(ring, at);
}

/* As gemm_store_registers, which keeps threadIdx.x in a register. */
template <bool even, int count>
static __device__ __forceinline__ void gemm_fp8_block_store_pairs(const gemm_output &out, int row, int column,
                                                                  const float (&total)[count])
{
    const int thread = (int)thread_again();
#pragma unroll
    for (int i = 0; i < count; i += 2)
        gemm_store_pair<even>(out, row + wgmma_row(thread, i), column + wgmma_column(thread, i), total[i],
                              total[i + 1]);
}

/* A set's 64 rows, of which the first is `row`, where n is not whole groups. */
template <typename tile>
static __device__ __forceinline__ void gemm_fp8_block_store_words(const gemm_fp8_arguments &gemm, int row, int column,
                                                                  const float (&total)[tile::columns / 2])
{
    if (gemm.out.n % 2 == 0)
        gemm_fp8_block_store_pairs<true>(gemm.out, row, column, total);
    else
        gemm_fp8_block_store_pairs<false>(gemm.out, row, column, total);
}

/* The same for any n. */
template <typename tile>
static __device__ __forceinline__ void gemm_fp8_block_store_direct(const gemm_fp8_arguments &gemm, int row, int column,
                                                                   const float (&total)[tile::columns / 2])
{
    constexpr int group = tile::group;
    if (!gemm.tensor_store) {
        gemm_fp8_block_store_words<tile>(gemm, row, column, total);
        return;
    }
    const int thread = (int)thread_again(), lane = thread % 32, upper = row + thread / 32 % 4 * 16 + lane / 4;
    const int first = column + lane % 4 * (group / 4);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        bf16 *d = gemm.out.d + (upper + 8 * h) * gemm.out.n + first;
#pragma unroll
        for (int g = 0; g < tile::columns / group; g++) {
            uint32_t words[group / 8];
#pragma unroll
            for (int i = 0; i < group / 8; i++) {
                const int at = g * (group / 2) + 4 * i + 2 * h;
                words[i] = cvt_bf16x2_f32(total[at], total[at + 1]);
            }
            if (upper + 8 * h >= gemm.out.m || first + g * group >= gemm.out.n)
                continue;
            if constexpr (group == 32)
                *(uint4 *)(d + g * group) = make_uint4(words[0], words[1], words[2], words[3]);
            else
                *(uint2 *)(d + g * group) = make_uint2(words[0], words[1]);
        }
    }
}

/* A consumer's operands in a stage: the low words of their descriptors. */
struct gemm_fp8_block_operands {
    uint32_t a, b;
};

/* In stage `stage`, from those in stage 0. */
template <typename tile>
static __device__ __forceinline__ gemm_fp8_block_operands gemm_fp8_block_operands_of(const ring &ring, int stage,
                                                                                     int warpgroup)
{
    const uint32_t data = ring.data + stage * tile::stage_bytes;
    return {(uint32_t)wgmma_descriptor_128(data + warpgroup * tile::sets * 64 * 128),
            (uint32_t)wgmma_descriptor_128(data + tile::a_bytes)};
}

template <typename tile>
static __device__ __forceinline__ gemm_fp8_block_operands
gemm_fp8_block_operands_at(const gemm_fp8_block_operands &first, int stage)
{
    const uint32_t step = tile::stage_bytes / 16 * stage;
    return {first.a + step, first.b + step};
}

template <typename tile>
static __device__ __forceinline__ void gemm_fp8_block_issue(float (&sum)[tile::columns / 2],
                                                            const gemm_fp8_block_operands &operands, int set)
{
    const uint64_t high = wgmma_descriptor_128(0) >> 32 << 32;
    wgmma_fence();
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        wgmma_e4m3_ss(sum, high | (operands.a + set * (64 * 128 / 16) + slice * 2), high | (operands.b + slice * 2),
                      slice > 0);
    wgmma_commit();
}

/* What a consumer carries from block to block and from tile to tile. */
struct gemm_fp8_block_carry {
    gemm_fp8_block_operands first, operands; /* in stage 0 and of the block at hand */
    gemm_fp8_block_stream stream;
    uint32_t scales_b; /* in stage 0 */
    uint32_t used;     /* the barrier that gives the block before back; 0: there is none */
    gemm_fp8_corner done, now, following;
};

/* [c][r]: scale of B of the tile's first (c = 0) or last column times that of A of the thread's upper or lower row. */
using gemm_fp8_block_products = float[2][2];

/* total (+)= sum times scales. `split` groups of columns are of the first row of scale_b. It is one of low .. high, and
 * a branch finds which: a choice for every group would stand between the wait and the next WGMMAs. */
template <typename tile, bool opens, int low, int high>
static __device__ __forceinline__ void gemm_fp8_block_add_split(float (&total)[tile::columns / 2],
                                                                const float (&sum)[tile::columns / 2],
                                                                const gemm_fp8_block_products &scale, int split)
{
    constexpr int middle = (low + high) / 2;
    if constexpr (low < high) {
        if (split <= middle)
            gemm_fp8_block_add_split<tile, opens, low, middle>(total, sum, scale, split);
        else
            gemm_fp8_block_add_split<tile, opens, middle + 1, high>(total, sum, scale, split);
    } else {
#pragma unroll
        for (int i = 0; i < tile::columns / 2; i++) {
            const float of = scale[2 * i / tile::group_columns < low ? 0 : 1][i / 2 % 2];
            total[i] = opens ? of * sum[i] : total[i] + of * sum[i];
        }
    }
}

/* One block of k, whose stage is full; on return that of the next one is, if there is `more`. Block 0 `opens` a tile:
 * it overwrites total, and under(set) runs before that, under the set's WGMMAs. */
template <typename tile, bool opens, typename function>
static __device__ __forceinline__ void
gemm_fp8_block_multiply_direct(const gemm_fp8_block_cluster_arguments &arguments, gemm_fp8_block_totals<tile> &total,
                               float (&sum)[tile::columns / 2], gemm_fp8_block_reader &reader,
                               gemm_fp8_block_carry &carry, int i, bool more, int warpgroup, const function &under)
{
    const ring &ring = reader.stages;
    const int stage = reader.at.stage;
    const uint32_t empty = ring_empty(ring, reader.at), scales = reader.scales + stage * tile::scale_bytes;
    constexpr int splits = tile::groups == 1 ? 1 : 128 / tile::group_columns;
    const int split = (128 - carry.now.column % 128) / tile::group_columns;
    ring_next(ring, reader.at);
#pragma unroll
    for (int set = 0; set < tile::sets; set++) {
        gemm_fp8_block_issue<tile>(sum, carry.operands, set);
        if (set == 0 && !tile::staged) {
            if (carry.used)
                gemm_release(carry.used, reader.ctas);
            carry.used = empty;
        }
        if (opens)
            under(set);
        if (set == 0 && tile::staged) {
            const float2 b = ld_shared_v2_f32(carry.scales_b + stage * tile::scale_bytes);
            carry.stream.b[0] = b.x;
            carry.stream.b[1] = b.y;
        }
        const float upper = ld_shared_f32(scales + 256 * set), lower = ld_shared_f32(scales + 256 * set + 32);
        const gemm_fp8_block_products products = {{upper * carry.stream.b[0], lower * carry.stream.b[0]},
                                                  {upper * carry.stream.b[1], lower * carry.stream.b[1]}};
        if (set == tile::sets - 1) {
            if constexpr (!tile::staged)
                gemm_fp8_block_stream_on(carry.stream, arguments, i, carry.now.column, carry.following.column);
            carry.operands = gemm_fp8_block_operands_at<tile>(carry.first, reader.at.stage);
            if (more)
                mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
            __syncwarp(); /* all lanes have read the scales: one gives the stage back */
        }
        wgmma_wait<0>();
        wgmma_settle(sum);
        if (set == tile::sets - 1 && tile::staged)
            gemm_release(empty, reader.ctas);
        gemm_fp8_block_add_split<tile, opens, 1, splits>(total[set], sum, products, split);
    }
}

template <typename tile>
static __device__ __forceinline__ void gemm_fp8_block_consume_direct(const gemm_fp8_block_cluster_arguments &arguments,
                                                                     gemm_fp8_block_reader &reader,
                                                                     const gemm_part &part, int warpgroup)
{
    const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
    const auto corner_of = [&](int index) {
        return gemm_fp8_corner_of<tile>(arguments.cluster, tile_at(gemm.order, index), part);
    };
    gemm_fp8_block_totals<tile> total = {};
    float sum[tile::columns / 2];
    const gemm_fp8_block_operands first = gemm_fp8_block_operands_of<tile>(reader.stages, 0, warpgroup);
    const uint32_t scales_b = reader.stages.data + reader.stages.stages * tile::stage_bytes + tile::scale_a_bytes;
    gemm_fp8_block_carry carry = {first, first, {}, scales_b, 0, {-1, 0}, {}, corner_of(part.cluster)};
    if constexpr (!tile::staged) {
        carry.stream.now = gemm_fp8_block_stream_load(arguments, carry.following.column, 0);
        carry.stream.b[0] = __shfl_sync(~0u, carry.stream.now, 0);
        carry.stream.b[1] = __shfl_sync(~0u, carry.stream.now, 16);
    }
    const auto store = [&](int set) {
        if (carry.done.row >= 0)
            gemm_fp8_block_store_direct<tile>(gemm, carry.done.row + (warpgroup * tile::sets + set) * 64,
                                              carry.done.column, total[set]);
    };
    const auto nothing = [](int) {};
    mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
    for (int index = __shfl_sync(~0u, part.cluster, 0); index < tile_count(gemm.order); index += part.clusters) {
        const bool last = index + part.clusters >= tile_count(gemm.order);
        carry.now = carry.following;
        const auto under = [&](int set) {
            store(set);
            if (set == 0 && !last)
                carry.following = corner_of(index + part.clusters);
        };
        gemm_fp8_block_multiply_direct<tile, true>(arguments, total, sum, reader, carry, 0, !last || gemm.blocks > 1,
                                                   warpgroup, under);
#pragma unroll 1
        for (int i = 1; i < gemm.blocks; i++)
            gemm_fp8_block_multiply_direct<tile, false>(arguments, total, sum, reader, carry, i,
                                                        !last || i + 1 < gemm.blocks, warpgroup, nothing);
        carry.done = carry.now;
    }
    if (!tile::staged)
        gemm_release(carry.used, reader.ctas);
#pragma unroll
    for (int set = 0; set < tile::sets; set++)
        store(set);
}

/* Shared memory: stages, scales of A, barriers. As in gemm_deferred.cuh no barrier of the cluster waits for the stores
 * to D: the other CTAs' copies into this one are over when its consumers are, their arrivals when the ring has drained.
 */
template <typename tile, auto consume>
static __device__ __forceinline__ void gemm_fp8_block_run_direct(const gemm_fp8_block_cluster_arguments &arguments,
                                                                 uint32_t data)
{
    const gemm_fp8_cluster_arguments &shared = arguments.cluster;
    const uint32_t scales = data + shared.stages * tile::stage_bytes;
    const ring ring = {data, scales + shared.stages * tile::scale_bytes, shared.stages};
    const gemm_part part = gemm_part_of(shared.cluster);
    const int warpgroup = gemm_warpgroup();

    if (threadIdx.x == 0) {
        tma_prefetch_map(&shared.gemm.maps.a);
        tma_prefetch_map(&shared.gemm.maps.b);
        tma_prefetch_map(&arguments.scale_a);
        ring_init(ring, gemm_readers(shared.cluster, tile::consumers));
    }
    __syncwarp();
    cluster_sync_relaxed();
    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        if (threadIdx.x % 128 == 0)
            gemm_fp8_block_produce_direct<tile>(arguments, ring, part, scales);
    } else {
        registers_take<tile::consumer_registers>();
        const int row = warpgroup * tile::sets * 64 + wgmma_row(threadIdx.x, 0);
        gemm_fp8_block_reader reader = {ring, scales + 4 * row, (uint32_t)(part.a_ctas | part.b_ctas), {}};
        consume(arguments, reader, part, warpgroup);
    }
}

template <typename tile>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_fp8_block_direct(const __grid_constant__ gemm_fp8_block_cluster_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    gemm_fp8_block_run_direct<tile, gemm_fp8_block_consume_direct<tile>>(arguments, shared_address(memory));
}

/* What a variant's file needs of a kernel. */
template <typename tile> static struct gemm_fp8_compiled gemm_fp8_block_compiled_as(const void *kernel)
{
    return {
        {tile::rows, tile::columns, tile::stage_bytes + tile::scale_bytes, 0, tile::group}, kernel, tile::threads, 64};
}

template <typename tile> static struct gemm_fp8_compiled gemm_fp8_block_direct_compiled()
{
    return gemm_fp8_block_compiled_as<tile>((const void *)gemm_fp8_block_direct<tile>);
}

template <typename tile>
static int gemm_fp8_block_direct_start(const struct ridge_call *call, const struct gemm_fp8_block_plan *plan)
{
    return gemm_fp8_block_launch_cluster(call, plan, tile::threads, gemm_fp8_block_direct<tile>);
}

/* setup: the map of B is of ordered rows where n is whole groups, which is what tensor_store says here. */
static inline int gemm_fp8_block_setup_direct(struct ridge_call *call, const struct gemm_fp8_compiled *compiled,
                                              int count, void **state)
{
    if (gemm_fp8_block_setup_cluster(call, compiled, count, state))
        return 1;
    struct gemm_fp8_block_plan *plan = (struct gemm_fp8_block_plan *)*state;
    struct gemm_fp8_arguments *gemm = &plan->plan.arguments.gemm;
    const struct gemm_built *built = &compiled[plan->plan.choice.tile].built;
    const int64_t n = call->dim[1], k = call->dim[2];
    const struct tensor_map_matrix b = {
        RIDGE_E4M3, call->buffer[1], n, k, k, built->columns / plan->plan.choice.cluster_rows, gemm_fp8_depth, 128,
        "b"};
    gemm->tensor_store = n % built->group == 0;
    if (gemm->tensor_store && tensor_map_encode_grouped(call, &b, built->group, &gemm->maps.b)) {
        free(plan);
        *state = NULL;
        return 1;
    }
    return 0;
}

#endif
