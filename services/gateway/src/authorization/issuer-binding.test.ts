import {
  type ClientPresentation,
  createOutboundFetch,
  createProviderRegistry,
  createRemoteRegistrations,
  providerConfigSchema,
} from '@postern/authorization';
import { digestOf, type ElicitationOf, shardIn } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import {
  driveAuthorization,
  driveDevice,
  type EvilProvider,
  type HttpListener,
  listenHttp,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFlowStage, ofAuthorization, sampleTokens, signedInAs } from '../testing/flow-stage.ts';
import { AuthorizationStart } from './authorization-start.ts';
import { createDeviceFlow } from './device-flow.ts';
import { type AuthorizationResponse, OAuthCallback } from './oauth-callback.ts';

// A remote MCP server (`mcpResource`) names its authorization server and may name another one later. Codes and tokens of the
// first one must not reach the second one (RFC 9700 section 4.4), in any flow.

const publicUrl = 'http://127.0.0.1:1';
const redirectUri = new URL('/callback/issue-tracker/github', publicUrl);
const browser = digestOf('the browser that began');
const plan = { requested: ['repo'], held: [], digest: 'plan' };
const hour = 60 * 60_000;

const fetch = createOutboundFetch({ allowLoopback: true });
let honest: TestProvider;
let evil: EvilProvider;
let resourceServer: HttpListener;
let mcpResource: string;
let authorizationServer: string;

beforeAll(async () => {
  honest = await startOpenIdProvider({ clients: [], scopes: ['repo'], registration: 'open', deviceFlow: true });
  resourceServer = await listenHttp((request, response) => {
    if (request.url !== '/.well-known/oauth-protected-resource/mcp') return response.writeHead(401).end();
    return response.end(JSON.stringify({ resource: mcpResource, authorization_servers: [authorizationServer] }));
  });
  mcpResource = `http://localhost:${resourceServer.port}/mcp`;
});
afterAll(() => Promise.all([honest.close(), resourceServer.close(), fetch.close()]));

beforeEach(async () => {
  authorizationServer = honest.issuer;
  evil = await startEvilProvider({ clientId: 'postern' });
  evil.offer('registration_endpoint', 'revocation_endpoint', 'device_authorization_endpoint');
});
afterEach(() => evil.close());

/** The requests to the evil authorization server, except those for its public metadata. */
const receivedByEvil = () => evil.requests().filter(({ endpoint }) => endpoint !== 'metadata');

const presentation: ClientPresentation = {
  describe: () => ({ clientName: 'Issue Tracker' }),
  documentUrl: ({ origin }) => new URL('/oauth/clients/issue-tracker/github.json', origin),
  keySetUrl: ({ origin }) => new URL('/oauth/clients/issue-tracker/github/jwks.json', origin),
};

function createRegistrationStore() {
  const values = new Map<string, string>();
  return {
    values,
    read: async (key: string) => values.get(key),
    async putIfAbsent(key: string, value: string) {
      const kept = values.get(key) ?? value;
      values.set(key, kept);
      return kept;
    },
    async remove(key: string, expected: string) {
      if (values.get(key) === expected) values.delete(key);
    },
  };
}

