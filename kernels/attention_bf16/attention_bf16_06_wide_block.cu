/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention_bf16/attention_bf16_launch.cuh"

enum { KEYS = 176 };

extern "C" const struct ridge_variant ridge_variant_attention_bf16_06_wide_block = {
    .idea = "blocks of 176 keys: fewer turns, maxima and rescalings for the same products",
    .source = "flash-attention, hopper/tile_size.h",
    .changes = "176 keys a block instead of 128",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = attention_unsupported,
    .issued = attention_issued<KEYS>,
    .setup = attention_setup<KEYS, attention_ahead_ping_pong>,
    .teardown = free,
    .launch = attention_launch<KEYS, attention_ahead_ping_pong>,
    .kernel = (const void *)attention_kernel<KEYS, attention_ahead_ping_pong>,
};
