/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ptx/global.cuh"
#include "kernels/support/block_scale.h"
#include "kernels/support/launch.cuh"
#include "kernels/support/scale_slab.h"

constexpr int THREADS = 256, BATCH = 4;

/* Four scales of a row from block 4 * word on; zeros, whose codes are 0, past the last block. A row begins at 16 bytes
 * where it has a multiple of four blocks. */
template <bool aligned> static __device__ __forceinline__ uint4 load(const uint32_t *row, int word, int blocks)
{
    if constexpr (aligned) {
        return ld_global_v4(row + 4 * word);
    } else {
        uint32_t v[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            v[j] = 4 * word + j < blocks ? row[4 * word + j] : 0;
        return make_uint4(v[0], v[1], v[2], v[3]);
    }
}

static __device__ __forceinline__ uint32_t pack(uint4 v)
{
    const uint32_t scale[4] = {v.x, v.y, v.z, v.w};
    uint32_t word = 0;
#pragma unroll
    for (int j = 0; j < 4; j++)
        word |= (uint32_t)ue8m0_from_f32(__uint_as_float(scale[j])) << 8 * j;
    return word;
}

/* Columns of words lie 2^shift + 4 apart in shared memory: 16-byte aligned for the way out, and in eight groups of
 * banks for the way in. */
template <bool aligned>
static __global__ void __launch_bounds__(THREADS)
    pack_ue8m0_row_slab(const uint32_t *__restrict__ in, uint32_t *__restrict__ out, int64_t m, int blocks, int words,
                        int shift)
{
    extern __shared__ __align__(16) uint32_t tile[];
    const int64_t pitch = block_scale_pitch(m), first = (int64_t)blockIdx.x << shift;
    const int rows = (int)min((int64_t)1 << shift, m - first), count = words << shift, apart = (1 << shift) + 4;
    const uint32_t *slab = in + first * blocks;
    for (int begin = threadIdx.x; begin < count; begin += BATCH * THREADS) {
        uint4 v[BATCH];
        int row[BATCH], word[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            row[i] = (unsigned)(begin + i * THREADS) / (unsigned)words;
            word[i] = begin + i * THREADS - row[i] * words;
            v[i] = make_uint4(0, 0, 0, 0);
            if (row[i] < rows)
                v[i] = load<aligned>(slab + row[i] * blocks, word[i], blocks);
        }
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (begin + i * THREADS < count)
                tile[word[i] * apart + row[i]] = pack(v[i]);
    }
    __syncthreads();
    for (int group = threadIdx.x; group < count / 4; group += THREADS) {
        const int word = group >> (shift - 2), row = 4 * (group - (word << (shift - 2)));
        if (first + row < pitch)
            st_global_v4(out + word * pitch + first + row, *(const uint4 *)&tile[word * apart + row]);
    }
}

static int launch(const struct ridge_call *call)
{
    const int blocks = (int)block_scale_count(call->dim[1]), words = (int)block_scale_words(call->dim[1]);
    const int shift = scale_slab_shift(blocks), bytes = 4 * words * ((1 << shift) + 4);
    const auto kernel = blocks % 4 ? pack_ue8m0_row_slab<false> : pack_ue8m0_row_slab<true>;
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<(unsigned)ridge_ceil_div(call->dim[0], (int64_t)1 << shift), THREADS, bytes, ridge_stream(call)>>>(
        (const uint32_t *)call->buffer[0], (uint32_t *)call->buffer[1], call->dim[0], blocks, words, shift);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_pack_ue8m0_02_row_slab = {
    .idea = "a CTA reads whole rows, one piece of memory, and writes a piece of every column of words",
    .source = "",
    .changes = "16-byte loads where rows have a multiple of four blocks, 16-byte stores; words turn in shared memory",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = scale_slab_unsupported,
    .launch = launch,
    .kernel = (const void *)pack_ue8m0_row_slab<true>,
};