function setUp(p: { flow?: 'redirect' | 'device'; identityMode?: 'login' | 'external' } = {}) {
  let passed = 0;
  const now = () => Date.now() + passed;
  const store = createRegistrationStore();
  const registrationsOf = createRemoteRegistrations({
    presentation,
    fetch,
    now,
    store,
    onUnusedClient: () => {},
  });
  const config = { name: 'github', displayName: 'GitHub', mcpResource, flow: p.flow ?? 'redirect' } as const;
  const provider = createProviderRegistry({
    fetch,
    now,
    registrationsOf,
    providers: [providerConfigSchema.parse(config)],
  }).get('github');
  if (provider === undefined) throw new Error('the registry does not know its provider');
  const identityMode = p.identityMode ?? 'login';
  const stage = createFlowStage(provider, {
    config: { publicUrl, providers: [config] },
    ...(identityMode === 'external' && {
      mcpServer: { identity: { mode: 'external', verifyUrl: 'https://app.example/verify' } },
    }),
  });
  const authorizationStart = new AuthorizationStart(stage);
  const oauthCallback = new OAuthCallback(stage);
  const leases = { take: async () => true, release: async () => {} };
  const deviceFlow = createDeviceFlow({ ...stage, stores: { ...stage.stores, leases } });
  const visitor = {
    ...signedInAs(stage.subject),
    ...(identityMode === 'external' && { vouchedBy: 'issue-tracker' }),
  };

  async function ask(): Promise<ElicitationOf<'authorization'>> {
    const request = samples.ask(stage.subject, { ttlMs: hour });
    const elicitation = { ...request.elicitation, identityMode };
    return ofAuthorization(await samples.created(stage.stores.elicitations, { ...request, elicitation }));
  }
  async function current({ elicitationId }: ElicitationOf<'authorization'>) {
    const elicitation = await stage.service.find(elicitationId);
    if (elicitation === undefined) throw new Error('the elicitation is gone');
    return ofAuthorization(elicitation);
  }

  return {
    ...stage,
    oauthCallback,
    deviceFlow,
    visitor,
    ask,
    current,
    /** The user authorizes at the honest authorization server. Returns the response that the browser delivers. */
    async authorize(): Promise<{ elicitation: ElicitationOf<'authorization'>; response: AuthorizationResponse }> {
      const elicitation = await ask();
      await authorizationStart.begin(elicitation, visitor, browser, plan);
      const destination = await authorizationStart.destination(await current(elicitation), browser);
      if (destination === undefined) throw new Error('there is no attempt');
      const callbackUrl = await driveAuthorization(new URL(destination.url), 'alice');
      const path = { mcpServerId: 'issue-tracker', providerName: 'github' };
      return {
        elicitation,
        response: { ...path, callbackUrl, browserBinding: browser, visitorOf: () => visitor },
      };
    },
    /** The client is lost, and another one is registered for new grants. */
    async loseClient() {
      store.values.clear();
      await provider
        .start({ redirectUri, state: 'x', scopes: ['repo'] })
        .catch(() => provider.startDevice({ redirectUri, scopes: ['repo'] }));
      // The registration, its time, its use, and whether the server knows it.
      expect(store.values.size).toBe(4);
      honest.clearRequests();
    },
    /** The remote MCP server now names the evil authorization server, and the cached metadata has expired. */
    moveToEvil() {
      authorizationServer = evil.issuer;
      passed += hour;
    },
    moveBack() {
      authorizationServer = honest.issuer;
      passed += hour;
    },
  };
}

describe('before the resource moves, the recorded issuer is the current one', () => {
  it('the gateway exchanges the code, stores the tokens with their issuer, refreshes and revokes them', async () => {
    const { authorize, oauthCallback, current, subject, stored, tokenSets, ...flows } = setUp();
    const { elicitation, response } = await authorize();
    await oauthCallback.handle(response);
    expect(await current(elicitation)).toMatchObject({ status: 'completed' });
    const connection = await stored(samples.connectionIdFor(subject));
    expect(await tokenSets.open(connection)).toMatchObject({ issuer: honest.issuer });
    expect(await flows.tokenRefresh.refresh(connection)).toMatchObject({ result: 'refreshed' });
    expect(await flows.revocationFlow.revokeGrant(await stored(connection.connectionId))).toBe('revoked');
  });

  it('the gateway polls with the device code', async () => {
    const { ask, deviceFlow, visitor, current } = setUp({ flow: 'device' });
    const elicitation = await ask();
    await deviceFlow.begin(elicitation, visitor, browser, plan);
    const shown = await deviceFlow.currentAttempt(await current(elicitation), browser);
    if (shown === undefined) throw new Error('there is no attempt');
    expect(await driveDevice(shown, 'alice')).toBe('approved');
    expect(await deviceFlow.poll(await current(elicitation), browser)).toBe('settled');
    expect(await current(elicitation)).toMatchObject({ status: 'completed' });
  });
});

