/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Side steps from gemm_fp8_block_05: its clusters, producer, scales and stores (gemm_fp8_block_cluster.cuh) in one tile
 * and under a given plan, with an `accumulate` that may be the step's own. Tiles have 128 columns, so one scale of B a
 * block of k; a consumer owns `sets` times 64 rows.
 */
#ifndef RIDGE_GEMM_FP8_BLOCK_STEPS_CUH
#define RIDGE_GEMM_FP8_BLOCK_STEPS_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block_cluster.cuh"

/* Registers of 0: no setmaxnreg. */
template <int row_sets, int producer, int consumer> struct gemm_fp8_step_tile : gemm_fp8_block_shape<row_sets, 128, 1> {
    static constexpr int producer_registers = producer, consumer_registers = consumer;
};

template <int row_sets, int producer, int consumer>
struct gemm_slab<gemm_fp8_step_tile<row_sets, producer, consumer>> : gemm_slab<gemm_fp8_block_shape<row_sets, 128, 1>> {
};

struct gemm_fp8_step_stage {
    uint32_t data, full, parity, empty;
    uint32_t scales; /* of the thread's first row */
};

/* The stage that the reader is at; moves it on. */
template <typename tile>
static __device__ __forceinline__ gemm_fp8_step_stage gemm_fp8_step_next(gemm_fp8_block_reader &reader)
{
    const ring_place at = reader.at;
    ring_next(reader.stages, reader.at);
    return {reader.stages.data + at.stage * tile::stage_bytes, ring_full(reader.stages, at), at.parity,
            ring_empty(reader.stages, at), reader.scales + at.stage * tile::scale_bytes};
}

static __device__ __forceinline__ void gemm_fp8_step_release(const gemm_fp8_block_reader &reader,
                                                             const gemm_fp8_step_stage &stage)
{
    __syncwarp();
    gemm_release(stage.empty, reader.ctas);
}

/* `count` slices of 32 elements of k from `first` on, rows of `set`; without `keep` sum is overwritten. */
template <typename tile>
static __device__ __forceinline__ void gemm_fp8_step_multiply(float (&sum)[tile::columns / 2],
                                                              const gemm_fp8_step_stage &stage, int set, int first,
                                                              int count, int keep)
{
    const uint64_t a = wgmma_descriptor_128(stage.data + set * 64 * 128);
    const uint64_t b = wgmma_descriptor_128(stage.data + tile::a_bytes);
#pragma unroll
    for (int slice = first; slice < first + count; slice++)
        wgmma_e4m3_ss(sum, wgmma_descriptor_advance(a, slice * 32), wgmma_descriptor_advance(b, slice * 32),
                      slice > first ? 1 : keep);
}

/* Products of scales for the two rows that a thread has of a set. */
struct gemm_fp8_step_scales {
    float upper, lower;
};

static __device__ __forceinline__ gemm_fp8_step_scales gemm_fp8_step_scales_of(const gemm_fp8_step_stage &stage,
                                                                               int set, float scale_b)
{
    return {ld_shared_f32(stage.scales + 256 * set) * scale_b, ld_shared_f32(stage.scales + 256 * set + 32) * scale_b};
}

template <int count>
static __device__ __forceinline__ void gemm_fp8_step_add(float (&total)[count], const float (&sum)[count],
                                                         const gemm_fp8_step_scales &scales)
{
#pragma unroll
    for (int i = 0; i < count; i++)
        total[i] += (i / 2 % 2 ? scales.lower : scales.upper) * sum[i];
}

/* Waits for the products of `every` elements of k, which divides a block, and promotes them. */
template <typename tile, int every> struct gemm_fp8_step_promote {
    static constexpr int interval = every, parts = 128 / every, slices = every / 32;

    static __device__ __forceinline__ void accumulate(gemm_fp8_block_totals<tile> &total, gemm_fp8_block_reader &reader,
                                                      gemm_fp8_block_b &b, int blocks, int warpgroup)
    {
        float sum[tile::columns / 2];
#pragma unroll 1
        for (int i = 0; i < blocks; i++) {
            const gemm_fp8_step_stage stage = gemm_fp8_step_next<tile>(reader);
            gemm_fp8_step_scales scales[tile::sets];
            mbarrier_wait(stage.full, stage.parity);
#pragma unroll
            for (int part = 0; part < tile::sets * parts; part++) {
                const int set = part / parts, first = part % parts * slices;
                wgmma_fence();
                gemm_fp8_step_multiply<tile>(sum, stage, warpgroup * tile::sets + set, first, slices, 0);
                wgmma_commit();
                if (part == 0) {
                    const float scale_b = gemm_fp8_block_scale(b.first, i, blocks);
#pragma unroll
                    for (int other = 0; other < tile::sets; other++)
                        scales[other] = gemm_fp8_step_scales_of(stage, other, scale_b);
                }
                wgmma_wait<0>();
                wgmma_settle(sum);
                if (part == tile::sets * parts - 1)
                    gemm_fp8_step_release(reader, stage);
                gemm_fp8_step_add(total[set], sum, scales[set]);
            }
        }
    }
};

