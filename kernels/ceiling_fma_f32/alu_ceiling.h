/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ceilings of single instructions share. A unit is 512 threads, each with 8 chains of `steps` steps of the
 * instruction; units are dealt to the CTAs of a resident grid. Unit u starts from the seeds changed by u mod 3, and the
 * last 264 units leave one word a thread in out[u mod 264].
 */
#ifndef RIDGE_ALU_CEILING_H
#define RIDGE_ALU_CEILING_H

#include "kernels/kernel.h"

enum { ALU_THREADS = 512, ALU_CHAINS = 8, ALU_KINDS = 3, ALU_KEPT = 264 };

static inline double alu_seed_count(const int64_t *dim)
{
    (void)dim;
    return ALU_THREADS * ALU_CHAINS;
}

static inline double alu_parameter_count(const int64_t *dim)
{
    (void)dim;
    return ALU_THREADS;
}

static inline double alu_word_count(const int64_t *dim)
{
    (void)dim;
    return ALU_KEPT * ALU_THREADS;
}

/* Results of one step in every chain of every thread, over all units and steps. */
static inline double alu_steps(const int64_t *dim, int steps)
{
    return (double)dim[0] * (double)(ALU_THREADS * ALU_CHAINS) * steps;
}

/* Runs the chains of every thread and kind through `unit`, which returns the thread's word, and writes the words of the
 * kept units. seed: 8 words a thread; parameter: a word a thread or NULL. The tolerances need no magnitudes. */
static inline void alu_reference(const void *seed, const void *parameter, int64_t units,
                                 double (*unit)(const uint32_t *seed, uint32_t parameter, int kind), double *ref,
                                 double *mag)
{
    for (int64_t thread = 0; thread < ALU_THREADS; thread++) {
        double word[ALU_KINDS];
        for (int kind = 0; kind < ALU_KINDS; kind++)
            word[kind] = unit((const uint32_t *)seed + thread * ALU_CHAINS,
                              parameter ? ((const uint32_t *)parameter)[thread] : 0, kind);
        for (int64_t u = units - ALU_KEPT; u < units; u++) {
            ref[u % ALU_KEPT * ALU_THREADS + thread] = word[u % ALU_KINDS];
            mag[u % ALU_KEPT * ALU_THREADS + thread] = 0;
        }
    }
}

#define ALU_AXES                                                                                                       \
    {                                                                                                                  \
        "iters", ALU_KEPT, INT64_C(1) << 31, 1, "units of 512 threads x 8 chains, dealt to a resident grid"            \
    }

/* Every CTA of a grid that fills 132 SMs gets `units_per_cta` units. */
#define ALU_SHAPES(units_per_cta)                                                                                      \
    {                                                                                                                  \
        {.name = "units", .level = RIDGE_QUICK, .kind = RIDGE_CUDA, .dim = {264 * (units_per_cta)}},                   \
    }

#define ALU_CHECK_DIMS                                                                                                 \
    {                                                                                                                  \
        {264}, {265}, {1000},                                                                                          \
    }

#endif
