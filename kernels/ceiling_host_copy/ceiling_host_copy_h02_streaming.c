/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/host_streaming.h"

static void copy(const float *src, float *dst, int64_t count, int64_t passes)
{
    for (int64_t pass = 0; pass < passes; pass++) {
        int64_t i = 0;
        for (; i + 16 <= count; i += 16)
            for (int64_t j = 0; j < 16; j += 4)
                streaming_store(dst + i + j, streaming_load(src + i + j));
        for (; i < count; i++)
            dst[i] = src[i];
    }
    streaming_end();
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    streaming_issued((double)dim[0] / 2 * (double)dim[1], work);
}

static int launch(const struct ridge_call *call)
{
    const float *src = call->buffer[0];
    float *dst = call->buffer[1];
#pragma omp parallel
    {
        int64_t first, end;
        host_stream_part(call->dim[0] / 8, &first, &end);
        copy(src + first, dst + first, end - first, call->dim[1]);
    }
    return 0;
}

const struct ridge_variant ridge_variant_ceiling_host_copy_h02_streaming = {
    .idea = "streaming stores",
    .source = "McCalpin, STREAM",
    .changes = "stores bypass the caches: in DRAM no line is read before it is written; in the caches they only lose",
    .kind = RIDGE_HOST,
    .unsupported = streaming_unsupported,
    .issued = issued,
    .launch = launch,
};
