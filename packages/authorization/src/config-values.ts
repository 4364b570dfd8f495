import * as z from 'zod';
import { isLoopbackHost } from './outbound-address.ts';

/** Whether a URL may be talked to: https, or http where the host is this machine (development). */
export function isEndpointUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

const loopbackHost = String.raw`(?:(?:[^\s@\/?#:]+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])`;
const authority = String.raw`(?:https:\/\/[^\s@\/?#{}]+|http:\/\/${loopbackHost}(?::\d+)?)`;

/** What JSON Schema can say of an endpoint URL: authority as {@link isEndpointUrl} wants it, then the path given. */
export const endpointUrlPattern = (path: string): string => `^${authority}(?:${path})?$`;

export const endpointUrlSchema = z
  .string()
  .max(2000)
  .refine(isEndpointUrl, 'must be an https URL without credentials and fragment (http only for loopback hosts)')
  .meta({ pattern: endpointUrlPattern(String.raw`[\/?][^#]*`) });

/** RFC 8414 section 2: no query, no fragment. Kept exactly as written, because issuers are compared as strings. */
export const issuerSchema = endpointUrlSchema
  .refine(value => !value.includes('?'), 'must not have a query')
  .meta({ pattern: endpointUrlPattern(String.raw`\/[^?#]*`) });

/** RFC 6749 appendix A.4. */
export const scopeTokenSchema = z
  .string()
  .max(200)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be one scope, without spaces');

export const nameSchema = z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be 1 to 40 of a-z, 0-9 and -');

/** One text for everybody, or one per locale; `en` is the one that is fallen back to. */
export const localizedTextSchema = z.union([
  z.string().min(1).max(300),
  z
    .record(z.string().regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/), z.string().min(1).max(300))
    .refine(texts => 'en' in texts, 'must contain "en"')
    .meta({ required: ['en'] }),
]);
export type LocalizedText = z.infer<typeof localizedTextSchema>;
