/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gemm_fp8_block_parts.cuh is told to do for a shape, and which plan is estimated to be the fastest. Host code
 * without CUDA, so that it can be tested anywhere.
 */
#ifndef RIDGE_GEMM_FP8_BLOCK_PARTS_PLAN_H
#define RIDGE_GEMM_FP8_BLOCK_PARTS_PLAN_H

#include "kernels/gemm_bf16/gemm_few_rows_plan.h"

#include <stdio.h>
#include <string.h>

enum {
    PARTS_MAX_M = 256,
    PARTS_MAX = 8,           /* CTAs of a cluster */
    PARTS_COLUMNS = 128,     /* of a tile */
    PARTS_B_BYTES = 16384,   /* of a stage, in front of A's */
    PARTS_UNITS = 16,        /* of 8 columns, in a set: each thread has four totals of one */
    PARTS_UNIT_BYTES = 2048, /* of a warpgroup */
};

struct parts_plan {
    int parts, tiles;             /* of k, the CTAs of a cluster; of D, each with all rows */
    int blocks;                   /* of 128 along k */
    int blocks_part, blocks_rest; /* of a part: blocks / parts, and one more for the first `blocks_rest` */
    int sets[2];                  /* of 64 rows of A, of either warpgroup */
    int owned[2];                 /* of a warpgroup's units, those that a part adds up */
    int stages, stage_bytes, scale_bytes;
    int scales, barriers, bytes; /* shared memory: stages, in whose place totals meet, from 0 on */
    int taken;                   /* rows of A that are copied: what lies behind them is read and means nothing */
    int copied;                  /* bytes of a stage that copies bring */
};

/* Completes a plan that has parts, and may have stages. NULL, or the rule it breaks. */
static inline const char *parts_complete(struct parts_plan *plan, const int64_t *dim, const struct ridge_device *device)
{
    const int sets = few_rows_up(dim[0], 64) > 2 ? few_rows_up(dim[0], 64) : 2;
    if (dim[0] > PARTS_MAX_M)
        return "there are more rows of A than a tile has";
    plan->blocks = few_rows_up(dim[2], 128);
    if (plan->parts < 1 || plan->parts > PARTS_MAX)
        return "k is in 1 to 8 parts, the CTAs of a cluster";
    if (plan->parts > plan->blocks)
        return "there are fewer blocks of 128 along k than parts";
    plan->tiles = few_rows_up(dim[1], PARTS_COLUMNS);
    plan->blocks_part = plan->blocks / plan->parts;
    plan->blocks_rest = plan->blocks % plan->parts;
    plan->sets[0] = (sets + 1) / 2;
    plan->sets[1] = sets / 2;
    for (int i = 0; i < 2; i++)
        plan->owned[i] = few_rows_up((int64_t)plan->sets[i] * PARTS_UNITS, plan->parts);
    plan->taken = few_rows_up(dim[0], 8) * 8; /* whole swizzle atoms */
    plan->copied = PARTS_B_BYTES + plan->taken * 132;
    plan->stage_bytes = PARTS_B_BYTES + sets * 64 * 128;
    plan->scale_bytes = sets * 64 * 4;
    const int64_t room = (device->smem_optin_bytes - 8) / (plan->stage_bytes + plan->scale_bytes + 16);
    const int use = few_rows_up(plan->blocks, plan->parts);
    const int enough = few_rows_ring((int64_t)plan->tiles * plan->parts, PARTS_COLUMNS, device);
    const int wanted = plan->stages > 0 ? plan->stages : enough > 4 ? enough : 4;
    int stages = room < use ? (int)room : use;
    if (wanted < stages)
        stages = wanted;
    if (stages < 2 && stages < use)
        return "shared memory has no room for two stages, or they are not wanted";
    const int meeting = plan->parts * (plan->owned[0] + plan->owned[1]) * PARTS_UNIT_BYTES;
    plan->stages = stages;
    plan->scales = stages * plan->stage_bytes > meeting ? stages * plan->stage_bytes : meeting;
    plan->barriers = plan->scales + stages * plan->scale_bytes;
    plan->bytes = plan->barriers + 16 * stages + 8;
    return plan->bytes <= device->smem_optin_bytes ? NULL : "shared memory has no room for the totals";
}

