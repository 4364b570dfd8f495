import { AuthorizationError } from '../authorization-error.ts';
import type { ResolvedClient } from '../client-registration.ts';
import { type OauthTools, requestTokens, type TokenGrant, type TokenRequestOptions } from '../token-request.ts';

/** RFC 8628 section 3.5: after `slow_down` the interval is longer by so much, for this and all later polls. */
export const slowDownMs = 5000;

/**
 * What one poll brought (RFC 8628 section 3.5).
 * - `pending`: the person has not decided; ask again after the interval.
 * - `slow_down`: so too, and the interval grows by {@link slowDownMs}.
 * - `denied`, `expired`: the end; a new start is needed.
 */
export type DevicePoll =
  | { readonly result: 'granted'; readonly grant: TokenGrant }
  | { readonly result: 'pending' | 'slow_down' | 'denied' | 'expired' };

export interface DeviceGrantRequest extends TokenRequestOptions {
  readonly deviceCode: string;
}

/**
 * Asks once whether the person has decided. Whoever calls waits between two calls, ends at `expiresInMs`, and sees to it that
 * one poll is under way at a time.
 *
 * `provider_unavailable` says nothing about the decision: ask again, with longer and longer intervals (section 3.5). All other
 * errors are the end, also `provider_error` with `invalid_grant`: the code is over, or was used by a poll whose answer was
 * lost, and then its tokens are lost with it.
 *
 * @throws {AuthorizationError}
 */
export async function pollDevice(
  tools: OauthTools,
  at: ResolvedClient,
  { deviceCode, ...options }: DeviceGrantRequest,
): Promise<DevicePoll> {
  try {
    const grant = await requestTokens(tools, at, {
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
