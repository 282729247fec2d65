/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/host_stream.h"

#define BODY(isa, attributes, bytes)                                                                                   \
    typedef float vector_##isa __attribute__((vector_size(bytes), aligned(4)));                                        \
    attributes static void triad_##isa(const float *b, const float *c, float *a, int64_t count, int64_t passes)        \
    {                                                                                                                  \
        enum { LANES = bytes / 4, UNROLL = 4 };                                                                        \
        for (int64_t pass = 0; pass < passes; pass++) {                                                                \
            __asm__ volatile("" ::: "memory");                                                                         \
            int64_t i = 0;                                                                                             \
            for (; i + UNROLL * LANES <= count; i += UNROLL * LANES)                                                   \
                _Pragma("GCC unroll 4") for (int u = 0; u < UNROLL * LANES; u += LANES) *                              \
                    (vector_##isa *)(a + i + u) =                                                                      \
                    *(const vector_##isa *)(b + i + u) + 3 * *(const vector_##isa *)(c + i + u);                       \
            for (; i < count; i++)                                                                                     \
                a[i] = b[i] + 3 * c[i];                                                                                \
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
    const float *b = call->buffer[0], *c = call->buffer[1];
    float *a = call->buffer[2];
    void (*triad)(const float *, const float *, float *, int64_t, int64_t) = HOST_STREAM_BEST(triad);
#pragma omp parallel
    {
        int64_t first, end;
        host_stream_part(call->dim[0] / 12, &first, &end);
        triad(b + first, c + first, a + first, end - first, call->dim[1]);
    }
    return 0;
}

const struct ridge_variant ridge_variant_ceiling_host_triad_h01_vector = {
    .idea = "vector loads and ordinary stores, widest vectors of the machine",
    .source = "McCalpin, STREAM",
    .changes = "",
    .kind = RIDGE_HOST,
    .issued = issued,
    .launch = launch,
};
