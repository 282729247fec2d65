/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention_bf16/attention_bf16_launch.cuh"

enum { KEYS = 128 };

extern "C" const struct ridge_variant ridge_variant_attention_bf16_05_ahead_ping_pong = {
    .idea = "a block ahead, and the two warpgroups take turns to queue their products",
    .source = "Shah et al., arXiv:2407.08608, section 3.1",
    .changes = "turns between the warpgroups as well",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = attention_unsupported,
    .issued = attention_issued<KEYS>,
    .setup = attention_setup<KEYS, attention_ahead_ping_pong>,
    .teardown = free,
    .launch = attention_launch<KEYS, attention_ahead_ping_pong>,
    .kernel = (const void *)attention_kernel<KEYS, attention_ahead_ping_pong>,
};
