/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller wants: the schedule that suits the shape. 08 takes few rows; of 09 to 12 each says which of its tiles
 * it would take, and the one of least estimate (gemm_choice.h) runs. */
#include "kernels/gemm_bf16/gemm_choice.h"
#include "kernels/gemm_bf16/gemm_chosen.cuh"

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_08_few_rows, ridge_variant_gemm_bf16_09_deferred_store,
    ridge_variant_gemm_bf16_10_ordered_rows, ridge_variant_gemm_bf16_11_ping_pong, ridge_variant_gemm_bf16_12_wide_tile;

static constexpr gemm_candidate candidates[] = {
    {8, &ridge_variant_gemm_bf16_08_few_rows},      {9, &ridge_variant_gemm_bf16_09_deferred_store},
    {10, &ridge_variant_gemm_bf16_10_ordered_rows}, {11, &ridge_variant_gemm_bf16_11_ping_pong},
    {12, &ridge_variant_gemm_bf16_12_wide_tile},
};

/* Clocks that the end of a tile costs 09 to 12. */
static const int ends[] = {GEMM_END_DEFERRED, GEMM_END_ORDERED, GEMM_END_TURNS, GEMM_END_SETS};

static double estimate(const gemm_candidate *candidate, const int64_t *dim, const struct ridge_device *device,
                       const char *plan)
{
    if (candidate->number == 8)
        return 0; /* made for the few rows that it takes */
    return gemm_plan_estimate(plan, ends[candidate->number - 9], dim, device);
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return ridge_variant_gemm_bf16_09_deferred_store.unsupported(dim, device);
}

using chosen = gemm_chosen<candidates, sizeof candidates / sizeof *candidates, estimate>;

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_13_chosen = {
    .idea = "the one of 08 to 12 that is estimated to be the fastest for the shape",
    .source = "",
    .changes = "no kernel of its own: a schedule for every shape instead of one for all",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .issued = chosen::issued,
    .setup = chosen::setup,
    .teardown = chosen::teardown,
    .describe = chosen::describe,
    .launch = chosen::launch,
    .plans = chosen::plans,
};
