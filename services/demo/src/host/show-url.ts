import { domainToUnicode } from 'node:url';

/** A URL from an MCP server as a person should see it before anything is opened. */
export interface ShownUrl {
  /** The whole address in its normal form: ASCII, percent-encoded, nothing left out. */
  readonly href: string;
  /** The same in three pieces; the middle one is the host, with the port if there is one. */
  readonly parts: readonly [before: string, host: string, after: string];
  readonly warnings: readonly UrlWarning[];
}

export type UrlWarning =
  | { readonly code: 'not_encrypted' }
  | { readonly code: 'internationalized_domain'; readonly unicode: string }
  | { readonly code: 'ip_address' }
  | { readonly code: 'user_name'; readonly userName: string };

/**
 * Looks at a URL without touching what it points at (MCP, URL-mode elicitation: no prefetch, the full URL and its domain
 * shown, ambiguous domains warned about).
 *
 * @returns undefined when it is not a web address, and so nothing to open
 */
export function inspectUrl(text: string): ShownUrl | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return undefined;
  const { hostname } = url;
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  const isIpAddress = hostname.startsWith('[') || /^\d+(\.\d+){3}$/.test(hostname);
  const isInternationalized = hostname.split('.').some(label => label.startsWith('xn--'));
  const warnings: UrlWarning[] = [
    ...(url.protocol === 'http:' && !isLoopback ? [{ code: 'not_encrypted' } as const] : []),
    ...(isInternationalized ? [{ code: 'internationalized_domain', unicode: domainToUnicode(hostname) } as const] : []),
    ...(isIpAddress && !isLoopback ? [{ code: 'ip_address' } as const] : []),
    ...(url.username === '' ? [] : [{ code: 'user_name', userName: url.username } as const]),
  ];

  // Behind the scheme and, where there is one, the user part: the only place where the host can stand.
  const authority = url.href.indexOf('//') + 2;
  const userPart = url.username === '' && url.password === '' ? 0 : url.href.indexOf('@', authority) + 1 - authority;
  const start = authority + userPart;
  const end = start + url.host.length;
  return { href: url.href, parts: [url.href.slice(0, start), url.host, url.href.slice(end)], warnings };
}

/** For a terminal: the domain on a line of its own, then the whole address, then what is odd about it. */
export function formatUrl({ parts: [before, host, after], warnings }: ShownUrl, p: { colour: boolean }): string {
  const marked = p.colour ? `\u001b[1;7m${host}\u001b[0m` : host;
  return [
    `  Domain:   ${marked}`,
    `  Address:  ${before}${marked}${after}`,
    ...warnings.map(warning => `  Careful:  ${describe(warning)}`),
  ].join('\n');
}

function describe(warning: UrlWarning): string {
  switch (warning.code) {
    case 'not_encrypted':
      return 'the connection would not be encrypted (http)';
    case 'internationalized_domain':
      return `the domain has letters of other alphabets and may imitate another one: ${printable(warning.unicode)}`;
    case 'ip_address':
      return 'there is a bare IP address where a domain should be';
    case 'user_name':
      return `what stands before the @ (${printable(warning.userName)}) is not the domain`;
  }
}

/**
 * Text of others on one line, without control, format and bidirectional characters: it must neither move the cursor nor
 * imitate this program.
 */
export function printable(text: string): string {
  return text
    .replace(/\s+/gu, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, '')
    .trim();
}

/** {@link printable}, line by line. */
export function printableLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map(line => printable(line))
    .join('\n');
}
