/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/tensor_map.h"
#include "kernels/support/launch.cuh"

static int encode_function(const struct ridge_call *call, decltype(&cuTensorMapEncodeTiled) *encode)
{
    cudaDriverEntryPointQueryResult found;
    RIDGE_CUDA(call, cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)encode, 12000,
                                                      cudaEnableDefault, &found));
    if (found == cudaDriverEntryPointSuccess)
        return 0;
    snprintf(call->error, call->error_bytes, "the driver has no cuTensorMapEncodeTiled: it is older than CUDA 12.0");
    return 1;
}

static CUtensorMapDataType element_type(enum ridge_dtype dtype)
{
    return dtype == RIDGE_BF16  ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
           : dtype == RIDGE_F32 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                : CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

static CUtensorMapSwizzle swizzle_mode(int bytes)
{
    return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
           : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
           : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                         : CU_TENSOR_MAP_SWIZZLE_NONE;
}

extern "C" int tensor_map_encode(const struct ridge_call *call, const struct tensor_map_matrix *matrix,
                                 CUtensorMap *map)
{
    const cuuint64_t element = matrix->dtype == RIDGE_BF16 ? 2 : matrix->dtype == RIDGE_F32 ? 4 : 1;
    const cuuint64_t size[2] = {(cuuint64_t)matrix->columns, (cuuint64_t)matrix->rows};
    const cuuint64_t pitch_bytes[1] = {(cuuint64_t)matrix->pitch * element};
    const cuuint32_t box[2] = {(cuuint32_t)matrix->box_columns, (cuuint32_t)matrix->box_rows};
    const cuuint32_t step[2] = {1, 1};
    decltype(&cuTensorMapEncodeTiled) encode;
    if (pitch_bytes[0] % 16 || (uintptr_t)matrix->address % 16) {
        snprintf(call->error, call->error_bytes,
                 "matrix at %p with %llu bytes a row: tensor copies need addresses and rows at multiples of 16 bytes",
                 matrix->address, (unsigned long long)pitch_bytes[0]);
        return 1;
    }
    if (encode_function(call, &encode))
        return 1;
    const CUresult status = encode(map, element_type(matrix->dtype), 2, (void *)matrix->address, size, pitch_bytes, box,
                                   step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_mode(matrix->swizzle_bytes),
                                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status == CUDA_SUCCESS)
        return 0;
    snprintf(call->error, call->error_bytes,
             "cuTensorMapEncodeTiled: error %d for %lld x %lld elements of %d bytes in boxes of %d x %d", (int)status,
             (long long)matrix->rows, (long long)matrix->columns, (int)element, matrix->box_rows, matrix->box_columns);
    return 1;
}
