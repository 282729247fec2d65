/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_cluster.cuh"

/*
 * Few rows of A against many of B: the time is that of reading B. The operands change places, so that the rows of B,
 * which are many, fill the 64 rows of a wgmma and the rows of A are its columns; and k is split over the CTAs of a
 * cluster, so that the chip reads B everywhere at once. The CTAs then add up their sums through distributed shared
 * memory, each for its share of the rows of A.
 */
enum {
    CONSUMER_THREADS = 256,
    THREADS = CONSUMER_THREADS + 32, /* and a producer warp */
    PITCH = 132,                     /* words between the sums of two rows of A: a fragment's stores hit all banks */
    MAX_M = 256,
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
#pragma unroll 1
    for (int i = part.first; i < part.last; i++, ring_next(ring, at)) {
        const uint32_t data = ring.data + at.stage * tile::stage_bytes, full = ring_full(ring, at);
        mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
        mbarrier_arrive_expect(full, tile::stage_bytes);
        tma_load(data, &arguments.maps.a, i * gemm_depth, part.row_b, full);
        gemm_load_slice(data + tile::a_bytes + part.sharer * slice * 128, arguments.maps.b, i * gemm_depth,
                        part.row_a + part.sharer * slice, full, arguments.sharers, part.sharing);
    }
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
    const int share = tile::columns / arguments.splits, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int row = part.split * share + warp; row < (part.split + 1) * share; row += CONSUMER_THREADS / 32) {
        const uint32_t mine = sums + (row * PITCH + lane * 4) * 4;
        float4 sum = {};
        for (int split = 0; split < arguments.splits; split++) {
            const uint4 part_sum = ld_cluster_v4(cluster_map(mine, split + part.sharer * arguments.splits));
            sum.x += __uint_as_float(part_sum.x);
            sum.y += __uint_as_float(part_sum.y);
            sum.z += __uint_as_float(part_sum.z);
            sum.w += __uint_as_float(part_sum.w);
        }
        store_quad(arguments.out, part.row_a + row, part.row_b + lane * 4, sum);
    }
}

template <typename tile>
static __global__ void __launch_bounds__(THREADS, 2)
    gemm_bf16_few_rows(const __grid_constant__ small_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory);
    const ring ring = {data, data + arguments.stages * tile::stage_bytes, arguments.stages};
    const small_part part = small_part_of<tile>(arguments);
    const int warpgroup = gemm_warpgroup();

    if (threadIdx.x == 0)
        ring_init(ring, 4 * tile::consumers * arguments.sharers);
    __syncwarp();
    cluster_sync();
    if (threadIdx.x >= CONSUMER_THREADS) {
        if (threadIdx.x == CONSUMER_THREADS)
            produce<tile>(arguments, ring, part);
        __syncwarp();
        cluster_sync();
    } else {
        float sum[tile::columns / 2];
        ring_place at = {};
        gemm_accumulate<tile>(sum, ring, at, part.last - part.first, warpgroup, (uint32_t)part.sharing);
        named_sync(1, CONSUMER_THREADS); /* the ring has been read: the sums take its place */
#pragma unroll
        for (int i = 0; i < tile::columns / 2; i++)
            ((float *)memory)[wgmma_column(threadIdx.x, i) * PITCH + warpgroup * 64 + wgmma_row(threadIdx.x, i)] =
                sum[i];
        cluster_sync();
        reduce<tile>(arguments, data, part);
    }
    cluster_sync(); /* shared memory lives until the others have read it */
}

struct plan {
    small_arguments arguments;
    const void *kernel;
    int clusters, shared_bytes;
    char text[96];
};

/* As many splits as leave four stages each, up to eight, while two CTAs an SM take them all. */
static void split(const struct ridge_call *call, int width, struct plan *plan)
{
    small_arguments *arguments = &plan->arguments;
    const int64_t tiles_n = ridge_ceil_div(call->dim[1], 128);
    arguments->tiles_m = (int)ridge_ceil_div(call->dim[0], width);
    arguments->blocks = gemm_blocks((int)call->dim[2]);
    arguments->sharers = width == 128 && tiles_n > 1 ? 2 : 1;
    plan->clusters = (int)(ridge_ceil_div(tiles_n, arguments->sharers) * arguments->tiles_m);
    arguments->splits = 1;
    while (arguments->splits * arguments->sharers < 8 && arguments->splits * 2 * 4 <= arguments->blocks &&
           plan->clusters * arguments->sharers * arguments->splits * 2 <= 2 * call->device->sms)
        arguments->splits *= 2;
}

template <int width> static int prepare(const struct ridge_call *call, struct plan *plan)
{
    using tile = gemm_tile<2, width>;
    split(call, width, plan);
    small_arguments *arguments = &plan->arguments;
    const int ctas = plan->clusters * arguments->splits * arguments->sharers;
    arguments->stages = (ctas > call->device->sms ? 98304 : 196608) / tile::stage_bytes;
    arguments->out = gemm_output_of(call);
    plan->shared_bytes = arguments->stages * (tile::stage_bytes + 16);
    plan->kernel = (const void *)gemm_bf16_few_rows<tile>;
    snprintf(plan->text, sizeof plan->text, "128 x %d tile, k in %d, %d tile%s a cluster, %d CTAs, %d stages", width,
             arguments->splits, arguments->sharers, arguments->sharers > 1 ? "s" : "", ctas, arguments->stages);
    RIDGE_CUDA(call,
               cudaFuncSetAttribute(plan->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan->shared_bytes));
    return gemm_encode(call, width / arguments->sharers, tile::rows, &arguments->maps);
}

static int setup(struct ridge_call *call, void **state)
{
    struct plan *plan = (struct plan *)gemm_plan_new(call, sizeof *plan);
    if (plan && (call->dim[0] <= 64 ? prepare<64>(call, plan) : prepare<128>(call, plan))) {
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
    return gemm_launch_clusters(call, (void (*)(small_arguments))plan->kernel, plan->clusters,
                                plan->arguments.splits * plan->arguments.sharers, THREADS, plan->shared_bytes,
                                plan->arguments);
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

/* Rows of A are filled up to the tile's width, and read by every 128 (sharing: 256) rows of B. */
static void issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    const int width = dim[0] <= 64 ? 64 : 128;
    const double tiles_m = (double)ridge_ceil_div(dim[0], width), tiles_n = (double)ridge_ceil_div(dim[1], 128);
    const double depth = (double)gemm_blocks((int)dim[2]) * gemm_depth;
    work->flop_bf16 = 2 * tiles_m * width * tiles_n * 128 * depth;
    work->bytes_l2 = 2 * tiles_m * tiles_n * depth * (128 + 64);
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
