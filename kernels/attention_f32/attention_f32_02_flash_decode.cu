/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention_f32/attention_f32_shape.cuh"
#include "kernels/ptx/global.cuh"

#include <math.h>

enum {
    THREADS = 128,
    COMBINE_THREADS = 256,
    MIN_KEYS = 256,     /* of a split: below, its partial result costs more than the parallelism gains */
    BLOCKS_PER_SM = 16, /* wanted: several waves, so that the last, partly filled one is short */
    MAX_SPLITS = 128,
};

/* Parts of the keys of one head; every part has at least one key. */
struct flash_plan {
    int queries, query_tiles; /* queries a block takes together */
    int splits, keys;
};

static flash_plan plan_of(const int64_t *dim, const struct ridge_device *device)
{
    const int64_t s_q = dim[1], s_k = dim[2];
    flash_plan plan;
    plan.queries = s_q > 2 ? 4 : (int)s_q;
    plan.query_tiles = (int)ridge_ceil_div(s_q, plan.queries);
    const int64_t blocks = dim[0] * dim[3] * plan.query_tiles;
    int64_t splits = ridge_ceil_div((int64_t)BLOCKS_PER_SM * device->sms, blocks);
    if (splits > ridge_ceil_div(s_k, MIN_KEYS))
        splits = ridge_ceil_div(s_k, MIN_KEYS);
    if (splits > MAX_SPLITS)
        splits = MAX_SPLITS;
    plan.keys = (int)(ridge_ceil_div(ridge_ceil_div(s_k, splits), 64) * 64);
    plan.splits = (int)ridge_ceil_div(s_k, plan.keys);
    return plan;
}

/* What a block hands on: final results, or for each split and row the sum weighted by 2^(score - max), max and sum. */
struct flash_output {
    float *out, *lse;
    float *part;     /* [splits][rows][dim] */
    float2 *max_sum; /* [splits][rows] */
};

static __device__ __forceinline__ float4 load_four(const float *src, bool inside)
{
    if (!inside)
        return make_float4(0, 0, 0, 0);
    const uint4 bits = ld_global_stream_v4(src);
    return make_float4(__uint_as_float(bits.x), __uint_as_float(bits.y), __uint_as_float(bits.z),
                       __uint_as_float(bits.w));
}

static __device__ __forceinline__ float dot_four(float4 x, float4 y, float sum)
{
    return fmaf(x.x, y.x, fmaf(x.y, y.y, fmaf(x.z, y.z, fmaf(x.w, y.w, sum))));
}

static __device__ __forceinline__ void scale_four(float4 *x, float factor)
{
    *x = make_float4(x->x * factor, x->y * factor, x->z * factor, x->w * factor);
}

static __device__ __forceinline__ void add_four(float4 *x, float factor, float4 y)
{
    *x =
        make_float4(fmaf(factor, y.x, x->x), fmaf(factor, y.y, x->y), fmaf(factor, y.z, x->z), fmaf(factor, y.w, x->w));
}

/* Softmax under way: maximum and sum in base 2, and the weighted sum of this lane's elements of v. */
template <int chunks> struct running {
    float max = -INFINITY, sum = 0;
    float4 value[chunks] = {};
};

/* Takes in `count` keys: s are their scores (-inf: no such key), v their values. */
template <int count, int chunks>
static __device__ __forceinline__ void take_in(running<chunks> &r, const float (&s)[count],
                                               const float4 (&v)[count][chunks])
{
    float max = r.max;
#pragma unroll
    for (int u = 0; u < count; u++)
        max = fmaxf(max, s[u]);
    const float base = max == -INFINITY ? 0 : max; /* no key so far: -inf - -inf would be NaN */
    const float factor = exp2f(r.max - base);
    r.max = max;
    r.sum *= factor;
#pragma unroll
    for (int c = 0; c < chunks; c++)
        scale_four(&r.value[c], factor);
#pragma unroll
    for (int u = 0; u < count; u++) {
        const float p = exp2f(s[u] - base);
        r.sum += p;
#pragma unroll
        for (int c = 0; c < chunks; c++)
            add_four(&r.value[c], p, v[u][c]);
    }
}

