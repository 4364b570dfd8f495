import * as client from 'openid-client';
import * as z from 'zod';
import { AuthorizationError, errorFromProvider, fromLibraryError } from './authorization-error.ts';
import type { ResolvedClient } from './client-registration.ts';
import { isEndpointUrl } from './config-values.ts';
import { foreignDocument, type JsonMembers, jsonMembers } from './foreign-document.ts';
import type { OauthClient } from './oauth-client.ts';
import { isInsecure } from './server-metadata.ts';
import { requestTokens, type TokenGrant, type TokenRequestOptions } from './token-request.ts';

/** The codes and addresses of a device flow, for the user and for polling (RFC 8628 section 3.2). */
export interface DeviceAuthorization {
  /** Secret. */
  readonly deviceCode: string;
  /** Letters, digits and separators, at most 40 characters. */
  readonly userCode: string;
  readonly verificationUri: string;
  /** The page with the code filled in, on the origin of `verificationUri`. */
  readonly verificationUriComplete?: string;
  readonly expiresInMs: number;
  /** Minimum time between two polls. */
  readonly intervalMs: number;
}

/** Normalised as browsers do, because users read and type it: `https:\\a.example` is not what it looks like. */
const verificationUriSchema = z
  .string()
  .max(2000)
  .regex(/^[\x21-\x7e]+$/)
  .refine(isEndpointUrl)
  .transform(value => new URL(value).href);

const answerSchema = foreignDocument({
  device_code: z
    .string()
    .max(8192)
    .regex(/^[\x20-\x7e]+$/),
  // Only codes that users can read and type (section 6.1).
  user_code: z.string().regex(/^[A-Za-z0-9](?:[A-Za-z0-9 .-]{0,38}[A-Za-z0-9])?$/),
  verification_uri: verificationUriSchema,
  verification_uri_complete: verificationUriSchema.optional().catch(undefined),
  expires_in: z.int().min(1).max(86_400),
  interval: z
    .int()
    .min(0)
    .max(600)
    .default(0)
    .transform(seconds => seconds || 5),
});
type DeviceAnswer = z.output<typeof answerSchema>;

/**
 * Requests a device code and a user code (RFC 8628 section 3.1). Sends one request.
 *
 * @throws {AuthorizationError} `invalid_metadata` if the authorization server has no such endpoint,
 *   `invalid_device_authorization`, `provider_error`, `provider_unavailable`, `outbound_…`.
 */
export async function startDevice(
  oauthClient: OauthClient,
  at: ResolvedClient,
  parameters: Readonly<Record<string, string>>,
): Promise<DeviceAuthorization> {
  const endpoint = at.metadata.device_authorization_endpoint;
  if (endpoint === undefined) throw new AuthorizationError('invalid_metadata');
  let answer: DeviceAnswer | undefined;
  const wrap =
    (fetch: client.CustomFetch): client.CustomFetch =>
    async (url, options) => {
      const response = await fetch(url, options);
      const members = jsonMembers(await response.text());
      // Some providers return an error with 200.
      if (typeof members?.['error'] === 'string') throw errorFromProvider(members['error']);
      if (!response.ok) throw new AuthorizationError('invalid_device_authorization');
      answer = parseAnswer(members, isInsecure(endpoint));
      return Response.json(answer);
    };
  try {
    await oauthClient.run(at, { wrap }, ({ configuration }) =>
      client.initiateDeviceAuthorization(configuration, { ...parameters }),
    );
  } catch (error) {
    throw fromLibraryError(error, 'invalid_device_authorization');
  }
  if (answer === undefined) throw new AuthorizationError('invalid_device_authorization');
  return fromAnswer(answer);
}

function parseAnswer(members: JsonMembers | undefined, allowsInsecure: boolean): DeviceAnswer {
  const answer = answerSchema.safeParse(
    // Google's name for it, from a draft of the RFC.
    members && { ...members, verification_uri: members['verification_uri'] ?? members['verification_url'] },
  );
  if (!answer.success) throw new AuthorizationError('invalid_device_authorization');
  // A public authorization server must not send the user to a page on loopback.
  if (!allowsInsecure && isInsecure(answer.data.verification_uri)) {
    throw new AuthorizationError('invalid_device_authorization');
  }
  return answer.data;
}

function fromAnswer(answer: DeviceAnswer): DeviceAuthorization {
  const { verification_uri: verificationUri, verification_uri_complete: complete } = answer;
  return {
    deviceCode: answer.device_code,
    userCode: answer.user_code,
    verificationUri,
    // The page showed the user this host, so the complete URI must have the same origin.
    ...(complete !== undefined && hasOrigin(complete, verificationUri) && { verificationUriComplete: complete }),
    expiresInMs: answer.expires_in * 1000,
    intervalMs: answer.interval * 1000,
  };
}

const hasOrigin = (url: string, other: string): boolean => new URL(url).origin === new URL(other).origin;

/** Increase of the interval after `slow_down`, for all later polls (RFC 8628 section 3.5). */
export const slowDownMs = 5000;

/**
 * The result of one poll (RFC 8628 section 3.5).
 * - `pending`: the user has not decided yet; poll again after the interval.
 * - `slow_down`: like `pending`, and the interval grows by {@link slowDownMs}.
 * - `denied`, `expired`: the flow has ended; the user must start again.
 */
export type DevicePoll =
  | { readonly result: 'granted'; readonly grant: TokenGrant }
  | { readonly result: 'pending' | 'slow_down' | 'denied' | 'expired' };

export interface DeviceGrantRequest extends TokenRequestOptions {
  readonly deviceCode: string;
}

/**
 * Polls once for the decision of the user. The caller waits between two polls, stops after `expiresInMs`, and ensures that
 * only one poll runs at a time.
 *
 * `provider_unavailable` says nothing about the decision: poll again with growing intervals (section 3.5). All other errors
 * end the flow, also `provider_error` with `invalid_grant`: the code has expired, or a poll whose response was lost has used
 * it, and its tokens are lost too.
 *
 * @throws {AuthorizationError}
 */
export async function pollDevice(
  oauthClient: OauthClient,
  at: ResolvedClient,
  { deviceCode, ...options }: DeviceGrantRequest,
): Promise<DevicePoll> {
  try {
    const grant = await requestTokens(oauthClient, at, {
      ...options,
      grantType: 'urn:ietf:params:oauth:grant-type:device_code',
      parameters: { ...options.parameters, device_code: deviceCode },
    });
    return { result: 'granted', grant };
  } catch (error) {
    const result = error instanceof AuthorizationError && outcomes[error.providerError ?? ''];
    if (result) return { result };
    throw error;
  }
}

const outcomes: Partial<Record<string, Exclude<DevicePoll['result'], 'granted'>>> = {
  authorization_pending: 'pending',
  slow_down: 'slow_down',
  access_denied: 'denied',
  expired_token: 'expired',
};