describe('T4: after the resource has moved to another authorization server', () => {
  it('the gateway exchanges no code there', async () => {
    const { authorize, oauthCallback, moveToEvil, current, eventsNamed } = setUp();
    const { elicitation, response } = await authorize();
    moveToEvil();
    expect(await oauthCallback.handle(response)).toMatchObject({ result: 'settled' });
    expect(receivedByEvil()).toEqual([]);
    expect(await current(elicitation)).toMatchObject({ status: 'pending', retryReason: 'provider_refused' });
    expect(eventsNamed('callback.refused')).toMatchObject([{ reason: 'issuer_mismatch' }]);
  });

  it('the callback check refuses the response before the code is held for the application', async () => {
    const { authorize, oauthCallback, moveToEvil, current } = setUp({ identityMode: 'external' });
    const { elicitation, response } = await authorize();
    moveToEvil();
    expect(await oauthCallback.handle(response)).toMatchObject({ result: 'settled' });
    expect(await current(elicitation)).toMatchObject({ status: 'pending', retryReason: 'provider_refused' });
  });

  it('the gateway does not exchange a code there that it held for the application', async () => {
    const { authorize, oauthCallback, moveToEvil, current, stores } = setUp({ identityMode: 'external' });
    const { elicitation, response } = await authorize();
    expect(await oauthCallback.handle(response)).toMatchObject({ result: 'verify' });
    moveToEvil();
    const held = await current(elicitation);
    if (held.status !== 'verifying') throw new Error(held.status);
    const consumed = await stores.oneTime.consume(shardIn(held.elicitationId), held.attempt);
    if (consumed.result !== 'taken') throw new Error(consumed.result);
    expect(await oauthCallback.finishVerified(held, consumed.record)).toMatchObject({
      status: 'failed',
      failure: 'provider_refused',
    });
    expect(receivedByEvil()).toEqual([]);
  });

  it('the gateway refreshes no tokens there, as older code stored them: the user must authorize again', async () => {
    const { connect, tokenRefresh, moveToEvil, stored } = setUp();
    const tokens = { ...sampleTokens, redirectUri: redirectUri.href, issuer: undefined };
    const connection = await connect({ tokens });
    moveToEvil();
    expect(await tokenRefresh.refresh(connection)).toEqual({ result: 'changed' });
    expect(receivedByEvil()).toEqual([]);
    expect(await stored(connection.connectionId)).toMatchObject({ lost: { reason: 'refused' } });
  });

  it('S226: the gateway refreshes no tokens there, and ends the grant after three readings over two hours', async () => {
    const { connect, tokenRefresh, moveToEvil, stored, clock } = setUp();
    const tokens = { ...sampleTokens, redirectUri: redirectUri.href, issuer: honest.issuer };
    const connection = await connect({ tokens });
    moveToEvil();
    for (const result of ['later', 'later', 'changed']) {
      expect(await tokenRefresh.refresh(connection)).toMatchObject({ result });
      clock.advance(hour);
    }
    expect(receivedByEvil()).toEqual([]);
    expect(await stored(connection.connectionId)).toMatchObject({ lost: { reason: 'refused' } });
  });

  it('S226: the gateway ends the grant at the first reading if the API has rejected its token', async () => {
    const { connect, tokenRefresh, moveToEvil } = setUp();
    const tokens = { ...sampleTokens, redirectUri: redirectUri.href, issuer: honest.issuer };
    const connection = await connect({ tokens });
    moveToEvil();
    expect(await tokenRefresh.refresh(connection, true)).toEqual({ result: 'changed' });
  });

  it('S226: the gateway keeps the grant if the resource names the former one again', async () => {
    const { authorize, oauthCallback, tokenRefresh, moveToEvil, moveBack, clock, subject, stored } = setUp();
    await oauthCallback.handle((await authorize()).response);
    const connection = await stored(samples.connectionIdFor(subject));
    moveToEvil();
    expect(await tokenRefresh.refresh(connection)).toMatchObject({ result: 'later' });
    moveBack();
    clock.advance(2 * hour);
    expect(await tokenRefresh.refresh(connection)).toMatchObject({ result: 'refreshed' });
  });

  it.each(['the former issuer', 'no issuer, as older code stored them'])(
    'the gateway revokes no tokens there that it stored with %s',
    async stored => {
      const { connect, revocationFlow, moveToEvil, eventsNamed } = setUp();
      const issuer = stored === 'the former issuer' ? honest.issuer : undefined;
      const connection = await connect({ tokens: { ...sampleTokens, redirectUri: redirectUri.href, issuer } });
      moveToEvil();
      expect(await revocationFlow.revokeGrant(connection)).toBe('pending');
      expect(receivedByEvil()).toEqual([]);
      expect(eventsNamed('revocation.postponed')).toMatchObject([{ reason: 'issuer_mismatch' }]);
    },
  );

  it('the gateway does not poll there with a device code', async () => {
    const { ask, deviceFlow, visitor, moveToEvil, current } = setUp({ flow: 'device' });
    const elicitation = await ask();
    await deviceFlow.begin(elicitation, visitor, browser, plan);
    const shown = await deviceFlow.currentAttempt(await current(elicitation), browser);
    if (shown === undefined) throw new Error('there is no attempt');
    expect(await driveDevice(shown, 'alice')).toBe('approved');
    moveToEvil();
    expect(await deviceFlow.poll(await current(elicitation), browser)).toBe('settled');
    expect(receivedByEvil()).toEqual([]);
    expect(await current(elicitation)).toMatchObject({ status: 'pending', retryReason: 'provider_refused' });
  });
});

