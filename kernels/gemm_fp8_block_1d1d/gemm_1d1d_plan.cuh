/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of the kernels of gemm_1d1d_schedule.cuh: a table of compiled tiles, of which gemm_choice.h takes one. */
#ifndef RIDGE_GEMM_1D1D_PLAN_CUH
#define RIDGE_GEMM_1D1D_PLAN_CUH

#include "kernels/gemm_fp8_block_1d1d/gemm_fp8_block_1d1d.h"
#include "kernels/gemm_fp8_block_1d1d/gemm_1d1d_schedule.cuh"

template <typename walk> struct gemm_1d1d_table {
    const struct gemm_fp8_compiled *compiled;
    void (*const *kernel)(gemm_1d1d_arguments<walk>);
    int count;
    bool clusters; /* may be more than one CTA */
};

template <typename walk> struct gemm_1d1d_plan {
    gemm_1d1d_arguments<walk> arguments;
    struct gemm_choice choice;
    void (*kernel)(gemm_1d1d_arguments<walk>);
    int clusters, size, threads, shared_bytes;
    char text[96];
};

/* `matrices` products of m x n with k in all. */
struct gemm_1d1d_shape {
    int64_t matrices, m, n, k;
};

template <typename tile, typename walk> static struct gemm_fp8_compiled gemm_1d1d_compiled(const void *kernel)
{
    return {{tile::rows, tile::columns, tile::stage_bytes + tile::scale_bytes, tile::slabs_bytes + walk::scratch_bytes},
            kernel,
            tile::threads,
            32};
}

/* Tiles and shape as gemm_choice.h takes them: the matrices side by side. */
template <typename walk>
static struct gemm_fp8_as_bf16 gemm_1d1d_as_bf16(const struct gemm_1d1d_table<walk> *table,
                                                 const struct gemm_1d1d_shape *shape)
{
    const int64_t dim[RIDGE_MAX_AXES] = {shape->m, shape->n * shape->matrices,
                                         ridge_ceil_div(shape->k, shape->matrices)};
    return gemm_fp8_to_bf16(table->compiled, table->count, dim);
}

template <typename walk>
static struct gemm_choice gemm_1d1d_choose(const struct gemm_1d1d_table<walk> *table,
                                           const struct gemm_1d1d_shape *shape, const struct ridge_device *device)
{
    const struct gemm_fp8_as_bf16 as = gemm_1d1d_as_bf16(table, shape);
    struct gemm_choice choice = gemm_choose(as.built, table->count, as.dim, device);
    if (!table->clusters)
        choice.cluster_rows = choice.cluster_columns = 1;
    return choice;
}

/* Buffers are a, b, scale_a, scale_b, and d the one at `d`. */
template <typename walk>
static int gemm_1d1d_encode(const struct ridge_call *call, const struct gemm_1d1d_shape *shape, int d,
                            struct gemm_1d1d_plan<walk> *plan, const struct gemm_built *built)
{
    gemm_1d1d_arguments<walk> *to = &plan->arguments;
    const int64_t m = shape->m, n = shape->n, k = shape->k, blocks = gemm_fp8_block_count(k);
    const int rows = built->rows / plan->choice.cluster_columns, columns = built->columns / plan->choice.cluster_rows;
    const struct tensor_map_matrix a = {RIDGE_E4M3, call->buffer[0], m, k, k, rows, gemm_fp8_depth, 128, "a"};
    const struct tensor_map_matrix b = {RIDGE_E4M3, call->buffer[1], n, k, k, columns, gemm_fp8_depth, 128, "b"};
    const struct tensor_map_matrix scale_a = {RIDGE_F32, call->buffer[2], blocks, m, gemm_fp8_block_pitch_a(m), 1, rows,
                                              0,         "scale_a"};
    const struct tensor_map_matrix scale_b = {RIDGE_F32, call->buffer[3], blocks, n,        gemm_fp8_block_pitch_a(n),
                                              1,         columns,         0,      "scale_b"};
    const struct tensor_map_matrix out = {RIDGE_F32, call->buffer[d], m, n, n, 16, 32, 128, "d"};
    to->out = {(float *)call->buffer[d], m, n, n % 4 == 0};
    if (tensor_map_encode(call, &a, &to->a) || tensor_map_encode(call, &b, &to->b) ||
        tensor_map_encode(call, &scale_a, &to->scale_a) || tensor_map_encode(call, &scale_b, &to->scale_b))
        return 1;
    return to->out.tensor_store ? tensor_map_encode_stack(call, &out, shape->matrices, &to->d) : 0;
}

