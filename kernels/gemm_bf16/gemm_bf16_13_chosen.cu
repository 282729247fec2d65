/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a caller wants: the schedule that suits the shape. 08 takes few rows; of 09 to 12 each says which of its tiles
 * it would take, and the one of least estimate (gemm_choice.h) runs. A plan is theirs behind the number of the variant,
 * "12:256x176:1x2:3:16:0".
 */
#include "kernels/gemm_bf16/gemm_choice.h"

#include <stdlib.h>

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_08_few_rows, ridge_variant_gemm_bf16_09_deferred_store,
    ridge_variant_gemm_bf16_10_ordered_rows, ridge_variant_gemm_bf16_11_ping_pong, ridge_variant_gemm_bf16_12_wide_tile;

/* A schedule, and the clocks that the end of a tile costs it. */
struct candidate {
    int number;
    const struct ridge_variant *variant;
    int end;
};

static const struct candidate candidates[] = {
    {8, &ridge_variant_gemm_bf16_08_few_rows, 0},
    {9, &ridge_variant_gemm_bf16_09_deferred_store, GEMM_END_DEFERRED},
    {10, &ridge_variant_gemm_bf16_10_ordered_rows, GEMM_END_ORDERED},
    {11, &ridge_variant_gemm_bf16_11_ping_pong, GEMM_END_TURNS},
    {12, &ridge_variant_gemm_bf16_12_wide_tile, GEMM_END_SETS},
};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

/* A candidate and its plan, "" if no candidate takes the shape. */
struct chosen {
    const struct candidate *candidate;
    char plan[RIDGE_PLAN_BYTES];
    void *state; /* of the candidate's variant */
    char text[128];
};

/* The candidate's own plan; its estimated clocks, negative if it does not take the shape. */
static double estimate(const struct candidate *candidate, const int64_t *dim, const struct ridge_device *device,
                       char (*plan)[RIDGE_PLAN_BYTES])
{
    struct gemm_built built = {};
    struct gemm_choice choice = {};
    if (candidate->variant->unsupported(dim, device) || candidate->variant->plans(dim, device, plan, 1) < 1)
        return -1;
    if (candidate->number == 8)
        return 0; /* made for the few rows that it takes */
    built.end = candidate->end;
    sscanf(*plan, "%dx%d:%dx%d", &built.rows, &built.columns, &choice.cluster_rows, &choice.cluster_columns);
    return gemm_estimate(&built, &choice, dim, device);
}

static struct chosen fastest(const int64_t *dim, const struct ridge_device *device)
{
    struct chosen best = {};
    double least = 0;
    for (int i = 0; i < CANDIDATES; i++) {
        char plan[1][RIDGE_PLAN_BYTES];
        const double clocks = estimate(&candidates[i], dim, device, plan);
        if (clocks < 0 || (best.candidate && clocks >= least))
            continue;
        least = clocks;
        best.candidate = &candidates[i];
        memcpy(best.plan, plan[0], sizeof best.plan);
    }
    return best;
}

/* Which candidate a plan names, and what it says to it; NULL if it names none. */
static const struct candidate *named(const char *plan, const char **rest)
{
    int number = 0, used = 0;
    sscanf(plan, "%2d:%n", &number, &used);
    *rest = plan + used;
    for (int i = 0; i < CANDIDATES && used > 0; i++)
        if (candidates[i].number == number)
            return &candidates[i];
    return NULL;
}

/* What device->plan says, if it names a candidate, else the fastest. */
static struct chosen choose(const int64_t *dim, const struct ridge_device *device)
{
    const char *rest;
    const struct candidate *candidate = device->plan ? named(device->plan, &rest) : NULL;
    struct chosen chosen = {.candidate = candidate};
    if (!candidate)
        return fastest(dim, device);
    snprintf(chosen.plan, sizeof chosen.plan, "%s", rest);
    return chosen;
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return ridge_variant_gemm_bf16_09_deferred_store.unsupported(dim, device);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const struct chosen chosen = choose(dim, device);
    struct ridge_device planned = *device;
    planned.plan = chosen.plan;
    if (chosen.candidate)
        chosen.candidate->variant->issued(dim, &planned, work);
}

static int refused(const struct ridge_call *call)
{
    const char *plan = call->device->plan, *rest;
    if (!plan || named(plan, &rest))
        return 0;
    snprintf(call->error, call->error_bytes, "plan %.63s: not 8: to 12: before a plan of that variant", plan);
    return 1;
}

static int setup(struct ridge_call *call, void **state)
{
    if (refused(call))
        return 1;
    struct chosen *chosen = (struct chosen *)malloc(sizeof *chosen);
    if (!chosen) {
        snprintf(call->error, call->error_bytes, "out of memory");
        return 1;
    }
    *chosen = choose(call->dim, call->device);
    struct ridge_device planned = *call->device;
    struct ridge_call inner = *call;
    planned.plan = chosen->plan;
    inner.device = &planned;
    if (chosen->candidate->variant->setup(&inner, &chosen->state)) {
        free(chosen);
        return 1;
    }
    snprintf(chosen->text, sizeof chosen->text, "%02d: %s", chosen->candidate->number,
             chosen->candidate->variant->describe(chosen->state));
    *state = chosen;
    return 0;
}

static void teardown(void *state)
{
    struct chosen *chosen = (struct chosen *)state;
    if (chosen)
        chosen->candidate->variant->teardown(chosen->state);
    free(chosen);
}

static const char *describe(void *state)
{
    return state ? ((const struct chosen *)state)->text : "";
}

static int launch(const struct ridge_call *call)
{
    const struct chosen *chosen = (const struct chosen *)call->state;
    struct ridge_call inner = *call;
    inner.state = chosen->state;
    return chosen->candidate->variant->launch(&inner);
}

/* What is taken, and then what every other candidate would take. */
static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    const struct chosen best = fastest(dim, device);
    int count = 0;
    for (int i = -1; i < CANDIDATES && count < max; i++) {
        const struct candidate *candidate = i < 0 ? best.candidate : &candidates[i];
        char text[1][RIDGE_PLAN_BYTES];
        if ((i >= 0 && candidate == best.candidate) || estimate(candidate, dim, device, text) < 0)
            continue;
        snprintf(plan[count++], RIDGE_PLAN_BYTES, "%d:%.58s", candidate->number, text[0]);
    }
    return count;
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_13_chosen = {
    .idea = "the one of 08 to 12 that is estimated to be the fastest for the shape",
    .source = "",
    .changes = "no kernel of its own: a schedule for every shape instead of one for all",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = teardown,
    .describe = describe,
    .launch = launch,
    .plans = plans,
};
