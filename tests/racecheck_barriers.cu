/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which barriers does racecheck follow? Two warps of three exchange 32 numbers, three times, in clusters of two CTAs:
 *
 *   nvcc -gencode arch=compute_90a,code=sm_90a -I. -o racecheck_barriers tests/racecheck_barriers.cu
 *   compute-sanitizer --tool racecheck ./racecheck_barriers cluster
 *
 * Seen with CUDA 13.0: no hazard in block, some, gone, each and places; two or three in nested, arrive, local, window,
 * cluster and none. So the tool follows neither bar.arrive, nor a barrier while another is in use, nor an mbarrier for
 * the lanes that leave the arrival to one of them. (Whether it follows the window of the cluster cannot be told apart
 * from that here.) Synccheck reports 64 threads of places, which it calls divergent, and none of some: warps that wait
 * at one barrier are to come to it by one instruction.
 *
 * Each mode but `none` orders every write and read by PTX ISA 9.0, 9.7.13, and each checks what was exchanged.
 */
#include "kernels/ptx/async.cuh"
#include "kernels/ptx/grid.cuh"
#include "kernels/ptx/warpgroup.cuh"

#include <stdio.h>
#include <string.h>

enum mode {
    block,   /* __syncthreads */
    some,    /* bar.sync of the two warps */
    gone,    /* the same when the third warp has exited */
    nested,  /* bar.sync of all, while one waits there the other two meet in another */
    arrive,  /* bar.arrive of the warp that is waited for, bar.sync of the other */
    each,    /* mbarriers; all lanes arrive, with mbarrier.arrive.shared::cta */
    local,   /* the same, a lane arrives for its warp */
    window,  /* the same with mbarrier.arrive.shared::cluster, on its own CTA's barrier */
    cluster, /* the same on both CTAs' barriers, as consumers of a multicast give a stage back */
    places,  /* bar.sync of the two warps, each in a place of its own in the code */
    none,    /* no barrier: a race */
};
static const char *const names[] = {"block", "some",   "gone",    "nested", "arrive", "each",
                                    "local", "window", "cluster", "places", "none"};

/* Warp `from` has done something that the other of the two must not do before. */
template <enum mode mode> static __device__ void meet(int id, uint32_t barrier, int from, uint32_t parity)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (mode == block)
        __syncthreads();
    if (mode == nested)
        named_sync(id, 96);
    if (warp == 2 || mode == none || mode == block || mode == nested || mode == places)
        return;
    if (mode == arrive && warp == from)
        named_arrive(id, 64);
    else if (mode <= arrive)
        named_sync(id, 64);
    else if (warp != from)
        mbarrier_wait(barrier, parity);
    else {
        __syncwarp();
        if (mode == each)
            mbarrier_arrive(barrier);
        else if (mode == local && lane == 0)
            mbarrier_arrive(barrier);
        else if (mode == window && lane == 0)
            mbarrier_arrive_at(barrier, cluster_rank());
        else if (mode == cluster && lane < 2)
            mbarrier_arrive_at(barrier, lane);
    }
}

template <enum mode mode> static __global__ void __cluster_dims__(2) exchange(int *out)
{
    __shared__ int value[32];
    __shared__ uint64_t barriers[2];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t written = shared_address(barriers), read = written + 8;
    if (threadIdx.x == 0) {
        mbarrier_init(written, mode == each ? 32 : mode == cluster ? 2 : 1);
        mbarrier_init(read, mode == each ? 32 : mode == cluster ? 2 : 1);
        mbarrier_init_fence();
    }
    cluster_sync();
    int sum = 0;
    for (uint32_t turn = 0; turn < 3 && !(mode == gone && warp == 2); turn++) {
        if (mode == nested && warp != 1)
            named_sync(3, 64);
        if (mode == places && warp == 0) {
            value[lane] = lane + (int)turn;
            named_sync(1, 64);
            named_sync(2, 64);
        } else if (mode == places && warp == 1) {
            named_sync(1, 64);
            sum += value[31 - lane];
            named_sync(2, 64);
        }
        if (mode == places)
            continue;
        if (warp == 0)
            value[lane] = lane + (int)turn;
        meet<mode>(1, written, 0, turn % 2);
        if (warp == 1)
            sum += value[31 - lane];
        meet<mode>(2, read, 1, turn % 2);
    }
    if (warp == 1)
        out[blockIdx.x * 32 + lane] = sum;
    if (mode != gone || warp != 2)
        cluster_sync(); /* nobody arrives in a CTA that has ended */
}

int main(int count, char **argument)
{
    void (*const kernel[])(int *) = {exchange<block>,   exchange<some>,   exchange<gone>,  exchange<nested>,
                                     exchange<arrive>,  exchange<each>,   exchange<local>, exchange<window>,
                                     exchange<cluster>, exchange<places>, exchange<none>};
    int mode = 0, *out, faults = 0;
    while (count > 1 && mode < none && strcmp(argument[1], names[mode]) != 0)
        mode++;
    if (cudaMallocManaged(&out, 256))
        return 1;
    kernel[mode]<<<2, 96>>>(out);
    if (cudaDeviceSynchronize())
        return 1;
    for (int i = 0; i < 64; i++)
        faults += out[i] != 3 * (31 - i % 32) + 3;
    printf("%s: %d of 64 sums wrong\n", names[mode], faults);
    return faults > 0;
}
