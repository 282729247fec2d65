/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block-scaled tiles in clusters (gemm_fp8_cluster.cuh). Scales of A come with the slice of A that they belong to. A
 * consumer owns `sets` times 64 rows: one set of WGMMA sums serves them in turn, so that a tile of 256 x 128 has
 * 128 totals and 64 sums a thread, and one scale of B for all of its columns.
 */
#ifndef RIDGE_GEMM_FP8_BLOCK_CLUSTER_CUH
#define RIDGE_GEMM_FP8_BLOCK_CLUSTER_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block_tile.cuh"
#include "kernels/gemm_fp8_tensor/gemm_fp8_cluster.cuh"

template <int row_sets, int width, int boxes> struct gemm_fp8_block_shape {
    static constexpr int consumers = 2, sets = row_sets, rows = 128 * sets, columns = width, buffers = boxes;
    static constexpr int a_bytes = rows * gemm_fp8_depth, b_bytes = columns * gemm_fp8_depth;
    static constexpr int stage_bytes = a_bytes + b_bytes, scale_bytes = 4 * rows;
    static constexpr int threads = 384, producer_registers = 40, consumer_registers = 232;
    /* Columns that share a scale of B wherever the tile starts, and how many such groups there are. */
    static constexpr int group_columns = width == 128 ? 128 : width % 64 == 0 ? 64 : 16;
    static constexpr int groups = width / group_columns;
    static_assert(width <= 128 + group_columns, "a tile may meet a third column of B scales");
};

/* As many boxes a warp as the tile says: with one for each 64 columns nothing waits for a copy of the same tile. */
template <int row_sets, int width, int boxes> struct gemm_slab<gemm_fp8_block_shape<row_sets, width, boxes>> {
    static constexpr bool swizzled = width % 64 == 0;
    static constexpr int columns = swizzled ? 64 : width / 2, buffers = boxes;
    static constexpr int box_bytes = 16 * columns * 2, bytes = buffers * box_bytes, bytes_all = 8 * bytes;
    static_assert(columns % 8 == 0 && (swizzled || columns / 8 % 2), "rows of a box meet in banks");
};

struct gemm_fp8_block_cluster_arguments {
    gemm_fp8_cluster_arguments cluster;
    CUtensorMap scale_a; /* boxes of a slice's rows */
    const float *scale_b;
    int last_block_n; /* of the rows of scale_b */
};

/* Consumers take turns to issue: while one promotes, the WGMMAs of the other run, never both and then neither. A turn
 * passes when the products are issued; those of the next consumer queue behind them. Named barriers 1 and 2 are the
 * turns of consumers 0 and 1; both issue equally often. */
template <bool ordered> struct gemm_fp8_block_turns {
    static __device__ __forceinline__ void begin(int warpgroup)
    {
        if (ordered && warpgroup == 1)
            named_arrive(1, 256);
    }
    static __device__ __forceinline__ void wait(int warpgroup)
    {
        if (ordered)
            named_sync(1 + warpgroup, 256);
    }
    static __device__ __forceinline__ void pass(int warpgroup)
    {
        if (ordered)
            named_arrive(2 - warpgroup, 256);
    }
    /* Takes the turn that nobody will use. */
    static __device__ __forceinline__ void end(int warpgroup)
    {
        if (ordered && warpgroup == 0)
            named_sync(1, 256);
    }
};

/* A row of scale_b. A warp loads 32 scales at a time, one a lane, and 32 blocks of k before it needs them. */
struct gemm_fp8_block_row {
    const float *row;
    float now, next;
};

static __device__ __forceinline__ float gemm_fp8_block_lane(const float *row, int i, int blocks)
{
    const int at = i + (int)(threadIdx.x % 32);
    return __ldg(row + (at < blocks ? at : blocks - 1));
}

/* Of block i; to be called for every block in turn. The copy of `next` waits for its load, so it stands 31 blocks
 * behind it. */
