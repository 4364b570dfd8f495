import type { TokenResponseConfig } from './token-response-config.ts';
import { parseUniqueJson } from './unique-json.ts';

/** The members of RFC 6749 section 5.1, found where the configuration says, still to be validated. */
export type TokenMembers = Readonly<Record<string, unknown>>;

export type TokenAnswer =
  | {
      readonly kind: 'tokens';
      readonly members: TokenMembers;
      /** Everything that was said. */
      readonly all: TokenMembers;
    }
  /** The code of an error; empty where the answer does not name one. */
  | { readonly kind: 'error'; readonly code: string };

type Members = Readonly<Record<string, unknown>>;

/**
 * Reads the answer of a token endpoint as the configuration describes it. Undefined: it is not of that form at all. What is
 * read is moved, never repaired, except for the few differences that a configuration can name.
 */
export function readTokenAnswer(
  p: { readonly status: number; readonly contentType: string | null; readonly body: string },
  config: TokenResponseConfig | undefined,
): TokenAnswer | undefined {
  const members = membersOf(p, config?.format ?? 'json');
  const code = members && errorCodeIn(members, config);
  if (p.status >= 400) return code === undefined ? undefined : { kind: 'error', code };
  if (members === undefined) return undefined;
  // By RFC 6749 there is no error with this status. What contradicts itself is no answer.
  if (config === undefined) return code === undefined ? { kind: 'tokens', members, all: members } : undefined;

  const { success } = config;
  const failed = success !== undefined && memberAt(members, success.member) !== success.equals;
  if (failed || code !== undefined) return { kind: 'error', code: code ?? '' };
  return { kind: 'tokens', members: standardMembers(members, config), all: members };
}

/** A member by its dotted path; only what an object has itself. */
export function memberAt(members: Members, path: string): unknown {
  let value: unknown = members;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Members)[name];
  }
  return value;
}

function membersOf(
  { body, contentType }: { body: string; contentType: string | null },
  format: TokenResponseConfig['format'],
): Members | undefined {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  const isForm = format === 'form' || (format === 'auto' && type === 'application/x-www-form-urlencoded');
  return isForm ? formMembers(body) : jsonMembers(body);
}

/** The members of a JSON object; undefined for anything else, and for one that says something twice. */
export function jsonMembers(body: string): Members | undefined {
  try {
    const value = parseUniqueJson(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
}

function formMembers(body: string): Members | undefined {
  const entries = [...new URLSearchParams(body)];
  const names = new Set(entries.map(([name]) => name));
  return names.size === entries.length ? Object.fromEntries(entries) : undefined;
}

function errorCodeIn(members: Members, config: TokenResponseConfig | undefined): string | undefined {
  for (const path of [config?.errorMember ?? 'error', 'error']) {
    const code = memberAt(members, path);
    if (typeof code === 'string' && code !== '') return code;
  }
  return undefined;
}

function standardMembers(members: Members, config: TokenResponseConfig): TokenMembers {
  const at = (path: string | undefined, name: string) => memberAt(members, path ?? name) ?? undefined;
  const { members: paths, tokenType, lifetimeSeconds } = config;
  return {
    access_token: at(paths.accessToken, 'access_token'),
    token_type: tokenType ?? at(paths.tokenType, 'token_type'),
    expires_in: wholeNumber(at(paths.expiresIn, 'expires_in')) ?? lifetimeSeconds,
    refresh_token: at(paths.refreshToken, 'refresh_token'),
    id_token: at(paths.idToken, 'id_token'),
    scope: scopeText(at(paths.scope, 'scope')),
  };
}

/** In a form every value is a text. */
function wholeNumber(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
}

function scopeText(value: unknown): unknown {
  return Array.isArray(value) && value.every(scope => typeof scope === 'string') ? value.join(' ') : value;
}
