/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_chain/gemm_fp8_chain.cuh"

/* Waits before the first load of A. Until then the first stages get their part of B. */
struct early_weights {
    using tile = gemm_fp8_chain_tile;

    static __device__ __forceinline__ void produce(const gemm_fp8_block_cluster_arguments &arguments, const ring &ring,
                                                   const gemm_part &part, uint32_t scales)
    {
        const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
        const gemm_cluster &cluster = arguments.cluster.cluster;
        const int slice_a = tile::rows / cluster.columns, slice_b = tile::columns / cluster.rows;
        const int early = ring.stages < gemm.blocks ? ring.stages : gemm.blocks;
        const auto expect_b = [&](const ring_place &at, int i, const gemm_fp8_corner &corner) {
            const uint32_t b = ring.data + at.stage * tile::stage_bytes + tile::a_bytes + part.row * slice_b * 128;
            mbarrier_arrive_expect(ring_full(ring, at), tile::stage_bytes + tile::scale_bytes);
            gemm_fp8_load_slice(b, gemm.maps.b, i * gemm_fp8_depth, corner.column + part.row * slice_b,
                                ring_full(ring, at), cluster.rows, part.b_ctas);
        };
        const auto load_a = [&](const ring_place &at, int i, const gemm_fp8_corner &corner) {
            const int row = corner.row + part.column * slice_a;
            const uint32_t a = ring.data + at.stage * tile::stage_bytes + part.column * slice_a * 128;
            const uint32_t scale = scales + at.stage * tile::scale_bytes + part.column * slice_a * 4;
            gemm_fp8_load_slice(a, gemm.maps.a, i * gemm_fp8_depth, row, ring_full(ring, at), cluster.columns,
                                part.a_ctas);
            gemm_fp8_load_slice(scale, arguments.scale_a, row, i, ring_full(ring, at), cluster.columns, part.a_ctas);
        };
        const auto corner_of = [&](int index) {
            return gemm_fp8_corner_of<tile>(arguments.cluster, tile_at(gemm.order, index), part);
        };

        const gemm_fp8_corner first = corner_of(part.cluster);
        grid_launch_dependents();
#pragma unroll 1
        for (int i = 0; i < early; i++)
            expect_b({i, 0}, i, first);
        grid_wait();
#pragma unroll 1
        for (int i = 0; i < early; i++)
            load_a({i, 0}, i, first);
        ring_place at = {early % ring.stages, (uint32_t)(early / ring.stages)};
        for (int index = part.cluster; index < tile_count(gemm.order); index += part.clusters) {
            const gemm_fp8_corner corner = corner_of(index);
#pragma unroll 1
            for (int i = index == part.cluster ? early : 0; i < gemm.blocks; i++, ring_next(ring, at)) {
                mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
                expect_b(at, i, corner);
                load_a(at, i, corner);
            }
        }
    }
};

using chain = gemm_fp8_chain<early_weights, true>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_chain_03_early_weights = {
    .idea = "before it waits, the second kernel fills its ring with weights, which do not depend on the first",
    .source = "CUDA C++ Programming Guide, Programmatic Dependent Launch and Synchronization; FasterTransformer and "
              "TensorRT-LLM prefetch weights in this place",
    .changes = "the first stages of B are loaded before the wait",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = chain::issued,
    .setup = chain::setup,
    .teardown = free,
    .describe = chain::describe,
    .launch = chain::launch,
    .kernel = (const void *)chain::kernel,
};
