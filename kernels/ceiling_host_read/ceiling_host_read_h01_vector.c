/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/host_stream.h"

/* Eight sums hide the latency of the additions; the barrier keeps the compiler from reading once for all passes. */
#define BODY(isa, attributes, bytes)                                                                                   \
    typedef uint32_t vector_##isa __attribute__((vector_size(bytes), aligned(4)));                                     \
    attributes static uint32_t read_##isa(const uint32_t *src, int64_t count, int64_t passes)                          \
    {                                                                                                                  \
        enum { LANES = bytes / 4, SUMS = 8 };                                                                          \
        vector_##isa sum[SUMS] = {{0}};                                                                                \
        uint32_t total = 0;                                                                                            \
        for (int64_t pass = 0; pass < passes; pass++) {                                                                \
            __asm__ volatile("" ::: "memory");                                                                         \
            int64_t i = 0;                                                                                             \
            for (; i + SUMS * LANES <= count; i += SUMS * LANES)                                                       \
                _Pragma("GCC unroll 8") for (int s = 0; s < SUMS; s++) sum[s] +=                                       \
                    *(const vector_##isa *)(src + i + s * LANES);                                                      \
            for (; i < count; i++)                                                                                     \
                total += src[i];                                                                                       \
        }                                                                                                              \
        for (int s = 0; s < SUMS; s++)                                                                                 \
            for (int lane = 0; lane < LANES; lane++)                                                                   \
                total += sum[s][lane];                                                                                 \
        return total;                                                                                                  \
    }

HOST_STREAM_ISAS(BODY)

static int launch(const struct ridge_call *call)
{
    const uint32_t *src = call->buffer[0];
    uint32_t (*read)(const uint32_t *, int64_t, int64_t) = HOST_STREAM_BEST(read);
    uint32_t sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        int64_t first, end;
        host_stream_part(call->dim[0] / 4, &first, &end);
        sum = read(src + first, end - first, call->dim[1]);
    }
    *(uint32_t *)call->buffer[1] = sum;
    return 0;
}

const struct ridge_variant ridge_variant_ceiling_host_read_h01_vector = {
    .idea = "eight vector sums a thread, widest vectors of the machine",
    .source = "",
    .changes = "",
    .kind = RIDGE_HOST,
    .launch = launch,
};
