/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assets.h"

#include <string.h>

const struct asset *asset_find(const char *path)
{
    for (size_t i = 0; i < ridge_asset_count; i++)
        if (strcmp(ridge_assets[i].path, path) == 0)
            return &ridge_assets[i];
    return NULL;
}
