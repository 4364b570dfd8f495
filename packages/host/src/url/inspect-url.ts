import { domainToUnicode } from 'node:url';
import { parse as parseDomain } from 'tldts';
import { mixesScripts } from './script-mixture.ts';

export type UrlWarning =
  | { readonly code: 'not_encrypted' }
  /** The same host in the letters that a browser may show; not inert. */
  | { readonly code: 'internationalized_domain'; readonly unicode: string }
  | { readonly code: 'mixed_scripts'; readonly unicode: string }
  | { readonly code: 'ip_address' }
  /** What stands before the `@`, percent-encoded. */
  | { readonly code: 'user_info'; readonly userInfo: string }
  | { readonly code: 'unusual_port'; readonly port: string };

/** A URL from an MCP server as a person should see it before anything is opened. */
export interface InspectedUrl {
  /** The whole address in its normal form: ASCII, percent-encoded, nothing left out. */
  readonly href: string;
  /** Host with its port, as it stands in `href`. */
  readonly host: string;
  /**
   * The part of the host that somebody has registered (`example.co.uk` of `a.b.example.co.uk`, by the Public Suffix List),
   * or the whole host where there is no such part: IP addresses, `localhost`, names of one label.
   */
  readonly domain: string;
  /** `href` in three pieces; the middle one is `domain`, where the host has it. */
  readonly parts: readonly [before: string, domain: string, after: string];
  readonly isLoopback: boolean;
  readonly warnings: readonly UrlWarning[];
}

/** A longer address cannot be read, and scrolls away what it belongs to. */
export const MAX_URL_LENGTH = 4096;

/**
 * Looks at a URL without touching what it points at (MCP, URL mode: no prefetch, full URL and domain shown, ambiguous
 * domains warned about).
 *
 * @returns undefined when it is nothing to open: not a web address, or longer than {@link MAX_URL_LENGTH}
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
  // tldts drops a trailing dot; the piece that is marked has to stand in the host as it is written.
  const domain = registrable !== null && hostname.includes(registrable) ? registrable : hostname;

  const start = hostStart(url) + hostname.lastIndexOf(domain);
  const end = start + domain.length;
  const parts = [url.href.slice(0, start), url.href.slice(start, end), url.href.slice(end)] as const;
  return { href: url.href, host: url.host, domain, parts, isLoopback, warnings };
}

/** Behind the scheme and, where there is one, the user part: the only place where the host can stand. */
function hostStart(url: URL): number {
  const authority = url.href.indexOf('//') + 2;
  return url.username === '' && url.password === '' ? authority : url.href.indexOf('@', authority) + 1;
}
