import { createHash, randomBytes } from 'node:crypto';
import { driveAuthorization } from '@postern/testkit/providers';
import { z } from 'zod';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { type Child, readiness, startChild } from './child.ts';

/** The gateway's registration at the provider. */
export const FORGE_CLIENT = {
  clientId: 'postern-at-forge',
  clientSecret: 'only-for-benchmarks',
  redirectUri: 'http://localhost/callback/tracker/forge',
} as const;

const { clientId, clientSecret, redirectUri } = FORGE_CLIENT;
const tokenHeaders = {
  authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
  'content-type': 'application/x-www-form-urlencoded',
};

const tokensSchema = z.object({ access_token: z.string(), refresh_token: z.string() });
const countSchema = z.object({ refreshes: z.int() });

/** A provider that rotates refresh tokens, and a minimal OAuth client for it. */
export interface Forge extends AsyncDisposable {
  readonly issuer: string;
  /** Number of refresh requests so far. */
  refreshes(): Promise<number>;
  /** Completes an authorization. @returns the refresh token of the grant */
  grant(): Promise<string>;
  /** Sends one refresh request over an open connection. @returns the next refresh token */
  refresh(refreshToken: string): Promise<string>;
}

export async function startForge(): Promise<Forge> {
  let counted = Promise.withResolvers<number>();
  const child: Child = startChild({
    module: 'tools/bench/children/forge.ts',
    onMessage(message) {
      const count = countSchema.safeParse(message);
      if (count.success) counted.resolve(count.data.refreshes);
    },
  });
  const { issuer } = z.object({ issuer: z.url() }).parse(await readiness(child));
  const port = Number(new URL(issuer).port);
  const connection = await HttpConnection.open(port);

  async function tokens(form: Readonly<Record<string, string>>): Promise<z.infer<typeof tokensSchema>> {
    const body = new URLSearchParams(form).toString();
    const answer = await connection.request(httpRequest('POST', '/token', port, tokenHeaders, body));
    if (answer.status !== 200) throw new Error(`the provider answered ${answer.status}: ${answer.body}`);
    return tokensSchema.parse(JSON.parse(answer.body));
  }

  return {
    issuer,
    async refreshes() {
      counted = Promise.withResolvers();
      child.process.send('count');
      return counted.promise;
    },
    async grant() {
      const verifier = randomBytes(32).toString('base64url');
      const start = new URL(`${issuer}/auth`);
      start.search = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        scope: 'repo issues',
        code_challenge_method: 'S256',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      }).toString();
      const callback = await driveAuthorization(start, 'alice');
      const code = callback.searchParams.get('code') ?? '';
      const granted = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
      return (await tokens(granted)).refresh_token;
    },
    refresh: async refreshToken =>
      (await tokens({ grant_type: 'refresh_token', refresh_token: refreshToken })).refresh_token,
    async [Symbol.asyncDispose]() {
      connection[Symbol.dispose]();
      await child[Symbol.asyncDispose]();
    },
  };
}
