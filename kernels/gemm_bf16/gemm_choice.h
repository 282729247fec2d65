/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which compiled tile, which cluster, how many stages and which order of tiles for a shape: an estimate in clocks of
 * every choice, of which the smallest is taken. Host code without CUDA, so that it can be tested anywhere.
 */
#ifndef RIDGE_GEMM_CHOICE_H
#define RIDGE_GEMM_CHOICE_H

#include "kernels/kernel.h"

#include <stdio.h>
#include <string.h>

/* A compiled tile. */
struct gemm_built {
    int rows, columns;          /* of D */
    int stage_bytes, fix_bytes; /* shared memory of a stage of 64 elements of k, and beside the stages */
    int group;                  /* slices of B are whole groups of rows; 0: 8, a swizzle atom */
    int end;                    /* clocks that the end of a tile costs; 0: its last products drain, and it is stored */
};

struct gemm_choice {
    int tile;                          /* index of the gemm_built */
    int cluster_rows, cluster_columns; /* CTAs */
    int stages;
    int band; /* cluster rows walked together */
    int stagger_ns;
    double clocks; /* the estimate */
};

enum { GEMM_MAX_STAGES = 8, GEMM_BARRIER_BYTES = 16 };

/* gemm_built.end of the schedules of gemm_bf16 that defer stores (09), order rows (10), take turns (11) and end a tile
 * set after set (12): what makes the estimates of all of them agree with times. */
enum { GEMM_END_DEFERRED = 700, GEMM_END_ORDERED = 1500, GEMM_END_TURNS = 300, GEMM_END_SETS = 2000 };

static inline int64_t gemm_div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Slices of A and B are whole groups. */
static inline bool gemm_sliceable(const struct gemm_built *built, int cluster_rows, int cluster_columns)
{
    return built->rows % (8 * cluster_columns) == 0 &&
           built->columns % ((built->group > 0 ? built->group : 8) * cluster_rows) == 0;
}

/* Clusters that run at a time. */
static inline int gemm_places(const struct gemm_choice *choice, const struct ridge_device *device)
{
    const int places = device->sms / (choice->cluster_rows * choice->cluster_columns);
    return places > 0 ? places : 1;
}

static inline int gemm_stages(const struct gemm_built *built, int64_t shared_bytes)
{
    int64_t stages = (shared_bytes - built->fix_bytes) / (built->stage_bytes + GEMM_BARRIER_BYTES);
    return (int)(stages < GEMM_MAX_STAGES ? stages : GEMM_MAX_STAGES);
}

/* Bytes of a stage from L2. The larger operand counts a fifth more: it is the one that comes from HBM meanwhile. */
static inline double gemm_fill_bytes(const struct gemm_built *built, const struct gemm_choice *choice,
                                     const int64_t *dim)
{
    const double a = 128.0 * built->rows / choice->cluster_columns, b = 128.0 * built->columns / choice->cluster_rows;
    return a * (dim[0] > dim[1] ? 1.2 : 1) + b * (dim[1] > dim[0] ? 1.2 : 1);
}

/* Clocks of a launch. A stage takes the tensor cores 4096 FLOP a clock and L2 about 40 bytes a clock and SM, of which
 * multicasts make 48; the larger counts, and a fifth of the smaller, since moving bytes takes power from a chip that
 * has none to spare. */
static inline double gemm_estimate(const struct gemm_built *built, const struct gemm_choice *choice, const int64_t *dim,
                                   const struct ridge_device *device)
{
    const int64_t rows = gemm_div_up(dim[0], (int64_t)built->rows * choice->cluster_rows);
    const int64_t columns = gemm_div_up(dim[1], (int64_t)built->columns * choice->cluster_columns);
    const int64_t waves = gemm_div_up(rows * columns, gemm_places(choice, device));
    const double multiply = built->rows / 64 * built->columns * 2.0;
    const double bytes = gemm_fill_bytes(built, choice, dim);
    const double fill = bytes / (choice->cluster_rows * choice->cluster_columns > 1 ? 48 : 40);
    const double stage = multiply > fill ? multiply + fill / 5 : fill + multiply / 5;
    const double end = built->end > 0 ? built->end : 3.0 * built->columns + 200;
    return (double)waves * ((double)gemm_div_up(dim[2], 64) * stage + end) + 6000;
}

/* Bytes from HBM when `band` cluster rows are walked together: the rows of A in a band are read once if they stay in L2
 * (in a third of it: both halves of L2 hold copies, and the rest streams), else once a wave; B once a band, or once in
 * all if it stays. */
