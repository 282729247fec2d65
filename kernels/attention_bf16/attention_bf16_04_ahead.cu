/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention_bf16/attention_bf16_launch.cuh"

enum { KEYS = 128 };

extern "C" const struct ridge_variant ridge_variant_attention_bf16_04_ahead = {
    .idea = "the scores of a block are queued before the values of the one before it, whose exponentials they cover",
    .source = "Shah et al., arXiv:2407.08608, section 3.2",
    .changes = "one block ahead inside a warpgroup instead of turns",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = attention_unsupported,
    .issued = attention_issued<KEYS>,
    .setup = attention_setup<KEYS, attention_ahead>,
    .teardown = free,
    .launch = attention_launch<KEYS, attention_ahead>,
    .kernel = (const void *)attention_kernel<KEYS, attention_ahead>,
};
