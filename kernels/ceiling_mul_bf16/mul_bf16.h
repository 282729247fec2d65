/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_MUL_BF16_H
#define RIDGE_MUL_BF16_H

/* x = x * a with |a| in [1 - 2/128, 1 + 2/128]: 1024 steps move x by less than e^16. */
enum { MUL_BF16_STEPS = 1024 };

#endif
