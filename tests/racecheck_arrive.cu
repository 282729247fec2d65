/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which barriers does racecheck follow? Two warps of three exchange 32 numbers, three times:
 *
 *   nvcc -gencode arch=compute_90a,code=sm_90a -I. -o racecheck_arrive tests/racecheck_arrive.cu
 *   for mode in 0 1 2 3; do compute-sanitizer --tool racecheck ./racecheck_arrive $mode; done
 *
 * Seen with CUDA 13.0: 0 (__syncthreads) and 1 (both bar.sync) no hazard, 2 (writer bar.arrive, reader bar.sync, and
 * the other way round; ordered by PTX ISA 9.0, 9.7.13.1) two, 3 (no barrier: a race) three.
 */
#include "kernels/ptx/warpgroup.cuh"

#include <stdlib.h>

template <int mode> static __device__ void meet(int barrier, int arriving)
{
    const int warp = threadIdx.x / 32;
    if (mode == 0)
        __syncthreads();
    else if (mode == 2 && warp == arriving)
        named_arrive(barrier, 64);
    else if (mode < 3 && warp < 2)
        named_sync(barrier, 64);
}

template <int mode> static __global__ void exchange(int *out)
{
    __shared__ int value[32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int turn = 0; turn < 3; turn++) {
        if (warp == 0)
            value[lane] = lane + turn;
        meet<mode>(1, 0);
        if (warp == 1)
            out[lane] += value[31 - lane];
        meet<mode>(2, 1);
    }
}

int main(int count, char **argument)
{
    void (*const kernel[])(int *) = {exchange<0>, exchange<1>, exchange<2>, exchange<3>};
    const int mode = count > 1 ? atoi(argument[1]) & 3 : 0;
    int *out;
    if (cudaMalloc(&out, 128) || cudaMemset(out, 0, 128))
        return 1;
    kernel[mode]<<<1, 96>>>(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}
