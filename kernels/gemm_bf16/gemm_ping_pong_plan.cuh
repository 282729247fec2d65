/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of the kernels of gemm_ping_pong.cuh: a table of compiled tiles, of which gemm_choice.h takes one. */
#ifndef RIDGE_GEMM_PING_PONG_PLAN_CUH
#define RIDGE_GEMM_PING_PONG_PLAN_CUH

#include "kernels/gemm_bf16/gemm_choice.h"
#include "kernels/gemm_bf16/gemm_ping_pong.cuh"

struct gemm_turn_compiled {
    struct gemm_built built;
    void (*kernel)(gemm_turn_arguments);
    int box_rows, box_columns; /* of D */
};

struct gemm_turn_table {
    enum ridge_dtype dtype;
    int depth; /* elements of k in a stage */
    const struct gemm_turn_compiled *compiled;
    int count; /* at most GEMM_TURN_MAX_COMPILED */
};

enum { GEMM_TURN_MAX_COMPILED = 8, GEMM_TURN_THREADS = 384 };

struct gemm_turn_plan {
    gemm_turn_arguments arguments;
    void (*kernel)(gemm_turn_arguments);
    int clusters, size, shared_bytes;
    char text[96];
};

template <typename format, typename tile> static constexpr gemm_turn_compiled gemm_turn_compiled_of()
{
    return {{tile::rows, tile::columns, tile::stage_bytes, 4 * gemm_turn_box<tile>::slab_bytes, 0, GEMM_END_TURNS},
            gemm_ping_pong<format, tile>,
            gemm_turn_box<tile>::rows,
            gemm_turn_box<tile>::columns};
}

/* Tiles and shape as gemm_choice.h takes them, which counts k in elements of BF16: a stage has the same bytes and takes
 * the same clocks in both formats. */
struct gemm_turn_as_bf16 {
    struct gemm_built built[GEMM_TURN_MAX_COMPILED];
    int64_t dim[RIDGE_MAX_AXES];
};

static inline struct gemm_turn_as_bf16 gemm_turn_to_bf16(const struct gemm_turn_table *table, const int64_t *dim)
{
    struct gemm_turn_as_bf16 as = {{}, {dim[0], dim[1], ridge_ceil_div(dim[2] * gemm_depth, table->depth)}};
    for (int i = 0; i < table->count; i++)
        as.built[i] = table->compiled[i].built;
    return as;
}

static inline struct gemm_choice gemm_turn_choose(const struct gemm_turn_table *table, const int64_t *dim,
                                                  const struct ridge_device *device)
{
    const struct gemm_turn_as_bf16 as = gemm_turn_to_bf16(table, dim);
    return gemm_choose(as.built, table->count, as.dim, device);
}

static inline int gemm_turn_plans(const struct gemm_turn_table *table, const int64_t *dim,
                                  const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    const struct gemm_turn_as_bf16 as = gemm_turn_to_bf16(table, dim);
    return gemm_plans(as.built, table->count, as.dim, device, plan, max);
}

static inline int gemm_turn_encode(const struct ridge_call *call, const struct gemm_turn_table *table,
                                   const struct gemm_choice *choice, void *d, gemm_turn_arguments *arguments)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const struct gemm_turn_compiled *tile = &table->compiled[choice->tile];
    const struct tensor_map_matrix a = {
        table->dtype, call->buffer[0], m, k, k, tile->built.rows / choice->cluster_columns, table->depth, 128, "a"};
    const struct tensor_map_matrix b = {
        table->dtype, call->buffer[1], n, k, k, tile->built.columns / choice->cluster_rows, table->depth, 128, "b"};
    const int swizzle = tile->box_columns == 64 ? 128 : 0;
    const struct tensor_map_matrix result = {RIDGE_BF16, d, m, n, n, tile->box_rows, tile->box_columns, swizzle, "d"};
    arguments->out = {(bf16 *)d, m, n};
    arguments->tensor_store = n % 8 == 0;
    if (tensor_map_encode(call, &a, &arguments->maps.a) || tensor_map_encode(call, &b, &arguments->maps.b))
        return 1;
    return arguments->tensor_store ? tensor_map_encode(call, &result, &arguments->d) : 0;
}