/* Results of the block's workers for one query, and their merging: one element of out a thread. */
template <int workers, int width> struct shared_parts {
    float value[workers][width], max[workers], sum[workers];

    __device__ void merge(const flash_output &output, const attention_shape &shape, int64_t row, int64_t rows,
                          int split, int splits) const
    {
        float top = max[0], total = 0;
        for (int w = 1; w < workers; w++)
            top = fmaxf(top, max[w]);
        for (int w = 0; w < workers; w++)
            total += sum[w] * exp2f(max[w] - top);
        for (int i = threadIdx.x; i < shape.dim; i += THREADS) {
            float weighted = 0;
            for (int w = 0; w < workers; w++)
                weighted += value[w][i] * exp2f(max[w] - top);
            if (splits == 1)
                output.out[shape.query_of(row) + i] = weighted / total;
            else
                output.part[(split * rows + row) * shape.dim + i] = weighted;
        }
        if (threadIdx.x != 0)
            return;
        if (splits == 1)
            output.lse[row] = (top + log2f(total)) * 0.69314718055994531f;
        else
            output.max_sum[split * rows + row] = make_float2(top, total);
    }
};

/* A worker is `lanes` threads; it takes every (THREADS / lanes)-th key of the block's split, a few keys at a time, and
 * each of its lanes has `chunks` 16-byte pieces of a row. scale includes log2(e). Heads run fastest over blocks: rows
 * of neighbouring heads are neighbours in memory. */
template <int lanes, int chunks, int queries>
static __global__ void __launch_bounds__(THREADS, 4)
    attention_f32_flash_decode(const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v,
                               flash_output output, attention_shape shape, flash_plan plan, float scale)
{
    constexpr int workers = THREADS / lanes, at_once = 8 / chunks / (queries > 2 ? 2 : 1);
    __shared__ shared_parts<workers, lanes * chunks * 4> parts[queries];
    const int head = (int)(blockIdx.x % shape.h), tile = (int)(blockIdx.x / shape.h % plan.query_tiles);
    const int split = (int)(blockIdx.x / shape.h / plan.query_tiles % plan.splits);
    const int request = (int)(blockIdx.x / shape.h / plan.query_tiles / plan.splits);
    const int worker = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    const int64_t row0 = ((int64_t)request * shape.h + head) * shape.s_q + tile * queries;
    const int query_count = min(queries, shape.s_q - tile * queries);
    const int64_t row_stride = (int64_t)shape.h * shape.dim;
    const float *keys = k + shape.keys_of((int64_t)request * shape.h + head) + lane * 4;
    const float *values = v + (keys - k);

    bool inside[chunks];
    float4 query[queries][chunks];
    running<chunks> state[queries];
#pragma unroll
    for (int c = 0; c < chunks; c++) {
        inside[c] = (c * lanes + lane) * 4 < shape.dim;
#pragma unroll
        for (int j = 0; j < queries; j++) {
            query[j][c] =
                load_four(q + shape.query_of(row0 + min(j, query_count - 1)) + (c * lanes + lane) * 4, inside[c]);
            scale_four(&query[j][c], scale);
        }
    }

    const int end = min(shape.s_k, (split + 1) * plan.keys);
    for (int first = split * plan.keys + worker; first - worker < end; first += workers * at_once) {
        float4 key[at_once][chunks], value[at_once][chunks];
#pragma unroll
        for (int u = 0; u < at_once; u++)
#pragma unroll
            for (int c = 0; c < chunks; c++)
                key[u][c] = load_four(keys + min(first + u * workers, end - 1) * row_stride + c * lanes * 4, inside[c]);
#pragma unroll
        for (int u = 0; u < at_once; u++)
#pragma unroll
            for (int c = 0; c < chunks; c++)
                value[u][c] =
                    load_four(values + min(first + u * workers, end - 1) * row_stride + c * lanes * 4, inside[c]);
#pragma unroll
        for (int j = 0; j < queries; j++) {
            float score[at_once];
#pragma unroll
            for (int u = 0; u < at_once; u++) {
                score[u] = 0;
#pragma unroll
                for (int c = 0; c < chunks; c++)
                    score[u] = dot_four(query[j][c], key[u][c], score[u]);
#pragma unroll
                for (int apart = lanes / 2; apart > 0; apart /= 2)
                    score[u] += __shfl_xor_sync(0xffffffffu, score[u], apart);
                if (first + u * workers >= end)
                    score[u] = -INFINITY;
            }
            take_in(state[j], score, value);
        }
    }

#pragma unroll
    for (int j = 0; j < queries; j++) {
#pragma unroll
        for (int c = 0; c < chunks; c++)
            *(float4 *)&parts[j].value[worker][(c * lanes + lane) * 4] = state[j].value[c];
        if (lane == 0) {
            parts[j].max[worker] = state[j].max;
            parts[j].sum[worker] = state[j].sum;
        }
    }
    __syncthreads();
    const int64_t rows = (int64_t)shape.b * shape.h * shape.s_q;
    for (int j = 0; j < query_count; j++)
        parts[j].merge(output, shape, row0 + j, rows, split, plan.splits);
}

