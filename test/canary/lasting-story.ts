import { randomUUID } from 'node:crypto';
import { driveDevice, listenHttp } from '@postern/testkit/providers';
import { decodeProtectedHeader, exportJWK, generateKeyPair, type JWK } from 'jose';
import { csrfTokenIn, type RawBrowser } from '../support/raw-browser.ts';
import type { SecretRecorder } from '../support/secret-recorder.ts';
import { expireAccessToken, settleTokenSet } from '../support/token-expiry.ts';
import type { World, WorldOptions } from '../support/world.ts';
import { type Api, askFor, freePort } from '../support/world.ts';

const DEVICE_SECRET = 'canary-secret-of-the-device-client';

/** Private keys that this process has exported, by the `x` of their public key. */
function watchPrivateKeys(): { readonly privateOf: (x: string | undefined) => string | undefined } & Disposable {
  const { subtle } = globalThis.crypto;
  const { exportKey } = subtle;
  const known = new Map<string, string>();
  subtle.exportKey = (async (...args: Parameters<typeof exportKey>) => {
    const exported: ArrayBuffer | JWK = await exportKey.apply(subtle, args);
    if ('d' in exported && exported.x !== undefined && exported.d !== undefined) known.set(exported.x, exported.d);
    return exported;
  }) as typeof exportKey;
  return {
    privateOf: x => (x === undefined ? undefined : known.get(x)),
    [Symbol.dispose]() {
      subtle.exportKey = exportKey;
    },
  };
}

export interface LastingStage extends AsyncDisposable {
  readonly options: WorldOptions;
  /** Call it after the world has started. */
  readonly play: (p: { world: World; api: Api; recorder: SecretRecorder; browser: () => RawBrowser }) => Promise<void>;
}

/**
 * One authorization server with four kinds of clients: by redirect with a client secret; by device code; with DPoP,
 * pushed requests and `private_key_jwt`; and dynamically registered for a remote MCP server. The story refreshes,
 * rejects and ends connections there.
 */
export async function prepareLastingStory(recorderNote: SecretRecorder['note']): Promise<LastingStage> {
  const publicUrl = `http://localhost:${await freePort()}`;
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const clientKey = { ...(await exportJWK(privateKey)), alg: 'ES256', kid: 'canary' };
  recorderNote('client key', clientKey.d);
  recorderNote('client secret of the device client', DEVICE_SECRET);
  const redirectTo = (name: string) => [`${publicUrl}/callback/tracker/${name}`];
  let issuer = '';
  const remoteMcpServer = await listenHttp((request, response) => {
    const resource = `http://localhost:${remoteMcpServer.port}/mcp`;
    const isMetadata = request.url === '/.well-known/oauth-protected-resource/mcp';
    response.writeHead(isMetadata ? 200 : 401, { 'content-type': 'application/json' });
    response.end(isMetadata ? JSON.stringify({ resource, authorization_servers: [issuer] }) : '{}');
  });
  return {
    [Symbol.asyncDispose]: () => remoteMcpServer.close(),
    options: {
      publicUrl,
      provider: {
        deviceFlow: true,
        registration: 'open',
        dpop: 'offered',
        dpopNonce: true,
        pushedAuthorization: 'offered',
        clients: [
          { clientId: 'postern-at-forge', clientSecret: 'forge-client-secret', redirectUris: redirectTo('forge') },
          { clientId: 'postern-device', clientSecret: DEVICE_SECRET, redirectUris: redirectTo('device') },
          {
            clientId: 'postern-bound',
            jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'canary' }] },
            dpopBound: true,
            redirectUris: redirectTo('bound'),
          },
        ],
      },
      mcpServer: { providers: ['forge', 'device', 'bound', 'remote'] },
      config: ({ base, provider }) => {
        issuer = provider.issuer;
        const forge: Readonly<Record<string, unknown>> = Object.assign({}, base.providers?.[0]);
        const { clientSecret: _, ...withoutSecret } = forge;
        return {
          providers: [
            forge,
            { ...forge, name: 'device', flow: 'device', clientId: 'postern-device', clientSecret: DEVICE_SECRET },
            {
              ...withoutSecret,
              name: 'bound',
              clientId: 'postern-bound',
              clientAuthentication: 'private_key_jwt',
              clientKey: JSON.stringify(clientKey),
              dpop: 'required',
              pushedAuthorization: 'required',
            },
            {
              name: 'remote',
              displayName: 'Remote',
              mcpResource: `http://localhost:${remoteMcpServer.port}/mcp`,
              baseScopes: ['openid', 'offline_access'],
            },
          ],
        };
      },
    },
    play: async p => {
      using privateKeys = watchPrivateKeys();
      await renewedAndTurnedAway(p);
      await byDeviceCode(p);
      await bySelfRegistration(p);
      const x = await boundToKey(p);
      recorderNote('DPoP private key', privateKeys.privateOf(x));
    },
  };
}

type Players = Parameters<LastingStage['play']>[0];

