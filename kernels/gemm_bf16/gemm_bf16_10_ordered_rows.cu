/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_deferred_plan.cuh"

/*
 * The order of the rows of B in shared memory is the order of the columns of D in the fragments. The copy engine brings
 * the rows of a group so that a thread's four elements of a row of D lie side by side: four threads store 32 bytes of a
 * row, a whole sector, without shared memory.
 */
template <typename tile> struct direct_store {
    static constexpr int group = 16, groups = tile::columns / group;
    static constexpr int parts = groups % 3 == 0 ? 3 : 4, bytes = 0;
    static constexpr bool any_n = true;
    static_assert(tile::columns % group == 0, "a tile is whole groups");

    /* A thread's columns of a group in row `row`; h is the half of the fragment. */
    static __device__ __forceinline__ void
    store_group(const gemm_output &out, const uint32_t (&words)[tile::columns / 4], int g, int h, int row, int column)
    {
        const int at = g * (group / 4) + h;
        if (row >= out.m || column >= out.n)
            return;
        *(uint2 *)(out.d + (int64_t)row * out.n + column) = make_uint2(words[at], words[at + 2]);
    }

    static __device__ __forceinline__ void part(const gemm_arguments &arguments,
                                                const uint32_t (&words)[tile::columns / 4], int part, uint32_t, int row,
                                                int column)
    {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int g = groups * part / parts; g < groups * (part + 1) / parts; g++) {
#pragma unroll
            for (int h = 0; h < 2; h++)
                store_group(arguments.out, words, g, h, row + lane / 4 + 8 * h,
                            column + g * group + lane % 4 * (group / 4));
        }
    }

    static __device__ __forceinline__ void load_b(uint32_t shared, const CUtensorMap &map, int i, int row,
                                                  uint32_t full, int slices, uint16_t ctas)
    {
        if (slices == 1)
            tma_load_grouped(shared, &map, i * gemm_depth, row / group, full);
        else
            tma_load_grouped_multicast(shared, &map, i * gemm_depth, row / group, full, ctas);
    }
};

#define TILES(X) X(3, 176)
#define BUILT(w, n)                                                                                                    \
    {gemm_tile<w, n>::rows,                                                                                            \
     gemm_tile<w, n>::columns,                                                                                         \
     gemm_tile<w, n>::stage_bytes,                                                                                     \
     0,                                                                                                                \
     direct_store<gemm_tile<w, n>>::group,                                                                             \
     GEMM_END_ORDERED},
#define TILE(w, n)                                                                                                     \
    {gemm_deferred<gemm_tile<w, n>, direct_store<gemm_tile<w, n>>>, direct_store<gemm_tile<w, n>>::group,              \
     gemm_slab<gemm_tile<w, n>>::columns, gemm_tile<w, n>::threads},
static const struct gemm_built built[] = {TILES(BUILT)};
static const struct gemm_deferred_tile tiles[] = {TILES(TILE)};
static const struct gemm_deferred_table table = {built, tiles, sizeof built / sizeof *built};

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return dim[1] % 16 ? "n is not a multiple of 16: rows of B are ordered in groups of 16"
                       : gemm_unsupported(dim, device);
}

static int setup(struct ridge_call *call, void **state)
{
    return gemm_deferred_setup(call, &table, state);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    gemm_deferred_issued(&table, dim, device, work);
}

static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    return gemm_plans(table.built, table.count, dim, device, plan, max);
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_10_ordered_rows = {
    .idea = "rows of B in such an order that every thread has neighbouring columns of D and stores them itself",
    .source = "CUDA driver API, cuTensorMapEncodeTiled (five dimensions in any order); PTX ISA 9.0, 9.7.15.5.1",
    .changes = "results do not pass through shared memory; tiles for n of few whole tiles: 192 x 176, 128 x 144",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = gemm_deferred_describe,
    .launch = gemm_deferred_launch,
    .plans = plans,
    .kernel = (const void *)gemm_deferred<gemm_tile<3, 176>, direct_store<gemm_tile<3, 176>>>,
};
