/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention_bf16/attention_bf16_launch.cuh"

enum { KEYS = 128 };

extern "C" const struct ridge_variant ridge_variant_attention_bf16_03_ping_pong = {
    .idea = "the two warpgroups take turns: one queues its products while the other makes exponentials",
    .source = "Shah et al., arXiv:2407.08608, section 3.1",
    .changes = "turns; values of a block and scores of the next are queued together",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = attention_unsupported,
    .issued = attention_issued<KEYS>,
    .setup = attention_setup<KEYS, attention_ping_pong>,
    .teardown = free,
    .launch = attention_launch<KEYS, attention_ping_pong>,
    .kernel = (const void *)attention_kernel<KEYS, attention_ping_pong>,
};
