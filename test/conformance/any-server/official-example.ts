import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { freePort } from '@postern/testkit/processes';
import { z } from 'zod';

/** `elicitationUrlExample` of the official SDK, with its own authorization server. */
export interface OfficialExample extends AsyncDisposable {
  readonly url: URL;
  /** The access token of its only user, and the cookie with which the browser of this user is signed in. */
  readonly token: string;
  readonly cookie: string;
}

const sdk = createRequire(import.meta.url).resolve('@modelcontextprotocol/sdk/server/mcp.js');
const program = join(dirname(sdk), '../../esm/examples/server/elicitationUrlExample.js');

/** Starts the example as it was published. */
export async function startOfficialExample(): Promise<OfficialExample> {
  const [port, authPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, MCP_PORT: String(port), MCP_AUTH_PORT: String(authPort) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  try {
    const url = new URL(`http://localhost:${port}/mcp`);
    await untilListening(child.stdout, [port, authPort]);
    return { url, ...(await signIn(url, `http://localhost:${authPort}`)), [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function untilListening(output: NodeJS.ReadableStream, ports: readonly number[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let printed = '';
  output.on('data', chunk => {
    printed += String(chunk);
    if (ports.every(port => printed.includes(`listening on port ${port}`))) resolve();
  });
  output.on('end', () => reject(new Error(`the example ended: ${printed}`)));
  await promise;
}

/** Registers a client and goes through the authorization code flow. The example signs its demo user in without a question. */
async function signIn(resource: URL, issuer: string): Promise<{ token: string; cookie: string }> {
  const redirectUri = 'http://localhost/callback';
  const registered = await fetch(`${issuer}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
  });
  const { client_id } = z.object({ client_id: z.string() }).parse(await registered.json());
  const verifier = randomBytes(32).toString('base64url');
  const authorization = new URL(`${issuer}/authorize`);
  authorization.search = String(
    new URLSearchParams({
      response_type: 'code',
      client_id,
      redirect_uri: redirectUri,
      resource: resource.href,
      code_challenge_method: 'S256',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    }),
  );
  const signedIn = await fetch(authorization, { redirect: 'manual' });
  const code = new URL(signedIn.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const [cookie = ''] = signedIn.headers.getSetCookie().map(line => line.split(';')[0] ?? '');
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      client_id,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      resource: resource.href,
    }),
  });
  const { access_token } = z.object({ access_token: z.string() }).parse(await answer.json());
  return { token: access_token, cookie };
}
