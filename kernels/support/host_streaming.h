/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that bypass the caches: no line is read before it is written. x86 only. */
#ifndef RIDGE_HOST_STREAMING_H
#define RIDGE_HOST_STREAMING_H

#include "kernels/kernel.h"
#include "kernels/support/host_stream.h"

#ifdef __x86_64__
#include <xmmintrin.h>

typedef __m128 streaming_vector;

static inline streaming_vector streaming_load(const float *src)
{
    return _mm_loadu_ps(src);
}

/* dst 16-byte aligned */
static inline void streaming_store(float *dst, streaming_vector value)
{
    _mm_stream_ps(dst, value);
}

static inline void streaming_end(void)
{
    _mm_sfence();
}
#else
typedef float streaming_vector __attribute__((vector_size(16), aligned(4)));

static inline streaming_vector streaming_load(const float *src)
{
    return *(const streaming_vector *)src;
}

static inline void streaming_store(float *dst, streaming_vector value)
{
    *(streaming_vector *)dst = value;
}

static inline void streaming_end(void) {}
#endif

static inline const char *streaming_unsupported(const int64_t *dim, const struct ridge_device *device)
{
    (void)dim;
    (void)device;
#ifdef __x86_64__
    return NULL;
#else
    return "needs the streaming stores of x86";
#endif
}

/* Whatever the working set, what is written goes to DRAM. */
static inline void streaming_issued(double written, struct ridge_work *work)
{
    if (work->bytes_smem > 0)
        work->bytes_smem -= written;
    if (work->bytes_l2 > 0)
        work->bytes_l2 -= written;
    work->bytes_hbm_write = written;
}

#endif
