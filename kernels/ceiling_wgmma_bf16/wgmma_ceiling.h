/* SPDX-License-Identifier: Apache-2.0 */
/* What the two WGMMA ceilings share: constants, counts, reference, presets. */
#ifndef RIDGE_WGMMA_CEILING_H
#define RIDGE_WGMMA_CEILING_H

#include "kernels/kernel.h"

enum {
    WGMMA_K_BYTES = 512, /* bytes of k in one tile product: 16 instructions of 32 bytes */
    WGMMA_ROWS = 64,     /* rows of a tile */
    WGMMA_A_TILES = 2,   /* distinct tiles of A */
    WGMMA_D_TILES = 264, /* tiles kept in d: the last ones, one a warpgroup on 132 SMs with two each */
};

/* Bytes a tile product reads from shared memory. The instruction fetches each operand once for its warpgroup. */
static inline double wgmma_bytes_a(const int64_t *dim)
{
    return (double)dim[1] * (double)(WGMMA_ROWS * WGMMA_K_BYTES);
}

static inline double wgmma_bytes_b(const int64_t *dim)
{
    return (double)dim[1] * (double)(dim[0] * WGMMA_K_BYTES);
}

/* Of products with k elements a row. */
static inline double wgmma_flop(const int64_t *dim, int64_t k)
{
    return 2.0 * (double)(WGMMA_ROWS * dim[0] * k) * (double)dim[1];
}

static inline double wgmma_d_count(const int64_t *dim)
{
    return (double)(WGMMA_D_TILES * WGMMA_ROWS * dim[0]);
}

static inline int64_t wgmma_d_columns(const int64_t *dim)
{
    return dim[0];
}

static inline const char *wgmma_shape_error(const int64_t *dim)
{
    static const int64_t built[] = {8, 16, 32, 64, 96, 128, 192, 256};
    for (size_t i = 0; i < sizeof built / sizeof *built; i++)
        if (dim[0] == built[i])
            return NULL;
    return "n must be one of 8, 16, 32, 64, 96, 128, 192, 256";
}

/* d and its magnitudes from `value`, which decodes an element; k elements a row. */
static inline void wgmma_reference(const int64_t *dim, int64_t k, double (*value)(const void *, int64_t),
                                   void *const *buffer, double *const *ref, double *const *mag)
{
    int64_t n = dim[0], tile_count = WGMMA_ROWS * n;
    for (int64_t row = 0; row < WGMMA_A_TILES * WGMMA_ROWS; row++)
        for (int64_t column = 0; column < n; column++) {
            double sum = 0, magnitude = 0;
            for (int64_t i = 0; i < k; i++) {
                double product = value(buffer[0], row * k + i) * value(buffer[1], column * k + i);
                sum += product;
                magnitude += product < 0 ? -product : product;
            }
            for (int64_t tile = row / WGMMA_ROWS; tile < WGMMA_D_TILES; tile += WGMMA_A_TILES) {
                ref[0][tile * tile_count + row % WGMMA_ROWS * n + column] = sum;
                mag[0][tile * tile_count + row % WGMMA_ROWS * n + column] = magnitude;
            }
        }
}

#define WGMMA_AXES                                                                                                     \
    {"n", 8, 256, 8, "columns of one instruction: 8, 16, 32, 64, 96, 128, 192, 256"},                                  \
    {                                                                                                                  \
        "iters", WGMMA_D_TILES, INT64_C(1) << 40, 4,                                                                   \
            "tile products of 16 instructions, dealt to the warpgroups in turn"                                        \
    }

/* Counts that leave the last products to different warpgroups. */
#define WGMMA_CHECK_DIMS                                                                                               \
    {                                                                                                                  \
        {8, 264}, {16, 268}, {32, 528}, {64, 1000}, {96, 300}, {128, 792}, {192, 264}, {256, 776},                     \
    }

/* The sweep over n, each about 2 ms on 132 SMs; iters is a multiple of 264, so every warpgroup gets as many tiles. */
#define WGMMA_SHAPES                                                                                                   \
    {                                                                                                                  \
        {.name = "n8", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {8, 264 * 6144}},                               \
            {.name = "n16", .level = RIDGE_STANDARD, .kind = RIDGE_CUDA, .dim = {16, 264 * 5472}},                     \
            {.name = "n32", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {32, 264 * 4784}},                         \
            {.name = "n64", .level = RIDGE_STANDARD, .kind = RIDGE_CUDA, .dim = {64, 264 * 3416}},                     \
            {.name = "n96", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {96, 264 * 2392}},                         \
            {.name = "n128", .level = RIDGE_STANDARD, .kind = RIDGE_CUDA, .dim = {128, 264 * 1712}},                   \
            {.name = "n192", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {192, 264 * 1200}},                       \
            {.name = "n256", .level = RIDGE_QUICK, .kind = RIDGE_CUDA, .dim = {256, 264 * 856}},                       \
    }

#endif