/* All tiles of a consumer. step::accumulate(total, reader, b, blocks, warpgroup) adds one to the zeroed totals;
 * step::interval: elements of k between promotions, 0 for none before the end. */
template <typename tile, typename step>
static __device__ __forceinline__ void gemm_fp8_step_consume(const gemm_fp8_block_cluster_arguments &arguments,
                                                             gemm_fp8_block_reader &reader, uint32_t slabs,
                                                             const gemm_part &part, int warpgroup)
{
    const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
    const uint32_t slab = slabs + threadIdx.x / 32 * gemm_slab<tile>::bytes;
    for (int index = part.cluster; index < tile_count(gemm.order); index += part.clusters) {
        const gemm_fp8_corner corner = gemm_fp8_corner_of<tile>(arguments.cluster, tile_at(gemm.order, index), part);
        gemm_fp8_block_b b = gemm_fp8_block_b_of<tile>(arguments, corner.column);
        gemm_fp8_block_totals<tile> total = {};
        step::accumulate(total, reader, b, gemm.blocks, warpgroup);
        gemm_fp8_block_store<tile>(gemm, slab, corner, warpgroup, total);
    }
    if (threadIdx.x % 32 == 0)
        bulk_wait<0>();
}

template <typename tile, typename step>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_fp8_step_kernel(const __grid_constant__ gemm_fp8_block_cluster_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    gemm_fp8_block_run_cluster<tile, gemm_fp8_step_consume<tile, step>>(arguments, shared_address(memory),
                                                                        gemm_slab<tile>::bytes_all);
}

/* A variant: the tile, how it is accumulated, and the plan, in which 0 stages are as many as fit. */
template <typename tile, typename step, int cluster_rows = 2, int stages = 0> struct gemm_fp8_step {
    static constexpr auto kernel = gemm_fp8_step_kernel<tile, step>;

    static struct gemm_fp8_compiled compiled()
    {
        return {{tile::rows, tile::columns, tile::stage_bytes + tile::scale_bytes, gemm_slab<tile>::bytes_all},
                (const void *)kernel,
                tile::threads,
                gemm_slab<tile>::columns};
    }

    static struct ridge_device planned(const struct ridge_device *device, char plan[RIDGE_PLAN_BYTES])
    {
        struct ridge_device with_plan = *device;
        snprintf(plan, RIDGE_PLAN_BYTES, "%dx%d:%dx1:%d", tile::rows, tile::columns, cluster_rows, stages);
        with_plan.plan = plan;
        return with_plan;
    }

    static int setup(struct ridge_call *call, void **state)
    {
        const struct gemm_fp8_compiled only = compiled();
        char plan[RIDGE_PLAN_BYTES];
        const struct ridge_device device = planned(call->device, plan);
        struct ridge_call with_plan = *call;
        with_plan.device = &device;
        return gemm_fp8_block_setup_cluster(&with_plan, &only, 1, state);
    }

    static int launch(const struct ridge_call *call)
    {
        const struct gemm_fp8_block_plan *plan = (const struct gemm_fp8_block_plan *)call->state;
        return gemm_fp8_block_launch_cluster(call, plan, tile::threads, kernel);
    }

    static const char *describe(void *state)
    {
        return state ? ((const struct gemm_fp8_block_plan *)state)->plan.text : "";
    }

    static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
    {
        const struct gemm_fp8_compiled only = compiled();
        char plan[RIDGE_PLAN_BYTES];
        const struct ridge_device with_plan = planned(device, plan);
        gemm_fp8_block_issue_cluster(&only, 1, dim, &with_plan, work);
        const double depth = (double)gemm_fp8_block_count(dim[2]) * gemm_fp8_depth;
        work->flop_fp32 =
            2 * work->tiles * tile::rows * tile::columns * (step::interval > 0 ? depth / step::interval : 1);
    }
};

#endif
