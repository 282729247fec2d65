/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of the grouped kernels: choice, tensor maps, launch, issued work. Nothing here knows the rows of a group
 * that a launch will find: the choice rests on those that the shape names, the grid on the size of the chip. */
#ifndef RIDGE_GEMM_GROUPED_PLAN_CUH
#define RIDGE_GEMM_GROUPED_PLAN_CUH

#include "kernels/gemm_grouped_contiguous/gemm_grouped.h"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_choice.h"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_schedule.cuh"

/* A kernel of the table that a variant chooses from. */
struct gemm_grouped_compiled {
    struct gemm_built built;
    void (*kernel)(gemm_grouped_arguments);
    int threads, box; /* box: columns of a slab's box */
};

template <typename tile, typename layout, bool early> static struct gemm_grouped_compiled gemm_grouped_compile()
{
    const int stage_bytes = tile::stage_bytes + tile::scale_bytes + (int)sizeof(gemm_grouped_job);
    return {{tile::rows, tile::columns, stage_bytes, gemm_grouped_fixed_bytes<tile>},
            gemm_grouped<tile, layout, early>,
            tile::threads,
            gemm_slab<tile>::columns};
}

/* What a variant chooses from, and by what. by_group: A, D and scale_a have memory for m rows of every group. */
struct gemm_grouped_table {
    const struct gemm_grouped_compiled *compiled;
    int count;
    int widest; /* cluster */
    bool by_group;
};

struct gemm_grouped_plan {
    struct gemm_grouped_arguments arguments;
    const struct gemm_grouped_compiled *tile;
    int clusters, size, shared_bytes;
    char text[96];
};

enum { GEMM_GROUPED_MAX_COMPILED = 8 };

/* Tiles and shape as gemm_grouped_choice.h takes them. */
struct gemm_grouped_options {
    struct gemm_built built[GEMM_GROUPED_MAX_COMPILED];
    struct gemm_grouped_extent extent;
};

static inline struct gemm_grouped_options gemm_grouped_options_of(const struct gemm_grouped_table *table,
                                                                  const int64_t *dim)
{
    const int64_t rows = table->by_group ? dim[GROUPED_ROWS] : dim[GROUPED_M] / dim[GROUPED_GROUPS];
    struct gemm_grouped_options options = {{}, {dim[GROUPED_GROUPS], rows, dim[GROUPED_N], dim[GROUPED_K]}};
    for (int i = 0; i < table->count; i++)
        options.built[i] = table->compiled[i].built;
    return options;
}

static inline struct gemm_choice gemm_grouped_choice(const struct gemm_grouped_table *table, const int64_t *dim,
                                                     const struct ridge_device *device)
{
    const struct gemm_grouped_options options = gemm_grouped_options_of(table, dim);
    return gemm_grouped_choose(options.built, table->count, table->widest, &options.extent, device);
}

static inline int gemm_grouped_list(const struct gemm_grouped_table *table, const int64_t *dim,
                                    const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    const struct gemm_grouped_options options = gemm_grouped_options_of(table, dim);
    return gemm_grouped_plans(options.built, table->count, table->widest, &options.extent, device, plan, max);
}

static inline int64_t gemm_grouped_rows_all(const struct gemm_grouped_table *table, const int64_t *dim)
{
    return table->by_group ? dim[GROUPED_GROUPS] * dim[GROUPED_M] : dim[GROUPED_M];
}

static inline const char *gemm_grouped_unsupported(const int64_t *dim, const struct ridge_device *)
{
    if (dim[GROUPED_K] % 16)
        return "k is not a multiple of 16: tensor copies need rows of A and B at multiples of 16 bytes";
    if (dim[GROUPED_GROUPS] * (dim[GROUPED_M] > dim[GROUPED_N] ? dim[GROUPED_M] : dim[GROUPED_N]) > INT32_MAX - 1024)
        return "groups times m or n is above 2^31: coordinates of tensor copies are 32 bits";
    return NULL;
}