static __device__ __forceinline__ float gemm_fp8_block_scale(gemm_fp8_block_row &row, int i, int blocks)
{
    const float scale = __shfl_sync(~0u, row.now, i % 32);
    if (i % 32 == 0)
        row.next = gemm_fp8_block_lane(row.row, i + 32, blocks);
    if (i % 32 == 31)
        row.now = row.next;
    return scale;
}

/* Scales of B of a tile: rows of scale_b for its first and its last column, and the groups before `split` of the
 * first. */
struct gemm_fp8_block_b {
    gemm_fp8_block_row first, last;
    int split;
};

/* `last_block` is the last row of scale_b. */
template <typename tile>
static __device__ __forceinline__ gemm_fp8_block_b gemm_fp8_block_b_at(const float *scale_b, int last_block, int blocks,
                                                                       int column0)
{
    const int first = column0 / 128, last = (column0 + tile::columns - 1) / 128;
    const float *first_row = scale_b + (int64_t)(first < last_block ? first : last_block) * blocks;
    const float *last_row = scale_b + (int64_t)(last < last_block ? last : last_block) * blocks;
    const float now = gemm_fp8_block_lane(first_row, 0, blocks);
    return {{first_row, now, 0},
            {last_row, tile::groups > 1 ? gemm_fp8_block_lane(last_row, 0, blocks) : now, 0},
            (128 - column0 % 128) / tile::group_columns};
}

template <typename tile>
static __device__ __forceinline__ gemm_fp8_block_b
gemm_fp8_block_b_of(const gemm_fp8_block_cluster_arguments &arguments, int column0)
{
    return gemm_fp8_block_b_at<tile>(arguments.scale_b, arguments.last_block_n, arguments.cluster.gemm.blocks, column0);
}

/* A consumer's place in the ring and what it needs of a stage. */
struct gemm_fp8_block_reader {
    ring stages;
    uint32_t scales; /* of the thread's first row, in stage 0 */
    uint32_t ctas;   /* who writes into the stages */
    ring_place at;
};

template <typename tile> using gemm_fp8_block_totals = float[tile::sets][tile::columns / 2];

/* total (+)= sum times the products of the scales of rows `upper`, `lower` with those of B. */
template <typename tile, bool opens>
static __device__ __forceinline__ void
gemm_fp8_block_add(float (&total)[tile::columns / 2], const float (&sum)[tile::columns / 2],
                   const float (&upper)[tile::groups], const float (&lower)[tile::groups])
{
#pragma unroll
    for (int i = 0; i < tile::columns / 2; i++) {
        const int group = 2 * i / tile::group_columns;
        const float scale = i / 2 % 2 ? lower[group] : upper[group];
        total[i] = opens ? scale * sum[i] : total[i] + scale * sum[i];
    }
}

/* The products of one block of k with the scales of B, and their promotion. Block 0 `opens` a tile: it overwrites
 * total, and under_first() runs before that, under the first WGMMAs. */
template <typename tile, bool ordered, bool opens, typename function>
static __device__ __forceinline__ void
gemm_fp8_block_multiply(gemm_fp8_block_totals<tile> &total, float (&sum)[tile::columns / 2],
                        gemm_fp8_block_reader &reader, gemm_fp8_block_b &b, int i, int blocks, int warpgroup,
                        const function &under_first)
{
    using turns = gemm_fp8_block_turns<ordered>;
    const ring &ring = reader.stages;
    const uint32_t data = ring.data + reader.at.stage * tile::stage_bytes, empty = ring_empty(ring, reader.at);
    const uint32_t scales = reader.scales + reader.at.stage * tile::scale_bytes;
    float b_first = 0, b_last = 0;
    mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
#pragma unroll
    for (int set = 0; set < tile::sets; set++) {
        turns::wait(warpgroup);
        wgmma_fence();
        gemm_fp8_multiply<tile, 0, 4>(sum, data, warpgroup * tile::sets + set, 0);
        wgmma_commit();
        turns::pass(warpgroup);
        if (opens && set == 0)
            under_first();
        if (set == 0) {
            b_first = gemm_fp8_block_scale(b.first, i, blocks);
            b_last = tile::groups > 1 ? gemm_fp8_block_scale(b.last, i, blocks) : b_first;
        }
        const float a_upper = ld_shared_f32(scales + 256 * set), a_lower = ld_shared_f32(scales + 256 * set + 32);
        float upper[tile::groups], lower[tile::groups];
#pragma unroll
        for (int group = 0; group < tile::groups; group++) {
            const float scale_b = tile::groups == 1 || group < b.split ? b_first : b_last;
            upper[group] = a_upper * scale_b;
            lower[group] = a_lower * scale_b;
        }
        wgmma_wait<0>();
        wgmma_settle(sum);
        if (set == tile::sets - 1) {
            __syncwarp();
            gemm_release(empty, reader.ctas);
        }
        gemm_fp8_block_add<tile, opens>(total[set], sum, upper, lower);
    }
    ring_next(ring, reader.at);
}

