/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_launch.cuh"
#include "kernels/mla_decode/mla_decode_transposed.cuh"

/* blockIdx: tile of rows, part. */
template <int heads>
static __global__ void __launch_bounds__(mla_threads, 1)
    mla_transposed_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    using memory = mla_transposed<heads>;
    extern __shared__ __align__(1024) char dynamic[];
    const uint32_t base = shared_address(dynamic);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2 * mla_tiles; i++)
            mbarrier_init(base + memory::full + i * 8, 1);
        mbarrier_init(base + memory::empty, 4);
        mbarrier_init(base + memory::empty + 8, 4);
        mbarrier_init(base + memory::q_full, 1);
        mbarrier_init(base + memory::q_empty, 8);
        mbarrier_init_fence();
    }
    __syncthreads();
    grid_launch_dependents();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<mla_producer_registers>();
        if (threadIdx.x / 32 == 8)
            mla_transposed_produce<heads>(arguments, base);
    } else {
        registers_take<mla_consumer_registers>();
        mla_transposed_consume<heads>(arguments, base, warpgroup);
    }
}

static bool narrow(const int64_t *dim)
{
    return dim[1] * dim[3] <= 16;
}

static int row_tiles(const int64_t *dim)
{
    return (int)ridge_ceil_div(dim[1] * dim[3], narrow(dim) ? 16 : 32);
}

static int parts_of(const int64_t *dim, const struct ridge_device *device)
{
    const int parts = device->sms / row_tiles(dim);
    return parts > 0 ? parts : 1;
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return dim[1] * dim[3] > 128 ? "s_q * h above 128: every 32 rows read all keys again, 05 is for these"
                                 : mla_tile_unsupported(dim, device);
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    return mla_split_bytes(dim, parts_of(dim, device));
}

static void issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    const double rows = (double)dim[0] * row_tiles(dim) * (narrow(dim) ? 16 : 32);
    const double keys = (double)ridge_ceil_div(dim[2], mla_block_keys) * mla_block_keys;
    work->flop_bf16 = 2 * rows * keys * (mla_d_k + mla_d_v);
    work->exp = rows * keys;
    work->bytes_l2 = (double)dim[0] * row_tiles(dim) * keys * mla_d_k * 2;
    work->bytes_smem = work->bytes_l2 * (1 + (double)mla_d_v / mla_d_k);
    work->launches = 2;
}

static int setup(struct ridge_call *call, void **state)
{
    const int rows = narrow(call->dim) ? 16 : 32;
    if (rows == 16)
        return mla_setup(call, (const void *)mla_transposed_kernel<16>, mla_transposed<16>::bytes, rows,
                         parts_of(call->dim, call->device), state);
    return mla_setup(call, (const void *)mla_transposed_kernel<32>, mla_transposed<32>::bytes, rows,
                     parts_of(call->dim, call->device), state);
}

static int launch(const struct ridge_call *call)
{
    if (narrow(call->dim))
        return mla_launch(call, mla_transposed_kernel<16>, mla_transposed<16>::bytes, row_tiles(call->dim));
    return mla_launch(call, mla_transposed_kernel<32>, mla_transposed<32>::bytes, row_tiles(call->dim));
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_08_transposed = {
    .idea = "transposed products for few rows, each warpgroup with blocks of keys of its own",
    .source = "FlashMLA-ETAP, arXiv 2506.01969",
    .changes = "rows on wgmma's N side: 16 or 32 instead of 64; warpgroups meet only at the end of a request",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .issued = issued,
    .workspace_bytes = workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)mla_transposed_kernel<16>,
};
