import { createHash } from 'node:crypto';
import { SubjectUnavailableError } from '../errors.ts';
import { resolvePrincipal, type SubjectOption } from '../subject.ts';
import type { VerifiedToken } from './bearer.ts';

/**
 * The user of a session: issuer and subject if the token names them, and otherwise the token itself, so that the session ends with
 * the token. Loopback endpoints without tokens have one user.
 */
export async function sessionOwner<Context>(
  subject: SubjectOption<Context> | undefined,
  authInfo: VerifiedToken | undefined,
): Promise<string> {
  if (authInfo === undefined) return 'loopback';
  try {
    const source = subject === 'access-token' ? subject : undefined;
    const { issuer, subject: user } = await resolvePrincipal(source, authInfo, undefined);
    return JSON.stringify([issuer, user]);
  } catch (error) {
    if (!(error instanceof SubjectUnavailableError)) throw error;
    return createHash('sha256').update(authInfo.token).digest('base64url');
  }
}
