/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs where groups have memory for a fixed number of rows and valid[g] of them are there. Tiles start with the group,
 * so a job has one group, and jobs are counted through: a lane of the producer warp holds how many one group of 32 has,
 * and a prefix sum says in which of them a number falls. In a group the row tiles of a column follow each other, so
 * that every weight comes from HBM once.
 */
#ifndef RIDGE_GEMM_GROUPED_MASKED_CUH
#define RIDGE_GEMM_GROUPED_MASKED_CUH

#include "kernels/gemm_grouped_contiguous/gemm_grouped_schedule.cuh"
#include "kernels/gemm_grouped_contiguous/gemm_grouped.h"
#include "kernels/gemm_grouped_masked/gemm_grouped_masked.h"

/* Row tiles of all groups where each has the rows that the shape names. */
static inline int64_t masked_passes(const int64_t *dim, int64_t rows)
{
    return dim[GROUPED_GROUPS] * ((dim[GROUPED_ROWS] + rows - 1) / rows);
}

struct gemm_grouped_masked {
    /* job.rows: valid rows from the tile's first on. */
    static __device__ __forceinline__ gemm_grouped_rows rows(const gemm_grouped_arguments &,
                                                             const gemm_grouped_job &job, int row)
    {
        const int lane = threadIdx.x % 32;
        return {__ballot_sync(~0u, lane < 16 && row + lane < job.rows), 0};
    }

    template <typename tile> struct walk {
        const gemm_grouped_arguments &arguments;
        int index, step;
        int first;         /* lane 0 has this group */
        int valid, height; /* of the lane's group: rows, row tiles */
        int end;           /* jobs of all groups up to the lane's */

        __device__ __forceinline__ walk(const gemm_grouped_arguments &all, const gemm_part &part)
            : arguments(all), index(part.cluster - part.clusters), step(part.clusters), first(0)
        {
            count_jobs(0);
        }

        /* `before`: jobs of the groups before `first`. */
        __device__ __forceinline__ void count_jobs(int before)
        {
            const int lane = threadIdx.x % 32, group = first + lane;
            valid = group < arguments.groups ? masked_rows(__ldg(arguments.index + group), arguments.group_rows) : 0;
            height = (valid + tile::rows - 1) / tile::rows;
            end = height * arguments.cluster.gemm.order.columns;
#pragma unroll
            for (int distance = 1; distance < 32; distance *= 2) {
                const int below = __shfl_up_sync(~0u, end, distance);
                end += lane >= distance ? below : 0;
            }
            end += before;
        }

        __device__ __forceinline__ gemm_grouped_job next()
        {
            index += step;
            for (int last = __shfl_sync(~0u, end, 31); index >= last; last = __shfl_sync(~0u, end, 31)) {
                first += 32;
                if (first >= arguments.groups)
                    return {0, 0, GROUPED_END, 0};
                count_jobs(last);
            }
            const int lane = __ffs((int)__ballot_sync(~0u, end > index)) - 1;
            tile_order order = arguments.cluster.gemm.order;
            order.rows = __shfl_sync(~0u, height, lane);
            order.band = order.band < order.rows ? order.band : order.rows;
            const int start = __shfl_sync(~0u, end, lane) - order.rows * order.columns;
            const tile_place place = tile_at(order, index - start);
            const int row = place.row * tile::rows;
            return {row, place.column * tile::columns * arguments.cluster.cluster.columns, first + lane,
                    __shfl_sync(~0u, valid, lane) - row};
        }
    };
};

#endif