describe('S225: after the client of a grant is lost', () => {
  it('the gateway exchanges no code by another client', async () => {
    const { authorize, oauthCallback, loseClient, current, eventsNamed } = setUp();
    const { elicitation, response } = await authorize();
    await loseClient();
    expect(await oauthCallback.handle(response)).toMatchObject({ result: 'settled' });
    expect(honest.requests('token')).toEqual([]);
    expect(eventsNamed('callback.refused')).toMatchObject([{ reason: 'client_gone' }]);
    expect(await current(elicitation)).toMatchObject({ status: 'pending', retryReason: 'provider_refused' });
  });

  it('the gateway polls by no other client', async () => {
    const { ask, deviceFlow, visitor, loseClient, current, eventsNamed } = setUp({ flow: 'device' });
    const elicitation = await ask();
    await deviceFlow.begin(elicitation, visitor, browser, plan);
    await loseClient();
    expect(await deviceFlow.poll(await current(elicitation), browser)).toBe('settled');
    expect(honest.requests('token')).toEqual([]);
    expect(eventsNamed('callback.refused')).toMatchObject([{ reason: 'client_gone' }]);
  });

  it('the gateway refreshes and revokes by no other client; the user is asked after two hours', async () => {
    const { authorize, oauthCallback, loseClient, subject, stored, clock, eventsNamed, ...flows } = setUp();
    await oauthCallback.handle((await authorize()).response);
    const connection = await stored(samples.connectionIdFor(subject));
    await loseClient();
    for (const result of ['later', 'later', 'changed']) {
      expect(await flows.tokenRefresh.refresh(connection)).toMatchObject({ result });
      clock.advance(hour);
    }
    expect(await flows.revocationFlow.revokeGrant(connection)).toBe('pending');
    expect([...honest.requests('token'), ...honest.requests('revocation')]).toEqual([]);
    expect(eventsNamed('revocation.postponed')).toMatchObject([{ reason: 'client_gone' }]);
  });
});

it('ends a connection whose tokens have no issuer if the operator has configured an issuer', async () => {
  const config = { name: 'github', displayName: 'GitHub', issuer: honest.issuer, clientId: 'postern' };
  const providers = [providerConfigSchema.parse(config)];
  const provider = createProviderRegistry({ providers, fetch, now: Date.now }).get('github');
  const { connect, tokenRefresh, stored } = createFlowStage(provider ?? {});
  honest.clearRequests();
  const connection = await connect({ tokens: { ...sampleTokens, issuer: undefined } });
  expect(await tokenRefresh.refresh(connection)).toEqual({ result: 'changed' });
  expect(honest.requests('token')).toEqual([]);
  expect(await stored(connection.connectionId)).toMatchObject({ lost: { reason: 'refused' } });
});
