/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_CEILING_HOST_FMA_H
#define RIDGE_CEILING_HOST_FMA_H

#include "kernels/kernel.h"

/* x becomes x A + B, `iters` times: x - 1 shrinks by A a step, slowly enough to count the steps. */
#define HOST_FMA_B 0x1p-10f
#define HOST_FMA_A (1 - HOST_FMA_B)

enum {
    HOST_FMA_CHUNK = 192,  /* elements: 12 vectors of 16, 8 or 4 lanes fit it a whole number of times */
    HOST_FMA_CHUNKS = 960, /* a multiple of most core counts */
};

/* Defines launch(): twelve independent vectors of so many bytes stay in registers, enough to fill two pipelines of
 * latency up to six. */
#define HOST_FMA_LAUNCH(attributes, bytes)                                                                             \
    typedef float vector __attribute__((vector_size(bytes), aligned(4)));                                              \
    enum { LANES = bytes / 4, SUMS = 12 };                                                                             \
                                                                                                                       \
    attributes static void steps(const float *x, float *out, int64_t iters)                                            \
    {                                                                                                                  \
        vector value[SUMS];                                                                                            \
        _Pragma("GCC unroll 12") for (int s = 0; s < SUMS; s++) value[s] = *(const vector *)(x + s * LANES);           \
        for (int64_t i = 0; i < iters; i++)                                                                            \
            _Pragma("GCC unroll 12") for (int s = 0; s < SUMS; s++) value[s] = value[s] * HOST_FMA_A + HOST_FMA_B;     \
        _Pragma("GCC unroll 12") for (int s = 0; s < SUMS; s++) * (vector *)(out + s * LANES) = value[s];              \
    }                                                                                                                  \
                                                                                                                       \
    static int launch(const struct ridge_call *call)                                                                   \
    {                                                                                                                  \
        const float *x = call->buffer[0];                                                                              \
        float *out = call->buffer[1];                                                                                  \
        _Pragma("omp parallel for") for (int64_t i = 0; i < HOST_FMA_CHUNKS * HOST_FMA_CHUNK; i += SUMS * LANES)       \
            steps(x + i, out + i, call->dim[0]);                                                                       \
        return 0;                                                                                                      \
    }

#endif
