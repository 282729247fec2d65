// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/fill.h"
#include "kernels/support/support.h"

namespace {

constexpr int kThreads = 256;

int blocks_for(int64_t items)
{
    int64_t blocks = (items + kThreads - 1) / kThreads;
    return (int)(blocks < 1 ? 1 : blocks > 132 * 64 ? 132 * 64 : blocks);
}

__global__ void fill_kernel(void *dst, enum ridge_dtype dtype, enum ridge_fill fill, float scale, int data,
                            int64_t count, uint64_t seed)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        fill_element(dst, dtype, fill, scale, data, seed, i);
}

__global__ void count_not_kernel(const uint8_t *src, uint8_t byte, size_t bytes, unsigned long long *counter)
{
    unsigned long long differing = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < bytes; i += (size_t)gridDim.x * blockDim.x)
        differing += src[i] != byte;
    if (differing)
        atomicAdd(counter, differing);
}

__global__ void checksum_kernel(const uint8_t *src, size_t bytes, unsigned long long *sum)
{
    unsigned long long partial = 0;
    size_t words = bytes / 4;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words; i += (size_t)gridDim.x * blockDim.x)
        partial += fill_hash(reinterpret_cast<const uint32_t *>(src)[i], i);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (size_t i = words * 4; i < bytes; i++)
            partial += fill_hash(src[i], ~(uint64_t)i);
    atomicAdd(sum, partial);
}

__global__ void read_kernel(const uint4 *src, size_t count, uint32_t *sink)
{
    uint32_t folded = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        uint4 word = src[i];
        folded ^= word.x ^ word.y ^ word.z ^ word.w;
    }
    if (folded == 0x9e3779b9u) // keeps the loads
        *sink = folded;
}

} // namespace

extern "C" int support_fill(void *dst, enum ridge_dtype dtype, enum ridge_fill fill, double scale, int data,
                            int64_t count, uint64_t seed, void *stream)
{
    fill_kernel<<<blocks_for(count), kThreads, 0, (cudaStream_t)stream>>>(dst, dtype, fill, (float)scale, data,
                                                                          count, seed);
    return cudaGetLastError();
}

extern "C" int support_count_not(const void *src, int byte, size_t bytes, unsigned long long *counter, void *stream)
{
    count_not_kernel<<<blocks_for((int64_t)bytes), kThreads, 0, (cudaStream_t)stream>>>((const uint8_t *)src,
                                                                                        (uint8_t)byte, bytes, counter);
    return cudaGetLastError();
}

extern "C" int support_checksum(const void *src, size_t bytes, unsigned long long *sum, void *stream)
{
    checksum_kernel<<<blocks_for((int64_t)bytes / 4), kThreads, 0, (cudaStream_t)stream>>>((const uint8_t *)src, bytes,
                                                                                           sum);
    return cudaGetLastError();
}

extern "C" int support_read(const void *src, size_t bytes, uint32_t *sink, void *stream)
{
    read_kernel<<<blocks_for((int64_t)(bytes / 16)), kThreads, 0, (cudaStream_t)stream>>>((const uint4 *)src,
                                                                                          bytes / 16, sink);
    return cudaGetLastError();
}
