/* SPDX-License-Identifier: Apache-2.0 */
/* Tile, cluster, stages and order of a grouped problem, by the estimate of gemm_choice.h of gemm_bf16. Host code
 * without CUDA. */
#ifndef RIDGE_GEMM_GROUPED_CHOICE_H
#define RIDGE_GEMM_GROUPED_CHOICE_H

#include "kernels/gemm_bf16/gemm_choice.h"

/* Groups of `rows` rows each, which begin with a tile; k in elements of e4m3. */
struct gemm_grouped_extent {
    int64_t groups, rows, n, k;
};

/* What gemm_choice.h would see of a dense product with as many tiles: 128 elements of e4m3 count as 64 of BF16. */
static inline void gemm_grouped_dense(const struct gemm_grouped_extent *extent, int tile_rows, int64_t groups,
                                      int64_t *dim)
{
    dim[0] = gemm_div_up(extent->rows, tile_rows) * tile_rows * groups;
    dim[1] = extent->n;
    dim[2] = (extent->k + 1) / 2;
}

/* A plan as gemm_choice.h reads it. NULL, or the rule that it breaks. The CTAs of a cluster, at most `widest`, stand
 * side by side along n: they share A whatever group it belongs to. */
static inline const char *gemm_grouped_plan_read(const char *text, const struct gemm_built *built, int count,
                                                 int widest, const struct ridge_device *device,
                                                 struct gemm_choice *choice)
{
    const char *rule = gemm_plan_read(text, built, count, device, choice);
    if (rule)
        return rule;
    if (choice->cluster_rows > 1)
        return "the rows of a cluster may be of different groups, so it has one row of CTAs";
    return choice->cluster_columns > widest ? "the cluster has more CTAs than this variant allows" : NULL;
}

/* For setup: nonzero, with call->error, where device->plan is no plan for these tiles. */
static inline int gemm_grouped_refused(const struct ridge_call *call, const struct gemm_built *built, int count,
                                       int widest)
{
    struct gemm_choice choice;
    const char *plan = call->device->plan, *rule;
    if (gemm_plan_refused(call, built, count))
        return 1;
    rule = plan ? gemm_grouped_plan_read(plan, built, count, widest, call->device, &choice) : NULL;
    if (rule)
        snprintf(call->error, call->error_bytes, "plan %.63s: %s", plan, rule);
    return rule != NULL;
}

/* What a choice of tile and cluster leaves open. */
static inline void gemm_grouped_complete(const struct gemm_built *built, const struct gemm_grouped_extent *extent,
                                         const struct ridge_device *device, struct gemm_choice *choice)
{
    int64_t dim[RIDGE_MAX_AXES];
    gemm_grouped_dense(extent, built[choice->tile].rows, 1, dim);
    gemm_complete(built, dim, device, choice);
}

/* The tile and cluster of least estimate. */
static inline struct gemm_choice gemm_grouped_fastest(const struct gemm_built *built, int count, int widest,
                                                      const struct gemm_grouped_extent *extent,
                                                      const struct ridge_device *device)
{
    struct gemm_choice best = {.tile = -1};
    int64_t dim[RIDGE_MAX_AXES];
    for (int i = 0; i < count; i++)
        for (int columns = 1; columns <= widest; columns++) {
            struct gemm_choice choice = {.tile = i, .cluster_rows = 1, .cluster_columns = columns};
            if (!gemm_sliceable(&built[i], 1, columns))
                continue;
            gemm_grouped_dense(extent, built[i].rows, extent->groups, dim);
            choice.clocks = gemm_estimate(&built[i], &choice, dim, device);
            if (best.tile < 0 || choice.clocks < best.clocks)
                best = choice;
        }
    return best;
}

/* What device->plan says, if it is one (gemm_grouped_refused), else the heuristic's choice. */
static inline struct gemm_choice gemm_grouped_choose(const struct gemm_built *built, int count, int widest,
                                                     const struct gemm_grouped_extent *extent,
                                                     const struct ridge_device *device)
{
    struct gemm_choice choice;
    if (!device->plan || gemm_grouped_plan_read(device->plan, built, count, widest, device, &choice))
        choice = gemm_grouped_fastest(built, count, widest, extent, device);
    gemm_grouped_complete(built, extent, device, &choice);
    return choice;
}

/* ridge_variant.plans: the heuristic's choice, then every tile in every cluster. */
static inline int gemm_grouped_plans(const struct gemm_built *built, int count, int widest,
                                     const struct gemm_grouped_extent *extent, const struct ridge_device *device,
                                     char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    struct gemm_choice choice = gemm_grouped_fastest(built, count, widest, extent, device);
    int plans = 0;
    gemm_grouped_complete(built, extent, device, &choice);
    if (plans < max)
        gemm_plan_write(built, &choice, plan[plans++]);
    for (int i = 0; i < count * widest && plans < max; i++) {
        choice = (struct gemm_choice){.tile = i / widest, .cluster_rows = 1, .cluster_columns = i % widest + 1};
        if (!gemm_sliceable(&built[choice.tile], 1, choice.cluster_columns))
            continue;
        gemm_grouped_complete(built, extent, device, &choice);
        gemm_plan_write(built, &choice, plan[plans]);
        plans += strcmp(plan[plans], plan[0]) != 0;
    }
    return plans;
}

#endif
