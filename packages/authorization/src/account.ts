import { AuthorizationError } from './authorization-error.ts';
import { displayText } from './display-text.ts';
import type { ProviderConfig } from './provider-config.ts';

/** The account at the provider that an authorization belongs to. */
export interface Account {
  /** Identifies the account at the provider and never changes. */
  readonly id: string;
  /** What its owner recognises it by; plain text, not unique, never an identifier. */
  readonly name?: string;
}

/**
 * Reads the account out of ID token claims or a userinfo answer.
 *
 * @throws {AuthorizationError} `invalid_userinfo` or `invalid_id_token` when the identifying member is missing.
 */
export function accountFrom(
  members: Record<string, unknown>,
  { from, idClaim, nameClaim }: NonNullable<ProviderConfig['account']>,
): Account {
  const id = identifier(members[idClaim]);
  if (id === undefined) throw new AuthorizationError(from === 'userinfo' ? 'invalid_userinfo' : 'invalid_id_token');
  const name = nameClaim === undefined ? undefined : displayText(members[nameClaim]);
  return { id, ...(name !== undefined && { name }) };
}

/** Identifiers are strings, at some providers (GitHub) whole numbers. */
function identifier(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '' && value.length <= 500) return value;
  if (Number.isSafeInteger(value)) return String(value);
  return undefined;
}
