/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_ping_pong_plan.cuh"
#include "kernels/gemm_bf16/gemm_wide.cuh"
#include "kernels/ptx/wgmma_n168.cuh"

struct bf16_format {
    static constexpr int depth = 64;
    static constexpr bool scaled = false;

    template <int count>
    static __device__ __forceinline__ void multiply(float (&sum)[count], uint64_t a, uint64_t b, int keep)
    {
        wgmma_bf16_ss(sum, a, b, keep);
    }
};

/* A slice of B is whole groups of 4 rows: 84 of 168 begin in the middle of a swizzle atom, which may be, since the
 * pattern follows the address in shared memory. */
template <typename format, typename tile> static constexpr gemm_turn_compiled gemm_wide_compiled_of()
{
    return {{tile::rows, tile::columns, tile::stage_bytes, 8 * gemm_turn_box<tile>::slab_bytes, 4, GEMM_END_SETS},
            gemm_wide<format, tile>,
            gemm_turn_box<tile>::rows,
            gemm_turn_box<tile>::columns};
}

#define TILES(X) X(176) X(168)
#define COMPILED(...) gemm_wide_compiled_of<bf16_format, gemm_wide_tile<__VA_ARGS__>>(),
static const struct gemm_turn_compiled compiled[] = {TILES(COMPILED)};
static const struct gemm_turn_table table = {RIDGE_BF16, bf16_format::depth, compiled,
                                             sizeof compiled / sizeof *compiled};

/* Beyond k there are zeros. */
static int64_t padded(int64_t k)
{
    const int64_t least = GEMM_WIDE_BLOCKS * bf16_format::depth;
    return k > least ? k : least;
}

static int setup(struct ridge_call *call, void **state)
{
    if (gemm_turn_setup(call, &table, call->buffer[2], NULL, NULL, state))
        return 1;
    ((struct gemm_turn_plan *)*state)->arguments.blocks = gemm_blocks((int)padded(call->dim[2]));
    return 0;
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const int64_t whole[] = {dim[0], dim[1], padded(dim[2])};
    gemm_turn_issued(&table, whole, device, work);
}

static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    return gemm_turn_plans(&table, dim, device, plan, max);
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_12_wide_tile = {
    .idea = "a tile of 256 rows whose halves end one after the other: one is stored under the other's products",
    .source = "",
    .changes = "the end is hidden as in 11, and a tile of twice the rows needs a third fewer bytes from L2",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = gemm_turn_describe,
    .launch = gemm_turn_launch,
    .plans = plans,
    .kernel = (const void *)gemm_wide<bf16_format, gemm_wide_tile<176>>,
};
