/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gemm_few_rows.cuh and gemm_fp8_block_turns.cuh are told to do for a shape, and which plan is estimated to be the
 * fastest. Host code without CUDA, so that it can be tested anywhere.
 */
#ifndef RIDGE_GEMM_FEW_ROWS_PLAN_H
#define RIDGE_GEMM_FEW_ROWS_PLAN_H

#include "kernels/kernel.h"

#include <stdio.h>
#include <string.h>

enum {
    FEW_ROWS_MAX_M = 256,
    FEW_ROWS_WARPGROUPS = 2,   /* consumers at most, of 64 rows of B and 64 or 128 of A each */
    FEW_ROWS_STAGING = 1024,   /* bytes a warp */
    FEW_ROWS_LINES = 8192,     /* bytes a warpgroup in turns: 64 rows of D */
    FEW_ROWS_FLIGHT = 7 << 20, /* bytes of B on their way at one time: few_rows_ring() */
};

struct few_rows_product {
    int depth;   /* elements of k in 128 bytes */
    bool scaled; /* a scale for every row of A and 128 bytes of k */
    bool wide;   /* a warpgroup may take 128 rows of A */
    bool turns;  /* two warpgroups take blocks of k in turn, each with all sums (gemm_fp8_block_turns.cuh) */
};

struct few_rows_plan {
    int rows, width;                /* of B and of A in a tile */
    int columns;                    /* rows of A that a warpgroup takes, in turns those that it stores */
    int splits;                     /* of k, the CTAs of a cluster */
    int clusters, tiles_b, tiles_a; /* clusters for each tile of A; tiles along n and m */
    int consumers, stages;          /* threads; of the ring */
    int readers;                    /* in turns: warps that read a stage */
    int blocks;                     /* of k, 128 bytes each */
    int blocks_split, blocks_rest;  /* of a split: blocks / splits, and one more for the first `blocks_rest` */
    int owned;                      /* of the groups of 8 rows of A, those that a split adds up */
    int deep;                       /* blocks of a stage */
    int stage_bytes, scale_bytes;   /* of a stage: blocks of both operands; of scales */
    int scales, sums, merge, staging, barriers, bytes; /* shared memory: where what begins, and its end */
    bool turns;                                        /* of the product */
    int taken;  /* rows of A that a tile has: the rest of `width` is not copied, is read and means nothing */
    int copied; /* bytes of a stage that copies bring */
};

static inline int few_rows_up(int64_t value, int64_t by)
{
    return (int)((value + by - 1) / by);
}

static inline int few_rows_sms(const struct ridge_device *device)
{
    return device->sms > 0 ? device->sms : 1;
}

/* Stages of `rows` rows of B each, in every CTA, that keep DRAM busy. More of them seldom help: a line that is asked
 * for takes the place of one of a full L2, which has to be written back, while later ones replace lines of B that have
 * been read. */
static inline int few_rows_ring(int64_t ctas, int rows, const struct ridge_device *device)
{
    const int sms = few_rows_sms(device);
    return few_rows_up(FEW_ROWS_FLIGHT, (ctas < sms ? ctas : sms) * rows * 128);
}

static inline int few_rows_warpgroups(const struct few_rows_plan *plan)
{
    return few_rows_up(plan->rows, 64) * plan->width / plan->columns;
}

/* Consumers and a producing warp; a warpgroup, of which one warp or two work, where it has registers to give. */
static inline int few_rows_threads(const struct few_rows_plan *plan)
{
    return plan->consumers + (plan->columns > 64 || plan->turns ? 128 : 32);
}

/* Lays out shared memory: as many stages as have room, at most those of the plan and those that are of use. */
static inline void few_rows_place(struct few_rows_plan *plan, int64_t shared)
{
    const int warpgroups = few_rows_warpgroups(plan);
    const int sums = (plan->splits - 1) * plan->owned * plan->consumers * 16;
    const int staging = warpgroups * 4 * FEW_ROWS_STAGING;
    const int64_t room = (shared - sums - staging - 8) / (plan->stage_bytes + plan->scale_bytes + 16);
    const int use =
        few_rows_up(few_rows_up(plan->blocks, plan->splits), 2) * few_rows_up(plan->tiles_b, plan->clusters);
    int stages = room < use ? (int)room : use;
    if (plan->stages > 0 && plan->stages < stages)
        stages = plan->stages;
    plan->stages = stages > 1 || use == 1 ? stages : 0; /* a stage is held until the next one is there */
    plan->scales = stages * plan->stage_bytes;
    plan->sums = plan->scales + stages * plan->scale_bytes;
    const int own = plan->consumers * plan->columns * 2;
    if (plan->splits > 1 && plan->sums < own) /* a CTA's own sums take the ring's place */
        plan->sums = own;
    plan->staging = plan->sums + sums;
    plan->barriers = plan->staging + staging;
    plan->bytes = plan->barriers + 16 * stages + 8;
}

