/* SPDX-License-Identifier: Apache-2.0 */
/* Every CUDA variant on every small shape and hard case, against the C reference; and the GPU references. */
#include "tests/gpu_records.h"

int main(int argc, char **argv)
{
    char command[8192];
    (void)argc;
    gpu_required();
    snprintf(command, sizeof command, "%s check --device cuda", gpu_ridge(argv[0]));
    return system(command) == 0 ? 0 : 1;
}
