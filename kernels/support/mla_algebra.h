/* SPDX-License-Identifier: Apache-2.0 */
/* The linear algebra that makes multi-head latent attention decode as MQA, in double: one query token against a cache
 * of [latent, rope] rows that all heads share. After DeepSeek-V2, arXiv:2405.04434, equations 9 to 19.
 *
 *   score   q_C^T (W_UK c) = (W_UK^T q_C)^T c         the up-projection of keys goes into the query,
 *   output  W_O (W_UV sum p c) = (W_O W_UV) sum p c   that of values into the output projection,
 *
 * and neither works if the position were rotated into W_UK c, because the matrix between q_C and c would then depend
 * on the distance. So the position has columns of its own: q_R and k_R are rotated, q_C and c are not. */
#ifndef RIDGE_MLA_ALGEBRA_H
#define RIDGE_MLA_ALGEBRA_H

#include <stdint.h>

struct mla_model {
    int64_t heads, head_dim; /* q_C and values */
    int64_t latent, rope;
    int64_t hidden;
    const double *w_uk, *w_uv; /* [heads, head_dim, latent] */
    const double *w_o;         /* [hidden, heads, head_dim] */
};

/* Rotates pairs (2i, 2i+1) of x by position theta^(-2i/dim), theta = 10000. */
void mla_rotate(double *x, int64_t dim, double position);

/* q [heads, head_dim + rope] becomes absorbed [heads, latent + rope]; the RoPE columns are copied. */
void mla_absorb_query(const struct mla_model *model, const double *q, double *absorbed);

/* w_ov [hidden, heads, latent] = W_O W_UV. */
void mla_absorb_output(const struct mla_model *model, double *w_ov);

/* Keys and values projected up for every head, as written; cache [tokens, latent + rope]; hidden state u [hidden].
 * Scores are scaled by 1 / sqrt(head_dim + rope). */
int mla_attend_expanded(const struct mla_model *model, const double *q, const double *cache, int64_t tokens, double *u);

/* The same u as MQA: absorbed queries against cache rows, values being their first `latent` columns, then w_ov.
 * Both return nonzero when memory is short. */
int mla_attend_absorbed(const struct mla_model *model, const double *absorbed, const double *w_ov, const double *cache,
                        int64_t tokens, double *u);

#endif