/* One block a row. Groups of dim / 4 threads take every groups-th split, then the groups are added. */
static __global__ void __launch_bounds__(COMBINE_THREADS)
    attention_f32_combine(flash_output output, attention_shape shape, int splits)
{
    __shared__ float2 max_sum[MAX_SPLITS];
    __shared__ float4 of_group[COMBINE_THREADS];
    const int64_t row = blockIdx.x, rows = gridDim.x;
    const int pieces = shape.dim / 4, groups = COMBINE_THREADS / pieces;
    const int group = threadIdx.x / pieces, piece = threadIdx.x % pieces;
    if (threadIdx.x < splits)
        max_sum[threadIdx.x] = output.max_sum[threadIdx.x * rows + row];
    __syncthreads();

    float top = -INFINITY, total = 0;
    for (int s = 0; s < splits; s++)
        top = fmaxf(top, max_sum[s].x);
    for (int s = 0; s < splits; s++)
        total += max_sum[s].y * exp2f(max_sum[s].x - top);
    float4 sum = {0, 0, 0, 0};
    if (group < groups) {
#pragma unroll 4
        for (int s = group; s < splits; s += groups)
            add_four(&sum, exp2f(max_sum[s].x - top),
                     *(const float4 *)(output.part + (s * rows + row) * shape.dim + piece * 4));
    }
    of_group[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x < pieces) {
        for (int g = 1; g < groups; g++)
            add_four(&sum, 1, of_group[g * pieces + piece]);
        scale_four(&sum, 1 / total);
        *(float4 *)(output.out + shape.query_of(row) + piece * 4) = sum;
    }
    if (threadIdx.x == 0)
        output.lse[row] = (top + log2f(total)) * 0.69314718055994531f;
}

typedef void (*flash_kernel)(const float *, const float *, const float *, flash_output, attention_shape, flash_plan,
                             float);

template <int lanes, int chunks> static flash_kernel kernel_of(int queries)
{
    return queries == 1   ? attention_f32_flash_decode<lanes, chunks, 1>
           : queries == 2 ? attention_f32_flash_decode<lanes, chunks, 2>
                          : attention_f32_flash_decode<lanes, chunks, 4>;
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    const flash_plan plan = plan_of(dim, device);
    return plan.splits == 1 ? 0 : (size_t)(plan.splits * attention_rows(dim) * (dim[4] + 2)) * sizeof(float);
}

/* Partial results are written and read once. */
static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const flash_plan plan = plan_of(dim, device);
    const double partial_bytes = (double)workspace_bytes(dim, device);
    work->bytes_hbm_read += partial_bytes;
    work->bytes_hbm_write += partial_bytes;
    work->launches = plan.splits == 1 ? 1 : 2;
    work->tiles = (double)(dim[0] * dim[3] * plan.query_tiles * plan.splits);
}

static int launch(const struct ridge_call *call)
{
    const attention_shape shape = attention_shape_of(call->dim);
    const flash_plan plan = plan_of(call->dim, call->device);
    const int64_t rows = attention_rows(call->dim);
    const int64_t blocks = call->dim[0] * shape.h * plan.query_tiles * plan.splits;
    const float scale = (float)(1.4426950408889634 / sqrt((double)shape.dim));
    float *part = (float *)call->workspace;
    const flash_output output = {(float *)call->buffer[3], (float *)call->buffer[4], part,
                                 (float2 *)(part + plan.splits * rows * shape.dim)};
    const flash_kernel kernel = shape.dim <= 32    ? kernel_of<8, 1>(plan.queries)
                                : shape.dim <= 64  ? kernel_of<16, 1>(plan.queries)
                                : shape.dim <= 128 ? kernel_of<32, 1>(plan.queries)
                                                   : kernel_of<32, 2>(plan.queries);
    kernel<<<(unsigned)blocks, THREADS, 0, ridge_stream(call)>>>(
        (const float *)call->buffer[0], (const float *)call->buffer[1], (const float *)call->buffer[2], output, shape,
        plan, scale);
    if (RIDGE_LAUNCHED(call))
        return 1;
    if (plan.splits == 1)
        return 0;
    attention_f32_combine<<<(unsigned)rows, COMBINE_THREADS, 0, ridge_stream(call)>>>(output, shape, plan.splits);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_attention_f32_02_flash_decode = {
    .idea = "online softmax, keys split over blocks and workers, partial results merged by a second kernel",
    .source = "Milakov and Gimelshein 2018, algorithm 3; Dao et al., Flash-Decoding, 2023",
    .changes = "no score matrix: keys and values are read once, in 16-byte pieces, 16 of them under way a thread",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .issued = issued,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
    .kernel = (const void *)attention_f32_flash_decode<32, 1, 1>,
};
