import { createHash, randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';

/** The OpenID client of the console, and the only person who can sign in: whoever uses this machine. */
export const operatorSignIn = { clientId: 'postern-console', subject: 'operator', path: '/operator' } as const;

const CODE_MS = 60_000;
const ID_TOKEN_SECONDS = 600;
const MAX_CODES = 100;

const requestSchema = z.object({
  response_type: z.literal('code'),
  client_id: z.literal(operatorSignIn.clientId),
  redirect_uri: z.string(),
  scope: z.string().regex(/(?:^| )openid(?: |$)/),
  state: z.string().max(500),
  nonce: z.string().min(1).max(500),
  code_challenge: z.string().length(43),
  code_challenge_method: z.literal('S256'),
});
const tokenRequestSchema = z.object({
  grant_type: z.literal('authorization_code'),
  client_id: z.literal(operatorSignIn.clientId),
  redirect_uri: z.string(),
  code: z.string(),
  code_verifier: z.string(),
});

/** What the example provider sends. `undefined`: there is no such route. */
export type OperatorAnswer =
  | { readonly page: string }
  | { readonly location: string }
  | { readonly status: number; readonly json: unknown };

/**
 * Creates an OpenID provider (OpenID Connect Core, code flow) for the console of a development gateway. Its page signs in the operator of
 * this machine by one click. The example provider serves it below {@link operatorSignIn.path}, on loopback only.
 */
export async function createOperatorSignIn({ issuer, redirectUri }: { issuer: string; redirectUri: string }) {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'dev', alg: 'ES256', use: 'sig' }] };
  const codes = new LRUCache<string, { readonly challenge: string; readonly nonce: string; readonly at: number }>({
    max: MAX_CODES,
    ttl: CODE_MS,
  });

  function requested(values: unknown) {
    const { data } = requestSchema.safeParse(values);
    return data?.redirect_uri === redirectUri ? data : undefined;
  }

  const refused = (error: string): OperatorAnswer => ({ status: 400, json: { error } });

  function signIn(values: unknown): OperatorAnswer {
    const request = requested(values);
    if (request === undefined) return refused('invalid_request');
    const code = randomBytes(32).toString('base64url');
    codes.set(code, { challenge: request.code_challenge, nonce: request.nonce, at: Date.now() });
    const location = new URL(redirectUri);
    location.search = String(new URLSearchParams({ code, state: request.state, iss: issuer }));
    return { location: location.href };
  }

  async function token(values: unknown): Promise<OperatorAnswer> {
    const { data } = tokenRequestSchema.safeParse(values);
    if (data === undefined) return refused('invalid_request');
    const issued = codes.get(data.code);
    codes.delete(data.code);
    const isValid =
      issued !== undefined &&
      data.redirect_uri === redirectUri &&
      issued.challenge === createHash('sha256').update(data.code_verifier).digest('base64url');
    if (!isValid) return refused('invalid_grant');
    const idToken = await new SignJWT({
      name: 'Operator of this machine',
      groups: [operatorSignIn.subject],
      nonce: issued.nonce,
      auth_time: Math.floor(issued.at / 1000),
    })
      .setProtectedHeader({ alg: 'ES256', kid: 'dev' })
      .setIssuer(issuer)
      .setAudience(operatorSignIn.clientId)
      .setSubject(operatorSignIn.subject)
      .setIssuedAt()
      .setExpirationTime(`${ID_TOKEN_SECONDS}s`)
      .sign(privateKey);
    const access_token = randomBytes(32).toString('base64url');
    return {
      status: 200,
      json: { access_token, token_type: 'Bearer', expires_in: ID_TOKEN_SECONDS, id_token: idToken },
    };
  }

  return {
    /** Where the browser may be sent. */
    redirectUri,
    /** @param values query of a GET, or body of a POST */
    async answer(method: string, path: string, values: unknown): Promise<OperatorAnswer | undefined> {
      switch (`${method} ${path}`) {
        case 'GET /.well-known/openid-configuration':
          return { status: 200, json: metadataOf(issuer) };
        case 'GET /jwks':
          return { status: 200, json: jwks };
        case 'GET /authorize': {
          const request = requested(values);
          return request === undefined ? refused('invalid_request') : { page: signInPage(request) };
        }
        case 'POST /authorize':
          return signIn(values);
        case 'POST /token':
          return token(values);
        default:
          return undefined;
      }
    },
  };
}

export type OperatorSignIn = Awaited<ReturnType<typeof createOperatorSignIn>>;

const metadataOf = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256'],
  token_endpoint_auth_methods_supported: ['none'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
});

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const signInPage = (request: z.output<typeof requestSchema>): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sign in – Postern console</title>
<style>
  :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
  body { max-width: 26rem; margin: 10vh auto; padding: 0 1rem }
  button { font: inherit; padding: .5rem 1.25rem }
</style></head>
<body><h1>Sign in to the console</h1>
<p>This page stands in for the identity provider of your company. It runs on your machine, and has one account: yours.</p>
<form method="post" action="${operatorSignIn.path}/authorize">${Object.entries(request)
  .map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
  .join('')}
<button>Sign in as operator</button></form>
</body></html>`;