/* Everything but arguments.tiles; *order is of the clusters of one matrix. */
template <typename walk>
static int gemm_1d1d_prepare(struct ridge_call *call, const struct gemm_1d1d_table<walk> *table,
                             const struct gemm_1d1d_shape *shape, int d, struct gemm_1d1d_plan<walk> *plan,
                             struct tile_order *order)
{
    if (gemm_plan_refused(call, gemm_1d1d_as_bf16(table, shape).built, table->count) ||
        gemm_1d1d_scales_refused(call, shape->m, shape->n, shape->k))
        return 1;
    plan->choice = gemm_1d1d_choose(table, shape, call->device);
    const struct gemm_choice *choice = &plan->choice;
    const struct gemm_fp8_compiled *compiled = &table->compiled[choice->tile];
    const struct gemm_built *built = &compiled->built;
    order->rows = (int)ridge_ceil_div(shape->m, built->rows * choice->cluster_rows);
    order->columns = (int)ridge_ceil_div(shape->n, built->columns * choice->cluster_columns);
    order->band = choice->band < order->rows ? choice->band : order->rows;
    const int64_t tiles = shape->matrices * tile_count(*order);
    const int places = gemm_places(choice, call->device);
    plan->arguments.cluster = {choice->cluster_rows, choice->cluster_columns};
    plan->arguments.stages = choice->stages;
    plan->kernel = table->kernel[choice->tile];
    plan->threads = compiled->threads;
    plan->size = choice->cluster_rows * choice->cluster_columns;
    plan->clusters = tiles < places ? (int)tiles : places;
    plan->shared_bytes = choice->stages * (built->stage_bytes + GEMM_BARRIER_BYTES) + built->fix_bytes;
    if (gemm_1d1d_encode(call, shape, d, plan, built))
        return 1;
    snprintf(plan->text, sizeof plan->text, "%d x %d tile, cluster %d x %d, %d stages, band %d%s", built->rows,
             built->columns, choice->cluster_rows, choice->cluster_columns, choice->stages, order->band,
             plan->arguments.out.tensor_store ? "" : ", added from registers");
    RIDGE_CUDA(call, cudaFuncSetAttribute((const void *)plan->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          plan->shared_bytes));
    return gemm_limit_clusters(call, (const void *)plan->kernel, &plan->clusters, plan->size, plan->threads,
                               plan->shared_bytes);
}

template <typename walk>
static int gemm_1d1d_start(const struct ridge_call *call, const struct gemm_1d1d_plan<walk> *plan,
                           const gemm_1d1d_arguments<walk> &arguments)
{
    return gemm_launch_clusters(call, plan->kernel, plan->clusters, plan->size, plan->threads, plan->shared_bytes,
                                arguments);
}

template <typename walk> static const char *gemm_1d1d_describe(void *state)
{
    return state ? ((const struct gemm_1d1d_plan<walk> *)state)->text : "";
}

/* Whole tiles are multiplied, over `blocks` blocks of 128 of k each on average. A multiply counts as a multiply-add,
 * whose place it takes. */
template <typename walk>
static void gemm_1d1d_issued(const struct gemm_1d1d_table<walk> *table, const struct gemm_1d1d_shape *shape,
                             const struct ridge_device *device, struct ridge_work *work)
{
    const struct gemm_choice choice = gemm_1d1d_choose(table, shape, device);
    const struct gemm_built *built = &table->compiled[choice.tile].built;
    const double rows = (double)ridge_ceil_div(shape->m, built->rows * choice.cluster_rows) * choice.cluster_rows;
    const double columns =
        (double)ridge_ceil_div(shape->n, built->columns * choice.cluster_columns) * choice.cluster_columns;
    const double blocks = (double)gemm_fp8_block_count(shape->k), elements = built->rows * built->columns;
    work->tiles = rows * columns * (double)shape->matrices;
    work->flop_fp8 = 2 * rows * columns * elements * blocks * gemm_fp8_depth;
    work->flop_fp32 = 4 * rows * columns * elements * blocks;
    work->bytes_l2 = rows * columns * blocks * (gemm_fp8_depth + 4) *
                     ((double)built->rows / choice.cluster_columns + (double)built->columns / choice.cluster_rows);
    work->bytes_smem = rows * columns * blocks * gemm_fp8_depth * (built->rows + built->rows / 64.0 * built->columns);
}

template <typename walk>
static int gemm_1d1d_plans(const struct gemm_1d1d_table<walk> *table, const struct gemm_1d1d_shape *shape,
                           const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    const struct gemm_fp8_as_bf16 as = gemm_1d1d_as_bf16(table, shape);
    return gemm_plans(as.built, table->count, as.dim, device, plan, max);
}

/* setup, launch and issued of the variants of one product. */
static inline int gemm_1d1d_setup(struct ridge_call *call, const struct gemm_1d1d_table<gemm_1d1d_dense> *table,
                                  void **state)
{
    using plan_type = struct gemm_1d1d_plan<gemm_1d1d_dense>;
    const struct gemm_1d1d_shape shape = {1, call->dim[0], call->dim[1], call->dim[2]};
    plan_type *plan = (plan_type *)gemm_plan_new(call, sizeof *plan);
    if (plan && gemm_1d1d_prepare(call, table, &shape, 4, plan, &plan->arguments.tiles.order)) {
        free(plan);
        plan = NULL;
    }
    if (plan)
        plan->arguments.tiles.blocks = (int)gemm_fp8_block_count(shape.k);
    *state = plan;
    return plan ? 0 : 1;
}

static inline int gemm_1d1d_launch(const struct ridge_call *call)
{
    const struct gemm_1d1d_plan<gemm_1d1d_dense> *plan = (const struct gemm_1d1d_plan<gemm_1d1d_dense> *)call->state;
    return gemm_1d1d_start(call, plan, plan->arguments);
}

static inline void gemm_1d1d_issue(const struct gemm_1d1d_table<gemm_1d1d_dense> *table, const int64_t *dim,
                                   const struct ridge_device *device, struct ridge_work *work)
{
    const struct gemm_1d1d_shape shape = {1, dim[0], dim[1], dim[2]};
    gemm_1d1d_issued(table, &shape, device, work);
}

#endif
