/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of all groups, group after group, for gemm_1d1d_schedule.cuh. The groups' k are read on the device. A group
 * that breaks their rule (grouped_k_allowed) ends the list: where the next one lies is then unknown, and nothing is
 * added to it or to those behind it.
 *
 * A group's rows have a length of their own, so its operands need tensor maps of their own: the producer's warp makes
 * them when it comes to a tile of the group. Every CTA has a place for every group's maps, which it writes once a
 * launch, so that no map changes while copies may still read it.
 */
#ifndef RIDGE_GEMM_GROUPED_K_WALK_CUH
#define RIDGE_GEMM_GROUPED_K_WALK_CUH

#include "kernels/gemm_fp8_block_1d1d/gemm_1d1d_schedule.cuh"
#include "kernels/ptx/tensor_map.cuh"

struct grouped_k_maps {
    CUtensorMap a, b;
};

struct grouped_k_walk {
    struct arguments {
        tile_order order;   /* of one group */
        int groups, blocks; /* blocks of 128 of all groups at most */
        const int32_t *ks;
        const uint8_t *a, *b;
        grouped_k_maps *maps; /* [CTAs][groups] */
    };
    static constexpr int scratch_bytes = sizeof(grouped_k_maps);

    const arguments &tiles;
    int index, group, blocks, first; /* blocks of the group, and of those before it */

    __device__ grouped_k_walk(const arguments &tiles, const gemm_part &part)
        : tiles(tiles), index(part.cluster), group(-1), blocks(0), first(0)
    {
    }

    /* False: the group is not allowed. */
    __device__ __forceinline__ bool enter_group()
    {
        group++;
        first += blocks;
        const int k = __ldg(tiles.ks + group);
        blocks = k / 128;
        return k >= 0 && k % 128 == 0 && blocks <= tiles.blocks - first;
    }

    template <typename tile>
    __device__ __forceinline__ bool next(gemm_1d1d_work &work, const gemm_cluster &cluster, const gemm_part &part)
    {
        const int count = tile_count(tiles.order);
        for (; index < count * tiles.groups; index += part.clusters) {
            while (group < index / count)
                if (!enter_group())
                    return false;
            if (blocks == 0)
                continue;
            const tile_place place = tile_at(tiles.order, index % count);
            work = {(place.row * cluster.rows + part.row) * tile::rows,
                    (place.column * cluster.columns + part.column) * tile::columns, group, blocks, first};
            index += part.clusters;
            return true;
        }
        return false;
    }

    struct maps {
        const gemm_1d1d_arguments<grouped_k_walk> &arguments;
        const CUtensorMap *a, *b;
        uint32_t scratch;
        int group;

        __device__ maps(const gemm_1d1d_arguments<grouped_k_walk> &arguments, uint32_t scratch)
            : arguments(arguments), a(NULL), b(NULL), scratch(scratch), group(-1)
        {
        }

        /* `operand` of `rows` rows, as the map of all its bytes says, but for the group's place and length. */
        __device__ __forceinline__ const CUtensorMap *make(const CUtensorMap &whole, CUtensorMap *map, uint32_t shared,
                                                           const uint8_t *operand, int64_t rows,
                                                           const gemm_1d1d_work &work) const
        {
            const uint32_t lane = threadIdx.x % 32;
            st_shared_u32(shared + 4 * lane, ((const uint32_t *)&whole)[lane]);
            __syncwarp();
            if (lane == 0) {
                tensor_map_set_address(shared, operand + rows * 128 * work.first);
                tensor_map_set_columns(shared, (uint32_t)work.blocks * 128);
                tensor_map_set_pitch(shared, (uint64_t)work.blocks * 128);
            }
            __syncwarp();
            tensor_map_release(map, shared);
            tensor_map_acquire(map);
            return map;
        }

        __device__ __forceinline__ void enter(const gemm_1d1d_work &work)
        {
            if (group == work.matrix)
                return;
            group = work.matrix;
            const grouped_k_walk::arguments &tiles = arguments.tiles;
            grouped_k_maps *mine = tiles.maps + (int64_t)blockIdx.x * tiles.groups + group;
            a = make(arguments.a, &mine->a, scratch, tiles.a, arguments.out.m, work);
            b = make(arguments.b, &mine->b, scratch + sizeof(CUtensorMap), tiles.b, arguments.out.n, work);
        }
    };
};

#endif
