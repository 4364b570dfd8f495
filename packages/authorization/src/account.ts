import { AuthorizationError, type AuthorizationErrorCode } from './authorization-error.ts';
import { displayText } from './display-text.ts';
import type { ProviderConfig } from './provider-config.ts';
import { memberAt } from './token-answer.ts';

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
 * @throws {AuthorizationError} `invalid_userinfo`, `invalid_id_token` or `invalid_token_response` when the identifying member is missing.
 */
export function accountFrom(
  members: Readonly<Record<string, unknown>>,
  { from, idClaim, nameClaim }: NonNullable<ProviderConfig['account']>,
): Account {
  const id = identifier(claimOf(members, idClaim));
  if (id === undefined) throw new AuthorizationError(faultOf[from], { claim: idClaim });
  const name = nameClaim === undefined ? undefined : displayText(claimOf(members, nameClaim));
  return { id, ...(name !== undefined && { name }) };
}

const faultOf = {
  id_token: 'invalid_id_token',
  userinfo: 'invalid_userinfo',
  token_response: 'invalid_token_response',
} as const satisfies Record<NonNullable<ProviderConfig['account']>['from'], AuthorizationErrorCode>;

/** Names of claims may have dots themselves, as those that are URLs do. */
function claimOf(members: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : memberAt(members, name);
}

/** Identifiers are strings, at some providers (GitHub) whole numbers. */
function identifier(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '' && value.length <= 500) return value;
  if (Number.isSafeInteger(value)) return String(value);
  return undefined;
}
