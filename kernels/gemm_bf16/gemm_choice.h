/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which compiled tile, which cluster, how many stages and which order of tiles for a shape: an estimate in clocks of
 * every choice, of which the smallest is taken. Host code without CUDA, so that it can be tested anywhere.
 */
#ifndef RIDGE_GEMM_CHOICE_H
#define RIDGE_GEMM_CHOICE_H

#include "kernels/kernel.h"

#include <stdio.h>
#include <stdlib.h>

/* A compiled tile. */
struct gemm_built {
    int rows, columns;          /* of D */
    int stage_bytes, fix_bytes; /* shared memory of a stage of 64 elements of k, and beside the stages */
    int group;                  /* slices of B are whole groups of rows; 0: 8, a swizzle atom */
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

/* Clocks of a launch. A stage takes the tensor cores 4096 FLOP a clock and L2 about 40 bytes a clock and SM; the larger
 * counts, and a fifth of the smaller, since moving bytes takes power from a chip that has none to spare. A tile adds
 * what its end exposes: the last products drain and the result goes to shared memory. */
static inline double gemm_estimate(const struct gemm_built *built, const struct gemm_choice *choice, const int64_t *dim,
                                   const struct ridge_device *device)
{
    const int64_t rows = gemm_div_up(dim[0], (int64_t)built->rows * choice->cluster_rows);
    const int64_t columns = gemm_div_up(dim[1], (int64_t)built->columns * choice->cluster_columns);
    const int64_t waves = gemm_div_up(rows * columns, gemm_places(choice, device));
    const double multiply = built->rows / 64 * built->columns * 2.0;
    const double bytes = gemm_fill_bytes(built, choice, dim);
    const double fill = bytes / 40;
    const double stage = multiply > fill ? multiply + fill / 5 : fill + multiply / 5;
    return (double)waves * ((double)gemm_div_up(dim[2], 64) * stage + 3.0 * built->columns + 200) + 2000;
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
    best = (int)gemm_div_up(rows, gemm_div_up(rows, best));
    for (int band = 1; band <= 32 && band <= rows; band++) {
        /* Bands of one height: a short one at the end would walk half a block. */
        if (gemm_div_up(rows, gemm_div_up(rows, band)) != band)
            continue;
        if (gemm_traffic(built, choice, band, dim, device) < 0.9 * gemm_traffic(built, choice, best, dim, device))
            best = band;
    }
    return best;
}

/* RIDGE_GEMM_PLAN=ROWSxCOLUMNS:CLUSTER_ROWSxCLUSTER_COLUMNS:STAGES:BAND:STAGGER_NS takes the choice out of the
 * heuristic's hands, for measuring its regret; 0 leaves a field to it. False: not set, or not a compiled tile. */
static inline bool gemm_choice_forced(const struct gemm_built *built, int count, struct gemm_choice *choice)
{
    const char *text = getenv("RIDGE_GEMM_PLAN");
    int rows = 0, columns = 0;
    struct gemm_choice forced = {0};
    if (!text || sscanf(text, "%dx%d:%dx%d:%d:%d:%d", &rows, &columns, &forced.cluster_rows, &forced.cluster_columns,
                        &forced.stages, &forced.band, &forced.stagger_ns) < 4)
        return false;
    for (int i = 0; i < count; i++) {
        if (built[i].rows != rows || built[i].columns != columns || forced.cluster_rows < 1 ||
            forced.cluster_columns < 1 || forced.cluster_rows * forced.cluster_columns > 8 ||
            !gemm_sliceable(&built[i], forced.cluster_rows, forced.cluster_columns))
            continue;
        forced.tile = i;
        *choice = forced;
        return true;
    }
    return false;
}

static inline struct gemm_choice gemm_choose(const struct gemm_built *built, int count, const int64_t *dim,
                                             const struct ridge_device *device)
{
    static const int cluster[][2] = {{1, 1}, {2, 1}, {1, 2}};
    struct gemm_choice best = {0};
    if (!gemm_choice_forced(built, count, &best)) {
        for (int i = 0; i < count; i++)
            for (size_t j = 0; j < sizeof cluster / sizeof *cluster; j++) {
                if (!gemm_sliceable(&built[i], cluster[j][0], cluster[j][1]))
                    continue;
                struct gemm_choice choice = {
                    .tile = i, .cluster_rows = cluster[j][0], .cluster_columns = cluster[j][1]};
                choice.clocks = gemm_estimate(&built[i], &choice, dim, device);
                if (best.stages == 0 || choice.clocks < best.clocks) {
                    best = choice;
                    best.stages = 1;
                }
            }
        best.stages = 0;
    }
    const int stages = gemm_stages(&built[best.tile], device->smem_optin_bytes);
    if (best.stages < 2 || best.stages > stages) /* a stage is held until the next one is there */
        best.stages = stages;
    if (best.band < 1)
        best.band = gemm_band(&built[best.tile], &best, dim, device);
    return best;
}

#endif
