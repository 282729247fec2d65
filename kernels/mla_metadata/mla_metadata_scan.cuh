/* SPDX-License-Identifier: Apache-2.0 */
/* The table by one block: where each request begins on the line of units, then for each part the request it begins in.
 */
#ifndef RIDGE_MLA_METADATA_SCAN_CUH
#define RIDGE_MLA_METADATA_SCAN_CUH

#include "kernels/mla_decode/mla_decode_split.cuh"

constexpr int metadata_threads = 256, metadata_requests = 2048;

/* Sum over the block of what threads before this one have, and of all. */
static __device__ __forceinline__ int metadata_scan(int value, int &total)
{
    __shared__ int warp_total[metadata_threads / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = value;
    for (int apart = 1; apart < 32; apart *= 2) {
        const int other = __shfl_up_sync(~0u, sum, apart);
        sum += lane >= apart ? other : 0;
    }
    if (lane == 31)
        warp_total[warp] = sum;
    __syncthreads();
    int before = sum - value;
    total = 0;
    for (int i = 0; i < metadata_threads / 32; i++) {
        before += i < warp ? warp_total[i] : 0;
        total += warp_total[i];
    }
    __syncthreads();
    return before;
}

/* The request that has unit `first`, of starts in order; b behind the last. */
static __device__ __forceinline__ int metadata_find(const int *start, int b, int first)
{
    int low = 0, high = b;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (start[middle + 1] > first)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static __global__ void __launch_bounds__(metadata_threads)
    mla_metadata_scan(mla_problem problem, int parts, mla_range *range, int *made_for)
{
    __shared__ int start[metadata_requests + 1];
    int total = 0;
    for (int chunk = 0; chunk < problem.b; chunk += metadata_threads) {
        const int request = chunk + threadIdx.x;
        int sum;
        const int at = total + metadata_scan(mla_units(problem, request), sum);
        if (request < problem.b) {
            start[request] = at;
            made_for[request] = mla_length(problem, request);
        }
        total += sum;
    }
    if (threadIdx.x == 0)
        start[problem.b] = total;
    __syncthreads();
    const int share = mla_share(total, problem.b, parts);
    for (int part = threadIdx.x; part < parts; part += metadata_threads) {
        const int first = part * share, request = metadata_find(start, problem.b, first);
        range[part] = {first, min(first + share, total), request, request < problem.b ? start[request] : 0};
    }
}

#endif
