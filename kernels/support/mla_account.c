/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/mla_account.h"

#include <inttypes.h>
#include <stdio.h>

#define PAPER "DeepSeek-V2, arXiv:2405.04434, table 1"
#define V41 "FlashMLA 2e5429fc csrc/cuda_kernels/kv_cache_format.h"

const struct mla_format mla_formats[] = {
    {"MHA", {{128 * 128, 16, "bf16 K"}, {128 * 128, 16, "bf16 V"}}, PAPER},
    {"GQA, 8 groups", {{8 * 128, 16, "bf16 K"}, {8 * 128, 16, "bf16 V"}}, PAPER},
    {"MQA", {{128, 16, "bf16 K"}, {128, 16, "bf16 V"}}, PAPER},
    {"MLA BF16", {{512, 16, "bf16"}, {64, 16, "bf16 RoPE"}}, PAPER},
    {"MLA FP8, V3.2",
     {{512, 8, "e4m3"}, {4, 32, "f32 scales"}, {64, 16, "bf16 RoPE"}},
     "FlashMLA docs/20250929-hopper-fp8-sparse-deep-dive.md"},
    {"MLA FP8, MODEL1", {{448, 8, "e4m3"}, {64, 16, "bf16 RoPE"}, {8, 8, "scale bytes"}}, "FlashMLA tests/quant.py"},
    {"MLA FP8, V4.1", {{512, 8, "e4m3"}, {16, 8, "ue8m0 scales"}}, V41},
    {"MLA FP4, V4.1", {{512, 4, "e2m1"}, {32, 8, "e4m3 scales"}}, V41},
};
const size_t mla_format_count = sizeof mla_formats / sizeof *mla_formats;

int64_t mla_format_bytes(const struct mla_format *format)
{
    int64_t bits = 0;
    for (int i = 0; i < MLA_PARTS; i++)
        bits += format->part[i].elements * format->part[i].bits;
    return bits / 8;
}

size_t mla_format_layout(const struct mla_format *format, char *buf, size_t bytes)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int i = 0; i < MLA_PARTS && format->part[i].elements > 0; i++) {
        const size_t at = used < bytes ? used : bytes - 1;
        used += (size_t)snprintf(buf + at, bytes - at, "%s%" PRId64 " %s", i ? " + " : "", format->part[i].elements,
                                 format->part[i].what);
    }
    return used;
}

double mla_cache_bytes(const struct mla_format *format, int64_t tokens, int64_t layers)
{
    return (double)mla_format_bytes(format) * (double)tokens * (double)layers;
}
