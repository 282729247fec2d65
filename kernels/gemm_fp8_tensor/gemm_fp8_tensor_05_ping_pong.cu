/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_ping_pong_plan.cuh"
#include "kernels/gemm_fp8_tensor/gemm_fp8_tile.cuh"

struct e4m3_format {
    static constexpr int depth = gemm_fp8_depth;
    static constexpr bool scaled = true;

    template <int count>
    static __device__ __forceinline__ void multiply(float (&sum)[count], uint64_t a, uint64_t b, int keep)
    {
        wgmma_e4m3_ss(sum, a, b, keep);
    }
};

#define TILES(X) X(176, 3) X(192, 3) X(144, 2)
#define COMPILED(...) gemm_turn_compiled_of<e4m3_format, gemm_turn_tile<__VA_ARGS__>>(),
static const struct gemm_turn_compiled compiled[] = {TILES(COMPILED)};
static const struct gemm_turn_table table = {RIDGE_E4M3, e4m3_format::depth, compiled,
                                             sizeof compiled / sizeof *compiled};

static int setup(struct ridge_call *call, void **state)
{
    return gemm_turn_setup(call, &table, call->buffer[4], call->buffer[2], call->buffer[3], state);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    gemm_turn_issued(&table, dim, device, work);
}

static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    return gemm_turn_plans(&table, dim, device, plan, max);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_tensor_05_ping_pong = {
    .idea = "two consumers with a tile each take turns: one multiplies while the other stores",
    .source = "CUTLASS, sm90_gemm_tma_warpspecialized_pingpong",
    .changes = "the end of a tile is hidden whole: the tensor cores go from one consumer's tile to the other's",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = gemm_turn_describe,
    .launch = gemm_turn_launch,
    .plans = plans,
    .kernel = (const void *)gemm_ping_pong<e4m3_format, gemm_turn_tile<176, 3>>,
};
