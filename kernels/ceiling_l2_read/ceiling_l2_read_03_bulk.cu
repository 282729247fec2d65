/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_l2_read/l2_read.cuh"
#include "kernels/ptx/async.cuh"

constexpr int STAGES = 8, WARPS = 8, STAGE_BYTES = WARPS * L2_PIECE_BYTES;

/* One CTA an SM owns stages blockIdx.x, + gridDim.x, ... in every pass; the copy engine brings them through a ring of
 * 16 KiB stages, warp w adds up piece w. The caller makes pieces a multiple of WARPS. */
static __global__ void __launch_bounds__(WARPS * 32)
    l2_read_bulk(const char *__restrict__ src, uint32_t *__restrict__ sum, int stages, unsigned passes)
{
    extern __shared__ __align__(128) char ring[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    uint32_t *lane_sum = (uint32_t *)(ring + STAGES * STAGE_BYTES);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int own = blockIdx.x < stages ? (stages - 1 - blockIdx.x) / gridDim.x + 1 : 0;
    long long total = (long long)own * passes;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(shared_address(&full[i]), 1);
            mbarrier_init(shared_address(&empty[i]), WARPS);
        }
        mbarrier_init_fence();
    }
    for (int i = 0; i < own; i++)
        lane_sum[i * WARPS * 32 + threadIdx.x] = 0;
    __syncthreads();

    int next = 0; /* own stage that is loaded next */
    auto load = [&](int slot) {
        mbarrier_arrive_expect(shared_address(&full[slot]), STAGE_BYTES);
        bulk_load(shared_address(ring + slot * STAGE_BYTES),
                  src + (size_t)(blockIdx.x + next * gridDim.x) * STAGE_BYTES, STAGE_BYTES,
                  shared_address(&full[slot]));
        next = next + 1 < own ? next + 1 : 0;
    };
    if (threadIdx.x == 0)
        for (int i = 0; i < STAGES && i < total; i++)
            load(i);

    int slot = 0, mine = 0;
    uint32_t parity = 0;
    for (long long i = 0; i < total; i++) {
        mbarrier_wait(shared_address(&full[slot]), parity);
        uint32_t from = shared_address(ring + slot * STAGE_BYTES + warp * L2_PIECE_BYTES) + lane * 16;
        uint32_t word = 0;
#pragma unroll
        for (int j = 0; j < L2_PIECE_BYTES / 512; j++)
            word += add(ld_shared_v4(from + j * 512));
        lane_sum[mine * WARPS * 32 + threadIdx.x] += word;
        __syncwarp();
        if (lane == 0)
            mbarrier_arrive(shared_address(&empty[slot]));
        if (threadIdx.x == 0 && i + STAGES < total) {
            mbarrier_wait(shared_address(&empty[slot]), parity);
            load(slot);
        }
        mine = mine + 1 < own ? mine + 1 : 0;
        if (++slot == STAGES) {
            slot = 0;
            parity ^= 1;
        }
    }
    for (int i = 0; i < own; i++) {
        uint32_t word = add_warp(lane_sum[i * WARPS * 32 + threadIdx.x]);
        if (lane == 0)
            sum[(blockIdx.x + i * gridDim.x) * WARPS + warp] = word;
    }
}

static int shared_bytes(const int64_t *dim, const struct ridge_device *device)
{
    return (int)(STAGES * STAGE_BYTES + l2_pieces_per_warp(dim, (int64_t)device->sms * WARPS) * WARPS * 32 * 4);
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    if (dim[0] % STAGE_BYTES)
        return "bytes must be a multiple of 16384 here";
    return shared_bytes(dim, device) > device->smem_optin_bytes ? "bytes: the partial sums do not fit shared memory"
                                                                : NULL;
}

static int launch(const struct ridge_call *call)
{
    int bytes = shared_bytes(call->dim, call->device);
    RIDGE_CUDA(call, cudaFuncSetAttribute(l2_read_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    l2_read_bulk<<<call->device->sms, WARPS * 32, bytes, ridge_stream(call)>>>(
        (const char *)call->buffer[0], (uint32_t *)call->buffer[1], (int)(call->dim[0] / STAGE_BYTES),
        (unsigned)call->dim[1]);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_l2_read_03_bulk = {
    .idea = "the copy engine (cp.async.bulk) fills a ring of eight 16 KiB stages, eight warps add them up",
    .source = "PTX ISA 9.0, 9.7.9.25.4.1",
    .changes = "the path that tiled kernels use: L2 to shared memory without registers",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .launch = launch,
    .kernel = (const void *)l2_read_bulk,
};
