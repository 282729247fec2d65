/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block_cluster.cuh"

/* 128 x 256: a consumer has 64 rows, and one set of sums serves both halves of the columns. */
struct tile {
    static constexpr int consumers = 2, sets = 1, rows = 128, columns = 256, threads = 384;
    static constexpr int a_bytes = rows * gemm_fp8_depth, b_bytes = columns * gemm_fp8_depth;
    static constexpr int stage_bytes = a_bytes + b_bytes, scale_bytes = 4 * rows;
    static constexpr int producer_registers = 24, consumer_registers = 240;
};

/* Half of the columns. */
using half_tile = gemm_fp8_block_shape<1, 128, 2>;
using turns = gemm_fp8_block_turns<true>;
using halves = float[2][64];

/* A consumer's rows of A in a stage, as operands of the four slices of 32 elements. */
struct operand {
    uint32_t slice[4][4];
};

static __device__ __forceinline__ void load(operand &a, uint32_t data, int warpgroup)
{
    const uint32_t lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane / 8 % 2 * 8 + lane % 8;
    const uint32_t shared_row = data + (warpgroup * 64 + row) * 128;
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        ldmatrix_x4(a.slice[slice], shared_row + ((2 * slice + lane / 16) ^ lane % 8) * 16);
}

/* The registers of `a` are wgmma's until its wait; without this the compiler may give them away before. */
static __device__ __forceinline__ void keep(operand &a)
{
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            asm volatile("" : "+r"(a.slice[slice][i])::"memory");
}

/* Scales of B: lanes below 16 hold 16 of the row of the first half, the others of the second, 16 blocks ahead. */
struct scales_b {
    const float *row; /* the lane's own */
    float now, next;
};

static __device__ __forceinline__ float load_scale(const float *row, int i, int blocks)
{
    const int at = i + (int)(threadIdx.x % 16);
    return __ldg(row + (at < blocks ? at : blocks - 1));
}

static __device__ __forceinline__ scales_b scales_of(const gemm_fp8_block_cluster_arguments &arguments, int column0)
{
    const int blocks = arguments.cluster.gemm.blocks, block = column0 / 128 + (int)(threadIdx.x / 16 % 2);
    const int row = block < arguments.last_block_n ? block : arguments.last_block_n;
    scales_b b = {arguments.scale_b + (int64_t)row * blocks, 0, 0};
    b.now = load_scale(b.row, 0, blocks);
    return b;
}

/* Of block i and both halves; to be called for every block in turn. */
static __device__ __forceinline__ void next_scales(float (&scale)[2], scales_b &b, int i, int blocks)
{
    scale[0] = __shfl_sync(~0u, b.now, i % 16);
    scale[1] = __shfl_sync(~0u, b.now, i % 16 + 16);
    if (i % 16 == 0)
        b.next = load_scale(b.row, i + 16, blocks);
    if (i % 16 == 15)
        b.now = b.next;
}

/* The products of one block of k with the scales of B, and their promotion. `a` is of this block; that of the next one,
 * if there is `more`, is loaded under the last promotion. Block 0 `opens` a tile: it overwrites total, and
 * under_first() runs before that. */
template <bool opens, typename function>
static __device__ __forceinline__ void multiply(halves &total, float (&sum)[64], operand &a,
                                                gemm_fp8_block_reader &reader, scales_b &b, int i, int blocks,
                                                int warpgroup, const function &under_first)
{
    const ring &ring = reader.stages;
    const uint32_t data = ring.data + reader.at.stage * tile::stage_bytes, empty = ring_empty(ring, reader.at);
    const uint32_t scales = reader.scales + reader.at.stage * tile::scale_bytes;
    float upper = 0, lower = 0, scale_b[2] = {};
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const uint64_t columns = wgmma_descriptor_128(data + tile::a_bytes + h * 128 * gemm_fp8_depth);
        turns::wait(warpgroup);
        wgmma_fence();
#pragma unroll
        for (int slice = 0; slice < 4; slice++)
            wgmma_e4m3_rs(sum, a.slice[slice], wgmma_descriptor_advance(columns, slice * 32), slice > 0);
        wgmma_commit();
        turns::pass(warpgroup);
        if (h == 0) {
            if (opens)
                under_first();
            next_scales(scale_b, b, i, blocks);
            upper = ld_shared_f32(scales);
            lower = ld_shared_f32(scales + 32);
        }
        const float row_upper[1] = {upper * scale_b[h]}, row_lower[1] = {lower * scale_b[h]};
        wgmma_wait<0>();
        wgmma_settle(sum);
        keep(a);
        if (h == 1) {
            __syncwarp();
            gemm_release(empty, reader.ctas);
            ring_next(ring, reader.at);
            if (i + 1 < blocks) {
                mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
                load(a, ring.data + reader.at.stage * tile::stage_bytes, warpgroup);
            }
        }
        gemm_fp8_block_add<half_tile, opens>(total[h], sum, row_upper, row_lower);
    }
}

