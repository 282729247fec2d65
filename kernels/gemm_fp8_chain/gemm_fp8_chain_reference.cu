/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_chain/gemm_fp8_chain.h"
#include "kernels/kernel.h"

extern "C" int ridge_reference_gemm_fp8_block(const struct ridge_call *call, float *const *ref, float *const *mag);

extern "C" int ridge_reference_gemm_fp8_chain(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    for (int link = 0; link < GEMM_CHAIN_LINKS; link++) {
        void *buffer[GEMM_CHAIN_LINK_BUFFERS];
        gemm_fp8_chain_buffers(call->buffer, link, buffer);
        struct ridge_call call_of_link = *call;
        call_of_link.buffer = buffer;
        if (ridge_reference_gemm_fp8_block(&call_of_link, ref + link, mag + link))
            return 1;
    }
    return 0;
}