/* The same in turns, where a tile ends with totals that change hands and D in whole lines: in the ring's place, unless
 * the ring is being filled for a next tile. Pairs of blocks are one warpgroup's and the other's; a number of stages
 * that four divides makes a stage always the same warpgroup's, which so knows its phase. A part of k ends with a pair
 * of one where it has an odd number of blocks. */
static inline void few_rows_place_turns(struct few_rows_plan *plan, const struct ridge_device *device)
{
    const int sums = (plan->splits - 1) * plan->owned * plan->consumers * 16;
    const int own = plan->consumers * plan->columns * 2;
    const int end = own + 2 * FEW_ROWS_LINES + (plan->splits > 1 ? plan->owned * plan->consumers * 16 : 0);
    const bool one = plan->clusters == plan->tiles_b;
    const int64_t room = device->smem_optin_bytes - sums - (one ? 0 : end) - 8,
                  fit = room / (plan->stage_bytes + plan->scale_bytes + 16);
    const int blocks = few_rows_up(plan->blocks, plan->splits);
    const int use = plan->splits > 1 ? blocks : few_rows_up(blocks, 2) * 2 * few_rows_up(plan->tiles_b, plan->clusters);
    const int enough = few_rows_ring((int64_t)plan->clusters * plan->splits * plan->tiles_a, plan->rows, device);
    const int wanted = plan->stages > 0 ? plan->stages : few_rows_up(enough, 4) * 4;
    int stages = fit < use ? (int)fit : use;
    if (wanted < stages)
        stages = wanted;
    plan->stages = stages < use ? stages / 4 * 4 : stages;
    plan->scales = plan->stages * plan->stage_bytes;
    plan->sums = plan->scales + plan->stages * plan->scale_bytes;
    if (one && plan->sums < end)
        plan->sums = end;
    plan->merge = one ? 0 : plan->sums;
    plan->staging = plan->merge + own;
    plan->barriers = plan->sums + sums + (one ? 0 : end);
    plan->bytes = plan->barriers + 16 * plan->stages + 8;
}

/* Completes a plan that has rows and splits, and may have clusters and stages. NULL, or the rule it breaks. */
static inline const char *few_rows_complete(struct few_rows_plan *plan, const struct few_rows_product *product,
                                            const int64_t *dim, const struct ridge_device *device)
{
    plan->width = dim[0] <= 64 ? 64 : 128;
    plan->columns = product->wide && plan->width > 64 && plan->rows > 64 ? 128 : 64;
    plan->turns = product->turns;
    if (plan->turns && plan->rows != 64)
        return "rows are 64 in turns";
    if (plan->turns)
        plan->columns = plan->width / 2;
    plan->blocks = few_rows_up(dim[2], product->depth);
    if (plan->rows < 16 || plan->rows % 16 || few_rows_warpgroups(plan) > FEW_ROWS_WARPGROUPS)
        return "rows are a multiple of 16, at most 128, and 64 in BF16 for m > 64";
    if (plan->splits < 1 || plan->splits > 8)
        return "k is split over the 1 to 8 CTAs of a cluster";
    if (plan->splits > plan->blocks)
        return "there are fewer blocks of 128 bytes along k than splits";
    plan->tiles_a = few_rows_up(dim[0], plan->width);
    plan->taken = few_rows_up(dim[0], 8 * plan->tiles_a) * 8; /* whole swizzle atoms */
    plan->tiles_b = few_rows_up(dim[1], plan->rows);
    if (plan->clusters < 1 || plan->clusters > plan->tiles_b)
        plan->clusters = plan->tiles_b;
    if (plan->splits > 1 && plan->clusters < plan->tiles_b)
        return "clusters that split k do one tile each: there are not enough of them";
    plan->blocks_split = plan->blocks / plan->splits;
    plan->blocks_rest = plan->blocks % plan->splits;
    plan->owned = few_rows_up(plan->columns / 8, plan->splits);
    plan->consumers = 128 * few_rows_warpgroups(plan);
    plan->deep = plan->turns ? 1 : 2;
    plan->readers = plan->consumers / (plan->turns ? 64 : 32);
    plan->stage_bytes = 128 * plan->deep * (plan->rows + plan->width);
    plan->scale_bytes = product->scaled ? 4 * plan->deep * plan->width : 0;
    plan->copied = plan->deep * (128 * (plan->rows + plan->taken) + (product->scaled ? 4 * plan->taken : 0));
    if (plan->turns)
        few_rows_place_turns(plan, device);
    else
        few_rows_place(plan, device->smem_optin_bytes);
    return plan->stages > 0 ? NULL : "shared memory has no room for two stages, in turns four";
}

