/* SPDX-License-Identifier: Apache-2.0 */
/* Set-ups that choose by time: events around one launch that finds L2 full of dirty lines, as `--cache cold` has it. */
#ifndef RIDGE_SUPPORT_COLD_TIMER_CUH
#define RIDGE_SUPPORT_COLD_TIMER_CUH

#include "kernels/support/launch.cuh"

struct cold_timer {
    void *flush; /* device memory, four times the L2 */
    size_t flush_bytes;
    cudaEvent_t start, stop;
};

/* cold_timer_close() follows, also where this fails. */
static inline int cold_timer_open(const struct ridge_call *call, struct cold_timer *timer)
{
    *timer = {};
    timer->flush_bytes = (size_t)call->device->l2_bytes * 4;
    RIDGE_CUDA(call, cudaMalloc(&timer->flush, timer->flush_bytes));
    RIDGE_CUDA(call, cudaEventCreate(&timer->start));
    RIDGE_CUDA(call, cudaEventCreate(&timer->stop));
    return 0;
}

/* Before the launch. The memset takes longer than the host needs to enqueue it, so the launch begins at once. */
static inline int cold_timer_start(const struct ridge_call *call, const struct cold_timer *timer)
{
    RIDGE_CUDA(call, cudaMemsetAsync(timer->flush, 0x5a, timer->flush_bytes, ridge_stream(call)));
    RIDGE_CUDA(call, cudaEventRecord(timer->start, ridge_stream(call)));
    return 0;
}

/* Behind it; waits for its end. */
static inline int cold_timer_stop(const struct ridge_call *call, const struct cold_timer *timer, float *ms)
{
    RIDGE_CUDA(call, cudaEventRecord(timer->stop, ridge_stream(call)));
    RIDGE_CUDA(call, cudaEventSynchronize(timer->stop));
    RIDGE_CUDA(call, cudaEventElapsedTime(ms, timer->start, timer->stop));
    return 0;
}

static inline void cold_timer_close(const struct cold_timer *timer)
{
    cudaFree(timer->flush);
    if (timer->start)
        cudaEventDestroy(timer->start);
    if (timer->stop)
        cudaEventDestroy(timer->stop);
}

#endif
