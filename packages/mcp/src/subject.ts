import { issuerSchema, subjectIdentifierSchema, subjectSchema } from '@postern/api';
import { decodeJwt } from 'jose';
import { z } from 'zod/v4';
import { SubjectUnavailableError } from './errors.ts';

export interface Subject {
  /** The `iss` of the authorization server that authenticated the user. */
  readonly issuer: string;
  /** The immutable user identifier at that issuer. Never an e-mail address. */
  readonly subject: string;
}

/** The facts that both SDKs report about a validated MCP access token. */
export interface AuthInfo {
  readonly token: string;
  readonly extra?: Record<string, unknown> | undefined;
}

/**
 * Source of the user of a call:
 * - omitted: `authInfo.extra.iss` and `authInfo.extra.sub`, set by the MCP server's token verifier;
 * - `'access-token'`: the token, which the MCP server has verified. The gateway verifies it again. It must be a JWT (RFC 9068),
 *   so that this package can read issuer and subject from it too;
 * - an object: one fixed user, for stdio and for `endpoint()` on loopback; refused if a request has an access token, or arrives over
 *   HTTP without `endpoint()`, where a web page may have sent it;
 * - a function of the SDK's handler context.
 */
export type SubjectOption<Context> =
  | 'access-token'
  | Subject
  | ((context: Context) => Subject | undefined | Promise<Subject | undefined>);

/** The user of one call, and the subject as it is sent to the gateway. */
export interface Principal extends Subject {
  readonly input: Subject | { readonly accessToken: string };
}

const claimsSchema = z.object({ iss: issuerSchema, sub: subjectIdentifierSchema });

/** @throws {SubjectUnavailableError} when no verified user is known */
export async function resolvePrincipal<Context>(
  option: SubjectOption<Context> | undefined,
  {
    authInfo,
    isUncheckedHttp = false,
  }: { readonly authInfo: AuthInfo | undefined; readonly isUncheckedHttp?: boolean },
  context: Context,
): Promise<Principal> {
  if (typeof option === 'function') return known(await option(context), 'The `subject` function returned no user.');
  if (option === 'access-token') return fromAccessToken(authInfo);
  if (option !== undefined) {
    if (authInfo !== undefined) {
      throw new SubjectUnavailableError('A fixed `subject` serves one person, but this request has an access token.');
    }
    if (isUncheckedHttp) {
      throw new SubjectUnavailableError(
        'A fixed `subject` would serve any web page here: over HTTP, use gate.endpoint(), or identify the user.',
      );
    }
    return known(option, 'The fixed `subject` is not valid.');
  }
  if (authInfo === undefined) {
    throw new SubjectUnavailableError(
      'The request carries no verified access token, so there is no user to ask: set `auth` of gate.endpoint(), or `subject` of postern().',
    );
  }
  const { iss, sub } = authInfo.extra ?? {};
  return known(
    { issuer: iss, subject: sub },
    'The token verifier must put `iss` and `sub` into authInfo.extra, or the `subject` option must be set.',
  );
}

/** @throws {SubjectUnavailableError} with this text if the subject is not valid */
function known(subject: { readonly issuer: unknown; readonly subject: unknown } | undefined, text: string): Principal {
  const parsed = subjectSchema.safeParse(subject && { issuer: subject.issuer, subject: subject.subject });
  if (!parsed.success) throw new SubjectUnavailableError(text);
  return { ...parsed.data, input: parsed.data };
}

/**
 * The claims decide whose `requestState` and earlier answers the call may use. They are trusted because the MCP server has verified
 * the token; the gateway verifies it again before it asks the user or looks anything up.
 */
function fromAccessToken(authInfo: AuthInfo | undefined): Principal {
  if (authInfo === undefined) throw new SubjectUnavailableError('The request carries no verified access token.');
  let claims: unknown;
  try {
    claims = decodeJwt(authInfo.token);
  } catch {
    // The cause would quote the token.
    throw new SubjectUnavailableError('The access token is opaque; set `subject` to a function instead.');
  }
  const parsed = claimsSchema.safeParse(claims);
  if (!parsed.success) throw new SubjectUnavailableError('The access token names no `iss` and `sub`.');
  return { issuer: parsed.data.iss, subject: parsed.data.sub, input: { accessToken: authInfo.token } };
}