/* Reads a plan, ROWS:SPLITS[:CLUSTERS[:STAGES]], in which 0 or nothing leaves a field open, and completes it.
 * NULL, or the rule that the text breaks. */
static inline const char *few_rows_read(const char *text, const struct few_rows_product *product, const int64_t *dim,
                                        const struct ridge_device *device, struct few_rows_plan *plan)
{
    int used = 0, *field[] = {&plan->clusters, &plan->stages};
    *plan = (struct few_rows_plan){0};
    sscanf(text, "%5d:%2d%n", &plan->rows, &plan->splits, &used);
    for (int i = 0; i < 2 && used > 0 && text[used] == ':'; i++) {
        int more = 0;
        if (sscanf(text + used, ":%6d%n", field[i], &more) != 1 || *field[i] < 0)
            break;
        used += more;
    }
    if (used == 0 || text[used])
        return "not ROWS:SPLITS[:CLUSTERS[:STAGES]] with fields from 0 on";
    return few_rows_complete(plan, product, dim, device);
}

static inline void few_rows_write(const struct few_rows_plan *plan, char text[RIDGE_PLAN_BYTES])
{
    snprintf(text, RIDGE_PLAN_BYTES, "%d:%d:%d:%d", plan->rows, plan->splits, plan->clusters, plan->stages);
}

/* For setup: nonzero, with call->error, where device->plan is no plan for the shape. */
static inline int few_rows_refused(const struct ridge_call *call, const struct few_rows_product *product)
{
    struct few_rows_plan plan;
    const char *text = call->device->plan;
    const char *rule = text ? few_rows_read(text, product, call->dim, call->device, &plan) : NULL;
    if (rule)
        snprintf(call->error, call->error_bytes, "plan %.63s: %s", text, rule);
    return rule != NULL;
}

/* Clusters that run at one time. A GPC has 16 or 18 SMs, some fewer, and a cluster lies in one. Two CTAs of one
 * warpgroup fit an SM if their shared memory does. */
static inline int few_rows_places(const struct few_rows_plan *plan, const struct ridge_device *device)
{
    const int sms = few_rows_sms(device);
    const int places = plan->splits == 1 ? sms : plan->splits == 2 ? sms / 2 : sms / 8 * (16 / plan->splits) * 15 / 32;
    const bool two = plan->consumers == 128 && 2 * (plan->bytes + 1024) <= device->smem_optin_bytes + 1024;
    return (places > 0 ? places : 1) * (two ? 2 : 1);
}

/* Microseconds, in turns. B arrives from 1.7 us on at 3.8 TB/s, unless consumers are slower, or the ring, which waits
 * 1.6 us for what it asks for. With k whole a tile ends in 2 us, which a further wave costs too, a further tile of the
 * same CTA 0.4; parts of k meet later the more CTAs there are, and the more of them are one cluster. 128 rows of A cost
 * all of these more. */
static inline double few_rows_estimate_turns(const struct few_rows_plan *plan, const int64_t *dim,
                                             const struct ridge_device *device)
{
    const bool wide = plan->width > 64;
    const int waves = few_rows_up((int64_t)plan->clusters * plan->tiles_a, few_rows_places(plan, device));
    const int tiles = few_rows_up(plan->tiles_b, plan->clusters);
    const double blocks = (double)waves * tiles * few_rows_up(plan->blocks, plan->splits);
    const double hbm = 0.5 + (double)dim[1] * plan->blocks * 128 / 3.8e6;
    const double consume = blocks * (wide ? 0.27 : 0.185), ring = blocks / plan->stages * 1.6;
    const double slow = consume > ring ? consume : ring, ctas = plan->clusters * plan->splits * plan->tiles_a;
    const double meet = 1 + 0.02 * ctas + 0.12 * plan->splits + 0.9 * wide, whole = 1.95 + 1.05 * wide;
    return 1.2 + (hbm > slow ? hbm : slow) + (plan->splits > 1 ? meet : whole) + (tiles - 1) * (wide ? 0.9 : 0.35) +
           whole * (waves - 1);
}

