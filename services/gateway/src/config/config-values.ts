import { z } from 'zod';
import { isLoopbackUrl, loopbackHostPattern } from './loopback.ts';

/** A name of our own: part of paths, never shown to people. */
export const slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, { error: 'lower-case letters, digits and hyphens, at most 40' });

/** A page or an API of somebody else; plain http on a loopback address only. */
export const webUrl = z
  .url({ error: 'must be a URL', abort: true })
  .refine(value => ['https:', 'http:'].includes(new URL(value).protocol), { error: 'must be an http(s) URL' })
  .refine(value => new URL(value).protocol === 'https:' || isLoopbackUrl(value), {
    error: 'must be https, except on a loopback address',
  })
  .refine(value => new URL(value).username === '' && new URL(value).password === '', {
    error: 'must not carry a user name',
  })
  .refine(value => !value.includes('*'), { error: 'wildcards are not allowed' })
  .meta({ pattern: String.raw`^(?:https:\/\/[^\s@\/?#*]+|http:\/\/${loopbackHostPattern}(?::\d+)?)(?:[\/?#][^*]*)?$` });
