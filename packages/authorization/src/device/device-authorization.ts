import * as client from 'openid-client';
import * as z from 'zod';
import { AuthorizationError } from '../authorization-error.ts';
import type { ResolvedClient } from '../client-registration.ts';
import { isEndpointUrl } from '../config-values.ts';
import { fromLibraryError } from '../library-error.ts';
import { errorFromProvider } from '../provider-error.ts';
import { isInsecure } from '../server-metadata.ts';
import { jsonMembers } from '../token-answer.ts';
import type { OauthTools } from '../token-request.ts';

/** What the person is shown, and what the tokens are asked for with meanwhile (RFC 8628 section 3.2). */
export interface DeviceAuthorization {
  /** Secret. */
  readonly deviceCode: string;
  /** Letters, digits and separators, at most 40 characters. */
  readonly userCode: string;
  readonly verificationUri: string;
  /** The same page with the code in it; on the origin of `verificationUri`. */
  readonly verificationUriComplete?: string;
  readonly expiresInMs: number;
  /** Least time between two polls. */
  readonly intervalMs: number;
}

/** Shown and typed, so it is put the way a browser reads it: `https:\\a.example` is not what it looks like. */
const verificationUriSchema = z
  .string()
  .max(2000)
  .regex(/^[\x21-\x7e]+$/)
  .refine(isEndpointUrl)
  .transform(value => new URL(value).href);

const answerSchema = z.object({
  device_code: z
    .string()
    .max(8192)
    .regex(/^[\x20-\x7e]+$/),
  // Section 6.1 is about what people can read and type. Anything else is not put before them.
  user_code: z.string().regex(/^[A-Za-z0-9](?:[A-Za-z0-9 .-]{0,38}[A-Za-z0-9])?$/),
  verification_uri: verificationUriSchema,
  verification_uri_complete: verificationUriSchema.optional().catch(undefined),
  expires_in: z.int().min(1).max(86_400),
  interval: z.int().min(1).max(600).default(5),
});
type DeviceAnswer = z.output<typeof answerSchema>;

/**
 * Asks for a device code and a user code (RFC 8628 section 3.1). One request.
 *
 * @throws {AuthorizationError} `invalid_metadata` when the authorization server has no such endpoint,
 *   `invalid_device_authorization`, `provider_error`, `provider_unavailable`, `outbound_…`.
 */
export async function startDevice(
  { configurations }: Pick<OauthTools, 'configurations'>,
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
      if (response.status !== 200) return response;
      answer = parseAnswer(await response.text(), isInsecure(endpoint));
      return Response.json(answer);
    };
  try {
    await configurations.run(at, { wrap }, ({ configuration }) =>
      client.initiateDeviceAuthorization(configuration, { ...parameters }),
    );
  } catch (error) {
    throw fromLibraryError(error, 'invalid_device_authorization');
  }
  if (answer === undefined) throw new AuthorizationError('invalid_device_authorization');
  return fromAnswer(answer);
}

function parseAnswer(body: string, allowsInsecure: boolean): DeviceAnswer {
  const members = jsonMembers(body);
  // Some answer with an error and 200.
  if (typeof members?.['error'] === 'string') throw errorFromProvider(members['error']);
  const answer = answerSchema.safeParse(
    // Google's name for it, from a draft of the RFC.
    members && { ...members, verification_uri: members['verification_uri'] ?? members['verification_url'] },
  );
  if (!answer.success) throw new AuthorizationError('invalid_device_authorization');
  // An authorization server on the public Internet sends nobody to a page on our loopback.
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
    // The person was told a host, and goes to no other.
    ...(complete !== undefined && hasOrigin(complete, verificationUri) && { verificationUriComplete: complete }),
    expiresInMs: answer.expires_in * 1000,
    intervalMs: answer.interval * 1000,
  };
}

const hasOrigin = (url: string, other: string): boolean => new URL(url).origin === new URL(other).origin;
