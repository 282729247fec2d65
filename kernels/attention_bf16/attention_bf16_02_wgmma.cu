/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention_bf16/attention_bf16_launch.cuh"

enum { KEYS = 128 };

extern "C" const struct ridge_variant ridge_variant_attention_bf16_02_wgmma = {
    .idea = "128 queries a CTA, 64 a warpgroup, on WGMMA and TMA; a block of 128 keys: scores, exponentials, values in "
            "turn",
    .source = "Dao, arXiv:2307.08691, algorithm 1",
    .changes = "tensor cores, scores and probabilities in registers",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = attention_unsupported,
    .issued = attention_issued<KEYS>,
    .setup = attention_setup<KEYS, attention_serial>,
    .teardown = free,
    .launch = attention_launch<KEYS, attention_serial>,
    .kernel = (const void *)attention_kernel<KEYS, attention_serial>,
};
