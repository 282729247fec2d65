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

/* CTAs of a cluster, at most `widest`, stand side by side along n: they share A whatever group it belongs to. */
static inline struct gemm_choice gemm_grouped_choose(const struct gemm_built *built, int count, int widest,
                                                     const struct gemm_grouped_extent *extent,
                                                     const struct ridge_device *device)
{
    struct gemm_choice best = {0};
    int64_t dim[RIDGE_MAX_AXES];
    if (!gemm_choice_forced(built, count, &best) || best.cluster_rows != 1 || best.cluster_columns > widest) {
        best.clocks = -1;
        for (int i = 0; i < count; i++)
            for (int columns = 1; columns <= widest; columns++) {
                struct gemm_choice choice = {.tile = i, .cluster_rows = 1, .cluster_columns = columns};
                if (!gemm_sliceable(&built[i], 1, columns))
                    continue;
                gemm_grouped_dense(extent, built[i].rows, extent->groups, dim);
                choice.clocks = gemm_estimate(&built[i], &choice, dim, device);
                if (best.clocks < 0 || choice.clocks < best.clocks)
                    best = choice;
            }
    }
    const int stages = gemm_stages(&built[best.tile], device->smem_optin_bytes);
    if (best.stages < 2 || best.stages > stages)
        best.stages = stages;
    if (best.band < 1) {
        gemm_grouped_dense(extent, built[best.tile].rows, 1, dim);
        best.band = gemm_band(&built[best.tile], &best, dim, device);
    }
    return best;
}

#endif