/* The corner of the CTA's tile is given; each warp stores its rows of every set. */
template <typename tile>
static __device__ __forceinline__ void gemm_fp8_block_store(const gemm_fp8_arguments &gemm, uint32_t slab,
                                                            const gemm_fp8_corner &corner, int warpgroup,
                                                            const gemm_fp8_block_totals<tile> &total)
{
#pragma unroll
    for (int set = 0; set < tile::sets; set++) {
        const int row = corner.row + (warpgroup * tile::sets + set) * 64;
        if (gemm.tensor_store)
            gemm_store_slab<tile>(gemm.maps.d, slab, row + threadIdx.x / 32 % 4 * 16, corner.column, total[set]);
        else
            gemm_store_registers(gemm.out, row, corner.column, total[set]);
    }
}

/* early: a tile is stored under the first WGMMAs of the next one, which need sums but no totals. */
template <typename tile, bool ordered, bool early>
static __device__ __forceinline__ void gemm_fp8_block_consume_cluster(const gemm_fp8_block_cluster_arguments &arguments,
                                                                      gemm_fp8_block_reader &reader, uint32_t slabs,
                                                                      const gemm_part &part, int warpgroup)
{
    const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
    const uint32_t slab = slabs + threadIdx.x / 32 * gemm_slab<tile>::bytes;
    gemm_fp8_block_totals<tile> total = {};
    float sum[tile::columns / 2];
    gemm_fp8_corner done = {-1, 0};
    const auto nothing = [] {};
    const auto store_done = [&] {
        if (early && done.row >= 0)
            gemm_fp8_block_store<tile>(gemm, slab, done, warpgroup, total);
    };
    gemm_fp8_block_turns<ordered>::begin(warpgroup);
    for (int index = part.cluster; index < tile_count(gemm.order); index += part.clusters) {
        const gemm_fp8_corner corner = gemm_fp8_corner_of<tile>(arguments.cluster, tile_at(gemm.order, index), part);
        gemm_fp8_block_b b = gemm_fp8_block_b_of<tile>(arguments, corner.column);
        gemm_fp8_block_multiply<tile, ordered, true>(total, sum, reader, b, 0, gemm.blocks, warpgroup, store_done);
#pragma unroll 1
        for (int i = 1; i < gemm.blocks; i++)
            gemm_fp8_block_multiply<tile, ordered, false>(total, sum, reader, b, i, gemm.blocks, warpgroup, nothing);
        done = corner;
        if (!early)
            gemm_fp8_block_store<tile>(gemm, slab, corner, warpgroup, total);
    }
    store_done();
    gemm_fp8_block_turns<ordered>::end(warpgroup);
    if (threadIdx.x % 32 == 0)
        bulk_wait<0>();
}

