/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_family.h"

static const struct ridge_shape shapes[] = {
    {"decode-128x4096", RIDGE_STANDARD, RIDGE_CUDA, {128, 1, 4096, 128, 64}},
    {"mtp-128x2048", RIDGE_FULL, RIDGE_CUDA, {128, 2, 2048, 128, 64}},
    {"mtp-128x3072", RIDGE_FULL, RIDGE_CUDA, {128, 2, 3072, 128, 64}},
    {"mtp-128x4096", RIDGE_FULL, RIDGE_CUDA, {128, 2, 4096, 128, 64}},
    {"mtp-128x8192", RIDGE_FULL, RIDGE_CUDA, {128, 2, 8192, 128, 64}},
    {"h64-128x8192", RIDGE_FULL, RIDGE_CUDA, {128, 1, 8192, 64, 64}},
    {"h16-128x4096", RIDGE_FULL, RIDGE_CUDA, {128, 1, 4096, 16, 64}},
    {"h16-16x65536", RIDGE_STANDARD, RIDGE_CUDA, {16, 1, 65536, 16, 64}},
    {"single-131072", RIDGE_FULL, RIDGE_CUDA, {1, 1, 131072, 128, 64}},
    {"h16-single-131072", RIDGE_FULL, RIDGE_CUDA, {1, 1, 131072, 16, 64}},
    {"h16-32x65536", RIDGE_FULL, RIDGE_CUDA, {32, 1, 65536, 16, 64}},
    {"mtp-132x32768", RIDGE_FULL, RIDGE_CUDA, {132, 2, 32768, 128, 64}},
    {"decode-1x512", RIDGE_QUICK, RIDGE_HOST, {1, 1, 512, 4, 64}},
    {"decode-1x4096", RIDGE_STANDARD, RIDGE_HOST, {1, 1, 4096, 16, 64}},
    {"mtp-2x1024", RIDGE_STANDARD, RIDGE_HOST, {2, 2, 1024, 16, 64}},
    {"decode-4x4096", RIDGE_FULL, RIDGE_HOST, {4, 1, 4096, 16, 64}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 1, 1, 64},    {1, 1, 64, 2, 64},  {2, 1, 129, 3, 64}, {1, 4, 3, 2, 64},   {5, 2, 200, 2, 64},
    {2, 3, 333, 33, 16}, {4, 1, 100, 2, 48}, {3, 2, 70, 1, 1},   {1, 1, 700, 9, 64}, {4, 2, 257, 3, 128},
    {1, 4, 150, 128, 64}, {2, 3, 130, 40, 64}, {512, 1, 5, 8, 64},
};

const struct ridge_family ridge_family_mla_decode = {
    .problem =
        "absorbed multi-head latent attention over a paged cache: out[b,s_q,h,512] BF16 = softmax(q k^T / 24) v "
        "and lse[b,h,s_q] FP32 (natural log); q [b,s_q,h,576] and kv [pages,page_size,1,576] BF16, v = first 512 "
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
            {"q", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_q},
            {"kv", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_kv},
            {"block_table", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_block_table},
            {"length", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_length},
            {"out", RIDGE_BF16, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_out},
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
         .source = "out: 2^-8 |ref| + 2^-6 RMS(row, 64 columns). The result is rounded to BF16 (2^-9 |ref|), and the "
                   "probabilities may be: 2^-9 of each at most, which over values of random sign is 2^-9.8 of the "
                   "RMS in standard deviation. lse: 8.01 / 65536 |ref| + 1e-6 (1 + sum |q k| / 24), which is what "
                   "FlashMLA's tests/test_flash_mla_dense_decoding.py allows where that sum is small"},
    .shape_error = shape_error,
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};
