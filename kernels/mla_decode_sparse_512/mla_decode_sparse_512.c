/* SPDX-License-Identifier: Apache-2.0 */
#define SPARSE_512
#include "kernels/mla_decode_sparse_fp8/sparse_family.h"

static const struct ridge_shape shapes[] = {
    {"584-128x2048", RIDGE_FULL, RIDGE_CUDA, {128, 2, 128, 2048, 16 * 32768, 64, 584}},
    {"528-128x2048", RIDGE_STANDARD, RIDGE_CUDA, {128, 2, 128, 2048, 16 * 32768, 64, 528}},
    {"288-128x2048", RIDGE_FULL, RIDGE_CUDA, {128, 2, 128, 2048, 16 * 32768, 64, 288}},
    {"584-2x2048", RIDGE_FULL, RIDGE_CUDA, {2, 2, 128, 2048, 2 * 32768, 64, 584}},
    {"528-2x2048", RIDGE_FULL, RIDGE_CUDA, {2, 2, 128, 2048, 2 * 32768, 64, 528}},
    {"288-2x2048", RIDGE_FULL, RIDGE_CUDA, {2, 2, 128, 2048, 2 * 32768, 64, 288}},
    {"584-148x16384", RIDGE_FULL, RIDGE_CUDA, {148, 2, 128, 16384, 16 * 32768, 64, 584}},
    {"528-148x16384", RIDGE_FULL, RIDGE_CUDA, {148, 2, 128, 16384, 16 * 32768, 64, 528}},
    {"288-148x16384", RIDGE_FULL, RIDGE_CUDA, {148, 2, 128, 16384, 16 * 32768, 64, 288}},
    {"528-1x64", RIDGE_QUICK, RIDGE_HOST, {1, 1, 64, 64, 1024, 64, 528}},
    {"584-1x512", RIDGE_STANDARD, RIDGE_HOST, {1, 2, 64, 512, 4096, 64, 584}},
    {"288-1x512", RIDGE_STANDARD, RIDGE_HOST, {1, 2, 64, 512, 4096, 64, 288}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 64, 64, 1, 1, 584},     {1, 1, 64, 64, 1, 1, 528},      {1, 1, 64, 64, 1, 1, 288},
    {2, 3, 64, 128, 333, 61, 584}, {2, 3, 64, 128, 333, 61, 528},  {2, 3, 64, 128, 333, 61, 288},
    {2, 1, 128, 192, 77, 2, 584},  {1, 1, 128, 320, 77, 2, 528},   {1, 1, 128, 320, 77, 2, 288},
    {4, 2, 64, 64, 700, 72, 584},  {4, 2, 64, 64, 1000, 576, 528}, {3, 2, 64, 192, 700, 576, 288},
};

static const char *shape_error_512(const int64_t *dim)
{
    const enum kv_format format = sparse_format(dim);
    if (format == KV_V32)
        return "bytes is 656: tokens of V3.2 have 576 values; mla_decode_sparse_fp8 has them";
    if (format == KV_FORMATS)
        return "bytes must be 584 (MODEL1), 528 (V4.1 FP8) or 288 (V4.1 FP4), the bytes of a token of one of these "
               "formats";
    return shape_error(dim);
}

const struct ridge_family ridge_family_mla_decode_sparse_512 = {
    .problem =
        "absorbed multi-head latent attention to chosen tokens of 512 values: out[b,s_q,h,512] BF16 = softmax(q k^T / "
        "root of 512) k and lse[b,h,s_q] FP32 (natural log); q[b,s_q,h,512] BF16, indices[b,s_q,topk] I32 = page * "
        "page_size + offset (outside the cache: no token), tokens of `bytes` bytes (kernels/support/kv_format.h: 584 "
        "MODEL1, 528 V4.1 FP8, 288 V4.1 FP4)",
    .axes = 7,
    .axis =
        {
            {"b", 1, 1 << 16, 1, "requests"},
            {"s_q", 1, 1 << 20, 1, "query tokens a request"},
            {"h", 64, 128, 64, "query heads; all share one key"},
            {"topk", 64, 1 << 20, 64, "indices a query token"},
            {"s_kv", 1, 1 << 30, 1, "tokens of the cache, of all requests"},
            {"page_size", 1, 1 << 16, 1, "tokens a cache page"},
            {"bytes", 288, 656, 8, "bytes of a token: 584, 528 or 288"},
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
    .shape_error = shape_error_512,
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};
