/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of the kernel for `tokens`. */
#ifndef RIDGE_SPARSE_512_HOST_CUH
#define RIDGE_SPARSE_512_HOST_CUH

#include "kernels/mla_decode_sparse_512/sparse_512_tokens.cuh"

template <typename tokens> static const char *sparse_512_unsupported(const int64_t *dim, const struct ridge_device *)
{
    return sparse_format(dim) == tokens::format ? NULL : "tokens of another format";
}

/* Every CTA converts all of its tokens. */
template <typename tokens>
static void sparse_512_issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    const double times = (double)(sparse_queries(dim) * dim[SPARSE_TOPK] * (dim[SPARSE_H] / sparse_rows));
    const double values = times * kv_quantised(tokens::format), converted = tokens::format == KV_V41_FP4 ? 0 : values;
    work->cvt_e4m3_f16 = converted;
    if (tokens::element::is_bf16) {
        work->cvt_f16_f32 = work->cvt_f32_bf16 = converted;
        work->mul_bf16 = values;
    }
    work->bytes_l2 = times * kv_token_bytes(tokens::format);
    work->launches = 2;
}

template <typename tokens> static int sparse_512_setup(struct ridge_call *call, void **state)
{
    return sparse_setup(call, (const void *)apart_kernel<tokens>, apart_shared_bytes<tokens>, state);
}

template <typename tokens> static int sparse_512_launch(const struct ridge_call *call)
{
    return sparse_launch(call, apart_kernel<tokens>, 1, apart_threads, apart_shared_bytes<tokens>);
}

#endif
