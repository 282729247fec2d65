/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FP8 tiles in clusters, as gemm_cluster.cuh of gemm_bf16 has them: a CTA loads its slice of A and of B and multicasts
 * it to the CTAs that need it. Tile, cluster, stages and order come from gemm_choice.h, in which 128 elements of e4m3
 * count as 64 of BF16: a stage has the same bytes and takes the tensor cores the same clocks.
 */
#ifndef RIDGE_GEMM_FP8_CLUSTER_CUH
#define RIDGE_GEMM_FP8_CLUSTER_CUH

#include "kernels/gemm_bf16/gemm_choice.h"
#include "kernels/gemm_fp8_tensor/gemm_fp8_tile.cuh"

struct gemm_fp8_cluster_arguments {
    gemm_fp8_arguments gemm; /* maps of A and B: boxes of a CTA's slice; order: of clusters */
    gemm_cluster cluster;
    int stages;
};

struct gemm_fp8_corner {
    int row, column;
};

/* Corner of this CTA's tile in the cluster at `place`. */
template <typename tile>
static __device__ __forceinline__ gemm_fp8_corner gemm_fp8_corner_of(const gemm_fp8_cluster_arguments &arguments,
                                                                     const tile_place &place, const gemm_part &part)
{
    return {(place.row * arguments.cluster.rows + part.row) * tile::rows,
            (place.column * arguments.cluster.columns + part.column) * tile::columns};
}

static __device__ __forceinline__ void gemm_fp8_load_slice(uint32_t shared, const CUtensorMap &map, int column, int row,
                                                           uint32_t full, int slices, uint16_t ctas)
{
    if (slices == 1)
        tma_load(shared, &map, column, row, full);
    else
        tma_load_multicast(shared, &map, column, row, full, ctas);
}

/* The producer. load_more(stage, i, row, full) loads what else a stage has, `more` bytes; row: the first of this CTA's
 * slice of A. */
template <typename tile, typename function>
static __device__ __forceinline__ void gemm_fp8_produce(const gemm_fp8_cluster_arguments &arguments, const ring &ring,
                                                        const gemm_part &part, int more, const function &load_more)
{
    const gemm_cluster &cluster = arguments.cluster;
    const int slice_a = tile::rows / cluster.columns, slice_b = tile::columns / cluster.rows;
    ring_place at = {};
    for (int index = part.cluster; index < tile_count(arguments.gemm.order); index += part.clusters) {
        const gemm_fp8_corner corner = gemm_fp8_corner_of<tile>(arguments, tile_at(arguments.gemm.order, index), part);
        const int row_a = corner.row + part.column * slice_a, row_b = corner.column + part.row * slice_b;
#pragma unroll 1
        for (int i = 0; i < arguments.gemm.blocks; i++, ring_next(ring, at)) {
            const uint32_t data = ring.data + at.stage * tile::stage_bytes, full = ring_full(ring, at);
            const uint32_t a = data + part.column * slice_a * 128;
            const uint32_t b = data + tile::a_bytes + part.row * slice_b * 128;
            mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
            mbarrier_arrive_expect(full, tile::stage_bytes + more);
            gemm_fp8_load_slice(a, arguments.gemm.maps.a, i * gemm_fp8_depth, row_a, full, cluster.columns,
                                part.a_ctas);
            gemm_fp8_load_slice(b, arguments.gemm.maps.b, i * gemm_fp8_depth, row_b, full, cluster.rows, part.b_ctas);
            load_more(at.stage, i, row_a, full);
        }
    }
}

/* A kernel of the table that a variant chooses from. */
struct gemm_fp8_compiled {
    struct gemm_built built;
    const void *kernel;
    int threads, box; /* box: columns of a slab's box */
};

struct gemm_fp8_cluster_plan {
    struct gemm_fp8_cluster_arguments arguments;
    struct gemm_choice choice;
    int clusters, shared_bytes;
    char text[96];
};

enum { GEMM_FP8_MAX_COMPILED = 8 };

/* Tiles and shape as gemm_choice.h takes them. */
struct gemm_fp8_as_bf16 {
    struct gemm_built built[GEMM_FP8_MAX_COMPILED];
    int64_t dim[RIDGE_MAX_AXES];
};

static inline struct gemm_fp8_as_bf16 gemm_fp8_to_bf16(const struct gemm_fp8_compiled *compiled, int count,
                                                       const int64_t *dim)
{
    struct gemm_fp8_as_bf16 as = {{}, {dim[0], dim[1], (dim[2] + 1) / 2}};
    for (int i = 0; i < count; i++)
        as.built[i] = compiled[i].built;
    return as;
}

static inline struct gemm_choice gemm_fp8_choose(const struct gemm_fp8_compiled *compiled, int count,
                                                 const int64_t *dim, const struct ridge_device *device)
{
    const struct gemm_fp8_as_bf16 as = gemm_fp8_to_bf16(compiled, count, dim);
    return gemm_choose(as.built, count, as.dim, device);
}

