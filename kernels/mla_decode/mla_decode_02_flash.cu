/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_flash.cuh"

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return ridge_ceil_div(dim[1] * dim[3], mla_flash_rows) > 65535 ? "s_q * h needs more than 65535 blocks of 8 rows"
                                                                   : mla_flash_unsupported(dim, device);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_02_flash = {
    .idea = "online softmax: a warp a row, one pass over the keys",
    .source = "Milakov and Gimelshein 2018, algorithm 3",
    .changes = "no scores in memory",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = unsupported,
    .issued = mla_flash_issued,
    .launch = mla_flash_launch<mla_p_f32>,
    .kernel = (const void *)mla_flash_kernel<mla_p_f32>,
};
