import { createHash, randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@postern/testkit/processes';
import { z } from 'zod';
import { type HttpAnswer, HttpConnection, headerOf, httpRequest } from '../../../test/support/http-connection.ts';
import { type Child, startChild } from './child.ts';

export interface OfficialExample extends AsyncDisposable {
  readonly child: Child;
  readonly port: number;
  /** Client id of the registered MCP client. The example knows only one user. */
  readonly accessToken: string;
  readonly cookie: string;
}

const REDIRECT_URI = 'http://localhost:9/callback';
const REGISTRATION = {
  redirect_uris: [REDIRECT_URI],
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code'],
  response_types: ['code'],
};

/** `elicitationUrlExample` as it ships inside `@modelcontextprotocol/sdk`, unmodified, with a signed-in user. */
export async function startOfficialExample(): Promise<OfficialExample> {
  const [port, authPort] = [await freePort(), await freePort()];
  const sdk = dirname(dirname(fileURLToPath(import.meta.resolve('@modelcontextprotocol/sdk/types.js'))));
  const child = startChild({
    module: join(sdk, 'esm', 'examples', 'server', 'elicitationUrlExample.js'),
    env: { MCP_PORT: String(port), MCP_AUTH_PORT: String(authPort) },
    isForeign: true,
  });
  await untilListening(port);
  await untilListening(authPort);

  const resource = `http://localhost:${port}/mcp`;
  const verifier = randomBytes(32).toString('base64url');
  const registered = await ask(authPort, 'POST', '/register', JSON.stringify(REGISTRATION), 'application/json');
  const { client_id } = z.object({ client_id: z.string() }).parse(JSON.parse(registered.body));
  const query = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: REDIRECT_URI,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource,
  });
  const authorized = await ask(authPort, 'GET', `/authorize?${query}`);
  const code = new URL(headerOf(authorized, 'location') ?? '').searchParams.get('code') ?? '';
  const cookie = headerOf(authorized, 'set-cookie')?.split(';')[0] ?? '';
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    client_id,
    redirect_uri: REDIRECT_URI,
    resource,
  });
  const granted = await ask(authPort, 'POST', '/token', String(form), 'application/x-www-form-urlencoded');
  const { access_token } = z.object({ access_token: z.string() }).parse(JSON.parse(granted.body));
  return { child, port, accessToken: access_token, cookie, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}

async function ask(port: number, method: string, path: string, body?: string, type = ''): Promise<HttpAnswer> {
  using connection = await HttpConnection.open(port);
  const headers: Record<string, string> = body === undefined ? {} : { 'content-type': type };
  const answer = await connection.request(httpRequest(method, path, port, headers, body));
  if (answer.status >= 400) throw new Error(`the example answered ${path.split('?')[0]} with ${answer.status}`);
  return answer;
}

async function untilListening(port: number): Promise<void> {
  for (;;) {
    try {
      using _connection = await HttpConnection.open(port);
      return;
    } catch {
      await new Promise(resolve => setTimeout(resolve, 10));
    }
  }
}
