/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock stamps inside a kernel. A variant whose file includes this one is compiled once more with RIDGE_TRACE, the name
 * of its struct ridge_trace, for `ridge trace`. Its kernel calls trace_open() before a __syncthreads() of all threads,
 * and whole warps call trace_begin() and trace_end(); the first thread of each warpgroup stamps. In the ordinary build
 * nothing of it is left.
 */
#ifndef RIDGE_SUPPORT_TRACE_CUH
#define RIDGE_SUPPORT_TRACE_CUH

#include "kernels/support/trace.h"

#ifndef RIDGE_TRACE

static __device__ __forceinline__ void trace_open() {}

static __device__ __forceinline__ void trace_begin(enum trace_phase) {}

static __device__ __forceinline__ void trace_end(enum trace_phase) {}

#else

#include "kernels/ptx/clock.cuh"

static __device__ trace_event trace_log[TRACE_CTAS * TRACE_LANES * TRACE_EVENTS];
static __shared__ int trace_next[TRACE_LANES]; /* index into the log; below 0: no room */

static __device__ __forceinline__ void trace_open()
{
    const int first = (blockIdx.x + gridDim.x * blockIdx.y) * TRACE_LANES * TRACE_EVENTS;
    const bool traced = blockIdx.x + gridDim.x * blockIdx.y < TRACE_CTAS;
    if (threadIdx.x < TRACE_LANES)
        trace_next[threadIdx.x] = traced ? first + (int)threadIdx.x * TRACE_EVENTS : -1;
    for (int i = threadIdx.x; traced && i < TRACE_LANES * TRACE_EVENTS; i += blockDim.x)
        trace_log[first + i] = {};
}

static __device__ __forceinline__ void trace_stamp(enum trace_phase phase, uint16_t edge)
{
    if (threadIdx.x % 128 == 0) {
        const int next = trace_next[threadIdx.x / 128];
        if (next >= 0) {
            trace_log[next] = {(uint32_t)clock_cycles(), (uint16_t)phase, edge};
            trace_next[threadIdx.x / 128] = (next + 1) % TRACE_EVENTS ? next + 1 : -1;
        }
    }
    __syncwarp();
}

static __device__ __forceinline__ void trace_begin(enum trace_phase phase)
{
    trace_stamp(phase, 1);
}

static __device__ __forceinline__ void trace_end(enum trace_phase phase)
{
    trace_stamp(phase, 2);
}

static int trace_read(trace_lane *lanes)
{
    return cudaMemcpyFromSymbol(lanes, trace_log, sizeof trace_log);
}

extern "C" const struct ridge_trace RIDGE_TRACE;
const struct ridge_trace RIDGE_TRACE = {trace_read};

#endif

#endif
