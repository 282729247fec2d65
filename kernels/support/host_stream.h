/* SPDX-License-Identifier: Apache-2.0 */
/* What the ceiling_host_read, _copy and _triad families and variants share: each thread walks its own part of the
 * arrays `passes` times with the widest vectors of the machine. */
#ifndef RIDGE_HOST_STREAM_H
#define RIDGE_HOST_STREAM_H

#include <omp.h>

#include "kernels/kernel.h"
#include "kernels/support/host_cache.h"

/* HOST_STREAM_ISAS defines one function an instruction set from BODY(isa, attributes, bytes of a vector);
 * HOST_STREAM_BEST picks prefix_<isa> at run time. */
#ifdef __x86_64__
#define HOST_STREAM_ISAS(BODY)                                                                                         \
    BODY(baseline, , 16)                                                                                               \
    BODY(avx2, __attribute__((target("avx2,fma"))), 32)                                                                \
    BODY(avx512, __attribute__((target("avx512f"))), 64)
#define HOST_STREAM_BEST(prefix)                                                                                       \
    (__builtin_cpu_supports("avx512f")                                 ? prefix##_avx512                               \
     : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? prefix##_avx2                                 \
                                                                       : prefix##_baseline)
#else
#define HOST_STREAM_ISAS(BODY) BODY(baseline, , 16)
#define HOST_STREAM_BEST(prefix) prefix##_baseline
#endif

/* Elements [first, end) of the calling thread, in multiples of 16 (64 bytes) but for the last. */
static inline void host_stream_part(int64_t count, int64_t *first, int64_t *end)
{
    const int64_t lines = (count + 15) / 16, threads = omp_get_num_threads(), thread = omp_get_thread_num();
    *first = lines * thread / threads * 16;
    *end = lines * (thread + 1) / threads * 16;
    *first = *first < count ? *first : count;
    *end = *end < count ? *end : count;
}

/* Level that a working set is served from with the threads OpenMP would start. */
static inline enum host_level host_stream_level(int64_t working_set_bytes)
{
    return host_level(host_cache(), working_set_bytes, omp_get_max_threads());
}

/* Demand of reading and writing so many bytes at that level; nothing for a mixed level. */
static inline void host_stream_work(int64_t working_set_bytes, double read, double written, struct ridge_work *work)
{
    switch (host_stream_level(working_set_bytes)) {
    case HOST_L1:
        work->bytes_smem = read + written;
        break;
    case HOST_CACHE:
        work->bytes_l2 = read + written;
        break;
    case HOST_DRAM:
        work->bytes_hbm_read = read;
        work->bytes_hbm_write = written;
        break;
    case HOST_MIXED:
        break;
    }
}

/* The sweep: a launch moves about 400 MB in the caches, the working set once or a few times in DRAM. */
#define HOST_STREAM_SHAPES                                                                                             \
    {"16KiB", RIDGE_QUICK, RIDGE_HOST, {16 << 10, 24000}}, {"128KiB", RIDGE_STANDARD, RIDGE_HOST, {128 << 10, 3000}},  \
        {"1MiB", RIDGE_QUICK, RIDGE_HOST, {1 << 20, 320}}, {"8MiB", RIDGE_STANDARD, RIDGE_HOST, {8 << 20, 24}},        \
        {"128MiB", RIDGE_QUICK, RIDGE_HOST, {128 << 20, 2}}, {"512MiB", RIDGE_STANDARD, RIDGE_HOST, {512 << 20, 1}},   \
    {                                                                                                                  \
        "2GiB", RIDGE_FULL, RIDGE_HOST,                                                                                \
        {                                                                                                              \
            2ll << 30, 1                                                                                               \
        }                                                                                                              \
    }

#endif
