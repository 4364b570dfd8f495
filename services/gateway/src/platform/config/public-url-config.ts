import { z } from 'zod';
import { isLoopbackUrl, loopbackHostPattern } from './addresses.ts';

/** Origin under which browsers reach a listener of the gateway. https, or http on a loopback address for development. */
export const publicUrlSchema = z
  .url({ error: 'must be a URL', abort: true })
  .refine(value => ['https:', 'http:'].includes(new URL(value).protocol), { error: 'must be an http(s) URL' })
  .refine(value => new URL(value).protocol === 'https:' || isLoopbackUrl(value), {
    error: 'must be https, except on a loopback address',
  })
  .refine(value => new URL(value).pathname === '/' && !/[?#]/.test(value), {
    error: 'must be an origin without path, query or fragment',
  })
  .meta({ pattern: String.raw`^(?:https:\/\/[^\s\/?#]+|http:\/\/${loopbackHostPattern}(?::\d+)?)\/?$` })
  .transform(value => new URL(value).origin);