/* Reads a plan, PARTS[:STAGES], and completes it. NULL, or the rule that the text breaks. */
static inline const char *parts_read(const char *text, const int64_t *dim, const struct ridge_device *device,
                                     struct parts_plan *plan)
{
    int used = 0, more = 0;
    *plan = (struct parts_plan){0};
    sscanf(text, "%2d%n", &plan->parts, &used);
    if (used && text[used] == ':' && sscanf(text + used, ":%3d%n", &plan->stages, &more) == 1)
        used += more;
    if (!used || text[used] || plan->stages < 0)
        return "not PARTS[:STAGES]";
    return parts_complete(plan, dim, device);
}

static inline void parts_write(const struct parts_plan *plan, char text[RIDGE_PLAN_BYTES])
{
    snprintf(text, RIDGE_PLAN_BYTES, "%d:%d", plan->parts, plan->stages);
}

/* For setup: nonzero, with call->error, where device->plan is no plan for the shape. */
static inline int parts_refused(const struct ridge_call *call)
{
    struct parts_plan plan;
    const char *text = call->device->plan;
    const char *rule = text ? parts_read(text, call->dim, call->device, &plan) : NULL;
    if (rule)
        snprintf(call->error, call->error_bytes, "plan %.63s: %s", text, rule);
    return rule != NULL;
}

/* Clusters that run at one time, of one CTA an SM, as few_rows_places() has them. */
static inline int parts_places(const struct parts_plan *plan, const struct ridge_device *device)
{
    const struct few_rows_plan alike = {.splits = plan->parts};
    return few_rows_places(&alike, device);
}

/* Microseconds. B and D cost HBM 3.7 TB/s; a block of k takes 0.4 and 0.075 a set, which is more than the 256 clocks of
 * its products: the way of both operands into an SM and the chains of two warpgroups are nearly as long. A wave's start
 * and end are 6.5, and the more the more totals meet. */
static inline double parts_estimate(const struct parts_plan *plan, const int64_t *dim,
                                    const struct ridge_device *device)
{
    const int waves = few_rows_up(plan->tiles, parts_places(plan, device)), sets = plan->sets[0] + plan->sets[1];
    const double hbm = (double)dim[1] * (plan->blocks * 128.0 + 2.0 * (double)dim[0]) / 3.7e6;
    const double multiply = waves * few_rows_up(plan->blocks, plan->parts) * (0.4 + 0.075 * sets);
    return (hbm > multiply ? hbm : multiply) + waves * (6.5 + 0.13 * sets * plan->parts);
}

static inline struct parts_plan parts_fastest(const int64_t *dim, const struct ridge_device *device)
{
    struct parts_plan best = {0};
    double best_us = 0;
    for (int parts = 1; parts <= PARTS_MAX; parts++) {
        struct parts_plan plan = {.parts = parts};
        if (parts_complete(&plan, dim, device))
            continue;
        const double us = parts_estimate(&plan, dim, device);
        if (best.stages == 0 || us < best_us) {
            best = plan;
            best_us = us;
        }
    }
    return best;
}

/* What device->plan says, if it is one (parts_refused), else the plan of least estimate. */
static inline struct parts_plan parts_choose(const int64_t *dim, const struct ridge_device *device)
{
    struct parts_plan plan;
    if (device->plan && !parts_read(device->plan, dim, device, &plan))
        return plan;
    return parts_fastest(dim, device);
}

/* ridge_variant.plans: the plan of least estimate, then all others estimated at most half as slow again. */
static inline int parts_plans(const int64_t *dim, const struct ridge_device *device, char (*text)[RIDGE_PLAN_BYTES],
                              int max)
{
    const struct parts_plan first = parts_fastest(dim, device);
    const double limit = 1.5 * parts_estimate(&first, dim, device);
    int plans = 0;
    if (plans < max)
        parts_write(&first, text[plans++]);
    for (int parts = 1; parts <= PARTS_MAX && plans < max; parts++) {
        struct parts_plan plan = {.parts = parts};
        if (parts == first.parts || parts_complete(&plan, dim, device) || parts_estimate(&plan, dim, device) > limit)
            continue;
        parts_write(&plan, text[plans++]);
    }
    return plans;
}

#endif
