/* SPDX-License-Identifier: Apache-2.0 */
#define MLA_DECODE_F16
#include "kernels/mla_decode/mla_decode_family.h"

/* The settings of arXiv 2506.01969. */
static const struct ridge_shape shapes[] = {
    {"h16-16x512", RIDGE_FULL, RIDGE_CUDA, {16, 1, 512, 16, 64}},
    {"h16-16x1024", RIDGE_FULL, RIDGE_CUDA, {16, 1, 1024, 16, 64}},
    {"h16-16x2048", RIDGE_FULL, RIDGE_CUDA, {16, 1, 2048, 16, 64}},
    {"h16-16x4096", RIDGE_FULL, RIDGE_CUDA, {16, 1, 4096, 16, 64}},
    {"h16-16x8192", RIDGE_FULL, RIDGE_CUDA, {16, 1, 8192, 16, 64}},
    {"h16-16x16384", RIDGE_FULL, RIDGE_CUDA, {16, 1, 16384, 16, 64}},
    {"h16-16x32768", RIDGE_FULL, RIDGE_CUDA, {16, 1, 32768, 16, 64}},
    {"h16-16x65536", RIDGE_STANDARD, RIDGE_CUDA, {16, 1, 65536, 16, 64}},
    {"h16-32x512", RIDGE_FULL, RIDGE_CUDA, {32, 1, 512, 16, 64}},
    {"h16-32x1024", RIDGE_FULL, RIDGE_CUDA, {32, 1, 1024, 16, 64}},
    {"h16-32x2048", RIDGE_FULL, RIDGE_CUDA, {32, 1, 2048, 16, 64}},
    {"h16-32x4096", RIDGE_FULL, RIDGE_CUDA, {32, 1, 4096, 16, 64}},
    {"h16-32x8192", RIDGE_FULL, RIDGE_CUDA, {32, 1, 8192, 16, 64}},
    {"h16-32x16384", RIDGE_FULL, RIDGE_CUDA, {32, 1, 16384, 16, 64}},
    {"h16-32x32768", RIDGE_FULL, RIDGE_CUDA, {32, 1, 32768, 16, 64}},
    {"h16-32x65536", RIDGE_FULL, RIDGE_CUDA, {32, 1, 65536, 16, 64}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 1, 1, 64},    {1, 1, 64, 2, 64},  {2, 1, 129, 3, 64}, {1, 4, 3, 2, 64},   {5, 2, 200, 2, 64},
    {2, 3, 333, 33, 16}, {4, 1, 100, 2, 48}, {3, 2, 70, 1, 1},   {1, 1, 700, 9, 64}, {4, 2, 257, 3, 128},
};

const struct ridge_family ridge_family_mla_decode_f16 = {
    .problem =
        "absorbed multi-head latent attention over a paged cache: out[b,s_q,h,512] FP16 = softmax(q k^T / 24) v "
        "and lse[b,h,s_q] FP32 (natural log); q [b,s_q,h,576] and kv [pages,page_size,1,576] FP16, v = first 512 "
        "of k, causal for s_q > 1",
    .axes = 5,
    .axis =
        {
            {"b", 1, 1 << 16, 1, "requests"},
            {"s_q", 1, 1 << 10, 1, "query tokens a request"},
            {"s_k", 1, 1 << 24, 1, "key tokens a request at most"},
            {"h", 1, 1 << 10, 1, "query heads; all share one key"},
            {"page_size", 1, MLA_LARGEST_PAGE_SIZE, 1, "tokens a cache page"},
        },
    .buffers = 6,
    .buffer =
        {
            {"q", RIDGE_F16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_q},
            {"kv", RIDGE_F16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_kv},
            {"block_table", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_block_table},
            {"length", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_length},
            {"out", RIDGE_F16, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_out},
            {"lse", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_lse},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = cases,
    .tolerance =
        {.rel = 0,
         .mag_rel = 0x1p-6,
         .source = "that of mla_decode, since probabilities may be rounded to BF16 here too; check.rmse tells variants "
                   "that keep them in FP16"},
    .shape_error = shape_error,
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};
