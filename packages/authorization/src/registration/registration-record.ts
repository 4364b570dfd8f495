import * as z from 'zod';
import { AuthorizationError } from '../authorization-error.ts';
import type { DynamicRegistration } from './registration-endpoint.ts';

/** Whose registration a record is. Part of the record too, so that one put under a wrong key is noticed. */
interface RegistrationPlace {
  readonly issuer: string;
  readonly redirectUri: string;
}

const layout = 1;

const recordSchema = z.strictObject({
  layout: z.literal(layout),
  issuer: z.string(),
  redirectUri: z.string(),
  clientId: z.string(),
  method: z.enum(['private_key_jwt', 'client_secret_basic', 'client_secret_post', 'none']),
  clientSecret: z.string().exactOptional(),
  secretExpiresAt: z.number().exactOptional(),
  management: z.strictObject({ url: z.string(), accessToken: z.string() }).exactOptional(),
});

export function formatRegistration(registration: DynamicRegistration, place: RegistrationPlace): string {
  return JSON.stringify({ layout, ...place, ...registration } satisfies z.infer<typeof recordSchema>);
}

/** @throws {AuthorizationError} `invalid_registration` for a record that is not ours or belongs elsewhere. */
export function parseRegistration(record: string, place: RegistrationPlace): DynamicRegistration {
  let json: unknown;
  try {
    json = JSON.parse(record);
  } catch {
    throw new AuthorizationError('invalid_registration');
  }
  const parsed = recordSchema.safeParse(json);
  if (!parsed.success) throw new AuthorizationError('invalid_registration');
  const { layout: _, issuer, redirectUri, ...registration } = parsed.data;
  if (issuer !== place.issuer || redirectUri !== place.redirectUri)
    throw new AuthorizationError('invalid_registration');
  return registration;
}

/** @param now milliseconds since the epoch */
export function isExpired({ secretExpiresAt }: DynamicRegistration, now: number): boolean {
  return secretExpiresAt !== undefined && secretExpiresAt <= now;
}