static inline int gemm_fp8_plans(const struct gemm_fp8_compiled *compiled, int count, const int64_t *dim,
                                 const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    const struct gemm_fp8_as_bf16 as = gemm_fp8_to_bf16(compiled, count, dim);
    return gemm_plans(as.built, count, as.dim, device, plan, max);
}

static inline int gemm_fp8_encode_cluster(const struct ridge_call *call, const struct gemm_fp8_compiled *tile,
                                          const struct gemm_choice *choice, struct gemm_fp8_arguments *arguments)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const int rows = tile->built.rows / choice->cluster_columns, columns = tile->built.columns / choice->cluster_rows;
    const struct tensor_map_matrix a = {RIDGE_E4M3, call->buffer[0], m, k, k, rows, gemm_fp8_depth, 128, "a"};
    const struct tensor_map_matrix b = {RIDGE_E4M3, call->buffer[1], n, k, k, columns, gemm_fp8_depth, 128, "b"};
    const struct tensor_map_matrix d = {RIDGE_BF16, call->buffer[4],           m,  n, n, 16,
                                        tile->box,  tile->box == 64 ? 128 : 0, "d"};
    arguments->tensor_store = n % 8 == 0;
    if (tensor_map_encode(call, &a, &arguments->maps.a) || tensor_map_encode(call, &b, &arguments->maps.b))
        return 1;
    return arguments->tensor_store ? tensor_map_encode(call, &d, &arguments->maps.d) : 0;
}

/* Everything of a plan but what a family adds to it. */
static inline int gemm_fp8_prepare(struct ridge_call *call, const struct gemm_fp8_compiled *compiled, int count,
                                   struct gemm_fp8_cluster_plan *plan)
{
    if (gemm_plan_refused(call, gemm_fp8_to_bf16(compiled, count, call->dim).built, count))
        return 1;
    plan->choice = gemm_fp8_choose(compiled, count, call->dim, call->device);
    const struct gemm_choice *choice = &plan->choice;
    const struct gemm_fp8_compiled *tile = &compiled[choice->tile];
    const struct gemm_built *built = &tile->built;
    struct gemm_fp8_arguments *gemm = &plan->arguments.gemm;
    const int places = gemm_places(choice, call->device), size = choice->cluster_rows * choice->cluster_columns;
    gemm->out = {(bf16 *)call->buffer[4], call->dim[0], call->dim[1]};
    gemm->blocks = (int)ridge_ceil_div(call->dim[2], gemm_fp8_depth);
    gemm->order.rows = (int)ridge_ceil_div(call->dim[0], built->rows * choice->cluster_rows);
    gemm->order.columns = (int)ridge_ceil_div(call->dim[1], built->columns * choice->cluster_columns);
    gemm->order.band = choice->band < gemm->order.rows ? choice->band : gemm->order.rows;
    plan->arguments.cluster = {choice->cluster_rows, choice->cluster_columns};
    plan->arguments.stages = choice->stages;
    plan->clusters = tile_count(gemm->order) < places ? tile_count(gemm->order) : places;
    plan->shared_bytes = choice->stages * (built->stage_bytes + GEMM_BARRIER_BYTES) + built->fix_bytes;
    if (gemm_fp8_encode_cluster(call, tile, choice, gemm))
        return 1;
    snprintf(plan->text, sizeof plan->text, "%d x %d tile, cluster %d x %d, %d stages, band %d%s", built->rows,
             built->columns, choice->cluster_rows, choice->cluster_columns, choice->stages, gemm->order.band,
             gemm->tensor_store ? "" : ", stored from registers");
    RIDGE_CUDA(call,
               cudaFuncSetAttribute(tile->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan->shared_bytes));
    return gemm_limit_clusters(call, tile->kernel, &plan->clusters, size, tile->threads, plan->shared_bytes);
}

/* Whole tiles and whole blocks of k are multiplied. */
static inline void gemm_fp8_issue_cluster(const struct gemm_fp8_compiled *compiled, int count, const int64_t *dim,
                                          const struct ridge_device *device, struct ridge_work *work)
{
    const struct gemm_choice choice = gemm_fp8_choose(compiled, count, dim, device);
    const struct gemm_built *built = &compiled[choice.tile].built;
    const double rows = (double)ridge_ceil_div(dim[0], built->rows * choice.cluster_rows) * choice.cluster_rows;
    const double columns =
        (double)ridge_ceil_div(dim[1], built->columns * choice.cluster_columns) * choice.cluster_columns;
    const double blocks = (double)ridge_ceil_div(dim[2], gemm_fp8_depth);
    work->tiles = rows * columns;
    work->flop_fp8 = 2 * work->tiles * built->rows * built->columns * blocks * gemm_fp8_depth;
    work->bytes_l2 = work->tiles * blocks * gemm_fp8_depth *
                     ((double)built->rows / choice.cluster_columns + (double)built->columns / choice.cluster_rows);
    work->bytes_smem = work->tiles * blocks * gemm_fp8_depth * (built->rows + built->rows / 64.0 * built->columns);
}

#endif