/* Everything of a plan but the scales. */
static inline int gemm_turn_prepare(struct ridge_call *call, const struct gemm_turn_table *table, void *d,
                                    struct gemm_turn_plan *plan)
{
    if (gemm_plan_refused(call, gemm_turn_to_bf16(table, call->dim).built, table->count))
        return 1;
    const struct gemm_choice choice = gemm_turn_choose(table, call->dim, call->device);
    const struct gemm_turn_compiled *tile = &table->compiled[choice.tile];
    const struct gemm_built *built = &tile->built;
    const int places = gemm_places(&choice, call->device);
    gemm_turn_arguments *arguments = &plan->arguments;
    tile_order *order = &arguments->order;
    arguments->blocks = (int)ridge_ceil_div(call->dim[2], table->depth);
    arguments->stages = choice.stages;
    arguments->cluster = {choice.cluster_rows, choice.cluster_columns};
    order->rows = (int)ridge_ceil_div(call->dim[0], built->rows * choice.cluster_rows);
    order->columns = (int)ridge_ceil_div(call->dim[1], built->columns * choice.cluster_columns);
    order->band = choice.band < order->rows ? choice.band : order->rows;
    plan->kernel = tile->kernel;
    plan->size = choice.cluster_rows * choice.cluster_columns;
    plan->clusters = tile_count(*order) < places ? tile_count(*order) : places;
    plan->shared_bytes = choice.stages * (built->stage_bytes + GEMM_BARRIER_BYTES) + built->fix_bytes;
    if (gemm_turn_encode(call, table, &choice, d, arguments))
        return 1;
    snprintf(plan->text, sizeof plan->text, "%d x %d tile, cluster %d x %d, %d stages, band %d%s", built->rows,
             built->columns, choice.cluster_rows, choice.cluster_columns, choice.stages, order->band,
             arguments->tensor_store ? "" : ", stored from registers");
    const void *kernel = (const void *)plan->kernel;
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan->shared_bytes));
    return gemm_limit_clusters(call, kernel, &plan->clusters, plan->size, GEMM_TURN_THREADS, plan->shared_bytes);
}

/* `d`, scale_a, scale_b: the family's buffers; the scales may be NULL for BF16. */
static inline int gemm_turn_setup(struct ridge_call *call, const struct gemm_turn_table *table, void *d,
                                  const void *scale_a, const void *scale_b, void **state)
{
    struct gemm_turn_plan *plan = (struct gemm_turn_plan *)gemm_plan_new(call, sizeof *plan);
    if (plan && gemm_turn_prepare(call, table, d, plan)) {
        free(plan);
        plan = NULL;
    }
    if (plan) {
        plan->arguments.scale_a = (const float *)scale_a;
        plan->arguments.scale_b = (const float *)scale_b;
    }
    *state = plan;
    return plan ? 0 : 1;
}

static inline int gemm_turn_launch(const struct ridge_call *call)
{
    const struct gemm_turn_plan *plan = (const struct gemm_turn_plan *)call->state;
    return gemm_launch_clusters(call, plan->kernel, plan->clusters, plan->size, GEMM_TURN_THREADS, plan->shared_bytes,
                                plan->arguments);
}

static inline const char *gemm_turn_describe(void *state)
{
    return state ? ((const struct gemm_turn_plan *)state)->text : "";
}

/* Whole tiles are multiplied, and whole stages. */
static inline void gemm_turn_issued(const struct gemm_turn_table *table, const int64_t *dim,
                                    const struct ridge_device *device, struct ridge_work *work)
{
    const struct gemm_choice choice = gemm_turn_choose(table, dim, device);
    const struct gemm_built *tile = &table->compiled[choice.tile].built;
    const double rows = (double)ridge_ceil_div(dim[0], tile->rows * choice.cluster_rows) * choice.cluster_rows;
    const double columns =
        (double)ridge_ceil_div(dim[1], tile->columns * choice.cluster_columns) * choice.cluster_columns;
    const double blocks = (double)ridge_ceil_div(dim[2], table->depth);
    work->tiles = rows * columns;
    *(table->dtype == RIDGE_BF16 ? &work->flop_bf16 : &work->flop_fp8) =
        2 * work->tiles * tile->rows * tile->columns * blocks * table->depth;
    work->bytes_l2 = work->tiles * blocks * 128 *
                     ((double)tile->rows / choice.cluster_columns + (double)tile->columns / choice.cluster_rows);
    work->bytes_smem = work->tiles * blocks * 128 * (tile->rows + (double)tile->rows / 64 * tile->columns);
}

#endif