static inline double gemm_traffic(const struct gemm_built *built, const struct gemm_choice *choice, int band,
                                  const int64_t *dim, const struct ridge_device *device)
{
    const double k_bytes = 2.0 * (double)dim[2], keep = (double)device->l2_bytes / 3;
    const int64_t rows = gemm_div_up(dim[0], (int64_t)built->rows * choice->cluster_rows);
    const int64_t columns = gemm_div_up(dim[1], (int64_t)built->columns * choice->cluster_columns);
    const int clusters = gemm_places(choice, device);
    const double a = (double)dim[0] * k_bytes, b = (double)dim[1] * k_bytes;
    const double a_band = (double)band * built->rows * choice->cluster_rows * k_bytes;
    const double bands = (double)gemm_div_up(rows, band), waves = (double)gemm_div_up(band * columns, clusters);
    return (a_band <= keep ? a : a * waves) + (a_band + b <= keep ? b : b * bands);
}

/* A band of `rows` rows of clusters that is at least as high as `band`, less than twice, and divides them; else bands
 * of about one height. */
static inline int gemm_even_band(int64_t rows, int band)
{
    for (int even = band; even < 2 * band; even++)
        if (rows % even == 0)
            return even;
    return (int)gemm_div_up(rows, gemm_div_up(rows, band));
}

/* The block of tiles in flight is about square, unless another band saves a tenth of the traffic. */
static inline int gemm_band(const struct gemm_built *built, const struct gemm_choice *choice, const int64_t *dim,
                            const struct ridge_device *device)
{
    const int64_t height = (int64_t)built->rows * choice->cluster_rows, rows = gemm_div_up(dim[0], height);
    const int64_t width = (int64_t)built->columns * choice->cluster_columns;
    const int clusters = gemm_places(choice, device);
    int best = 1;
    while (best < rows && (best + 1) * (best + 1) * height <= clusters * width)
        best++;
    best = gemm_even_band(rows, best);
    for (int band = 1; band <= 32 && band <= rows; band++) {
        /* Bands of one height: a short one at the end would walk half a block. */
        if (gemm_div_up(rows, gemm_div_up(rows, band)) != band)
            continue;
        if (gemm_traffic(built, choice, band, dim, device) < 0.9 * gemm_traffic(built, choice, best, dim, device))
            best = band;
    }
    return best;
}

/* Reads a plan, ROWSxCOLUMNS:CLUSTER_ROWSxCLUSTER_COLUMNS[:STAGES[:BAND[:STAGGER_NS]]], in which 0 or nothing leaves a
 * field to the heuristic. NULL, or the rule that the text breaks. */
static inline const char *gemm_plan_read(const char *text, const struct gemm_built *built, int count,
                                         const struct ridge_device *device, struct gemm_choice *choice)
{
    int rows = 0, columns = 0, used = 0, *field[] = {&choice->stages, &choice->band, &choice->stagger_ns};
    *choice = (struct gemm_choice){0};
    sscanf(text, "%5dx%5d:%2dx%2d%n", &rows, &columns, &choice->cluster_rows, &choice->cluster_columns, &used);
    for (int i = 0; i < 3 && used > 0 && text[used] == ':'; i++) {
        int more = 0;
        if (sscanf(text + used, ":%6d%n", field[i], &more) != 1 || *field[i] < 0)
            break;
        used += more;
    }
    if (used == 0 || text[used])
        return "not ROWSxCOLUMNS:CLUSTER_ROWSxCLUSTER_COLUMNS[:STAGES[:BAND[:STAGGER_NS]]] with fields from 0 on";
    while (choice->tile < count && (built[choice->tile].rows != rows || built[choice->tile].columns != columns))
        choice->tile++;
    if (choice->tile == count)
        return "no such tile is compiled";
    if (choice->cluster_rows < 1 || choice->cluster_columns < 1 || choice->cluster_rows * choice->cluster_columns > 8)
        return "a cluster has 1 to 8 CTAs";
    if (!gemm_sliceable(&built[choice->tile], choice->cluster_rows, choice->cluster_columns))
        return "the tile's rows and columns cannot be divided among the CTAs of the cluster in whole groups";
    if (choice->stages == 1 || choice->stages > gemm_stages(&built[choice->tile], device->smem_optin_bytes))
        return "stages are 2 to 8, and as many as shared memory has room for";
    return NULL;
}

/* gemm_estimate() of a plan as text, of a tile that ends in `end` clocks. */
static inline double gemm_plan_estimate(const char *text, int end, const int64_t *dim,
                                        const struct ridge_device *device)
{
    struct gemm_built built = {.end = end};
    struct gemm_choice choice = {0};
    sscanf(text, "%5dx%5d:%2dx%2d", &built.rows, &built.columns, &choice.cluster_rows, &choice.cluster_columns);
    return gemm_estimate(&built, &choice, dim, device);
}

