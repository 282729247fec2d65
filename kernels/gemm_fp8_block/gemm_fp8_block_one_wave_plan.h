/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gemm_fp8_block_one_wave.cuh is told to do for a shape, and which plan is estimated to be the fastest. Host code
 * without CUDA, so that it can be tested anywhere.
 */
#ifndef RIDGE_GEMM_FP8_BLOCK_ONE_WAVE_PLAN_H
#define RIDGE_GEMM_FP8_BLOCK_ONE_WAVE_PLAN_H

#include "kernels/gemm_bf16/gemm_few_rows_plan.h"

#include <stdio.h>
#include <string.h>

enum {
    ONE_WAVE_MAX_M = 128,
    ONE_WAVE_PIECES = 16,     /* at most */
    ONE_WAVE_STAGING = 16384, /* bytes through which D leaves */
};

/* What kernels are compiled for: rows of A, and rows of B in a stage, which two warpgroups share if they share the rows
 * of A. */
struct one_wave_shape {
    int rows, columns;
};

static const struct one_wave_shape one_wave_shapes[] = {{128, 192}, {128, 128}, {128, 64}, {64, 128}, {64, 64}};
enum { ONE_WAVE_SHAPES = sizeof one_wave_shapes / sizeof *one_wave_shapes };

struct one_wave_plan {
    int shape;         /* of one_wave_shapes */
    int rows, columns; /* of the shape */
    int pieces;        /* of `columns` columns each, that a CTA does one after the other */
    int ctas, blocks;  /* blocks: of 128 along k */
    int stages;        /* of the ring of B */
    int places;        /* of A: a stage's, or a block's if A is kept for all pieces */
    int stages_at, staging, scales, barriers, bytes; /* shared memory: A from 0 on, then B and so on */
    int taken;  /* rows of A that are copied: what lies behind them in a place is read and means nothing */
    int copied; /* bytes of these and of their scales, of a block */
};

/* Completes a plan that has a shape and pieces, and may have stages. NULL, or the rule it breaks. */
static inline const char *one_wave_complete(struct one_wave_plan *plan, const int64_t *dim,
                                            const struct ridge_device *device)
{
    plan->rows = one_wave_shapes[plan->shape].rows;
    plan->columns = one_wave_shapes[plan->shape].columns;
    plan->blocks = few_rows_up(dim[2], 128);
    if (dim[0] > plan->rows)
        return "there are more rows of A than a tile has";
    plan->taken = few_rows_up(dim[0], 8) * 8; /* whole swizzle atoms */
    plan->copied = plan->taken * 132;
    if (plan->pieces < 1 || plan->pieces > ONE_WAVE_PIECES)
        return "a CTA does 1 to 16 pieces";
    plan->ctas = few_rows_up(dim[1], (int64_t)plan->columns * plan->pieces);
    const int a = plan->rows * 132, b = plan->columns * 128 + 16; /* with their scales and barriers */
    const bool kept = plan->pieces > 1;
    const int64_t use = (int64_t)plan->pieces * plan->blocks, shared = device->smem_optin_bytes - ONE_WAVE_STAGING;
    const int64_t room = kept ? (shared - (int64_t)plan->blocks * a) / b : shared / (a + b);
    const int enough = few_rows_ring(plan->ctas, plan->columns, device);
    const int wanted = plan->stages > 0 ? plan->stages : enough > 2 ? enough : 2;
    int stages = room < use ? (int)room : (int)use;
    if (wanted < stages)
        stages = wanted;
    if (stages < 2 && stages < use)
        return "shared memory has no room for two stages of B, and all of A if a CTA does more than one piece";
    plan->stages = stages;
    plan->places = kept ? plan->blocks : stages;
    plan->stages_at = plan->places * plan->rows * 128;
    plan->staging = plan->stages_at + stages * plan->columns * 128;
    plan->scales = plan->staging + ONE_WAVE_STAGING;
    plan->barriers = plan->scales + plan->places * plan->rows * 4;
    plan->bytes = plan->barriers + 16 * stages;
    return NULL;
}

/* Reads a plan, ROWS:COLUMNS:PIECES[:STAGES], and completes it. NULL, or the rule that the text breaks. */
static inline const char *one_wave_read(const char *text, const int64_t *dim, const struct ridge_device *device,
                                        struct one_wave_plan *plan)
{
    int used = 0, more = 0, rows = 0, columns = 0;
    *plan = (struct one_wave_plan){0};
    sscanf(text, "%5d:%5d:%5d%n", &rows, &columns, &plan->pieces, &used);
    if (used && text[used] == ':' && sscanf(text + used, ":%5d%n", &plan->stages, &more) == 1)
        used += more;
    if (!used || text[used] || plan->stages < 0)
        return "not ROWS:COLUMNS:PIECES[:STAGES]";
    while (plan->shape < ONE_WAVE_SHAPES &&
           (one_wave_shapes[plan->shape].rows != rows || one_wave_shapes[plan->shape].columns != columns))
        plan->shape++;
    return plan->shape < ONE_WAVE_SHAPES ? one_wave_complete(plan, dim, device)
                                         : "no kernel is compiled for such rows and columns";
}

