/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of the kernels of gemm_deferred.cuh: a table of compiled tiles, of which gemm_choice.h takes one. */
#ifndef RIDGE_GEMM_DEFERRED_PLAN_CUH
#define RIDGE_GEMM_DEFERRED_PLAN_CUH

#include "kernels/gemm_bf16/gemm_choice.h"
#include "kernels/gemm_bf16/gemm_deferred.cuh"

/* A compiled tile: the kernel and its maps. */
struct gemm_deferred_tile {
    void (*kernel)(gemm_arguments);
    int group;      /* of rows of B, as tensor_map_encode_grouped takes it; 0: in their order */
    int box, block; /* columns of a box of D; threads */
};

struct gemm_deferred_table {
    const struct gemm_built *built;
    const struct gemm_deferred_tile *tile;
    int count;
};

struct gemm_deferred_plan {
    gemm_arguments arguments;
    struct gemm_deferred_tile tile;
    int clusters, size, shared_bytes;
    char text[96];
};

static inline int gemm_deferred_encode(const struct ridge_call *call, const struct gemm_built *built,
                                       const struct gemm_choice *choice, struct gemm_deferred_plan *plan)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const int box = plan->tile.box, box_b = built->columns / choice->cluster_rows;
    gemm_arguments *arguments = &plan->arguments;
    if (gemm_encode(call, built->rows / choice->cluster_columns, box_b, &arguments->maps))
        return 1;
    if (plan->tile.group > 0) {
        struct tensor_map_matrix b = {RIDGE_BF16, call->buffer[1], n, k, k, box_b, gemm_depth, 128, "b"};
        if (tensor_map_encode_grouped(call, &b, plan->tile.group, &arguments->maps.b))
            return 1;
    }
    struct tensor_map_matrix d = {RIDGE_BF16, call->buffer[2], m, n, n, 16, box, box == 64 ? 128 : 0, "d"};
    arguments->tensor_store = n % 8 == 0;
    return arguments->tensor_store ? tensor_map_encode(call, &d, &arguments->d) : 0;
}

static inline void gemm_deferred_order(const struct ridge_call *call, const struct gemm_built *built,
                                       const struct gemm_choice *choice, struct gemm_deferred_plan *plan)
{
    gemm_arguments *arguments = &plan->arguments;
    const int places = gemm_places(choice, call->device);
    arguments->out = gemm_output_of(call);
    arguments->k = (int)call->dim[2];
    arguments->stages = choice->stages;
    arguments->stagger_ns = choice->stagger_ns;
    arguments->cluster = {choice->cluster_rows, choice->cluster_columns};
    arguments->order.rows = (int)ridge_ceil_div(call->dim[0], built->rows * choice->cluster_rows);
    arguments->order.columns = (int)ridge_ceil_div(call->dim[1], built->columns * choice->cluster_columns);
    arguments->order.band = choice->band < arguments->order.rows ? choice->band : arguments->order.rows;
    plan->size = choice->cluster_rows * choice->cluster_columns;
    plan->clusters = tile_count(arguments->order) < places ? tile_count(arguments->order) : places;
    plan->shared_bytes = choice->stages * (built->stage_bytes + GEMM_BARRIER_BYTES) + built->fix_bytes;
    snprintf(plan->text, sizeof plan->text, "%d x %d tile, cluster %d x %d, %d stages, band %d%s%s", built->rows,
             built->columns, choice->cluster_rows, choice->cluster_columns, choice->stages, arguments->order.band,
             choice->stagger_ns > 0 ? ", in turns" : "", arguments->tensor_store ? "" : ", stored from registers");
}

static inline int gemm_deferred_prepare(struct ridge_call *call, const struct gemm_deferred_table *table,
                                        struct gemm_deferred_plan *plan)
{
    if (gemm_plan_refused(call, table->built, table->count))
        return 1;
    const struct gemm_choice choice = gemm_choose(table->built, table->count, call->dim, call->device);
    const struct gemm_built *built = &table->built[choice.tile];
    plan->tile = table->tile[choice.tile];
    if (gemm_deferred_encode(call, built, &choice, plan))
        return 1;
    gemm_deferred_order(call, built, &choice, plan);
    const void *kernel = (const void *)plan->tile.kernel;
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan->shared_bytes));
    return gemm_limit_clusters(call, kernel, &plan->clusters, plan->size, plan->tile.block, plan->shared_bytes);
}

static inline int gemm_deferred_setup(struct ridge_call *call, const struct gemm_deferred_table *table, void **state)
{
    struct gemm_deferred_plan *plan = (struct gemm_deferred_plan *)gemm_plan_new(call, sizeof *plan);
    if (plan && gemm_deferred_prepare(call, table, plan)) {
        free(plan);
        plan = NULL;
    }
    *state = plan;
    return plan ? 0 : 1;
}

static inline int gemm_deferred_launch(const struct ridge_call *call)
{
    const struct gemm_deferred_plan *plan = (const struct gemm_deferred_plan *)call->state;
    return gemm_launch_clusters(call, plan->tile.kernel, plan->clusters, plan->size, plan->tile.block,
                                plan->shared_bytes, plan->arguments);
}

static inline const char *gemm_deferred_describe(void *state)
{
    return state ? ((const struct gemm_deferred_plan *)state)->text : "";
}

/* Whole tiles are multiplied, and whole stages. */
static inline void gemm_deferred_issued(const struct gemm_deferred_table *table, const int64_t *dim,
                                        const struct ridge_device *device, struct ridge_work *work)
{
    const struct gemm_choice choice = gemm_choose(table->built, table->count, dim, device);
    const struct gemm_built *tile = &table->built[choice.tile];
    const double rows = (double)ridge_ceil_div(dim[0], tile->rows * choice.cluster_rows) * choice.cluster_rows;
    const double columns =
        (double)ridge_ceil_div(dim[1], tile->columns * choice.cluster_columns) * choice.cluster_columns;
    const double blocks = (double)ridge_ceil_div(dim[2], gemm_depth);
    work->tiles = rows * columns;
    work->flop_bf16 = 2 * work->tiles * tile->rows * tile->columns * blocks * gemm_depth;
    work->bytes_l2 = work->tiles * blocks * 128 *
                     ((double)tile->rows / choice.cluster_columns + (double)tile->columns / choice.cluster_rows);
    work->bytes_smem = work->tiles * blocks * 128 * (tile->rows + (double)tile->rows / 64 * tile->columns);
}

#endif