/* Microseconds. B comes from HBM at about 3.7 TB/s beside the write-backs of a cold L2, an SM takes 85 GB/s of both
 * operands, a warpgroup promotes 64 x 64 sums in 0.17 us and 64 x 128 in 0.26; a launch costs 2.3 us, a further wave
 * 1, to meet in a cluster 1.4, with 128 rows of A a warpgroup 2.2 more. Of m > 64 a tile ends in 0.6 or 1.2. */
static inline double few_rows_estimate(const struct few_rows_plan *plan, const struct few_rows_product *product,
                                       const int64_t *dim, const struct ridge_device *device)
{
    if (plan->turns)
        return few_rows_estimate_turns(plan, dim, device);
    const int waves = few_rows_up((int64_t)plan->clusters * plan->tiles_a, few_rows_places(plan, device));
    const int tiles = waves * few_rows_up(plan->tiles_b, plan->clusters);
    const double blocks = (double)tiles * few_rows_up(plan->blocks, plan->splits), wide = plan->columns > 64;
    const double hbm = (double)dim[1] * plan->blocks * 128 / 3.7e6;
    const double fill = blocks * 128 * (plan->rows + plan->width) / 85e3;
    const double multiply = product->scaled ? blocks * few_rows_warpgroups(plan) * (wide ? 0.26 : 0.17) : 0;
    double time = hbm > fill ? hbm : fill;
    time = time > multiply ? time : multiply;
    const double meet = plan->splits > 1 ? 1.3 + 0.05 * plan->splits + 2.2 * wide : 0;
    const double ends = plan->width > 64 ? tiles * 0.6 * (1 + wide) : 0;
    const double starts =
        0.002 * plan->clusters * plan->splits * plan->tiles_a; /* of two equals that with fewer CTAs */
    return time + 0.2 * (fill + multiply) + 1.3 + waves + meet + ends + starts;
}

/* The i-th plan worth a thought: every number of rows and of splits, for all tiles at once or persistent. */
static inline bool few_rows_candidate(int i, const struct few_rows_product *product, const int64_t *dim,
                                      const struct ridge_device *device, struct few_rows_plan *plan)
{
    *plan = (struct few_rows_plan){0};
    plan->rows = 16 * (i / 9 % 8 + 1);
    plan->splits = i % 9 < 8 ? i % 9 + 1 : 1;
    const int tiles = few_rows_up(dim[1], plan->rows);
    if (i % 9 == 8) { /* as few CTAs as take no more turns than all SMs would */
        const int turns = few_rows_up(tiles, few_rows_sms(device));
        if (turns == 1)
            return false;
        plan->clusters = few_rows_up(tiles, turns);
    }
    return few_rows_complete(plan, product, dim, device) == NULL;
}

enum { FEW_ROWS_CANDIDATES = 72 };

static inline struct few_rows_plan few_rows_fastest(const struct few_rows_product *product, const int64_t *dim,
                                                    const struct ridge_device *device)
{
    struct few_rows_plan best = {0}, plan;
    double best_us = 0;
    for (int i = 0; i < FEW_ROWS_CANDIDATES; i++) {
        if (!few_rows_candidate(i, product, dim, device, &plan))
            continue;
        const double us = few_rows_estimate(&plan, product, dim, device);
        if (best.stages == 0 || us < best_us) {
            best = plan;
            best_us = us;
        }
    }
    return best;
}

/* What device->plan says, if it is one (few_rows_refused), else the plan of least estimate. */
static inline struct few_rows_plan few_rows_choose(const struct few_rows_product *product, const int64_t *dim,
                                                   const struct ridge_device *device)
{
    struct few_rows_plan plan;
    if (device->plan && !few_rows_read(device->plan, product, dim, device, &plan))
        return plan;
    return few_rows_fastest(product, dim, device);
}

/* ridge_variant.plans: the plan of least estimate, then every candidate estimated at most half as slow again. */
static inline int few_rows_plans(const struct few_rows_product *product, const int64_t *dim,
                                 const struct ridge_device *device, char (*text)[RIDGE_PLAN_BYTES], int max)
{
    const struct few_rows_plan first = few_rows_fastest(product, dim, device);
    const double limit = 1.5 * few_rows_estimate(&first, product, dim, device);
    int plans = 0;
    if (plans < max)
        few_rows_write(&first, text[plans++]);
    for (int i = 0; i < FEW_ROWS_CANDIDATES && plans < max; i++) {
        struct few_rows_plan plan;
        if (!few_rows_candidate(i, product, dim, device, &plan) ||
            few_rows_estimate(&plan, product, dim, device) > limit)
            continue;
        few_rows_write(&plan, text[plans]);
        plans += strcmp(text[plans], text[0]) != 0;
    }
    return plans;
}

#endif
