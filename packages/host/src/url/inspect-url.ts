import { domainToUnicode } from 'node:url';
import { parse as parseDomain } from 'tldts';
import { mixesScripts } from './script-mixture.ts';

export type UrlWarning =
  | { readonly code: 'not_encrypted' }
  /** The host in the Unicode form that a browser may show; not inert. */
  | { readonly code: 'internationalized_domain'; readonly unicode: string }
  | { readonly code: 'mixed_scripts'; readonly unicode: string }
  | { readonly code: 'ip_address' }
  /** The user info before the `@`, percent-encoded. */
  | { readonly code: 'user_info'; readonly userInfo: string }
  | { readonly code: 'unusual_port'; readonly port: string };

/** A URL from an MCP server, prepared for display before it is opened. */
export interface InspectedUrl {
  /** The complete normalised URL: ASCII, percent-encoded. */
  readonly href: string;
  /** Host and port, as in `href`. */
  readonly host: string;
  /**
   * The registrable domain of the host (`example.co.uk` of `a.b.example.co.uk`, by the Public Suffix List), or the whole host
   * if there is none: IP addresses, `localhost`, single labels.
   */
  readonly domain: string;
  /** `href` in three parts. The middle part is `domain`, at its position in the host. */
  readonly parts: readonly [before: string, domain: string, after: string];
  readonly isLoopback: boolean;
  readonly warnings: readonly UrlWarning[];
}

/** Maximum length of a URL. Users cannot read a longer one, and it would scroll its context away. */
export const MAX_URL_LENGTH = 4096;

/**
 * Inspects a URL without fetching it (MCP, URL mode: no prefetch, show the full URL and domain, warn of ambiguous domains).
 *
 * @returns undefined if the URL must not be opened: not a web address, or longer than {@link MAX_URL_LENGTH}
 */
export function inspectUrl(text: string): InspectedUrl | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return undefined;
  if (url.href.length > MAX_URL_LENGTH) return undefined;
  const { hostname } = url;
  const isIpAddress = hostname.startsWith('[') || /^\d+(\.\d+){3}$/.test(hostname);
  const isLoopback = /^(?:localhost\.?|.+\.localhost\.?|\[::1\]|127(?:\.\d+){3})$/.test(hostname);
  const unicode = domainToUnicode(hostname);
  const isInternationalized = hostname.split('.').some(label => label.startsWith('xn--'));
  const userInfo = url.password === '' ? url.username : `${url.username}:${url.password}`;

  const warnings: UrlWarning[] = [];
  if (url.protocol === 'http:' && !isLoopback) warnings.push({ code: 'not_encrypted' });
  if (isInternationalized) {
    const mixed = unicode.split('.').some(mixesScripts);
    warnings.push({ code: mixed ? 'mixed_scripts' : 'internationalized_domain', unicode });
  }
  if (isIpAddress && !isLoopback) warnings.push({ code: 'ip_address' });
  if (userInfo !== '') warnings.push({ code: 'user_info', userInfo });
  if (url.port !== '' && !isLoopback) warnings.push({ code: 'unusual_port', port: url.port });

  const registrable = isIpAddress ? null : parseDomain(hostname, { allowPrivateDomains: true }).domain;
  // tldts drops a trailing dot, but the highlighted part must match the written host.
  const domain = registrable !== null && hostname.includes(registrable) ? registrable : hostname;

  const start = hostStart(url) + hostname.lastIndexOf(domain);
  const end = start + domain.length;
  const parts = [url.href.slice(0, start), url.href.slice(start, end), url.href.slice(end)] as const;
  return { href: url.href, host: url.host, domain, parts, isLoopback, warnings };
}

/** Returns the offset of the host in `href`: after the scheme and the user info. */
function hostStart(url: URL): number {
  const authority = url.href.indexOf('//') + 2;
  return url.username === '' && url.password === '' ? authority : url.href.indexOf('@', authority) + 1;
}
