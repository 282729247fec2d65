/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_cluster.cuh"

/*
 * Few rows of A against many of B: the time is that of reading B. The operands change places, so that the rows of B,
 * which are many, fill the 64 rows of a wgmma and the rows of A are its columns; and k is split over the CTAs of a
 * cluster, so that the chip reads B everywhere at once. The CTAs then add up their sums through distributed shared
 * memory, each for its share of the rows of A.
 */
enum { MAX_M = 256 };

template <typename tile> struct few_rows {
    static constexpr int consumers = 128 * tile::consumers, threads = consumers + 32; /* and a producer warp */
    /* Words between the sums of two rows of A: a fragment's stores hit all banks. */
    static constexpr int pitch = tile::rows + 4;
};

struct small_arguments {
    gemm_maps maps; /* a: B in boxes of 128 rows; b: A in boxes of width / sharers */
    gemm_output out;
    int blocks, stages;
    int splits, sharers; /* a cluster: `splits` parts of k of `sharers` tiles, which share the tile of A */
    int tiles_m;
};

struct small_part {
    int split, sharer, first, last; /* stages [first, last) of k */
    int turn;                       /* the stage to begin with: CTAs in step would all read the same lines of A */
    int row_b, row_a;               /* the tile's corner */
    uint16_t sharing;               /* CTAs that need my slice of A */
};

template <typename tile> static __device__ __forceinline__ small_part small_part_of(const small_arguments &arguments)
{
    const int rank = (int)cluster_rank(), cluster = (int)blockIdx.x / (arguments.splits * arguments.sharers);
    small_part part = {};
    part.split = rank % arguments.splits;
    part.sharer = rank / arguments.splits;
    part.first = arguments.blocks * part.split / arguments.splits;
    part.last = arguments.blocks * (part.split + 1) / arguments.splits;
    part.turn = cluster * 5 % (part.last - part.first);
    part.row_b = (cluster / arguments.tiles_m * arguments.sharers + part.sharer) * tile::rows;
    part.row_a = cluster % arguments.tiles_m * tile::columns;
    part.sharing = (uint16_t)(1 << part.split);
    if (arguments.sharers == 2)
        part.sharing |= (uint16_t)(1 << (part.split + arguments.splits));
    return part;
}

template <typename tile>
static __device__ __forceinline__ void produce(const small_arguments &arguments, const ring &ring,
                                               const small_part &part)
{
    const int slice = tile::columns / arguments.sharers;
    ring_place at = {};
    int i = part.first + part.turn;
#pragma unroll 1
    for (int left = part.last - part.first; left > 0; left--, ring_next(ring, at)) {
        const uint32_t data = ring.data + at.stage * tile::stage_bytes, full = ring_full(ring, at);
        mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
        mbarrier_arrive_expect(full, tile::stage_bytes);
        tma_load(data, &arguments.maps.a, i * gemm_depth, part.row_b, full);
        gemm_load_slice(data + tile::a_bytes + part.sharer * slice * 128, arguments.maps.b, i,
                        part.row_a + part.sharer * slice, full, arguments.sharers, part.sharing);
        i = i + 1 < part.last ? i + 1 : part.first;
    }
    ring_drain(ring, at);
}

/* Four neighbours in a row of D. */
static __device__ __forceinline__ void store_quad(const gemm_output &out, int64_t row, int64_t column, float4 sum)
{
    if (row >= out.m || column >= out.n)
        return;
    if (out.n % 4 == 0) {
        *(uint2 *)(out.d + row * out.n + column) =
            make_uint2(cvt_bf16x2_f32(sum.x, sum.y), cvt_bf16x2_f32(sum.z, sum.w));
    } else {
        gemm_store_pair<false>(out, row, column, sum.x, sum.y);
        gemm_store_pair<false>(out, row, column + 2, sum.z, sum.w);
    }
}

/* The share of this CTA: every split's sums of some rows of A, in the order of the splits. */
template <typename tile>
static __device__ __forceinline__ void reduce(const small_arguments &arguments, uint32_t sums, const small_part &part)
{
    constexpr int quads = tile::rows / 4; /* threads a row of A */
    const int share = tile::columns / arguments.splits, column = threadIdx.x % quads * 4;
    for (int row = part.split * share + threadIdx.x / quads; row < (part.split + 1) * share;
         row += few_rows<tile>::consumers / quads) {
        const uint32_t mine = sums + (row * few_rows<tile>::pitch + column) * 4;
        float4 sum = {};
        for (int split = 0; split < arguments.splits; split++) {
            const uint4 part_sum = ld_cluster_v4(cluster_map(mine, split + part.sharer * arguments.splits));
            sum.x += __uint_as_float(part_sum.x);
            sum.y += __uint_as_float(part_sum.y);
            sum.z += __uint_as_float(part_sum.z);
            sum.w += __uint_as_float(part_sum.w);
        }
        store_quad(arguments.out, part.row_a + row, part.row_b + column, sum);
    }
}

