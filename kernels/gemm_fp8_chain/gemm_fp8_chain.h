/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of the chain: a, b1, scale_a, scale_b1, d1, b2, scale_b2, d2. */
#ifndef RIDGE_GEMM_FP8_CHAIN_H
#define RIDGE_GEMM_FP8_CHAIN_H

enum { GEMM_CHAIN_LINKS = 2, GEMM_CHAIN_LINK_BUFFERS = 5 };

/* The buffers of gemm_fp8_block for link 0 or 1. */
static inline void gemm_fp8_chain_buffers(void *const *buffer, int link, void *of_link[GEMM_CHAIN_LINK_BUFFERS])
{
    static const int index[GEMM_CHAIN_LINKS][GEMM_CHAIN_LINK_BUFFERS] = {{0, 1, 2, 3, 4}, {0, 5, 2, 6, 7}};
    for (int i = 0; i < GEMM_CHAIN_LINK_BUFFERS; i++)
        of_link[i] = buffer[index[link][i]];
}

#endif
