/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ptx/global.cuh"
#include "kernels/support/block_scale.cuh"
#include "kernels/support/launch.cuh"

constexpr int THREADS = 256, STEP = THREADS / 16, CHUNKS = 128 / STEP;

/* The largest over the CTA of what the threads hold. */
static __device__ __forceinline__ float largest_of_all(uint32_t pair)
{
    __shared__ uint32_t largest[THREADS / 32]; /* BF16 bits, so that a NaN is the largest */
    const uint32_t mine = __reduce_max_sync(~0u, max(pair & 0xffff, pair >> 16));
    if (threadIdx.x % 32 == 0)
        largest[threadIdx.x / 32] = mine;
    __syncthreads();
    uint32_t amax = 0;
#pragma unroll
    for (int i = 0; i < THREADS / 32; i++)
        amax = max(amax, largest[i]);
    return __uint_as_float(amax << 16);
}

/* As 02. `step`: pieces of STEP rows. Four CTAs fit an SM. */
static __global__ void __launch_bounds__(THREADS, 4)
    quantise_128x128_eight_loads(const uint4 *__restrict__ x, uint2 *__restrict__ codes, float *__restrict__ scale,
                                 int64_t n, int64_t step, int pieces, int across)
{
    const unsigned down = blockIdx.x / across, right = blockIdx.x - down * across;
    const int line = threadIdx.x / 16, piece = right * 16 + threadIdx.x % 16;
    const int64_t at = ((int64_t)down * 128 + line) * pieces + piece;
    const int rows = piece < pieces ? (int)min(n - (int64_t)down * 128, (int64_t)128) - line : 0;
    const uint4 *from = x + at;
    uint2 *to = codes + at;
    uint4 v[CHUNKS];
    uint32_t pair = 0;
#pragma unroll
    for (int i = 0; i < CHUNKS; i++, from += step) {
        v[i] = make_uint4(0, 0, 0, 0);
        if (i * STEP < rows)
            v[i] = ld_global_v4(from);
    }
#pragma unroll
    for (int i = 0; i < CHUNKS; i++)
        pair = max_u16x2(pair, block_scale_amax_pair(v[i]));
    const float by = block_scale_of(largest_of_all(pair)), inverse = __frcp_rn(by);
    if (threadIdx.x == 0)
        scale[blockIdx.x] = by;
#pragma unroll
    for (int i = 0; i < CHUNKS; i++, to += step)
        if (i * STEP < rows)
            st_global_v2(to, block_scale_codes8(v[i], inverse));
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return dim[1] % 8 ? "k must be a multiple of 8 here: rows of whole 16-byte loads" : NULL;
}

static int launch(const struct ridge_call *call)
{
    const int64_t n = call->dim[0], k = call->dim[1], pieces = k / 8;
    quantise_128x128_eight_loads<<<(unsigned)(block_scale_count(n) * block_scale_count(k)), THREADS, 0,
                                   ridge_stream(call)>>>((const uint4 *)call->buffer[0], (uint2 *)call->buffer[1],
                                                         (float *)call->buffer[2], n, STEP * pieces, (int)pieces,
                                                         (int)block_scale_count(k));
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_quantise_128x128_03_eight_loads = {
    .idea = "02 with 256 threads a block, 128 bytes each, all under way at one time",
    .source = "",
    .changes = "eight loads a thread, not four; 128 KiB an SM under way, not 96; addresses stepped by one number, the "
               "largest of a warp by one instruction",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .launch = launch,
    .kernel = (const void *)quantise_128x128_eight_loads,
};
