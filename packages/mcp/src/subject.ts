import { issuerSchema, subjectIdentifierSchema, subjectSchema } from '@postern/api';
import { decodeJwt } from 'jose';
import { z } from 'zod';
import { SubjectUnavailableError } from './errors.ts';

export interface Subject {
  /** The `iss` of the authorization server that authenticated the user. */
  readonly issuer: string;
  /** The immutable user identifier at that issuer. Never an e-mail address. */
  readonly subject: string;
}

/** What both SDKs report about a validated MCP access token. */
export interface AuthInfo {
  readonly token: string;
  readonly extra?: Record<string, unknown> | undefined;
}

/**
 * Where the user of a call comes from:
 * - omitted: `authInfo.extra.iss` and `authInfo.extra.sub`, put there by the MCP server's token verifier;
 * - `'access-token'`: the token, which the MCP server has verified, is passed on and the gateway verifies it again (it must be a JWT, RFC 9068, so
 *   that issuer and subject can be read from it here as well);
 * - an object: one fixed person, for stdio and loopback; refused as soon as a request carries an access token;
 * - a function of the SDK's handler context.
 */
export type SubjectOption<Context> =
  | 'access-token'
  | Subject
  | ((context: Context) => Subject | undefined | Promise<Subject | undefined>);

/** The user of one call: who it is, and how the gateway is told. */
export interface Principal extends Subject {
  readonly input: Subject | { readonly accessToken: string };
}

const claimsSchema = z.object({ iss: issuerSchema, sub: subjectIdentifierSchema });

/** @throws {SubjectUnavailableError} when no verified user is known */
export async function resolvePrincipal<Context>(
  option: SubjectOption<Context> | undefined,
  authInfo: AuthInfo | undefined,
  context: Context,
): Promise<Principal> {
  if (typeof option === 'function') return known(await option(context), 'The `subject` function returned no user.');
  if (option === 'access-token') return fromAccessToken(authInfo);
  if (option !== undefined) {
    if (authInfo !== undefined) {
      throw new SubjectUnavailableError(
        'A fixed `subject` serves one person, but this request carries an access token of its own.',
      );
    }
    return known(option, 'The fixed `subject` is not valid.');
  }
  if (authInfo === undefined) {
    throw new SubjectUnavailableError('The request carries no verified access token, so there is no user to ask.');
  }
  const claims = claimsSchema.safeParse(authInfo.extra);
  if (!claims.success) {
    throw new SubjectUnavailableError(
      'The token verifier must put `iss` and `sub` into authInfo.extra, or the `subject` option must be set.',
    );
  }
  return known({ issuer: claims.data.iss, subject: claims.data.sub }, '');
}

function known(subject: Subject | undefined, text: string): Principal {
  const parsed = subjectSchema.safeParse(subject && { issuer: subject.issuer, subject: subject.subject });
  if (!parsed.success) throw new SubjectUnavailableError(text);
  return { ...parsed.data, input: parsed.data };
}

/**
 * The claims say whose `requestState` and whose earlier answers a call may go on with. They are believed because the MCP server
 * has verified the token of this request; the gateway verifies it again before it asks or looks up anything for somebody.
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