async function connectionOf(api: Api, elicitationId: string): Promise<string> {
  const { status, outcome } = (await api.read(elicitationId)).body;
  if (status !== 'completed' || outcome?.connectionId === undefined) throw new Error(`not connected: ${status}`);
  return outcome.connectionId;
}

async function asked({ world, api }: Players, user: string, provider: string): Promise<string> {
  const ask = askFor(world, user, { authorization: { provider, scopes: ['repo'] } });
  return (await api.issue(ask, { 'idempotency-key': randomUUID() })).body.elicitationId;
}

async function byRedirect(p: Players, user: string, provider: string): Promise<{ id: string; browser: RawBrowser }> {
  const elicitationId = await asked(p, user, provider);
  const browser = p.browser();
  await browser.signIn(elicitationId, user);
  await browser.get(await browser.decideAtProvider(await browser.accept(elicitationId), 'alice'));
  return { id: await connectionOf(p.api, elicitationId), browser };
}

/** Returns the token and its generation. @throws if there is none */
async function taken({ api }: Players, connectionId: string, request?: Parameters<Api['accessToken']>[1]) {
  const { status, body } = await api.accessToken(connectionId, request);
  if (status !== 200) throw new Error(`no access token: ${status} ${body.code ?? ''}`);
  return body;
}

/** Refreshes one grant three times, then revokes it while the provider is down: the revocation waits in Redis. */
async function renewedAndTurnedAway(p: Players): Promise<void> {
  const { api, world } = p;
  const { provider, redis } = world;
  const { id, browser } = await byRedirect(p, world.subject(), 'forge');
  const first = await taken(p, id);
  await expireAccessToken(redis.url, id);
  const second = await taken(p, id);
  await settleTokenSet(redis.url, id);
  const third = await taken(p, id, { rejectedGeneration: second.generation, tool: 'list_issues' });
  if (new Set([first, second, third].map(({ accessToken }) => accessToken)).size !== 3)
    throw new Error('nothing was renewed');
  await browser.get('/me');
  const down = { endpoint: 'revocation', status: 503, body: 'canary-text-of-the-provider-7c2e' } as const;
  provider.fault({ ...down, times: 1 });
  await api.remove(id);
  await api.accessToken(id);

  // Another user disconnects at `/me`, and the provider ends a grant.
  const theirs = await byRedirect(p, world.subject(), 'forge');
  const page = await theirs.browser.get(`/me/connections/${theirs.id}/disconnect`);
  const form = { csrf_token: csrfTokenIn(page) };
  const gone = await theirs.browser.post(`/me/connections/${theirs.id}/disconnect`, { form });
  if (gone.status !== 200) throw new Error(`not disconnected: ${gone.status}`);
  const lost = await byRedirect(p, world.subject(), 'forge');
  provider.fault({
    endpoint: 'token',
    grantType: 'refresh_token',
    times: 1,
    status: 400,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ error: 'invalid_grant', error_description: 'canary-text-of-the-provider-7c2e' }),
  });
  await expireAccessToken(redis.url, lost.id);
  const { status, body } = await api.accessToken(lost.id);
  if (body.code !== 'reauthorization_required') throw new Error(`it was not lost: ${status} ${body.code ?? ''}`);
}

async function byDeviceCode(p: Players): Promise<void> {
  const user = p.world.subject();
  const elicitationId = await asked(p, user, 'device');
  const browser = p.browser();
  await browser.signIn(elicitationId, user);
  await browser.post(`/e/${elicitationId}/accept`, { form: await browser.acceptForm(elicitationId) });
  const page = await browser.get(`/e/${elicitationId}/device`);
  const userCode = /class="user-code"[^>]*>(?:<bdi>)?([^<]+)</.exec(page.body)?.[1];
  if (userCode === undefined) throw new Error(`there is no code: ${page.status}`);
  await driveDevice({ verificationUri: `${p.world.provider.issuer}/device`, userCode }, 'alice');
  const form = { csrf_token: csrfTokenIn(page) };
  await browser.post(`/e/${elicitationId}/device`, { form });
  const id = await connectionOf(p.api, elicitationId);
  await expireAccessToken(p.world.redis.url, id);
  await taken(p, id);
}

async function bySelfRegistration(p: Players): Promise<void> {
  const { id } = await byRedirect(p, p.world.subject(), 'remote');
  await expireAccessToken(p.world.redis.url, id);
  await taken(p, id);
}

/** @returns `x` of the key that the tokens are bound to */
async function boundToKey(p: Players): Promise<string | undefined> {
  const { id } = await byRedirect(p, p.world.subject(), 'bound');
  await expireAccessToken(p.world.redis.url, id);
  const { dpopProof } = await taken(p, id, { dpop: { method: 'GET', url: `${p.world.provider.issuer}/api/me` } });
  if (dpopProof === undefined) throw new Error('there is no proof');
  return decodeProtectedHeader(dpopProof).jwk?.x;
}