template <typename tile>
static __global__ void __launch_bounds__(few_rows<tile>::threads, 2)
    gemm_bf16_few_rows(const __grid_constant__ small_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory);
    const ring ring = {data, data + arguments.stages * tile::stage_bytes, arguments.stages};
    const small_part part = small_part_of<tile>(arguments);
    const int warpgroup = gemm_warpgroup();

    if (threadIdx.x == few_rows<tile>::consumers) {
        tma_prefetch_map(&arguments.maps.a);
        tma_prefetch_map(&arguments.maps.b);
    }
    if (threadIdx.x == 0)
        ring_init(ring, 4 * tile::consumers * arguments.sharers);
    __syncwarp();
    cluster_sync_relaxed();
    if (threadIdx.x >= few_rows<tile>::consumers) {
        if (threadIdx.x == few_rows<tile>::consumers)
            produce<tile>(arguments, ring, part);
        __syncwarp();
        if (arguments.splits > 1)
            cluster_sync();
    } else {
        float sum[tile::columns / 2];
        ring_place at = {};
        gemm_accumulate<tile>(sum, ring, at, part.last - part.first, warpgroup, (uint32_t)part.sharing);
        named_sync(1, few_rows<tile>::consumers); /* the ring has been read: the sums take its place */
#pragma unroll
        for (int i = 0; i < tile::columns / 2; i++)
            ((float *)memory)[wgmma_column(threadIdx.x, i) * few_rows<tile>::pitch + warpgroup * 64 +
                              wgmma_row(threadIdx.x, i)] = sum[i];
        if (arguments.splits > 1)
            cluster_sync();
        else
            named_sync(1, few_rows<tile>::consumers);
        reduce<tile>(arguments, data, part);
        __syncwarp();
    }
    if (arguments.splits > 1)
        cluster_sync_relaxed(); /* shared memory lives until the others have read it */
}

struct few_rows_tile {
    const void *kernel;
    int rows, width, stage_bytes, threads;
};

#define TILE(w, n)                                                                                                     \
    {(const void *)gemm_bf16_few_rows<gemm_tile<w, n>>, gemm_tile<w, n>::rows, n, gemm_tile<w, n>::stage_bytes,        \
     few_rows<gemm_tile<w, n>>::threads},
static const struct few_rows_tile tiles[] = {TILE(2, 64) TILE(1, 64) TILE(2, 128) TILE(1, 128)};

struct plan {
    small_arguments arguments;
    struct few_rows_tile tile;
    int clusters, size, shared_bytes;
    double time_us; /* the estimate */
    char text[96];
};

static void lay_out(const struct ridge_call *call, struct plan *plan)
{
    small_arguments *arguments = &plan->arguments;
    const struct few_rows_tile *tile = &plan->tile;
    const int64_t tiles_n = ridge_ceil_div(call->dim[1], tile->rows);
    arguments->tiles_m = (int)ridge_ceil_div(call->dim[0], tile->width);
    arguments->blocks = gemm_blocks((int)call->dim[2]);
    arguments->out = gemm_output_of(call);
    plan->size = arguments->splits * arguments->sharers;
    plan->clusters = (int)(ridge_ceil_div(tiles_n, arguments->sharers) * arguments->tiles_m);
    arguments->stages = (plan->clusters * plan->size > call->device->sms ? 98304 : 196608) / tile->stage_bytes;
    plan->shared_bytes = arguments->stages * (tile->stage_bytes + 16);
}

/* HBM gives about 4 TB/s beside the write-backs of a cold L2, L2 5.5 TB/s, of which an SM takes at most 70 GB/s;
 * meeting in a cluster costs 1.5 us. Clusters that do not fit the chip at one time wait for the others to end. */
static int estimate(const struct ridge_call *call, struct plan *plan)
{
    const small_arguments *arguments = &plan->arguments;
    const struct few_rows_tile *tile = &plan->tile;
    const int ctas = plan->clusters * plan->size, sms = call->device->sms > 0 ? call->device->sms : 1;
    int resident = plan->clusters;
    RIDGE_CUDA(call, cudaFuncSetAttribute(tile->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)call->device->smem_optin_bytes)); /* what any plan may take */
    if (plan->size > 1 &&
        gemm_limit_clusters(call, tile->kernel, &resident, plan->size, tile->threads, plan->shared_bytes))
        return 1;
    const double depth_bytes = 2.0 * arguments->blocks * gemm_depth / arguments->splits;
    const double hbm_us = 2.0 * (double)(call->dim[0] + call->dim[1]) * (double)call->dim[2] / 4.0e6;
    const double sm_us = (double)ridge_ceil_div(ctas, sms) * (tile->rows + tile->width) * depth_bytes / 70e3;
    const double l2_us = (double)ctas * (tile->rows + (double)tile->width / arguments->sharers) * depth_bytes / 5.5e6;
    plan->time_us = hbm_us > sm_us ? hbm_us : sm_us;
    plan->time_us = plan->time_us > l2_us ? plan->time_us : l2_us;
    plan->time_us = plan->time_us * (double)ridge_ceil_div(plan->clusters, resident) + 0.02 * l2_us +
                    (arguments->splits > 1 ? 1.5 : 0) + 0.1 * plan->size;
    return 0;
}

