/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller wants: the schedule that suits the shape. Each of 13 to 15 and 17 says which plan it would take, and
 * the one of least estimate runs. */
#include "kernels/gemm_bf16/gemm_choice.h"
#include "kernels/gemm_bf16/gemm_chosen.cuh"
#include "kernels/gemm_bf16/gemm_few_rows_plan.h"
#include "kernels/gemm_fp8_block/gemm_fp8_block_one_wave_plan.h"
#include "kernels/gemm_fp8_block/gemm_fp8_block_parts_plan.h"

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_13_turns,
    ridge_variant_gemm_fp8_block_14_kept_factor, ridge_variant_gemm_fp8_block_15_one_wave,
    ridge_variant_gemm_fp8_block_17_parts;

static constexpr gemm_candidate candidates[] = {
    {13, &ridge_variant_gemm_fp8_block_13_turns},
    {14, &ridge_variant_gemm_fp8_block_14_kept_factor},
    {15, &ridge_variant_gemm_fp8_block_15_one_wave},
    {17, &ridge_variant_gemm_fp8_block_17_parts},
};

static const struct few_rows_product turns = {128, true, false, true};

/* Microseconds, as are those below. */
static double estimate_turns(const int64_t *dim, const struct ridge_device *device, const char *text)
{
    struct few_rows_plan plan;
    few_rows_read(text, &turns, dim, device, &plan);
    return few_rows_estimate(&plan, &turns, dim, device);
}

static double estimate_one_wave(const int64_t *dim, const struct ridge_device *device, const char *text)
{
    struct one_wave_plan plan;
    one_wave_read(text, dim, device, &plan);
    return one_wave_estimate(&plan, dim, device);
}

/* Negative, which is no estimate, where 15 has one tile for all rows of A. */
static double estimate_parts(const int64_t *dim, const struct ridge_device *device, const char *text)
{
    struct parts_plan plan;
    parts_read(text, dim, device, &plan);
    return dim[0] > ONE_WAVE_MAX_M ? parts_estimate(&plan, dim, device) : -1;
}

/* gemm_estimate() is for many rows, which keep the tensor cores busy: 1755 clocks. B and D take their time too. */
static double estimate_tiles(const int64_t *dim, const struct ridge_device *device, const char *text)
{
    const int64_t as_bf16[] = {dim[0], dim[1], (dim[2] + 1) / 2};
    const double time = gemm_plan_estimate(text, 0, as_bf16, device) / 1755;
    const double memory = 5 + (double)dim[1] * (double)(dim[2] + 2 * dim[0]) / 3.4e6;
    return time > memory ? time : memory;
}

static double estimate(const gemm_candidate *candidate, const int64_t *dim, const struct ridge_device *device,
                       const char *text)
{
    return candidate->number == 13   ? estimate_turns(dim, device, text)
           : candidate->number == 14 ? estimate_tiles(dim, device, text)
           : candidate->number == 15 ? estimate_one_wave(dim, device, text)
                                     : estimate_parts(dim, device, text);
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return ridge_variant_gemm_fp8_block_14_kept_factor.unsupported(dim, device);
}

using chosen = gemm_chosen<candidates, sizeof candidates / sizeof *candidates, estimate>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_16_chosen = {
    .idea = "the one of 13, 14, 15 and 17 that is estimated to be the fastest for the shape",
    .source = "",
    .changes = "no kernel of its own: a schedule for every shape instead of one for many rows and others for few",
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
