import * as z from 'zod';
import { AuthorizationError } from './authorization-error.ts';

const tokenSchema = z
  .string()
  .min(1)
  .regex(/^[\x20-\x7e]+$/);

/** RFC 6749 section 5.1, for bearer tokens. Stricter than openid-client, which also takes numbers in strings. */
const tokenResponseSchema = z.object({
  access_token: tokenSchema,
  token_type: z.string().regex(/^bearer$/i),
  expires_in: z.int().min(0).max(315_360_000).exactOptional(),
  refresh_token: tokenSchema.exactOptional(),
  id_token: tokenSchema.exactOptional(),
  scope: z.string().max(4096).exactOptional(),
});

export type TokenResponse = z.infer<typeof tokenResponseSchema>;

/**
 * Parses the body of a 200 from a token endpoint.
 *
 * @throws {AuthorizationError} `invalid_token_response`, without anything of the body.
 */
export function parseTokenResponse(body: string): TokenResponse {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    throw new AuthorizationError('invalid_token_response');
  }
  const response = tokenResponseSchema.safeParse(json);
  if (!response.success) throw new AuthorizationError('invalid_token_response');
  return response.data;
}

/** The scopes that were granted. RFC 6749 section 5.1: an absent `scope` means those that were requested. */
export function grantedScopes(response: TokenResponse, requested: readonly string[], separator: ' ' | ','): string[] {
  if (response.scope === undefined) return [...requested];
  const scopes = response.scope.split(separator === ',' ? /[\s,]+/ : /\s+/).filter(scope => scope !== '');
  return [...new Set(scopes)];
}