/* RIDGE_GEMM_FEW_ROWS_PLAN=ROWSxWIDTH:SPLITSxSHARERS leaves the choice to its reader, for measuring the heuristic. */
static bool wanted(const struct plan *plan)
{
    const char *text = getenv("RIDGE_GEMM_FEW_ROWS_PLAN");
    int rows, width, splits, sharers;
    if (!text || sscanf(text, "%dx%d:%dx%d", &rows, &width, &splits, &sharers) != 4)
        return true;
    return plan->tile.rows == rows && plan->tile.width == width && plan->arguments.splits == splits &&
           plan->arguments.sharers == sharers;
}

static int choose(const struct ridge_call *call, struct plan *best)
{
    const int width = call->dim[0] <= 64 ? 64 : 128, blocks = gemm_blocks((int)call->dim[2]);
    best->clusters = 0;
    for (const struct few_rows_tile &tile : tiles)
        for (int splits = 1; splits <= 8 && (splits == 1 || splits * 2 <= blocks); splits *= 2)
            for (int sharers = 1; sharers <= 2 && splits * sharers <= 8; sharers++) {
                struct plan plan = {};
                plan.tile = tile;
                plan.arguments.splits = splits;
                plan.arguments.sharers = sharers;
                if (tile.width != width || !wanted(&plan))
                    continue;
                lay_out(call, &plan);
                if (estimate(call, &plan))
                    return 1;
                if (best->clusters == 0 || plan.time_us < best->time_us)
                    *best = plan;
            }
    if (best->clusters > 0)
        return 0;
    snprintf(call->error, call->error_bytes, "RIDGE_GEMM_FEW_ROWS_PLAN names no tile for m %lld and k %lld",
             (long long)call->dim[0], (long long)call->dim[2]);
    return 1;
}

static int prepare(const struct ridge_call *call, struct plan *plan)
{
    if (choose(call, plan))
        return 1;
    const small_arguments *arguments = &plan->arguments;
    snprintf(plan->text, sizeof plan->text, "%d x %d tile, k in %d, %d tile%s a cluster, %d CTAs, %d stages",
             plan->tile.rows, plan->tile.width, arguments->splits, arguments->sharers,
             arguments->sharers > 1 ? "s" : "", plan->clusters * plan->size, arguments->stages);
    return gemm_encode(call, plan->tile.width / arguments->sharers, plan->tile.rows, &plan->arguments.maps);
}

static int setup(struct ridge_call *call, void **state)
{
    struct plan *plan = (struct plan *)gemm_plan_new(call, sizeof *plan);
    if (plan && prepare(call, plan)) {
        free(plan);
        plan = NULL;
    }
    if (plan) { /* the operands change places */
        const CUtensorMap a = plan->arguments.maps.a;
        plan->arguments.maps.a = plan->arguments.maps.b;
        plan->arguments.maps.b = a;
    }
    *state = plan;
    return plan ? 0 : 1;
}

static int launch(const struct ridge_call *call)
{
    const struct plan *plan = (const struct plan *)call->state;
    return gemm_launch_clusters(call, (void (*)(small_arguments))plan->tile.kernel, plan->clusters, plan->size,
                                plan->tile.threads, plan->shared_bytes, plan->arguments);
}

static const char *describe(void *state)
{
    return state ? ((const struct plan *)state)->text : "";
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return dim[0] > MAX_M ? "m > 256: a tile would be read once for every 128 rows of A"
                          : gemm_unsupported(dim, device);
}

/* Whole tiles are multiplied, and whole stages. */
static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    char error[256];
    struct ridge_call call = {};
    struct plan plan = {};
    call.dim = dim;
    call.device = device;
    call.error = error;
    call.error_bytes = sizeof error;
    if (choose(&call, &plan)) {
        cudaGetLastError();
        return;
    }
    const double count = (double)plan.clusters * plan.arguments.sharers;
    const double depth = (double)plan.arguments.blocks * gemm_depth;
    work->flop_bf16 = 2 * count * plan.tile.width * plan.tile.rows * depth;
    work->bytes_l2 = 2 * count * depth * (plan.tile.rows + (double)plan.tile.width / plan.arguments.sharers);
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_08_few_rows = {
    .idea = "for few rows of A: operands swapped, k split over a cluster, sums met in distributed shared memory",
    .source = "PTX ISA 9.0, 9.7.9.8 (ld.shared::cluster)",
    .changes = "rows of B fill the tiles, and all SMs read B however few tiles there are",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = describe,
    .launch = launch,
    .kernel = (const void *)gemm_bf16_few_rows<gemm_tile<2, 64>>,
};