static inline int gemm_grouped_encode(const struct ridge_call *call, const struct gemm_grouped_table *table,
                                      const struct gemm_choice *choice, struct gemm_grouped_arguments *arguments)
{
    const int64_t *dim = call->dim, k = dim[GROUPED_K], n = dim[GROUPED_N], m = dim[GROUPED_M];
    const struct gemm_grouped_compiled *tile = &table->compiled[choice->tile];
    const int64_t rows = gemm_grouped_rows_all(table, dim), blocks = gemm_fp8_block_count(k);
    const int slice = tile->built.rows / choice->cluster_columns, group = tile->built.group;
    const int64_t scale_rows = table->by_group ? dim[GROUPED_GROUPS] * blocks : blocks;
    const struct tensor_map_matrix a = {RIDGE_E4M3, call->buffer[GROUPED_A], rows, k,  k,
                                        slice,      gemm_fp8_depth,          128,  "a"};
    const struct tensor_map_matrix b = {RIDGE_E4M3, call->buffer[GROUPED_B], dim[GROUPED_GROUPS] * n, k,
                                        k,          tile->built.columns,     gemm_fp8_depth,          128,
                                        "b"};
    const struct tensor_map_matrix d = {RIDGE_BF16, call->buffer[GROUPED_D],   rows, n, n, 16,
                                        tile->box,  tile->box == 64 ? 128 : 0, "d"};
    const struct tensor_map_matrix scale_a = {
        RIDGE_F32, call->buffer[GROUPED_SCALE_A], scale_rows, m, gemm_fp8_block_pitch_a(m), 1, slice, 0, "scale_a"};
    struct gemm_fp8_arguments *gemm = &arguments->cluster.gemm;
    gemm->tensor_store = n % (group ? group : 8) == 0;
    const int status = group && gemm->tensor_store ? tensor_map_encode_grouped(call, &b, group, &gemm->maps.b)
                                                   : tensor_map_encode(call, &b, &gemm->maps.b);
    return status || tensor_map_encode(call, &a, &gemm->maps.a) ||
           tensor_map_encode(call, &scale_a, &arguments->scale_a) ||
           (gemm->tensor_store && tensor_map_encode(call, &d, &gemm->maps.d));
}

static inline void gemm_grouped_tell(const struct ridge_call *call, const struct gemm_grouped_table *table,
                                     const struct gemm_choice *choice, struct gemm_grouped_arguments *arguments)
{
    const int64_t *dim = call->dim;
    const struct gemm_built *built = &table->compiled[choice->tile].built;
    struct gemm_fp8_arguments *gemm = &arguments->cluster.gemm;
    gemm->out = {(bf16 *)call->buffer[GROUPED_D], gemm_grouped_rows_all(table, dim), dim[GROUPED_N]};
    gemm->blocks = (int)gemm_fp8_block_count(dim[GROUPED_K]);
    gemm->order.rows = (int)ridge_ceil_div(dim[GROUPED_M], built->rows);
    gemm->order.columns = (int)ridge_ceil_div(dim[GROUPED_N], built->columns * choice->cluster_columns);
    gemm->order.band = choice->band < gemm->order.rows ? choice->band : gemm->order.rows;
    arguments->cluster.cluster = {1, choice->cluster_columns};
    arguments->cluster.stages = choice->stages;
    arguments->scale_b = (const float *)call->buffer[GROUPED_SCALE_B];
    arguments->index = (const int32_t *)call->buffer[GROUPED_INDEX];
    arguments->groups = (int)dim[GROUPED_GROUPS];
    arguments->n = (int)dim[GROUPED_N];
    arguments->blocks_n = (int)gemm_fp8_block_count(dim[GROUPED_N]);
    arguments->group_rows = table->by_group ? (int)dim[GROUPED_M] : 0;
    arguments->group_blocks = table->by_group ? gemm->blocks : 0;
}