/* What the producer thread of a CTA does; `scales`: those of A in stage 0. */
template <typename tile> struct gemm_fp8_block_producer {
    static __device__ __forceinline__ void produce(const gemm_fp8_block_cluster_arguments &arguments, const ring &ring,
                                                   const gemm_part &part, uint32_t scales)
    {
        const gemm_cluster &cluster = arguments.cluster.cluster;
        const uint32_t mine = scales + part.column * (tile::scale_bytes / cluster.columns);
        gemm_fp8_produce<tile>(arguments.cluster, ring, part, tile::scale_bytes,
                               [&](int stage, int i, int row, uint32_t full) {
                                   gemm_fp8_load_slice(mine + stage * tile::scale_bytes, arguments.scale_a, row, i,
                                                       full, cluster.columns, part.a_ctas);
                               });
    }
};

/* The body of a kernel. Shared memory: stages, slabs, scales of A, barriers. consume(arguments, reader, slabs, part,
 * warpgroup) does all tiles of a consumer. A tile without registers for its roles leaves them as they are. */
template <typename tile, auto consume, typename producer = gemm_fp8_block_producer<tile>>
static __device__ __forceinline__ void gemm_fp8_block_run_cluster(const gemm_fp8_block_cluster_arguments &arguments,
                                                                  uint32_t data, int slab_bytes)
{
    const gemm_fp8_cluster_arguments &shared = arguments.cluster;
    const uint32_t slabs = data + shared.stages * tile::stage_bytes, scales = slabs + slab_bytes;
    const ring ring = {data, scales + shared.stages * tile::scale_bytes, shared.stages};
    const gemm_part part = gemm_part_of(shared.cluster);
    const int warpgroup = gemm_warpgroup();

    if (threadIdx.x == 0) {
        tma_prefetch_map(&shared.gemm.maps.a);
        tma_prefetch_map(&shared.gemm.maps.b);
        tma_prefetch_map(&shared.gemm.maps.d);
        tma_prefetch_map(&arguments.scale_a);
        ring_init(ring, gemm_readers(shared.cluster, tile::consumers));
    }
    cluster_sync();
    if (warpgroup == tile::consumers) {
        if constexpr (tile::producer_registers > 0)
            registers_give<tile::producer_registers>();
        if (threadIdx.x % 128 == 0)
            producer::produce(arguments, ring, part, scales);
        __syncwarp();
    } else {
        if constexpr (tile::consumer_registers > 0)
            registers_take<tile::consumer_registers>();
        const int row = warpgroup * tile::sets * 64 + wgmma_row(threadIdx.x, 0);
        gemm_fp8_block_reader reader = {ring, scales + 4 * row, (uint32_t)(part.a_ctas | part.b_ctas), {}};
        consume(arguments, reader, slabs, part, warpgroup);
        __syncwarp();
    }
    cluster_sync(); /* shared memory lives until the others have written and arrived for the last time */
}

template <typename tile, bool ordered, bool early>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_fp8_block_cluster(const __grid_constant__ gemm_fp8_block_cluster_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    gemm_fp8_block_run_cluster<tile, gemm_fp8_block_consume_cluster<tile, ordered, early>>(
        arguments, shared_address(memory), gemm_slab<tile>::bytes_all);
}

struct gemm_fp8_block_plan {
    struct gemm_fp8_cluster_plan plan;
    CUtensorMap scale_a;
};

/* What a variant's file needs of a kernel. */
template <typename tile, bool ordered, bool early> static struct gemm_fp8_compiled gemm_fp8_block_compiled()
{
    return {{tile::rows, tile::columns, tile::stage_bytes + tile::scale_bytes, gemm_slab<tile>::bytes_all},
            (const void *)gemm_fp8_block_cluster<tile, ordered, early>,
            tile::threads,
            gemm_slab<tile>::columns};
}

static inline gemm_fp8_block_cluster_arguments gemm_fp8_block_arguments_of(const struct ridge_call *call,
                                                                           const struct gemm_fp8_block_plan *plan)
{
    return {plan->plan.arguments, plan->scale_a, (const float *)call->buffer[3],
            (int)gemm_fp8_block_count(call->dim[1]) - 1};
}