static inline void one_wave_write(const struct one_wave_plan *plan, char text[RIDGE_PLAN_BYTES])
{
    snprintf(text, RIDGE_PLAN_BYTES, "%d:%d:%d:%d", plan->rows, plan->columns, plan->pieces, plan->stages);
}

/* For setup: nonzero, with call->error, where device->plan is no plan for the shape. */
static inline int one_wave_refused(const struct ridge_call *call)
{
    struct one_wave_plan plan;
    const char *text = call->device->plan;
    const char *rule = text ? one_wave_read(text, call->dim, call->device, &plan) : NULL;
    if (rule)
        snprintf(call->error, call->error_bytes, "plan %.63s: %s", text, rule);
    return rule != NULL;
}

/* Microseconds. B, and D but for the last pieces, cost HBM 3.8 TB/s, once the rows of A have come that are asked for at
 * the start, a stage's or all that are kept, at 165 GB/s into an SM. A ring comes every 1.7 us, both operands at 109
 * GB/s, of which each CTA that reads the same rows takes 0.13. The tensor cores take 4.7 clocks a column and block of k
 * for both warpgroups, one of which waits for its products and promotes them for 290 and 2 a column; a piece ends with
 * its last block and a store at 65 GB/s, in the open if it is the last one. Launch and first stage are 3.2, a further
 * wave 2, a further piece 0.1. */
static inline double one_wave_estimate(const struct one_wave_plan *plan, const int64_t *dim,
                                       const struct ridge_device *device)
{
    const int sms = few_rows_sms(device), waves = few_rows_up(plan->ctas, sms), own = plan->columns * plan->rows / 128;
    const double blocks = plan->blocks, steps = blocks * plan->pieces, later = 1 - 1.0 / (plan->pieces * waves);
    const double chain = 2.0 * own + 290, step = (4.7 * own > chain ? 4.7 * own : chain) / 1.8e3;
    const double end = step + plan->rows * plan->columns * 2 / 65e3;
    const double hbm =
        (double)dim[1] * (blocks * 128 + 2 * later * (double)dim[0]) / 3.8e6 + plan->places * plan->rows * 128 / 165e3;
    const double ring = waves * steps * 1.7 / plan->stages, beside = plan->ctas < sms ? plan->ctas : sms;
    const double fill = waves * 128 * (steps * plan->columns + blocks * plan->rows) / (109e3 - 130 * beside);
    const double consume = waves * (steps * step + (plan->pieces - 1) * end);
    double time = hbm > ring ? hbm : ring;
    time = time > fill ? time : fill;
    time = time > consume ? time : consume;
    return 1.1 + 2 * waves + 0.1 * plan->pieces + time + end;
}

enum { ONE_WAVE_CANDIDATES = (int)ONE_WAVE_SHAPES * (int)ONE_WAVE_PIECES };

/* The i-th plan worth a thought. */
static inline bool one_wave_candidate(int i, const int64_t *dim, const struct ridge_device *device,
                                      struct one_wave_plan *plan)
{
    *plan = (struct one_wave_plan){0};
    plan->shape = i / ONE_WAVE_PIECES;
    plan->pieces = i % ONE_WAVE_PIECES + 1;
    return one_wave_complete(plan, dim, device) == NULL;
}

/* Of those whose tile is not half without rows: others were slower by far when those were copied, and have not been
 * measured since. */
static inline struct one_wave_plan one_wave_fastest(const int64_t *dim, const struct ridge_device *device)
{
    struct one_wave_plan best = {0}, plan;
    double best_us = 0;
    for (int i = 0; i < (int)ONE_WAVE_CANDIDATES; i++) {
        if (!one_wave_candidate(i, dim, device, &plan) || (plan.rows > 64 && dim[0] <= 64))
            continue;
        const double us = one_wave_estimate(&plan, dim, device);
        if (best.stages == 0 || us < best_us) {
            best = plan;
            best_us = us;
        }
    }
    return best;
}

/* What device->plan says, if it is one (one_wave_refused), else the plan of least estimate. */
static inline struct one_wave_plan one_wave_choose(const int64_t *dim, const struct ridge_device *device)
{
    struct one_wave_plan plan;
    if (device->plan && !one_wave_read(device->plan, dim, device, &plan))
        return plan;
    return one_wave_fastest(dim, device);
}

/* ridge_variant.plans: the plan of least estimate, then every candidate estimated at most half as slow again. */
static inline int one_wave_plans(const int64_t *dim, const struct ridge_device *device, char (*text)[RIDGE_PLAN_BYTES],
                                 int max)
{
    const struct one_wave_plan first = one_wave_fastest(dim, device);
    const double limit = 1.5 * one_wave_estimate(&first, dim, device);
    int plans = 0;
    if (plans < max)
        one_wave_write(&first, text[plans++]);
    for (int i = 0; i < (int)ONE_WAVE_CANDIDATES && plans < max; i++) {
        struct one_wave_plan plan;
        if (!one_wave_candidate(i, dim, device, &plan) || one_wave_estimate(&plan, dim, device) > limit)
            continue;
        one_wave_write(&plan, text[plans]);
        plans += strcmp(text[plans], text[0]) != 0;
    }
    return plans;
}

#endif
