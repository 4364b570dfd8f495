import * as client from 'openid-client';
import * as z from 'zod';
import { AuthorizationError, errorFromProvider, fromLibraryError } from './authorization-error.ts';
import type { ResolvedClient } from './client-registration.ts';
import { type DpopKey, dpopKeyPair, isNonceChallenge } from './dpop.ts';
import { foreignDocument, jsonMembers } from './foreign-document.ts';
import type { OauthClient } from './oauth-client.ts';
import type { ProviderConfig } from './provider-config.ts';
import type { EndpointMetadata } from './server-metadata.ts';

/**
 * Whether to push the authorization request. Always true if the authorization server requires it.
 *
 * @throws {AuthorizationError} `par_unsupported` if it is required and there is no endpoint. Never falls back to the front
 *   channel.
 */
export function pushesAuthorization(
  metadata: EndpointMetadata,
  setting: ProviderConfig['pushedAuthorization'],
): boolean {
  const isOffered = metadata.pushed_authorization_request_endpoint !== undefined;
  const isRequired = setting === 'required' || metadata.require_pushed_authorization_requests === true;
  if (isRequired && !isOffered) throw new AuthorizationError('par_unsupported');
  return isRequired || (isOffered && setting === 'auto');
}

/** RFC 9126 section 2.2. The value becomes part of a URL for the browser, so it must be a single URI. */
const pushedSchema = foreignDocument({
  request_uri: z
    .string()
    .max(2000)
    .regex(/^(urn:|https:\/\/)[\x21-\x7e]+$/i)
    .refine(value => URL.canParse(value)),
  // Only for the library: the browser goes there at once.
  expires_in: z.int().min(1).default(60),
});

/** Pushes the parameters, authenticated and with the DPoP key, and returns the URL that refers to them. */
export async function pushAuthorization(
  oauthClient: OauthClient,
  at: ResolvedClient,
  parameters: Record<string, string>,
  dpopKey: DpopKey | undefined,
): Promise<URL> {
  const endpoint = new URL(at.metadata.pushed_authorization_request_endpoint ?? '').href;
  const keyPair = dpopKey && (await dpopKeyPair(dpopKey));
  const wrap =
    (fetch: client.CustomFetch): client.CustomFetch =>
    async (url, options) => {
      const answer = await fetch(url, options);
      if (url !== endpoint) return answer;
      const body = await answer.text();
      const members = jsonMembers(body);
      if (answer.ok) {
        const pushed = pushedSchema.safeParse(members);
        if (!pushed.success) throw new AuthorizationError('invalid_pushed_authorization');
        return Response.json(pushed.data, { status: 201 });
      }
      const code = answer.status >= 400 && typeof members?.['error'] === 'string' ? members['error'] : '';
      // The library handles the challenge itself.
      if (keyPair !== undefined && isNonceChallenge(answer, code)) {
        return new Response(body, { status: answer.status, headers: answer.headers });
      }
      throw code === '' ? new AuthorizationError('invalid_pushed_authorization') : errorFromProvider(code);
    };
  try {
    return await oauthClient.run(at, { keyPair, wrap }, ({ configuration, dpop }) =>
      client.buildAuthorizationUrlWithPAR(configuration, parameters, dpop),
    );
  } catch (error) {
    throw fromLibraryError(error, 'invalid_pushed_authorization');
  }
}
