/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_deferred_plan.cuh"

/* A box of the warp's slab a part. */
template <typename tile> struct slab_store {
    using slab = gemm_slab<tile>;
    static constexpr int parts = tile::columns / slab::columns, bytes = slab::bytes;
    static constexpr bool any_n = false;

    static __device__ __forceinline__ void fill(uint32_t box, const uint32_t (&words)[tile::columns / 4], int first)
    {
        const int lane = threadIdx.x % 32, row = lane / 8 % 2 * 8 + lane % 8;
        const uint32_t shared_row = box + row * slab::columns * 2;
#pragma unroll
        for (int unit = 0; unit < slab::columns / 8; unit += 2) {
            const int mine = unit + lane / 16, at = first / 4 + unit * 2;
            const uint32_t address = shared_row + (slab::swizzled ? mine ^ row % 8 : mine) * 16;
            if (unit + 1 < slab::columns / 8)
                stmatrix_x4(address, words[at], words[at + 1], words[at + 2], words[at + 3]);
            else
                stmatrix_x2(address, words[at], words[at + 1]);
        }
    }

    /* The copies that last read this box's place are at least `buffers` parts old. */
    static __device__ __forceinline__ void part(const gemm_arguments &arguments,
                                                const uint32_t (&words)[tile::columns / 4], int part,
                                                uint32_t slab_data, int row, int column)
    {
        const uint32_t box = slab_data + part % slab::buffers * slab::box_bytes;
        if (threadIdx.x % 32 == 0)
            bulk_wait_read<slab::buffers - 1>();
        __syncwarp();
        fill(box, words, part * slab::columns);
        fence_proxy_async();
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            tma_store(&arguments.d, column + part * slab::columns, row, box);
            bulk_commit();
        }
        __syncwarp();
    }

    static __device__ __forceinline__ void load_b(uint32_t shared, const CUtensorMap &map, int i, int row,
                                                  uint32_t full, int slices, uint16_t ctas)
    {
        gemm_load_slice(shared, map, i * gemm_depth, row, full, slices, ctas);
    }
};

#define TILES(X) X(2, 256)
#define BUILT(w, n)                                                                                                    \
    {gemm_tile<w, n>::rows,                                                                                            \
     gemm_tile<w, n>::columns,                                                                                         \
     gemm_tile<w, n>::stage_bytes,                                                                                     \
     gemm_slab<gemm_tile<w, n>>::bytes_all,                                                                            \
     0,                                                                                                                \
     GEMM_END_DEFERRED},
#define TILE(w, n)                                                                                                     \
    {gemm_deferred<gemm_tile<w, n>, slab_store<gemm_tile<w, n>>>, 0, gemm_slab<gemm_tile<w, n>>::columns,              \
     gemm_tile<w, n>::threads},
static const struct gemm_built built[] = {TILES(BUILT)};
static const struct gemm_deferred_tile tiles[] = {TILES(TILE)};
static const struct gemm_deferred_table table = {built, tiles, sizeof built / sizeof *built};

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

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_09_deferred_store = {
    .idea = "results wait in registers as BF16 and are stored under the products of the next tile",
    .source = "PTX ISA 9.0, 9.7.15 (wgmma is asynchronous: the warps that wait for it can do other work)",
    .changes = "at the end of a tile the tensor cores stand still for the rounding alone, not for the stores",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = gemm_deferred_describe,
    .launch = gemm_deferred_launch,
    .plans = plans,
    .kernel = (const void *)gemm_deferred<gemm_tile<2, 256>, slab_store<gemm_tile<2, 256>>>,
};
