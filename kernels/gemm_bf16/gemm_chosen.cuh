/* SPDX-License-Identifier: Apache-2.0 */
/* A variant without a kernel of its own: of several other variants, the one of least estimate runs. A plan is theirs
 * behind the number of the variant, "12:256x176:1x2:3:16:0". */
#ifndef RIDGE_GEMM_CHOSEN_CUH
#define RIDGE_GEMM_CHOSEN_CUH

#include "kernels/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gemm_candidate {
    int number;
    const struct ridge_variant *variant;
};

/* A candidate and its plan, "" if no candidate takes the shape. */
struct gemm_chosen_state {
    const struct gemm_candidate *candidate;
    char plan[RIDGE_PLAN_BYTES];
    void *state; /* of the candidate's variant */
    char text[128];
};

/* The hooks of such a variant. estimate(candidate, dim, device, plan) is given the plan that the candidate itself would
 * take; of the candidates that take the shape the smallest counts. */
template <const gemm_candidate *candidates, int count,
          double estimate(const gemm_candidate *, const int64_t *, const struct ridge_device *, const char *)>
struct gemm_chosen {
    /* Negative if the candidate does not take the shape. */
    static double estimate_of(const gemm_candidate *candidate, const int64_t *dim, const struct ridge_device *device,
                              char (*plan)[RIDGE_PLAN_BYTES])
    {
        const struct ridge_variant *variant = candidate->variant;
        if (variant->unsupported(dim, device) || variant->plans(dim, device, plan, 1) < 1)
            return -1;
        return estimate(candidate, dim, device, *plan);
    }

    static gemm_chosen_state fastest(const int64_t *dim, const struct ridge_device *device)
    {
        gemm_chosen_state best = {};
        double least = 0;
        for (int i = 0; i < count; i++) {
            char plan[1][RIDGE_PLAN_BYTES];
            const double time = estimate_of(&candidates[i], dim, device, plan);
            if (time < 0 || (best.candidate && time >= least))
                continue;
            least = time;
            best.candidate = &candidates[i];
            memcpy(best.plan, plan[0], sizeof best.plan);
        }
        return best;
    }

    /* Which candidate a plan names, and what it says to it; NULL if it names none. */
    static const gemm_candidate *named(const char *plan, const char **rest)
    {
        int number = 0, used = 0;
        sscanf(plan, "%2d:%n", &number, &used);
        *rest = plan + used;
        for (int i = 0; i < count && used > 0; i++)
            if (candidates[i].number == number)
                return &candidates[i];
        return NULL;
    }

    /* What device->plan says, if it names a candidate, else the fastest. */
    static gemm_chosen_state choose(const int64_t *dim, const struct ridge_device *device)
    {
        const char *rest;
        const gemm_candidate *candidate = device->plan ? named(device->plan, &rest) : NULL;
        gemm_chosen_state chosen = {.candidate = candidate};
        if (!candidate)
            return fastest(dim, device);
        snprintf(chosen.plan, sizeof chosen.plan, "%s", rest);
        return chosen;
    }

    static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
    {
        const gemm_chosen_state chosen = choose(dim, device);
        struct ridge_device planned = *device;
        planned.plan = chosen.plan;
        if (chosen.candidate)
            chosen.candidate->variant->issued(dim, &planned, work);
    }

    static int refused(const struct ridge_call *call)
    {
        const char *plan = call->device->plan, *rest;
        const gemm_candidate *candidate = plan ? named(plan, &rest) : NULL;
        const char *reason = candidate ? candidate->variant->unsupported(call->dim, call->device) : NULL;
        if (!plan || (candidate && !reason))
            return 0;
        if (reason)
            snprintf(call->error, call->error_bytes, "plan %.63s: %s", plan, reason);
        else
            snprintf(call->error, call->error_bytes, "plan %.63s: not %d: to %d: before a plan of that variant", plan,
                     candidates[0].number, candidates[count - 1].number);
        return 1;
    }

    static int setup(struct ridge_call *call, void **state)
    {
        if (refused(call))
            return 1;
        gemm_chosen_state *chosen = (gemm_chosen_state *)malloc(sizeof *chosen);
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
        gemm_chosen_state *chosen = (gemm_chosen_state *)state;
        if (chosen)
            chosen->candidate->variant->teardown(chosen->state);
        free(chosen);
    }

    static const char *describe(void *state)
    {
        return state ? ((const gemm_chosen_state *)state)->text : "";
    }

    static int launch(const struct ridge_call *call)
    {
        const gemm_chosen_state *chosen = (const gemm_chosen_state *)call->state;
        struct ridge_call inner = *call;
        inner.state = chosen->state;
        return chosen->candidate->variant->launch(&inner);
    }

    /* What is taken, and then what every other candidate would take. */
    static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
    {
        const gemm_chosen_state best = fastest(dim, device);
        int found = 0;
        for (int i = -1; i < count && found < max; i++) {
            const gemm_candidate *candidate = i < 0 ? best.candidate : &candidates[i];
            char text[1][RIDGE_PLAN_BYTES];
            if (!candidate || (i >= 0 && candidate == best.candidate) || estimate_of(candidate, dim, device, text) < 0)
                continue;
            snprintf(plan[found++], RIDGE_PLAN_BYTES, "%d:%.58s", candidate->number, text[0]);
        }
        return found;
    }
};

#endif
