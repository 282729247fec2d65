/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_choice.h"
#include "kernels/gemm_bf16/gemm_schedule.cuh"

struct plan {
    gemm_arguments arguments;
    struct gemm_choice choice;
    int clusters, shared_bytes;
    char text[96];
};

template <typename tile> static constexpr gemm_built built_of()
{
    return {tile::rows, tile::columns, tile::stage_bytes, gemm_slab<tile>::bytes_all};
}

template <typename tile> static int start(const struct ridge_call *call, const struct plan *plan)
{
    const int size = plan->choice.cluster_rows * plan->choice.cluster_columns;
    return gemm_launch_clusters(call, gemm_schedule<tile>, plan->clusters, size, tile::threads, plan->shared_bytes,
                                plan->arguments);
}

#define TILES(X) X(2, 256)

#define BUILT(w, n) built_of<gemm_tile<w, n>>(),
#define KERNEL(w, n) (const void *)gemm_schedule<gemm_tile<w, n>>,
#define START(w, n) start<gemm_tile<w, n>>,
#define BOX(w, n) gemm_slab<gemm_tile<w, n>>::columns,
static const struct gemm_built built[] = {TILES(BUILT)};
static const void *const kernels[] = {TILES(KERNEL)};
static int (*const starts[])(const struct ridge_call *, const struct plan *) = {TILES(START)};
static const int boxes[] = {TILES(BOX)};
static const int tiles = sizeof built / sizeof *built;

static int encode_output(const struct ridge_call *call, struct plan *plan)
{
    const int64_t m = call->dim[0], n = call->dim[1];
    const int box = boxes[plan->choice.tile];
    struct tensor_map_matrix matrix = {RIDGE_BF16, call->buffer[2], m, n, n, 16, box, box == 64 ? 128 : 0, "d"};
    plan->arguments.tensor_store = n % 8 == 0;
    return plan->arguments.tensor_store ? tensor_map_encode(call, &matrix, &plan->arguments.d) : 0;
}

static void order_tiles(const struct ridge_call *call, struct plan *plan)
{
    const struct gemm_choice *choice = &plan->choice;
    const struct gemm_built *tile = &built[choice->tile];
    gemm_arguments *arguments = &plan->arguments;
    const int places = gemm_places(choice, call->device);
    arguments->out = gemm_output_of(call);
    arguments->k = (int)call->dim[2];
    arguments->stages = choice->stages;
    arguments->stagger_ns = choice->stagger_ns;
    arguments->cluster = {choice->cluster_rows, choice->cluster_columns};
    arguments->order.rows = (int)ridge_ceil_div(call->dim[0], tile->rows * choice->cluster_rows);
    arguments->order.columns = (int)ridge_ceil_div(call->dim[1], tile->columns * choice->cluster_columns);
    arguments->order.band = choice->band < arguments->order.rows ? choice->band : arguments->order.rows;
    plan->clusters = tile_count(arguments->order) < places ? tile_count(arguments->order) : places;
    plan->shared_bytes = choice->stages * (tile->stage_bytes + GEMM_BARRIER_BYTES) + tile->fix_bytes;
    snprintf(plan->text, sizeof plan->text, "%d x %d tile, cluster %d x %d, %d stages, band %d%s", tile->rows,
             tile->columns, choice->cluster_rows, choice->cluster_columns, choice->stages, arguments->order.band,
             arguments->tensor_store ? "" : ", stored from registers");
}

static int prepare(struct ridge_call *call, struct plan *plan)
{
    if (gemm_plan_refused(call, built, tiles))
        return 1;
    plan->choice = gemm_choose(built, tiles, call->dim, call->device);
    const struct gemm_choice *choice = &plan->choice;
    const struct gemm_built *tile = &built[choice->tile];
    const void *kernel = kernels[choice->tile];
    if (gemm_encode(call, tile->rows / choice->cluster_columns, tile->columns / choice->cluster_rows,
                    &plan->arguments.maps) ||
        encode_output(call, plan))
        return 1;
    order_tiles(call, plan);
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan->shared_bytes));
    return gemm_limit_clusters(call, kernel, &plan->clusters, choice->cluster_rows * choice->cluster_columns,
                               2 * tile->rows + 128, plan->shared_bytes);
}

static int setup(struct ridge_call *call, void **state)
{
    struct plan *plan = (struct plan *)gemm_plan_new(call, sizeof *plan);
    if (plan && prepare(call, plan)) {
        free(plan);
        plan = NULL;
    }
    *state = plan;
    return plan ? 0 : 1;
}

static int launch(const struct ridge_call *call)
{
    const struct plan *plan = (const struct plan *)call->state;
    return starts[plan->choice.tile](call, plan);
}

static const char *describe(void *state)
{
    return state ? ((const struct plan *)state)->text : "";
}

/* Whole tiles are multiplied, and whole stages. */
static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const struct gemm_choice choice = gemm_choose(built, tiles, dim, device);
    const struct gemm_built *tile = &built[choice.tile];
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

static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    return gemm_plans(built, tiles, dim, device, plan, max);
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_07_tensor_store = {
    .idea = "results go through shared memory to TMA stores that run under the next tile",
    .source = "PTX ISA 9.0, 9.7.14.5.16 (stmatrix) and 9.7.9.25.5.3",
    .changes = "a consumer is back at its next tile once its result is in shared memory",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = describe,
    .launch = launch,
    .plans = plans,
    .kernel = (const void *)gemm_schedule<gemm_tile<2, 256>>,
};
