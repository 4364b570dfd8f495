import { inertLine } from '../inert.ts';
import type { InspectedUrl, UrlWarning } from '../url/inspect-url.ts';

/** Renders the full URL first, and its host and warnings last, right above the question. */
export function urlLines(url: InspectedUrl, p: { colour: boolean }): readonly string[] {
  const mark = (text: string) => (p.colour && text !== '' ? `\u001b[1;7m${text}\u001b[0m` : text);
  const [before, domain, after] = url.parts;
  return [
    `  Address: ${before}${mark(domain)}${after}`,
    ...(url.host === url.domain ? [] : [`  Host:    ${url.host}`]),
    `  Domain:  ${mark(url.domain)}`,
    ...url.warnings.map(warning => `  Careful: ${warningText(warning, url)}`),
  ];
}

function warningText(warning: UrlWarning, { host, isLoopback }: InspectedUrl): string {
  switch (warning.code) {
    case 'not_encrypted':
      return 'the connection would not be encrypted (http).';
    case 'internationalized_domain':
      return `browsers may show this host as ${inertLine(warning.unicode, 255)}. It can look like another one. Its real name is ${host}.`;
    case 'mixed_scripts':
      return `this host mixes letters of different alphabets to look like ${inertLine(warning.unicode, 255)}. Its real name is ${host}.`;
    case 'ip_address':
      return 'the host is an IP address instead of a name.';
    case 'user_info':
      return `the part before the @ (${inertLine(warning.userInfo, 200)}) is not the destination.`;
    case 'unusual_port':
      return isLoopback ? `port ${warning.port}.` : `port ${warning.port} is unusual.`;
  }
}
