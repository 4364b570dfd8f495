import { z } from 'zod';
import { isLoopbackUrl, loopbackHostPattern } from './addresses.ts';

/** An identifier that is part of paths and never shown to users. */
export const slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, { error: 'must be at most 40 lower-case letters, digits and hyphens' });

/** A page or API of a third party. Plain http only on a loopback address. */
export const webUrl = z
  .url({ error: 'must be a URL', abort: true })
  .refine(value => ['https:', 'http:'].includes(new URL(value).protocol), { error: 'must be an http(s) URL' })
  .refine(value => new URL(value).protocol === 'https:' || isLoopbackUrl(value), {
    error: 'must be https, except on a loopback address',
  })
  .refine(value => new URL(value).username === '' && new URL(value).password === '', {
    error: 'must not contain a user name or password',
  })
  .refine(value => !value.includes('*'), { error: 'must not contain a wildcard' })
  .meta({ pattern: String.raw`^(?:https:\/\/[^\s@\/?#*]+|http:\/\/${loopbackHostPattern}(?::\d+)?)(?:[\/?#][^*]*)?$` });

/** Path of a file on the public origin, which the reverse proxy serves. */
export const ownPath = z.string().regex(/^\/(?!\/)[^\s?#]*$/, { error: 'must be a path on the public origin' });