static inline int gemm_fp8_block_launch_cluster(const struct ridge_call *call, const struct gemm_fp8_block_plan *plan,
                                                int threads, void (*kernel)(gemm_fp8_block_cluster_arguments))
{
    const int size = plan->plan.choice.cluster_rows * plan->plan.choice.cluster_columns;
    return gemm_launch_clusters(call, kernel, plan->plan.clusters, size, threads, plan->plan.shared_bytes,
                                gemm_fp8_block_arguments_of(call, plan));
}

template <typename tile, bool ordered, bool early>
static int gemm_fp8_block_start(const struct ridge_call *call, const struct gemm_fp8_block_plan *plan)
{
    return gemm_fp8_block_launch_cluster(call, plan, tile::threads, gemm_fp8_block_cluster<tile, ordered, early>);
}

static inline int gemm_fp8_block_prepare(struct ridge_call *call, const struct gemm_fp8_compiled *compiled, int count,
                                         struct gemm_fp8_block_plan *plan)
{
    if (gemm_fp8_block_scales_refused(call) || gemm_fp8_prepare(call, compiled, count, &plan->plan))
        return 1;
    const struct gemm_choice *choice = &plan->plan.choice;
    const int64_t m = call->dim[0], blocks = gemm_fp8_block_count(call->dim[2]);
    const int rows = compiled[choice->tile].built.rows / choice->cluster_columns;
    const struct tensor_map_matrix scale_a = {RIDGE_F32, call->buffer[2], blocks, m, gemm_fp8_block_pitch_a(m), 1, rows,
                                              0,         "scale_a"};
    return tensor_map_encode(call, &scale_a, &plan->scale_a);
}

static inline int gemm_fp8_block_setup_cluster(struct ridge_call *call, const struct gemm_fp8_compiled *compiled,
                                               int count, void **state)
{
    struct gemm_fp8_block_plan *plan = (struct gemm_fp8_block_plan *)gemm_plan_new(call, sizeof *plan);
    if (plan && gemm_fp8_block_prepare(call, compiled, count, plan)) {
        free(plan);
        plan = NULL;
    }
    *state = plan;
    return plan ? 0 : 1;
}

static inline void gemm_fp8_block_issue_cluster(const struct gemm_fp8_compiled *compiled, int count, const int64_t *dim,
                                                const struct ridge_device *device, struct ridge_work *work)
{
    const struct gemm_choice choice = gemm_fp8_choose(compiled, count, dim, device);
    const struct gemm_built *tile = &compiled[choice.tile].built;
    gemm_fp8_issue_cluster(compiled, count, dim, device, work);
    work->flop_fp32 = 2 * work->tiles * tile->rows * tile->columns * (double)gemm_fp8_block_count(dim[2]);
    work->bytes_l2 +=
        work->tiles * (double)gemm_fp8_block_count(dim[2]) * 4 * tile->rows / (double)choice.cluster_columns;
}

/* Callbacks of a variant that chooses from a table of tiles: compiled[i] describes the kernel that starts[i] launches.
 */
template <const auto &compiled, const auto &starts, auto prepare> struct gemm_fp8_block_choice {
    static constexpr int tiles = sizeof compiled / sizeof *compiled;

    static int setup(struct ridge_call *call, void **state)
    {
        return prepare(call, compiled, tiles, state);
    }
    static int launch(const struct ridge_call *call)
    {
        const struct gemm_fp8_block_plan *plan = (const struct gemm_fp8_block_plan *)call->state;
        return starts[plan->plan.choice.tile](call, plan);
    }
    static const char *describe(void *state)
    {
        return state ? ((const struct gemm_fp8_block_plan *)state)->plan.text : "";
    }
    static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
    {
        gemm_fp8_block_issue_cluster(compiled, tiles, dim, device, work);
    }
    static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
    {
        return gemm_fp8_plans(compiled, tiles, dim, device, plan, max);
    }
};

#endif
