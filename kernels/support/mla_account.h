/* SPDX-License-Identifier: Apache-2.0 */
/* What a token takes in the key-value cache of one layer, by format. Heads and widths are DeepSeek-V3's: 128 heads of
 * 128, a latent of 512, 64 columns of RoPE. */
#ifndef RIDGE_MLA_ACCOUNT_H
#define RIDGE_MLA_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

enum { MLA_PARTS = 3 };

struct mla_part {
    int64_t elements;
    int bits;
    const char *what; /* "e4m3", "f32 scales" */
};

struct mla_format {
    const char *name;
    struct mla_part part[MLA_PARTS];
    const char *source;
};

extern const struct mla_format mla_formats[]; /* the first is MHA */
extern const size_t mla_format_count;

/* Of one token and layer. */
int64_t mla_format_bytes(const struct mla_format *format);

/* "512 e4m3 + 4 f32 scales + 64 bf16". Returns the length it needs, as snprintf; bytes >= 1. */
size_t mla_format_layout(const struct mla_format *format, char *buf, size_t bytes);

/* Of a whole context; exact up to 2^53 bytes. */
double mla_cache_bytes(const struct mla_format *format, int64_t tokens, int64_t layers);

#endif
