/* SPDX-License-Identifier: Apache-2.0 */
/* What the ceilings of local and of distributed shared memory have in common: tables of random words that are read
 * `passes` times, dealt to the SMs, and one sum of all words read, modulo 2^32. */
#ifndef RIDGE_TABLE_READ_H
#define RIDGE_TABLE_READ_H

#include "kernels/kernel.h"

static inline double table_sum_count(const int64_t *dim)
{
    (void)dim;
    return 1;
}

static inline uint32_t table_sum(const uint32_t *table, int64_t bytes)
{
    uint32_t sum = 0;
    for (int64_t i = 0; i < bytes / 4; i++)
        sum += table[i];
    return sum;
}

#define TABLE_BUFFERS(src_count)                                                                                       \
    {"src", RIDGE_U32, RIDGE_INPUT, RIDGE_FILL_BITS, 0, src_count},                                                    \
    {                                                                                                                  \
        "sum", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, table_sum_count                                            \
    }

#define TABLE_SHAPES(passes)                                                                                           \
    {                                                                                                                  \
        {.name = "passes", .level = RIDGE_QUICK, .kind = RIDGE_CUDA, .dim = {passes}},                                 \
    }

#endif
