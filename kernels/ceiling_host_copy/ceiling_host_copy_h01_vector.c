/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/host_stream.h"

/* Four loads before four stores, so that the loop is not recognised as memcpy. */
#define BODY(isa, attributes, bytes)                                                                                   \
    typedef uint32_t vector_##isa __attribute__((vector_size(bytes), aligned(4)));                                     \
    attributes static void copy_##isa(const uint32_t *src, uint32_t *dst, int64_t count, int64_t passes)               \
    {                                                                                                                  \
        enum { LANES = bytes / 4, UNROLL = 4 };                                                                        \
        for (int64_t pass = 0; pass < passes; pass++) {                                                                \
            __asm__ volatile("" ::: "memory");                                                                         \
            int64_t i = 0;                                                                                             \
            for (; i + UNROLL * LANES <= count; i += UNROLL * LANES) {                                                 \
                vector_##isa word[UNROLL];                                                                             \
                _Pragma("GCC unroll 4") for (int u = 0; u < UNROLL; u++) word[u] =                                     \
                    *(const vector_##isa *)(src + i + u * LANES);                                                      \
                _Pragma("GCC unroll 4") for (int u = 0; u < UNROLL; u++) * (vector_##isa *)(dst + i + u * LANES) =     \
                    word[u];                                                                                           \
            }                                                                                                          \
            for (; i < count; i++)                                                                                     \
                dst[i] = src[i];                                                                                       \
        }                                                                                                              \
    }

HOST_STREAM_ISAS(BODY)

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    if (host_stream_level(dim[0]) == HOST_DRAM)
        work->bytes_hbm_read += work->bytes_hbm_write; /* a line is read before its first store */
}

static int launch(const struct ridge_call *call)
{
    const uint32_t *src = call->buffer[0];
    uint32_t *dst = call->buffer[1];
    void (*copy)(const uint32_t *, uint32_t *, int64_t, int64_t) = HOST_STREAM_BEST(copy);
#pragma omp parallel
    {
        int64_t first, end;
        host_stream_part(call->dim[0] / 8, &first, &end);
        copy(src + first, dst + first, end - first, call->dim[1]);
    }
    return 0;
}

const struct ridge_variant ridge_variant_ceiling_host_copy_h01_vector = {
    .idea = "vector loads and ordinary stores, widest vectors of the machine",
    .source = "",
    .changes = "",
    .kind = RIDGE_HOST,
    .issued = issued,
    .launch = launch,
};
