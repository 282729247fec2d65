/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_tensor/gemm_fp8_cluster.cuh"

/* sum = the product over all stages. A stage is released, and the barrier of the next one asked for, while wgmmas are
 * queued: the first slice of a stage is a group of its own. */
template <typename tile>
static __device__ __forceinline__ void accumulate(float (&sum)[tile::columns / 2], const ring &ring, ring_place &at,
                                                  int blocks, int warpgroup, uint32_t ctas)
{
    uint32_t used = 0;
    for (int i = 0; i < blocks; i++) {
        const uint32_t data = ring.data + at.stage * tile::stage_bytes;
        mbarrier_wait(ring_full(ring, at), at.parity);
        wgmma_fence();
        gemm_fp8_multiply<tile, 0, 1>(sum, data, warpgroup, i > 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (i > 0)
            gemm_release(used, ctas);
        gemm_fp8_multiply<tile, 1, 4>(sum, data, warpgroup, 1);
        wgmma_commit();
        used = ring_empty(ring, at);
        ring_next(ring, at);
    }
    wgmma_wait<0>();
    gemm_release(used, ctas);
}

template <typename tile>
static __device__ __forceinline__ void consume(const gemm_fp8_cluster_arguments &arguments, const ring &ring,
                                               uint32_t slabs, const gemm_part &part, float scale, int warpgroup)
{
    const uint32_t slab = slabs + threadIdx.x / 32 * gemm_slab<tile>::bytes;
    const tile_order &order = arguments.gemm.order;
    float sum[tile::columns / 2];
    ring_place at = {};
    for (int index = part.cluster; index < tile_count(order); index += part.clusters) {
        const gemm_fp8_corner corner = gemm_fp8_corner_of<tile>(arguments, tile_at(order, index), part);
        accumulate<tile>(sum, ring, at, arguments.gemm.blocks, warpgroup, (uint32_t)(part.a_ctas | part.b_ctas));
        wgmma_settle(sum);
#pragma unroll
        for (int i = 0; i < tile::columns / 2; i++)
            sum[i] *= scale;
        gemm_fp8_store<tile>(arguments.gemm, slab, corner.row, corner.column, sum);
    }
    if (threadIdx.x % 32 == 0)
        bulk_wait<0>();
}

template <typename tile>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_fp8_tensor_multicast(const __grid_constant__ gemm_fp8_cluster_arguments arguments, const float *scale_a,
                              const float *scale_b)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory), slabs = data + arguments.stages * tile::stage_bytes;
    const ring ring = {data, slabs + gemm_slab<tile>::bytes_all, arguments.stages};
    const gemm_part part = gemm_part_of(arguments.cluster);
    const int warpgroup = gemm_warpgroup();

    if (threadIdx.x == 0) {
        tma_prefetch_map(&arguments.gemm.maps.a);
        tma_prefetch_map(&arguments.gemm.maps.b);
        tma_prefetch_map(&arguments.gemm.maps.d);
        ring_init(ring, gemm_readers(arguments.cluster, tile::consumers));
    }
    cluster_sync();
    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        if (threadIdx.x % 128 == 0)
            gemm_fp8_produce<tile>(arguments, ring, part, 0, [](int, int, int, uint32_t) {});
        __syncwarp();
    } else {
        registers_take<tile::consumer_registers>();
        consume<tile>(arguments, ring, slabs, part, *scale_a * *scale_b, warpgroup);
        __syncwarp();
    }
    cluster_sync(); /* shared memory lives until the others have written and arrived for the last time */
}

template <typename tile> static struct gemm_fp8_compiled compiled_of()
{
    return {{tile::rows, tile::columns, tile::stage_bytes, gemm_slab<tile>::bytes_all},
            (const void *)gemm_fp8_tensor_multicast<tile>,
            tile::threads,
            gemm_slab<tile>::columns};
}

template <typename tile> static int start(const struct ridge_call *call, const struct gemm_fp8_cluster_plan *plan)
{
    const int size = plan->choice.cluster_rows * plan->choice.cluster_columns;
    return gemm_launch_clusters(call, gemm_fp8_tensor_multicast<tile>, plan->clusters, size, tile::threads,
                                plan->shared_bytes, plan->arguments, (const float *)call->buffer[2],
                                (const float *)call->buffer[3]);
}

#define TILES(X) X(2, 256) X(3, 176) X(2, 144)

#define COMPILED(w, n) compiled_of<gemm_fp8_tile<w, n>>(),
#define START(w, n) start<gemm_fp8_tile<w, n>>,
static const struct gemm_fp8_compiled compiled[] = {TILES(COMPILED)};
static int (*const starts[])(const struct ridge_call *, const struct gemm_fp8_cluster_plan *) = {TILES(START)};
static const int tiles = sizeof compiled / sizeof *compiled;

static int setup(struct ridge_call *call, void **state)
{
    struct gemm_fp8_cluster_plan *plan = (struct gemm_fp8_cluster_plan *)gemm_plan_new(call, sizeof *plan);
    if (plan && gemm_fp8_prepare(call, compiled, tiles, plan)) {
        free(plan);
        plan = NULL;
    }
    *state = plan;
    return plan ? 0 : 1;
}

static int launch(const struct ridge_call *call)
{
    const struct gemm_fp8_cluster_plan *plan = (const struct gemm_fp8_cluster_plan *)call->state;
    return starts[plan->choice.tile](call, plan);
}

static const char *describe(void *state)
{
    return state ? ((const struct gemm_fp8_cluster_plan *)state)->text : "";
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    gemm_fp8_issue_cluster(compiled, tiles, dim, device, work);
}

static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    return gemm_fp8_plans(compiled, tiles, dim, device, plan, max);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_tensor_03_multicast = {
    .idea = "clusters of two CTAs share what they load by TMA multicast; the tile fits the shape",
    .source = "PTX ISA 9.0, 9.7.9.25.5.2 (cp.async.bulk.tensor, .multicast::cluster)",
    .changes = "L2 is read once for two CTAs; three tile shapes to choose from",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = describe,
    .launch = launch,
    .plans = plans,
    .kernel = (const void *)gemm_fp8_tensor_multicast<gemm_fp8_tile<2, 256>>,
};
