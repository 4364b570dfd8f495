import { isIP, isIPv4 } from 'node:net';
import { logoSchema } from '@postern/authorization';
import { locales } from '@postern/pages';
import { z } from 'zod';

/** JSON Schema approximation of {@link isLoopbackHost}. */
const loopbackHostPattern: string = String.raw`(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])`;

/** RFC 6761 section 6.3 (`localhost`), RFC 1122 section 3.2.1.3 (127.0.0.0/8), RFC 4291 section 2.5.3 (::1). */
export function isLoopbackUrl(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}

/** Accepts a host as in a URL or as in the address of a listener. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/** JSON Schema approximation of {@link isAddressRange}. */
export const addressRangePattern: string = String.raw`^(?:(?:\d{1,3}\.){3}\d{1,3}(?:\/0{0,2}(?:[1-9]|[12]\d|3[0-2]))?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.%\w]*(?:\/0{0,2}[1-9]\d{0,2})?)$`;

/** Whether a value is an IP address or a CIDR range (RFC 4632). Refuses the range of all addresses, which would trust the headers of any caller. */
export function isAddressRange(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  const length = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return length >= 1 && length <= (version === 4 ? 32 : 128);
}

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

/** A name that users see: one for all languages, or one per language of the pages. */
export function localName(maximum: number) {
  const text = z.string().min(1).max(maximum);
  return z.union([
    text,
    z
      .partialRecord(z.enum(locales), text)
      .refine(names => Object.keys(names).length > 0, { error: 'must contain a language' })
      .meta({ minProperties: 1 }),
  ]);
}

/** A colour as `#rrggbb`. */
const colour = z.string().regex(/^#[0-9a-fA-F]{6}$/, { error: 'must be #rrggbb' });

/** Where the footer of pages leads. */
const link = z
  .string()
  .max(500)
  .regex(/^(https:\/\/|mailto:)[^\s]+$/, { error: 'must be an https or mailto URL' })
  .refine(value => URL.canParse(value) && new URL(value).username === '', { error: 'must be an https or mailto URL' });

/** The members of the appearance that can differ by MCP server. */
export const lookMembers = {
  logo: logoSchema
    .optional()
    .describe('Image in the header. One that is at least twice as wide as high replaces the name.'),
  accent: colour.optional().describe('Colour of buttons and links.'),
  accentDark: colour.optional().describe('The accent on dark pages. Default: derived from `accent`.'),
  supportUrl: link.optional().describe('Help, in the footer of pages.'),
  privacyUrl: link.optional().describe('Privacy policy, in the footer of pages.'),
  termsUrl: link.optional().describe('Terms of service, in the footer of pages.'),
};

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
