/* SPDX-License-Identifier: Apache-2.0 */
/* Every CUDA variant on every small shape and hard case, against the C reference; and the GPU references. Then what only
 * shows after hundreds of blocks in a CTA, as a race once did. */
#include "tests/gpu_records.h"

int main(int argc, char **argv)
{
    static const char *const what[] = {"", "--family 'mla_decode_sparse*' --shape '*148x16384' --case random"};
    char command[8192];
    int failures = 0;
    (void)argc;
    gpu_required();
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, "%s check --device cuda %s", gpu_ridge(argv[0]), what[i]);
        failures += system(command) != 0;
    }
    return failures == 0 ? 0 : 1;
}
