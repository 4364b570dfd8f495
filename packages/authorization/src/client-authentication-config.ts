import * as z from 'zod';
import type { ClientKey } from './client-key.ts';

export const clientAuthenticationSchema = z.enum([
  'client_secret_basic',
  'client_secret_post',
  'client_secret_jwt',
  'private_key_jwt',
  'none',
]);
export type ClientAuthentication = z.infer<typeof clientAuthenticationSchema>;

/** What a client proves its identity with. */
export interface ClientCredentials {
  readonly clientSecret?: string | undefined;
  readonly clientKey?: ClientKey | undefined;
  readonly clientAuthentication?: ClientAuthentication | undefined;
}

/** The configured method, else the one that what is there is good for. */
export function clientAuthenticationOf(p: ClientCredentials): ClientAuthentication {
  if (p.clientAuthentication !== undefined) return p.clientAuthentication;
  if (p.clientKey !== undefined) return 'private_key_jwt';
  return p.clientSecret === undefined ? 'none' : 'client_secret_basic';
}

/** RFC 7518 section 3.2: an HMAC key is at least as long as its digest. */
const minHmacKeyBytes = 32;

/** What is there and should not be, or the other way round, by the name of the member. */
export function clientCredentialFaults(p: ClientCredentials): { member: string; message: string }[] {
  const method = clientAuthenticationOf(p);
  const needsKey = method === 'private_key_jwt';
  const needsSecret = method !== 'none' && !needsKey;
  const faults: { member: string; message: string }[] = [];
  const fault = (member: string, message: string) => faults.push({ member, message });

  if (needsSecret && p.clientSecret === undefined)
    fault('clientSecret', `is needed for clientAuthentication ${method}`);
  if (!needsSecret && p.clientSecret !== undefined)
    fault('clientSecret', `must not be set when clientAuthentication is ${method}`);
  if (needsKey && p.clientKey === undefined) fault('clientKey', `is needed for clientAuthentication ${method}`);
  if (!needsKey && p.clientKey !== undefined)
    fault('clientKey', `must not be set when clientAuthentication is ${method}`);
  if (method === 'client_secret_jwt' && Buffer.byteLength(p.clientSecret ?? '') < minHmacKeyBytes)
    fault('clientSecret', 'must have 32 bytes or more for client_secret_jwt');
  return faults;
}
