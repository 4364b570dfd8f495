import { createHash } from 'node:crypto';
import { SubjectUnavailableError } from '../errors.ts';
import { resolvePrincipal, type SubjectOption } from '../subject.ts';
import type { VerifiedToken } from './bearer.ts';

/**
 * The user of a session, whom the option `subject` names. If it names none, the owner is the token itself, so that the session ends
 * with the token. Loopback endpoints without tokens have one user.
 */
export async function sessionOwner<Context>(
  subject: SubjectOption<Context> | undefined,
  authInfo: VerifiedToken | undefined,
  request: Request,
): Promise<string> {
  if (authInfo === undefined && typeof subject !== 'function') return 'loopback';
  const { headers, url } = request;
  // The part of both SDKs' contexts that is known before the SDK reads the request.
  const context = {
    ...{ authInfo, http: { authInfo, req: request } },
    requestInfo: { headers: Object.fromEntries(headers), url: new URL(url) },
  };
  try {
    const { issuer, subject: user } = await resolvePrincipal(subject, { authInfo }, context as Context);
    return JSON.stringify([issuer, user]);
  } catch (error) {
    // A function that needs the rest of the context fails with an error of any kind.
    if (!(error instanceof SubjectUnavailableError) && typeof subject !== 'function') throw error;
    return authInfo === undefined ? 'loopback' : createHash('sha256').update(authInfo.token).digest('base64url');
  }
}
