/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of stages in shared memory between one producer, which starts asynchronous copies into a stage, and consumers.
 * Each stage has two mbarriers: `full`, one arrival and the bytes of the copies, and `empty`, an arrival of every warp
 * that reads the stage. Producer and consumers walk the ring with a place of their own:
 *
 *   producer: mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
 *             mbarrier_arrive_expect(ring_full(ring, at), bytes);
 *             ... copies ...
 *             ring_next(ring, at);
 *
 *   consumer: mbarrier_wait(ring_full(ring, at), at.parity);
 *             ... reads ...
 *             mbarrier_arrive(ring_empty(ring, at));
 *             ring_next(ring, at);
 *
 * In the first round the producer waits for the phase before the first, which counts as complete.
 */
#ifndef RIDGE_SUPPORT_RING_CUH
#define RIDGE_SUPPORT_RING_CUH

#include "kernels/ptx/async.cuh"

struct ring {
    uint32_t data;     /* shared address of stage 0, a multiple of 1024 */
    uint32_t barriers; /* of 2 x stages mbarriers */
    int stages;
};

struct ring_place {
    int stage;
    uint32_t parity;
};

/* Bytes of the barriers. */
static __host__ __device__ __forceinline__ int ring_barrier_bytes(int stages)
{
    return 16 * stages;
}

static __device__ __forceinline__ uint32_t ring_full(const ring &ring, const ring_place &at)
{
    return ring.barriers + 8 * at.stage;
}

static __device__ __forceinline__ uint32_t ring_empty(const ring &ring, const ring_place &at)
{
    return ring.barriers + 8 * (ring.stages + at.stage);
}

static __device__ __forceinline__ void ring_next(const ring &ring, ring_place &at)
{
    if (++at.stage == ring.stages) {
        at.stage = 0;
        at.parity ^= 1;
    }
}

/* The place after `steps` steps. */
static __device__ __forceinline__ ring_place ring_place_of(const ring &ring, int steps)
{
    const uint32_t rounds = (uint32_t)steps / ring.stages;
    return {(int)(steps - rounds * ring.stages), rounds & 1};
}

/* The producer at the end: every stage has been released. Arrivals from other CTAs are then in, so that this CTA may
 * end. */
static __device__ __forceinline__ void ring_drain(const ring &ring, ring_place &at)
{
#pragma unroll 1
    for (int i = 0; i < ring.stages; i++, ring_next(ring, at))
        mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
}

/* One thread; a barrier over everybody who uses the ring follows. */
static __device__ __forceinline__ void ring_init(const ring &ring, int readers)
{
#pragma unroll 1
    for (int stage = 0; stage < ring.stages; stage++) {
        mbarrier_init(ring.barriers + 8 * stage, 1);
        mbarrier_init(ring.barriers + 8 * (ring.stages + stage), readers);
    }
    mbarrier_init_fence();
}

#endif
