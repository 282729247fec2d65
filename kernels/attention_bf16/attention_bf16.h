/* SPDX-License-Identifier: Apache-2.0 */
/* Axes and buffers of attention_bf16, for the family and its variants. */
#ifndef RIDGE_ATTENTION_BF16_H
#define RIDGE_ATTENTION_BF16_H

enum { ATTENTION_B, ATTENTION_S_Q, ATTENTION_S_K, ATTENTION_H };
enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_OUT, ATTENTION_LSE };
enum { ATTENTION_DIM = 128 };

/* 1 / sqrt(128). */
#define ATTENTION_SCALE 0.088388347648318447

#endif
