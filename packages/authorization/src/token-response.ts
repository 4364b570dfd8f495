import * as z from 'zod';
import { AuthorizationError } from './authorization-error.ts';
import type { TokenMembers } from './token-answer.ts';

/** More than any server takes in a header; what is issued here is kept for months. */
const maxTokenLength = 65_536;

const tokenSchema = z
  .string()
  .min(1)
  .max(maxTokenLength)
  .regex(/^[\x20-\x7e]+$/);

export type TokenType = 'bearer' | 'dpop';

/** RFC 6749 section 5.1. Stricter than openid-client, which also takes numbers in strings. */
const tokenResponseSchema = z.object({
  access_token: tokenSchema,
  token_type: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['bearer', 'dpop'])),
  expires_in: z.int().min(0).max(315_360_000).optional(),
  refresh_token: tokenSchema.optional(),
  id_token: tokenSchema.optional(),
  scope: z.string().max(4096).optional(),
});

export type TokenResponse = z.infer<typeof tokenResponseSchema>;

/**
 * Validates what a token endpoint issued. A key was proven or it was not: a bearer token where DPoP was used could be
 * replayed by whoever sees it (RFC 9449 section 5), and a DPoP token that was not asked for is of no use.
 *
 * @throws {AuthorizationError} `invalid_token_response`, without anything of the answer.
 */
export function parseTokenResponse(members: TokenMembers, expected: TokenType): TokenResponse {
  const response = tokenResponseSchema.safeParse(members);
  if (!response.success || response.data.token_type !== expected)
    throw new AuthorizationError('invalid_token_response');
  return response.data;
}
