/* SPDX-License-Identifier: Apache-2.0 */
/* GEMMs with more than 2^31 elements in D, in A and in B: an index of 32 bits would wrap. */
#include "tests/gpu_records.h"

int main(int argc, char **argv)
{
    static const char *const families[] = {"gemm_bf16", "gemm_fp8_tensor", "gemm_fp8_block"};
    int failed = 0;
    (void)argc;
    gpu_required();
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        char command[8192];
        snprintf(command, sizeof command,
                 "%s check --device cuda --family %s --variant '0[2-9]*' --variant '1*' --case random "
                 "--shape m=65536,n=40000,k=256 --shape m=1048576,n=64,k=2176 --shape m=64,n=1048576,k=2176",
                 gpu_ridge(argv[0]), families[i]);
        failed += system(command) != 0;
    }
    return failed ? 1 : 0;
}
