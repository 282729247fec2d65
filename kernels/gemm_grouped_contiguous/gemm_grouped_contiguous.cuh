/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs where every row names its group. Row tiles lie on a fixed grid, whatever the groups: a tile takes one pass for
 * each group that it has rows of, in rising order, and a pass writes the rows of its group. The first pass writes zeros
 * to rows of no group; a tile without a group is only written. Nothing depends on the order of rows.
 */
#ifndef RIDGE_GEMM_GROUPED_CONTIGUOUS_CUH
#define RIDGE_GEMM_GROUPED_CONTIGUOUS_CUH

#include "kernels/gemm_grouped_contiguous/gemm_grouped_schedule.cuh"

struct gemm_grouped_contiguous {
    enum {
        ALL = 0,
        LOOK = 1,
        FIRST = 2
    }; /* job.rows: all rows are the group's; or not, in the first pass or a later one */
    enum : uint32_t { PADDING = ~1u, OUTSIDE = ~0u };

    /* The group of a row as an unsigned number: PADDING of no group, OUTSIDE below the last row. */
    static __device__ __forceinline__ uint32_t group_of(const gemm_grouped_arguments &arguments, int64_t row)
    {
        if (row >= arguments.cluster.gemm.out.m)
            return OUTSIDE;
        const uint32_t group = (uint32_t)__ldg(arguments.index + row);
        return group < (uint32_t)arguments.groups ? group : (uint32_t)PADDING;
    }

    static __device__ __forceinline__ gemm_grouped_rows rows(const gemm_grouped_arguments &arguments,
                                                             const gemm_grouped_job &job, int row)
    {
        if (job.rows == ALL)
            return {0xffff, 0};
        const int lane = threadIdx.x % 32;
        const uint32_t group = lane < 16 ? group_of(arguments, (int64_t)job.row + row + lane) : (uint32_t)OUTSIDE;
        const uint32_t zeroed = __ballot_sync(~0u, group == PADDING && (job.rows & FIRST));
        return {__ballot_sync(~0u, group == (uint32_t)job.group && job.group >= 0) | zeroed, zeroed};
    }

    /* Rows of the tile from its first on, if these are what the job writes, with products; else 0. */
    static __device__ __forceinline__ int whole(const gemm_grouped_arguments &arguments, const gemm_grouped_job &job)
    {
        return job.rows == ALL ? (int)arguments.cluster.gemm.out.m - job.row : 0;
    }

    template <typename tile> struct walk {
        static constexpr int count = tile::rows / 32;
        const gemm_grouped_arguments &arguments;
        int index, step;
        uint32_t group[count]; /* of every 32nd row of the tile */
        uint32_t next_group;   /* the passes of the groups before are done */
        bool inside;           /* of a tile */

        __device__ __forceinline__ walk(const gemm_grouped_arguments &all, const gemm_part &part)
            : arguments(all), index(part.cluster - part.clusters), step(part.clusters), next_group(0), inside(false)
        {
        }

        __device__ __forceinline__ tile_place place() const
        {
            return tile_at(arguments.cluster.gemm.order, index);
        }

        __device__ __forceinline__ bool enter()
        {
            index += step;
            if (index >= tile_count(arguments.cluster.gemm.order))
                return false;
            const int64_t row = (int64_t)place().row * tile::rows + threadIdx.x % 32;
#pragma unroll
            for (int i = 0; i < count; i++)
                group[i] = group_of(arguments, row + 32 * i);
            next_group = 0;
            inside = true;
            return true;
        }

        __device__ __forceinline__ gemm_grouped_job next()
        {
            if (!inside && !enter())
                return {0, 0, GROUPED_END, 0};
            uint32_t lowest = OUTSIDE, highest = 0, padding = 0;
#pragma unroll
            for (int i = 0; i < count; i++) {
                if (group[i] >= next_group && group[i] < lowest)
                    lowest = group[i];
                if (group[i] < PADDING && group[i] > highest)
                    highest = group[i];
                padding |= group[i] == PADDING;
            }
            lowest = __reduce_min_sync(~0u, lowest);
            highest = __reduce_max_sync(~0u, highest);
            const bool first = next_group == 0, mixed = !first || lowest < highest || __any_sync(~0u, padding);
            const int group = lowest < PADDING ? (int)lowest : (int)GROUPED_NOBODY;
            inside = group >= 0 && lowest < highest;
            next_group = lowest + 1;
            return {place().row * tile::rows, place().column * tile::columns * arguments.cluster.cluster.columns, group,
                    mixed ? LOOK | (first ? FIRST : 0) : ALL};
        }
    };
};

#endif