static inline int gemm_grouped_prepare(struct ridge_call *call, const struct gemm_grouped_table *table,
                                       struct gemm_grouped_plan *plan)
{
    if (gemm_grouped_refused(call, gemm_grouped_options_of(table, call->dim).built, table->count, table->widest) ||
        gemm_grouped_scales_refused(call, table->by_group))
        return 1;
    const struct gemm_choice choice = gemm_grouped_choice(table, call->dim, call->device);
    const struct gemm_grouped_compiled *tile = &table->compiled[choice.tile];
    plan->tile = tile;
    plan->size = choice.cluster_columns;
    plan->clusters = gemm_places(&choice, call->device);
    plan->shared_bytes = choice.stages * (tile->built.stage_bytes + GEMM_BARRIER_BYTES) + tile->built.fix_bytes;
    gemm_grouped_tell(call, table, &choice, &plan->arguments);
    if (gemm_grouped_encode(call, table, &choice, &plan->arguments))
        return 1;
    const struct gemm_fp8_arguments *gemm = &plan->arguments.cluster.gemm;
    snprintf(plan->text, sizeof plan->text, "%d x %d tile, cluster 1 x %d, %d stages, band %d%s", tile->built.rows,
             tile->built.columns, plan->size, choice.stages, gemm->order.band,
             gemm->tensor_store ? "" : ", stored from registers");
    const void *kernel = (const void *)tile->kernel;
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan->shared_bytes));
    return gemm_limit_clusters(call, kernel, &plan->clusters, plan->size, tile->threads, plan->shared_bytes);
}

static inline int gemm_grouped_setup(struct ridge_call *call, const struct gemm_grouped_table *table, void **state)
{
    struct gemm_grouped_plan *plan = (struct gemm_grouped_plan *)gemm_plan_new(call, sizeof *plan);
    if (plan && gemm_grouped_prepare(call, table, plan)) {
        free(plan);
        plan = NULL;
    }
    *state = plan;
    return plan ? 0 : 1;
}

static inline int gemm_grouped_launch(const struct ridge_call *call)
{
    const struct gemm_grouped_plan *plan = (const struct gemm_grouped_plan *)call->state;
    return gemm_launch_clusters(call, plan->tile->kernel, plan->clusters, plan->size, plan->tile->threads,
                                plan->shared_bytes, plan->arguments);
}

static inline const char *gemm_grouped_describe(void *state)
{
    return state ? ((const struct gemm_grouped_plan *)state)->text : "";
}

/* `passes` over tiles of the chosen rows, given by passes(dim, rows), each over all columns: whole tiles and whole
 * blocks of k are multiplied. */
static inline void gemm_grouped_issue(const struct gemm_grouped_table *table, const int64_t *dim,
                                      const struct ridge_device *device,
                                      int64_t (*passes)(const int64_t *dim, int64_t rows), struct ridge_work *work)
{
    const struct gemm_choice choice = gemm_grouped_choice(table, dim, device);
    const struct gemm_built *built = &table->compiled[choice.tile].built;
    const double columns =
        (double)ridge_ceil_div(dim[GROUPED_N], built->columns * choice.cluster_columns) * choice.cluster_columns;
    const double blocks = (double)gemm_fp8_block_count(dim[GROUPED_K]);
    work->tiles = (double)passes(dim, built->rows) * columns;
    work->flop_fp8 = 2 * work->tiles * built->rows * built->columns * blocks * gemm_fp8_depth;
    work->flop_fp32 = 2 * work->tiles * built->rows * built->columns * blocks;
    work->bytes_l2 =
        work->tiles * blocks *
        ((gemm_fp8_depth + 4.0) * built->rows / choice.cluster_columns + (double)gemm_fp8_depth * built->columns);
    work->bytes_smem = work->tiles * blocks * gemm_fp8_depth * (built->rows + built->rows / 64.0 * built->columns);
}

/* The hooks of a variant with these tiles. */
template <const gemm_grouped_table &table, int64_t (*passes)(const int64_t *dim, int64_t rows)>
struct gemm_grouped_hooks {
    static int setup(struct ridge_call *call, void **state)
    {
        return gemm_grouped_setup(call, &table, state);
    }

    static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
    {
        gemm_grouped_issue(&table, dim, device, passes, work);
    }

    static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
    {
        return gemm_grouped_list(&table, dim, device, plan, max);
    }
};

#endif
