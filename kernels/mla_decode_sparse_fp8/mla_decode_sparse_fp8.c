/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode_sparse_fp8/sparse_family.h"

static const struct ridge_shape shapes[] = {
    {"mtp-128x2048", RIDGE_STANDARD, RIDGE_CUDA, {128, 2, 128, 2048, 16 * 32768, 64}},
    {"decode-128x2048", RIDGE_FULL, RIDGE_CUDA, {128, 1, 128, 2048, 16 * 32768, 64}},
    {"mtp-64x2048", RIDGE_FULL, RIDGE_CUDA, {64, 2, 128, 2048, 16 * 32768, 64}},
    {"mtp-2x2048", RIDGE_FULL, RIDGE_CUDA, {2, 2, 128, 2048, 2 * 32768, 64}},
    {"h64-128x2048", RIDGE_FULL, RIDGE_CUDA, {128, 1, 64, 2048, 16 * 32768, 64}},
    {"mtp-148x16384", RIDGE_FULL, RIDGE_CUDA, {148, 2, 128, 16384, 16 * 32768, 64}},
    {"decode-1x64", RIDGE_QUICK, RIDGE_HOST, {1, 1, 64, 64, 1024, 64}},
    {"mtp-1x512", RIDGE_STANDARD, RIDGE_HOST, {1, 2, 64, 512, 4096, 64}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 64, 64, 1, 1},    {1, 1, 128, 64, 100, 64},  {2, 3, 64, 128, 333, 61},
    {3, 1, 128, 320, 77, 2}, {5, 1, 64, 192, 1000, 53}, {4, 2, 128, 128, 700, 576},
};

const struct ridge_family ridge_family_mla_decode_sparse_fp8 = {
    .problem =
        "absorbed multi-head latent attention to chosen tokens of an FP8 cache: out[b,s_q,h,512] BF16 = softmax(q k^T "
        "/ 24) "
        "v and lse[b,h,s_q] FP32 (natural log); q[b,s_q,h,576] BF16, indices[b,s_q,topk] I32 = page * page_size + "
        "offset (outside the cache: no token), tokens of 656 bytes (V3.2 of kernels/support/kv_format.h), v = first "
        "512 of k",
    .axes = 6,
    .axis =
        {
            {"b", 1, 1 << 16, 1, "requests"},
            {"s_q", 1, 1 << 20, 1, "query tokens a request"},
            {"h", 64, 128, 64, "query heads; all share one key"},
            {"topk", 64, 1 << 20, 64, "indices a query token"},
            {"s_kv", 1, 1 << 30, 1, "tokens of the cache, of all requests"},
            {"page_size", 1, 1 << 16, 1, "tokens a cache page"},
        },
    .buffers = 5,
    .buffer =
        {
            {"q", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_q},
            {"cache", RIDGE_U8, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_cache},
            {"indices", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_indices},
            {"out", RIDGE_BF16, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_out},
            {"lse", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_lse},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = cases,
    .tolerance = SPARSE_TOLERANCE,
    .shape_error = shape_error,
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};