static inline void gemm_plan_write(const struct gemm_built *built, const struct gemm_choice *choice,
                                   char plan[RIDGE_PLAN_BYTES])
{
    snprintf(plan, RIDGE_PLAN_BYTES, "%dx%d:%dx%d:%d:%d:%d", built[choice->tile].rows, built[choice->tile].columns,
             choice->cluster_rows, choice->cluster_columns, choice->stages, choice->band, choice->stagger_ns);
}

/* For setup: nonzero, with call->error, where device->plan is no plan for these tiles. */
static inline int gemm_plan_refused(const struct ridge_call *call, const struct gemm_built *built, int count)
{
    struct gemm_choice choice;
    const char *plan = call->device->plan;
    const char *rule = plan ? gemm_plan_read(plan, built, count, call->device, &choice) : NULL;
    if (!rule)
        return 0;
    int used = snprintf(call->error, call->error_bytes, "plan %.63s: %s; tiles are", plan, rule);
    for (int i = 0; i < count && used < (int)call->error_bytes; i++)
        used +=
            snprintf(call->error + used, call->error_bytes - (size_t)used, " %dx%d", built[i].rows, built[i].columns);
    return 1;
}

static const int gemm_clusters[][2] = {{1, 1}, {2, 1}, {1, 2}};

/* The tile and cluster of least estimate. */
static inline struct gemm_choice gemm_fastest(const struct gemm_built *built, int count, const int64_t *dim,
                                              const struct ridge_device *device)
{
    struct gemm_choice best = {.tile = -1};
    for (int i = 0; i < count; i++)
        for (size_t j = 0; j < sizeof gemm_clusters / sizeof *gemm_clusters; j++) {
            struct gemm_choice choice = {
                .tile = i, .cluster_rows = gemm_clusters[j][0], .cluster_columns = gemm_clusters[j][1]};
            if (!gemm_sliceable(&built[i], choice.cluster_rows, choice.cluster_columns))
                continue;
            choice.clocks = gemm_estimate(&built[i], &choice, dim, device);
            if (best.tile < 0 || choice.clocks < best.clocks)
                best = choice;
        }
    return best;
}

/* What a choice of tile and cluster leaves open. */
static inline void gemm_complete(const struct gemm_built *built, const int64_t *dim, const struct ridge_device *device,
                                 struct gemm_choice *choice)
{
    const int stages = gemm_stages(&built[choice->tile], device->smem_optin_bytes);
    if (choice->stages < 2 || choice->stages > stages) /* a stage is held until the next one is there */
        choice->stages = stages;
    if (choice->band < 1)
        choice->band = gemm_band(&built[choice->tile], choice, dim, device);
}

/* What device->plan says, if it is one (gemm_plan_refused), else the heuristic's choice. */
static inline struct gemm_choice gemm_choose(const struct gemm_built *built, int count, const int64_t *dim,
                                             const struct ridge_device *device)
{
    struct gemm_choice choice;
    if (!device->plan || gemm_plan_read(device->plan, built, count, device, &choice))
        choice = gemm_fastest(built, count, dim, device);
    gemm_complete(built, dim, device, &choice);
    return choice;
}

/* ridge_variant.plans: the heuristic's choice, then every tile in every cluster, each with bands of the heuristic's
 * height, half and twice it. */
static inline int gemm_plans(const struct gemm_built *built, int count, const int64_t *dim,
                             const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    struct gemm_choice first = gemm_fastest(built, count, dim, device);
    int plans = 0;
    gemm_complete(built, dim, device, &first);
    if (plans < max)
        gemm_plan_write(built, &first, plan[plans++]);
    for (int i = 0; i < count * 9; i++) {
        const int *cluster = gemm_clusters[i / 3 % 3], height = i % 3;
        struct gemm_choice choice = {.tile = i / 9, .cluster_rows = cluster[0], .cluster_columns = cluster[1]};
        if (!gemm_sliceable(&built[choice.tile], cluster[0], cluster[1]))
            continue;
        gemm_complete(built, dim, device, &choice);
        const int band = choice.band;
        const int64_t rows = gemm_div_up(dim[0], (int64_t)built[choice.tile].rows * cluster[0]);
        choice.band = height == 0 ? band : height == 1 ? band / 2 : band * 2;
        if (choice.band < 1 || choice.band > rows || plans == max)
            continue;
        gemm_plan_write(built, &choice, plan[plans]);
        plans += strcmp(plan[plans], plan[0]) != 0;
    }
    return plans;
}

#endif
