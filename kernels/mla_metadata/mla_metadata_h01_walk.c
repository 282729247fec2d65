/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_metadata/mla_metadata.h"

static int launch(const struct ridge_call *call)
{
    const int64_t *dim = call->dim;
    const int32_t *length = call->buffer[META_LENGTH];
    int32_t *range = call->buffer[META_RANGE], *made_for = call->buffer[META_MADE_FOR];
    const int b = (int)dim[META_B], parts = (int)dim[META_PARTS];
    int total = 0, request = 0, start = 0;
    for (int i = 0; i < b; i++) {
        made_for[i] = metadata_length(dim, length, i);
        total += mla_blocks(made_for[i]) + MLA_OVERHEAD;
    }
    const int share = mla_share(total, b, parts);
    for (int p = 0; p < parts; p++) {
        const int first = p * share, last = mla_clamp(first + share, 0, total);
        while (request < b && start + mla_blocks(made_for[request]) + MLA_OVERHEAD <= first)
            start += mla_blocks(made_for[request++]) + MLA_OVERHEAD;
        int32_t *row = range + (int64_t)p * META_WORDS;
        row[META_FIRST] = first;
        row[META_LAST] = last;
        row[META_REQUEST] = request;
        row[META_START] = request < b ? start : 0;
    }
    return 0;
}

const struct ridge_variant ridge_variant_mla_metadata_h01_walk = {
    .idea = "one walk over requests and parts together",
    .source = "",
    .changes = "",
    .kind = RIDGE_HOST,
    .launch = launch,
};
