import type { Checks } from '../checks.ts';
import type { Endpoint } from '../wire/endpoint.ts';

/** Shorter values occur in URLs by chance. */
const SHORTEST_VALUE = 4;

/** The parts of the credentials that a URL or a state must not contain. */
export function credentialsOf({ headers }: Endpoint): readonly string[] {
  return Object.values(headers)
    .map(value => value.replace(/^(?:bearer|basic) /i, ''))
    .filter(value => value.length >= SHORTEST_VALUE);
}

/** Identifying claims of a bearer token, if it is a JWT. */
export function claimsOf({ headers }: Endpoint): readonly string[] {
  const [, payload = ''] = /^bearer [\w-]+\.([\w-]+)\.[\w-]+$/i.exec(headers['authorization'] ?? '') ?? [];
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    if (typeof claims !== 'object' || claims === null) return [];
    return ['sub', 'email', 'name', 'preferred_username', 'phone_number']
      .map(name => (claims as Record<string, unknown>)[name])
      .filter(value => typeof value === 'string')
      .filter(value => value.length >= SHORTEST_VALUE);
  } catch {
    return [];
  }
}

/** Which of these values a text contains, as it is, percent-encoded, or in base64 between separators. */
export function foundIn(text: string, values: readonly string[]): readonly string[] {
  const parts = text.split(/[^\w+/=-]+/).flatMap(part => [part, ...part.split('.')]);
  const decoded = parts.map(part => Buffer.from(part, 'base64url').toString('latin1'));
  const texts = [text, safelyDecoded(text), ...decoded];
  return values.filter(value =>
    texts.some(each => each.includes(value) || each.includes(Buffer.from(value).toString('latin1'))),
  );
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

const TOKEN_NAME =
  /^(?:access_?token|id_?token|refresh_?token|auth_?token|token|jwt|api_?key|password|passwd|client_?secret|secret|authorization|bearer)$/i;
/** Signed requests of OAuth clients, and not credentials of a user. */
const SIGNED_REQUEST = /^(?:request|client_assertion)$/;
const JWT = /^ey[\w-]+\.ey[\w-]+\.[\w-]*$/;

export interface UrlRules {
  readonly url: unknown;
  readonly userData: readonly string[];
  readonly credentials: readonly string[];
  readonly sessionId: string | undefined;
}

function isLoopback({ hostname }: URL): boolean {
  return /^(?:.+\.)?localhost$|^127(?:\.\d+){3}$|^\[::1\]$/.test(hostname);
}

/** Records everything that the specification says about the URL alone. @returns the URL if a browser can open it */
export function checkUrl(checks: Checks, { url, userData, credentials, sessionId }: UrlRules): URL | undefined {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  const isWeb = parsed !== undefined && /^https?:$/.test(parsed.protocol);
  checks.verdict('sep-1036-url-valid', isWeb ? [] : ['not an absolute http or https URL'], { url });
  if (!isWeb) return undefined;
  const { href } = parsed;
  const isPrivate = parsed.protocol === 'https:' || isLoopback(parsed);
  checks.verdict('sep-1036-url-https', isPrivate ? [] : [`${parsed.protocol} to ${parsed.hostname}`]);
  const named = foundIn(href, userData).map(value => `the URL contains ${value}`);
  const secret = foundIn(href, credentials).map(() => 'the URL contains the credentials of the request');
  checks.verdict('sep-1036-url-without-user-data', [...named, ...secret]);
  const tokens = [...parsed.searchParams, ...new URLSearchParams(parsed.hash.slice(1))]
    .filter(
      ([name, value]) => value !== '' && (TOKEN_NAME.test(name) || (JWT.test(value) && !SIGNED_REQUEST.test(name))),
    )
    .map(([name]) => `the parameter ${name} looks like a credential`);
  const password = parsed.password === '' ? [] : ['the URL contains a password'];
  checks.verdict('sep-1036-url-not-pre-authenticated', [...tokens, ...password]);
  if (sessionId !== undefined) {
    const found = foundIn(href, [sessionId]);
    checks.verdict(
      'sep-1036-url-without-session-id',
      found.length === 0 ? [] : ['the URL contains the MCP session id'],
    );
  }
  return parsed;
}
