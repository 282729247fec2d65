/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_ping_pong_plan.cuh"

struct bf16_format {
    static constexpr int depth = 64;
    static constexpr bool scaled = false;

    template <int count>
    static __device__ __forceinline__ void multiply(float (&sum)[count], uint64_t a, uint64_t b, int keep)
    {
        wgmma_bf16_ss(sum, a, b, keep);
    }
};

#define TILES(X) X(192, 3) X(144, 2)
#define COMPILED(...) gemm_turn_compiled_of<bf16_format, gemm_turn_tile<__VA_ARGS__>>(),
static const struct gemm_turn_compiled compiled[] = {TILES(COMPILED)};
static const struct gemm_turn_table table = {RIDGE_BF16, bf16_format::depth, compiled,
                                             sizeof compiled / sizeof *compiled};

static int setup(struct ridge_call *call, void **state)
{
    return gemm_turn_setup(call, &table, call->buffer[2], NULL, NULL, state);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    gemm_turn_issued(&table, dim, device, work);
}

static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    return gemm_turn_plans(&table, dim, device, plan, max);
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_11_ping_pong = {
    .idea = "two consumers with a tile each take turns: one multiplies while the other stores",
    .source = "CUTLASS, sm90_gemm_tma_warpspecialized_pingpong",
    .changes = "the end of a tile is hidden whole: the tensor cores go from one consumer's tile to the other's",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = gemm_turn_describe,
    .launch = gemm_turn_launch,
    .plans = plans,
    .kernel = (const void *)gemm_ping_pong<bf16_format, gemm_turn_tile<192, 3>>,
};
