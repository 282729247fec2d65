/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of gemm_few_rows.cuh: the hooks of a variant, for any product. */
#ifndef RIDGE_GEMM_FEW_ROWS_HOST_CUH
#define RIDGE_GEMM_FEW_ROWS_HOST_CUH

#include "kernels/gemm_bf16/gemm_cluster.cuh"
#include "kernels/gemm_bf16/gemm_few_rows.cuh"

struct few_rows_state {
    struct few_rows_arguments arguments;
    char text[96];
};

static inline int few_rows_encode(const struct ridge_call *call, enum ridge_dtype dtype, int depth,
                                  struct few_rows_arguments *arguments)
{
    const struct few_rows_plan *plan = &arguments->plan;
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const struct tensor_map_matrix b = {dtype, call->buffer[1], n, k, k, plan->rows, depth, 128, "b"};
    const struct tensor_map_matrix a = {dtype, call->buffer[0], m, k, k, plan->taken, depth, 128, "a"};
    return tensor_map_encode(call, &b, &arguments->b) || tensor_map_encode(call, &a, &arguments->a);
}

/* The buffers are a, b, the scales if there are any, d. */
template <template <int columns> class product> static const void *few_rows_kernel(const few_rows_plan &plan)
{
    if constexpr (product<64>::traits.turns)
        return product<64>::kernel(plan);
    else if constexpr (product<64>::traits.wide)
        return plan.columns > 64 ? (const void *)gemm_few_rows<product<128>> : (const void *)gemm_few_rows<product<64>>;
    else
        return (const void *)gemm_few_rows<product<64>>;
}

template <template <int columns> class product>
static int few_rows_prepare(const struct ridge_call *call, enum ridge_dtype dtype, struct few_rows_state *state)
{
    struct few_rows_arguments *arguments = &state->arguments;
    struct few_rows_plan *plan = &arguments->plan;
    if (few_rows_refused(call, &product<64>::traits))
        return 1;
    *plan = few_rows_choose(&product<64>::traits, call->dim, call->device);
    arguments->out = {(bf16 *)call->buffer[product<64>::traits.scaled ? 4 : 2], call->dim[0], call->dim[1]};
    snprintf(state->text, sizeof state->text, "%d x %d tile, k in %d, %d CTAs, %d stages", plan->rows, plan->width,
             plan->splits, plan->clusters * plan->splits * plan->tiles_a, plan->stages);
    if (product<64>::encode_scales(call, arguments) ||
        few_rows_encode(call, dtype, product<64>::traits.depth, arguments))
        return 1;
    RIDGE_CUDA(call, cudaFuncSetAttribute(few_rows_kernel<product>(*plan), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          plan->bytes));
    return 0;
}

template <template <int columns> class product, enum ridge_dtype dtype>
static int few_rows_setup(struct ridge_call *call, void **state)
{
    struct few_rows_state *made = (struct few_rows_state *)gemm_plan_new(call, sizeof *made);
    if (made && few_rows_prepare<product>(call, dtype, made)) {
        free(made);
        made = NULL;
    }
    *state = made;
    return made ? 0 : 1;
}

template <template <int columns> class product> static int few_rows_launch(const struct ridge_call *call)
{
    const struct few_rows_state *state = (const struct few_rows_state *)call->state;
    const struct few_rows_plan *plan = &state->arguments.plan;
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config =
        gemm_cluster_config(call, plan->clusters, 1, few_rows_threads(plan), plan->bytes, &attribute);
    attribute.val.clusterDim.x = (unsigned)plan->splits;
    config.gridDim = dim3((unsigned)plan->splits, (unsigned)plan->clusters, (unsigned)plan->tiles_a);
    void *arguments[] = {(void *)&state->arguments};
    return ridge_cuda_status(call, cudaLaunchKernelExC(&config, few_rows_kernel<product>(*plan), arguments), __FILE__,
                             __LINE__, "launch");
}

static inline const char *few_rows_describe(void *state)
{
    return state ? ((const struct few_rows_state *)state)->text : "";
}

/* Whole wgmmas are issued, and a part of k sends all sums but its own to the others. */
template <template <int columns> class product>
static void few_rows_issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const struct few_rows_plan plan = few_rows_choose(&product<64>::traits, dim, device);
    const double tiles = (double)plan.tiles_b * plan.tiles_a, blocks = (double)plan.blocks;
    const double warpgroups = few_rows_warpgroups(&plan) * plan.columns / 64,
                 flop = 2.0 * 64 * 64 * product<64>::traits.depth;
    *(product<64>::traits.scaled ? &work->flop_fp8 : &work->flop_bf16) = tiles * blocks * warpgroups * flop;
    if (product<64>::traits.scaled)
        work->flop_fp32 = tiles * blocks * warpgroups * 2 * 64 * 64;
    work->bytes_l2 = tiles * blocks * 128 * (plan.rows + plan.taken);
    work->bytes_smem = tiles * blocks * 128 * (plan.rows + plan.taken + warpgroups * 128);
    work->bytes_dsmem = tiles * (plan.splits - 1) * warpgroups * 64 * 64 * 4;
}

template <template <int columns> class product>
static int few_rows_list(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    return few_rows_plans(&product<64>::traits, dim, device, plan, max);
}

static inline const char *few_rows_unsupported(const int64_t *dim, const char *rule)
{
    return dim[0] > FEW_ROWS_MAX_M ? "m > 256: B would be read again for every 128 rows of A" : rule;
}

#endif
