/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of the variants: setup reads the groups' k back once and refuses those that are not allowed. A launch reads
 * them on the device again, so they may change between launches. */
#ifndef RIDGE_GEMM_GROUPED_K_PLAN_CUH
#define RIDGE_GEMM_GROUPED_K_PLAN_CUH

#include "kernels/gemm_fp8_block_1d1d/gemm_1d1d_plan.cuh"
#include "kernels/gemm_grouped_k/gemm_grouped_k.h"
#include "kernels/gemm_grouped_k/gemm_grouped_k_walk.cuh"

using grouped_k_plan = struct gemm_1d1d_plan<grouped_k_walk>;
using grouped_k_table = struct gemm_1d1d_table<grouped_k_walk>;

/* ks: GROUPED_K_MAX_GROUPS elements. */
static inline int grouped_k_read(const struct ridge_call *call, int32_t *ks)
{
    const int64_t groups = call->dim[GROUPED_K_GROUPS];
    RIDGE_CUDA(call, cudaMemcpyAsync(ks, call->buffer[GROUPED_K_KS], (size_t)groups * sizeof *ks,
                                     cudaMemcpyDeviceToHost, ridge_stream(call)));
    RIDGE_CUDA(call, cudaStreamSynchronize(ridge_stream(call)));
    return 0;
}

static inline int grouped_k_check(const struct ridge_call *call)
{
    int32_t ks[GROUPED_K_MAX_GROUPS];
    if (grouped_k_read(call, ks))
        return 1;
    return !grouped_k_allowed(ks, call->dim[GROUPED_K_GROUPS], call->dim[GROUPED_K_K], call->error, call->error_bytes);
}

static inline struct gemm_1d1d_shape grouped_k_shape(const int64_t *dim)
{
    return {dim[GROUPED_K_GROUPS], dim[GROUPED_K_M], dim[GROUPED_K_N], dim[GROUPED_K_K]};
}

static inline int grouped_k_prepare(struct ridge_call *call, const grouped_k_table *table, grouped_k_plan *plan)
{
    const struct gemm_1d1d_shape shape = grouped_k_shape(call->dim);
    grouped_k_walk::arguments *tiles = &plan->arguments.tiles;
    if (gemm_1d1d_prepare(call, table, &shape, GROUPED_K_D, plan, &tiles->order) || grouped_k_check(call))
        return 1;
    tiles->groups = (int)shape.matrices;
    tiles->blocks = (int)(shape.k / 128);
    tiles->ks = (const int32_t *)call->buffer[GROUPED_K_KS];
    tiles->a = (const uint8_t *)call->buffer[GROUPED_K_A];
    tiles->b = (const uint8_t *)call->buffer[GROUPED_K_B];
    if (shape.matrices * tile_count(tiles->order) < INT32_MAX)
        return 0;
    snprintf(call->error, call->error_bytes, "groups = %lld: together they have 2^31 tiles of D or more",
             (long long)shape.matrices);
    return 1;
}

static inline int grouped_k_setup(struct ridge_call *call, const grouped_k_table *table, void **state)
{
    grouped_k_plan *plan = (grouped_k_plan *)gemm_plan_new(call, sizeof *plan);
    if (plan && grouped_k_prepare(call, table, plan)) {
        free(plan);
        plan = NULL;
    }
    *state = plan;
    return plan ? 0 : 1;
}

static inline size_t grouped_k_workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    return (size_t)device->sms * (size_t)dim[GROUPED_K_GROUPS] * sizeof(grouped_k_maps);
}

static inline int grouped_k_launch(const struct ridge_call *call)
{
    const grouped_k_plan *plan = (const grouped_k_plan *)call->state;
    gemm_1d1d_arguments<grouped_k_walk> arguments = plan->arguments;
    arguments.tiles.maps = (grouped_k_maps *)call->workspace;
    return gemm_1d1d_start(call, plan, arguments);
}

static inline void grouped_k_issue(const grouped_k_table *table, const int64_t *dim, const struct ridge_device *device,
                                   struct ridge_work *work)
{
    const struct gemm_1d1d_shape shape = grouped_k_shape(dim);
    gemm_1d1d_issued(table, &shape, device, work);
}

#endif
