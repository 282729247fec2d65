/* SPDX-License-Identifier: Apache-2.0 */
/* D[m,n] = A[m,k] B[n,k]^T of row-major operands through cuBLASLt, found at run time: $RIDGE_CUBLASLT, then the
 * loader's path, then the toolkit's folders. FP32 accumulation, TF32 off. The functions have the signatures of the
 * members of struct ridge_variant; buffers are a, b, d, and for FP8 a, b, scale_a, scale_b, d. */
#ifndef RIDGE_SUPPORT_CUBLASLT_H
#define RIDGE_SUPPORT_CUBLASLT_H

#include "kernels/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or why the library cannot be used. */
const char *cublaslt_unsupported(const int64_t *dim, const struct ridge_device *device);

size_t cublaslt_workspace_bytes(const int64_t *dim, const struct ridge_device *device);

/* All three operands are of `dtype`: RIDGE_F32 or RIDGE_BF16. Asks the heuristic for 16 algorithms, times what it
 * proposes on call's buffers, with a cold L2, and keeps the fastest; *state then owns the library's descriptors. */
int cublaslt_setup(struct ridge_call *call, enum ridge_dtype dtype, void **state);

/* e4m3 operands with FP32 scales, BF16 results unless said otherwise. */
enum cublaslt_fp8 {
    CUBLASLT_FP8_FAST,  /* one scale a tensor, sums stay in the tensor cores */
    CUBLASLT_FP8_SLOW,  /* one scale a tensor, sums are promoted at intervals */
    CUBLASLT_FP8_BLOCK, /* scale_a [ceil(k/128)][m rounded up to 4], scale_b [ceil(n/128)][ceil(k/128)] */
    CUBLASLT_FP8_VEC128, /* scale_a as above, scale_b [ceil(k/128)][n rounded up to 4]; added to FP32 results */
};

const char *cublaslt_fp8_unsupported(const int64_t *dim, const struct ridge_device *device, enum cublaslt_fp8 mode);

/* Like cublaslt_setup. With CUBLASLT_FP8_BLOCK the state may own a copy of scale_b in the library's layout, so scales
 * must not change before the launches. */
int cublaslt_fp8_setup(struct ridge_call *call, enum cublaslt_fp8 mode, void **state);

int cublaslt_launch(const struct ridge_call *call);
const char *cublaslt_describe(void *state);
void cublaslt_teardown(void *state);

#ifdef __cplusplus
}
#endif

#endif
