/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ptx/global.cuh"
#include "kernels/support/block_scale.cuh"
#include "kernels/support/launch.cuh"

constexpr int THREADS = 512, STEP = THREADS / 16, CHUNKS = 128 / STEP;

/* The largest over the CTA of what the threads hold. */
static __device__ __forceinline__ float largest_of_all(uint32_t pair)
{
    __shared__ uint32_t largest[THREADS / 32]; /* as bits, so that a NaN is the largest */
    const float mine = block_scale_amax_lanes<32>(pair);
    if (threadIdx.x % 32 == 0)
        largest[threadIdx.x / 32] = __float_as_uint(mine);
    __syncthreads();
    uint32_t amax = 0;
#pragma unroll
    for (int i = 0; i < THREADS / 32; i++)
        amax = max(amax, largest[i]);
    return __uint_as_float(amax);
}

/* One CTA a block, whose 32 KiB stay in registers between the amax and the codes; half a warp a row. */
static __global__ void __launch_bounds__(THREADS)
    quantise_128x128_registers(const uint4 *__restrict__ x, uint2 *__restrict__ codes, float *__restrict__ scale,
                               int64_t n, int pieces, int across)
{
    const unsigned down = blockIdx.x / across, right = blockIdx.x - down * across;
    const int64_t first = (int64_t)down * 128 + threadIdx.x / 16;
    const int piece = right * 16 + threadIdx.x % 16;
    const int64_t at = first * pieces + piece, step = (int64_t)STEP * pieces;
    const int rows = piece < pieces ? (int)min(n - first, (int64_t)128) : 0;
    uint4 v[CHUNKS];
    uint32_t pair = 0;
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        v[i] = make_uint4(0, 0, 0, 0);
        if (i * STEP < rows)
            v[i] = ld_global_v4(x + at + i * step);
    }
#pragma unroll
    for (int i = 0; i < CHUNKS; i++)
        pair = max_u16x2(pair, block_scale_amax_pair(v[i]));
    const float by = block_scale_of(largest_of_all(pair)), inverse = __frcp_rn(by);
    if (threadIdx.x == 0)
        scale[blockIdx.x] = by;
#pragma unroll
    for (int i = 0; i < CHUNKS; i++)
        if (i * STEP < rows)
            st_global_v2(codes + at + i * step, block_scale_codes8(v[i], inverse));
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return dim[1] % 8 ? "k must be a multiple of 8 here: rows of whole 16-byte loads" : NULL;
}

static int launch(const struct ridge_call *call)
{
    const int64_t n = call->dim[0], k = call->dim[1];
    quantise_128x128_registers<<<(unsigned)(block_scale_count(n) * block_scale_count(k)), THREADS, 0,
                                 ridge_stream(call)>>>((const uint4 *)call->buffer[0], (uint2 *)call->buffer[1],
                                                       (float *)call->buffer[2], n, (int)(k / 8),
                                                       (int)block_scale_count(k));
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_quantise_128x128_02_registers = {
    .idea = "one CTA a block, which stays in registers between its amax and its codes, 64 bytes a thread",
    .source = "",
    .changes = "one pass over memory, 16-byte loads; two conversions an instruction",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .launch = launch,
    .kernel = (const void *)quantise_128x128_registers,
};
