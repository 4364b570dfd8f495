import type { CallbackRequest, CodeExchangeRequest, Provider } from '@postern/authorization';
import { digestOf, type Visitor } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { expect, it } from 'vitest';
import { createFlowStage, ofAuthorization, signedInAs } from '../testing/flow-stage.ts';
import { AuthorizationStart } from './authorization-start.ts';
import { type AuthorizationResponse, OAuthCallback } from './oauth-callback.ts';

// The checks of the callback, with a provider that accepts every request. Real providers and browsers: test/e2e.

const browser = digestOf('the browser that began');

async function setUp() {
  const states: string[] = [];
  const validated: CallbackRequest[] = [];
  const answered: { callbackMembers?: Record<string, string> } = {};
  const exchanged: CodeExchangeRequest[] = [];
  const provider = {
    revocationReach: 'token',
    start: async ({ state }) => {
      states.push(state);
      return {
        authorizationUrl: new URL('https://github.example/authorize'),
        codeVerifier: `verifier-${states.length}`,
        nonce: `nonce-${states.length}`,
        expectedIssuer: 'https://github.example',
        clientId: 'postern',
        issRequired: true,
        destinationHost: 'github.example',
      };
    },
    validateCallback: async request => {
      validated.push(request);
      return { code: 'the-code', ...answered };
    },
    exchange: async request => {
      exchanged.push(request);
      const issuer = 'https://github.example';
      return { accessToken: 'token', tokenType: 'bearer', scopes: ['repo'], issuer, clientId: 'postern' };
    },
  } satisfies Partial<Provider> as Partial<Provider>;
  const stage = createFlowStage(provider);
  const shared = { ...stage, config: { publicUrl: 'https://gate.example' } };
  const authorizationStart = new AuthorizationStart(shared);
  const oauthCallback = new OAuthCallback(shared);
  const pending = ofAuthorization(await samples.created(stage.stores.elicitations, samples.ask(stage.subject)));
  const current = async () => {
    const elicitation = await stage.service.find(pending.elicitationId);
    if (elicitation === undefined) throw new Error('the elicitation is gone');
    return ofAuthorization(elicitation);
  };
  const plan = { requested: ['repo'], held: ['gist'], digest: 'plan', connection: await stage.connect() };
  const begin = async () => authorizationStart.begin(await current(), signedInAs(stage.subject), browser, plan);
  await begin();
  return {
    ...stage,
    authorizationStart,
    current,
    begin,
    states,
    validated,
    answered,
    exchanged,
    callback(change: Partial<AuthorizationResponse> & { readonly query?: string; readonly visitor?: Visitor } = {}) {
      const { query = `state=${states[0]}&code=the-code`, visitor = signedInAs(stage.subject), ...rest } = change;
      return oauthCallback.handle({
        mcpServerId: 'issue-tracker',
        providerName: 'github',
        browserBinding: browser,
        callbackUrl: new URL(`https://gate.example/callback/issue-tracker/github?${query}`),
        visitorOf: () => visitor,
        ...rest,
      });
    },
  };
}

it('exchanges the code with the values of the transaction, not with values of the response', async () => {
  const { callback, validated, exchanged, states, current } = await setUp();
  expect(await callback()).toMatchObject({ result: 'settled' });
  const redirectUri = new URL('https://gate.example/callback/issue-tracker/github');
  const expectedIssuer = 'https://github.example';
  expect(validated).toMatchObject([{ state: states[0], redirectUri, expectedIssuer, issRequired: true }]);
  expect(exchanged).toMatchObject([
    { code: 'the-code', codeVerifier: 'verifier-1', nonce: 'nonce-1', redirectUri, expectedIssuer, scopes: ['repo'] },
  ]);
  expect(exchanged).toMatchObject([{ heldScopes: ['gist'], heldAccount: 'octocat' }]);
  expect(await current()).toMatchObject({ status: 'completed' });
});

it('S196: stores the members of the callback that the provider names with the connection', async () => {
  const { callback, answered, stores, subject } = await setUp();
  answered.callbackMembers = { realmId: '9130347798120106' };
  await callback();
  expect(await stores.connections.list(subject)).toMatchObject([{ callbackMembers: { realmId: '9130347798120106' } }]);
});

it.each([undefined, digestOf('another browser')])(
  'S04, A5: a response in another browser (%s) uses up the transaction without a token request',
  async browserBinding => {
    const { callback, exchanged, eventsNamed, current } = await setUp();
    expect(await callback({ browserBinding })).toEqual({ result: 'foreign_browser' });
    expect(await callback()).toMatchObject({ result: 'settled' });
    expect(exchanged).toEqual([]);
    expect(eventsNamed('callback.refused')).toMatchObject([{ reason: 'foreign_browser' }]);
    expect(await current()).toMatchObject({ status: 'active' });
  },
);

it.each([{ mcpServerId: 'calendar' }, { providerName: 'gitlab' }])(
  'S16: refuses a response on the path of another MCP server or provider: %o',
  async change => {
    const { callback, exchanged, eventsNamed } = await setUp();
    expect(await callback(change)).toEqual({ result: 'no_request' });
    expect(exchanged).toEqual([]);
    expect(eventsNamed('callback.refused')).toMatchObject([{ reason: 'foreign_path' }]);
  },
);

it('A4: a response for another person in the same browser starts again without a token request', async () => {
  const { callback, exchanged, current } = await setUp();
  expect(await callback({ visitor: signedInAs(samples.somebody()) })).toMatchObject({ result: 'settled' });
  expect(exchanged).toEqual([]);
  expect(await current()).toMatchObject({ status: 'pending', retryReason: 'start_again' });
});

it('L2: ignores the response to an earlier attempt', async () => {
  const { callback, begin, exchanged, current } = await setUp();
  await begin();
  expect(await callback()).toMatchObject({ result: 'settled' });
  expect(exchanged).toEqual([]);
  expect(await current()).toMatchObject({ status: 'active' });
});

it('S05: exchanges the code once if the response arrives three times concurrently', async () => {
  const { callback, exchanged } = await setUp();
  await Promise.all([callback(), callback(), callback()]);
  expect(exchanged).toHaveLength(1);
});

it('T5: refuses a response with two states without using up the transaction', async () => {
  const { callback, states, exchanged, eventsNamed } = await setUp();
  const query = `state=${states[0]}&state=${states[0]}&code=the-code`;
  expect(await callback({ query })).toEqual({ result: 'no_request' });
  expect(eventsNamed('callback.refused')).toMatchObject([{ reason: 'no_state' }]);
  expect(exchanged).toEqual([]);
  expect(await callback()).toMatchObject({ result: 'settled' });
  expect(exchanged).toHaveLength(1);
});

it('A5: returns the authorization URL only to the browser that began the attempt', async () => {
  const { authorizationStart, current } = await setUp();
  expect(await authorizationStart.destination(await current(), browser)).toMatchObject({ host: 'github.example' });
  expect(await authorizationStart.destination(await current(), digestOf('another browser'))).toBeUndefined();
  expect(await authorizationStart.destination(await current(), undefined)).toBeUndefined();
});