static __device__ __forceinline__ void store(const gemm_fp8_arguments &gemm, uint32_t slab,
                                             const gemm_fp8_corner &corner, int warpgroup, const halves &total)
{
    const int row = corner.row + warpgroup * 64;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int column = corner.column + 128 * h;
        if (gemm.tensor_store)
            gemm_store_slab<half_tile>(gemm.maps.d, slab, row + threadIdx.x / 32 % 4 * 16, column, total[h]);
        else
            gemm_store_registers(gemm.out, row, column, total[h]);
    }
}

static __device__ __forceinline__ void consume(const gemm_fp8_block_cluster_arguments &arguments,
                                               gemm_fp8_block_reader &reader, uint32_t slabs, const gemm_part &part,
                                               int warpgroup)
{
    const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
    const uint32_t slab = slabs + threadIdx.x / 32 * gemm_slab<half_tile>::bytes;
    halves total = {};
    float sum[64];
    operand a;
    gemm_fp8_corner done = {-1, 0};
    const auto nothing = [] {};
    const auto store_done = [&] {
        if (done.row >= 0)
            store(gemm, slab, done, warpgroup, total);
    };
    turns::begin(warpgroup);
    for (int index = part.cluster; index < tile_count(gemm.order); index += part.clusters) {
        const gemm_fp8_corner corner = gemm_fp8_corner_of<tile>(arguments.cluster, tile_at(gemm.order, index), part);
        scales_b b = scales_of(arguments, corner.column);
        mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
        load(a, reader.stages.data + reader.at.stage * tile::stage_bytes, warpgroup);
        multiply<true>(total, sum, a, reader, b, 0, gemm.blocks, warpgroup, store_done);
#pragma unroll 1
        for (int i = 1; i < gemm.blocks; i++)
            multiply<false>(total, sum, a, reader, b, i, gemm.blocks, warpgroup, nothing);
        done = corner;
    }
    store_done();
    turns::end(warpgroup);
    if (threadIdx.x % 32 == 0)
        bulk_wait<0>();
}

static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_fp8_block_a_registers(const __grid_constant__ gemm_fp8_block_cluster_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    gemm_fp8_block_run_cluster<tile, consume>(arguments, shared_address(memory), gemm_slab<half_tile>::bytes_all);
}

static const struct gemm_fp8_compiled compiled[] = {
    {{tile::rows, tile::columns, tile::stage_bytes + tile::scale_bytes, gemm_slab<half_tile>::bytes_all},
     (const void *)gemm_fp8_block_a_registers,
     tile::threads,
     gemm_slab<half_tile>::columns}};

static int setup(struct ridge_call *call, void **state)
{
    return gemm_fp8_block_setup_cluster(call, compiled, 1, state);
}

static int launch(const struct ridge_call *call)
{
    return gemm_fp8_block_launch_cluster(call, (const struct gemm_fp8_block_plan *)call->state, tile::threads,
                                         gemm_fp8_block_a_registers);
}

static const char *describe(void *state)
{
    return state ? ((const struct gemm_fp8_block_plan *)state)->plan.text : "";
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    gemm_fp8_block_issue_cluster(compiled, 1, dim, device, work);
}

static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    return gemm_fp8_plans(compiled, 1, dim, device, plan, max);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_08_a_registers = {
    .idea = "128 x 256 tiles; rows of A wait in registers for both halves of the columns",
    .source = "PTX ISA 9.0, 9.7.15.5.2 (wgmma.mma_async with A in registers)",
    .changes = "against 07's 256 x 128: 128 bytes of shared memory a clock of WGMMA instead of 144",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = describe,
    .launch = launch,
    .plans = plans,
    .kernel = (const void *)gemm_fp8_block_a_registers,
};
