import type { CallbackRequest, CodeExchangeRequest, Provider } from '@postern/authorization';
import { digestOf, type Visitor } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { expect, it } from 'vitest';
import { createFlowStage, ofAuthorization, signedInAs } from '../testing/flow-stage.ts';
import { createAuthorizationFlow, type ProviderAnswer } from './authorization-flow.ts';

// Check 3 of the same-person rule, with a provider that accepts everything. Real providers and browsers: test/e2e.

const browser = digestOf('the browser that began');
const plan = { requested: ['repo'], held: [], digest: 'plan' };

async function setUp() {
  const states: string[] = [];
  const validated: CallbackRequest[] = [];
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
        issRequired: true,
        destinationHost: 'github.example',
      };
    },
    validateCallback: async request => {
      validated.push(request);
      return { code: 'the-code' };
    },
    exchange: async request => {
      exchanged.push(request);
      return { accessToken: 'token', tokenType: 'bearer', scopes: ['repo'], issuer: 'https://github.example' };
    },
  } satisfies Partial<Provider> as Partial<Provider>;
  const stage = createFlowStage(provider);
  const flow = createAuthorizationFlow({ ...stage, config: { publicUrl: 'https://gate.example' } });
  const pending = ofAuthorization(await samples.created(stage.stores.elicitations, samples.ask(stage.subject)));
  const current = async () => {
    const elicitation = await stage.service.find(pending.elicitationId);
    if (elicitation === undefined) throw new Error('the elicitation is gone');
    return ofAuthorization(elicitation);
  };
  const begin = async () => flow.begin(await current(), signedInAs(stage.subject), browser, plan);
  await begin();
  return {
    ...stage,
    ...{ flow, current, begin, states, validated, exchanged },
    answer(change: Partial<ProviderAnswer> & { readonly query?: string; readonly visitor?: Visitor } = {}) {
      const { query = `state=${states[0]}&code=the-code`, visitor = signedInAs(stage.subject), ...rest } = change;
      return flow.answer({
        ...{ mcpServerId: 'issue-tracker', providerName: 'github', browserBinding: browser },
        callbackUrl: new URL(`https://gate.example/callback/issue-tracker/github?${query}`),
        visitorOf: () => visitor,
        ...rest,
      });
    },
  };
}

it('exchanges the code with everything that the transaction recorded, and nothing from the answer', async () => {
  const { answer, validated, exchanged, states, current } = await setUp();
  expect(await answer()).toMatchObject({ result: 'settled' });
  const redirectUri = new URL('https://gate.example/callback/issue-tracker/github');
  const expectedIssuer = 'https://github.example';
  expect(validated).toMatchObject([{ state: states[0], redirectUri, expectedIssuer, issRequired: true }]);
  expect(exchanged).toMatchObject([
    { code: 'the-code', codeVerifier: 'verifier-1', nonce: 'nonce-1', redirectUri, expectedIssuer, scopes: ['repo'] },
  ]);
  expect(await current()).toMatchObject({ status: 'completed' });
});

it.each([undefined, digestOf('another browser')])(
  'S04, A5: an answer in another browser (%s) burns the transaction without a token request',
  async browserBinding => {
    const { answer, exchanged, eventsNamed, current } = await setUp();
    expect(await answer({ browserBinding })).toEqual({ result: 'refused' });
    expect(await answer()).toMatchObject({ result: 'settled' });
    expect(exchanged).toEqual([]);
    expect(eventsNamed('callback.refused')).toMatchObject([{ reason: 'foreign_browser' }]);
    expect(await current()).toMatchObject({ status: 'active' });
  },
);

it.each([{ mcpServerId: 'calendar' }, { providerName: 'gitlab' }])(
  'S16: refuses an answer on the path of another MCP server or provider: %o',
  async change => {
    const { answer, exchanged, eventsNamed } = await setUp();
    expect(await answer(change)).toEqual({ result: 'refused' });
    expect(exchanged).toEqual([]);
    expect(eventsNamed('callback.refused')).toMatchObject([{ reason: 'foreign_path' }]);
  },
);

it('A4: an answer for another person in the same browser starts again without a token request', async () => {
  const { answer, exchanged, current } = await setUp();
  expect(await answer({ visitor: signedInAs(samples.somebody()) })).toMatchObject({ result: 'settled' });
  expect(exchanged).toEqual([]);
  expect(await current()).toMatchObject({ status: 'pending', trouble: 'start_again' });
});

it('L2: an answer of an earlier attempt is not used', async () => {
  const { answer, begin, exchanged, current } = await setUp();
  await begin();
  expect(await answer()).toMatchObject({ result: 'settled' });
  expect(exchanged).toEqual([]);
  expect(await current()).toMatchObject({ status: 'active' });
});

it('S05: an answer that comes twice is used once', async () => {
  const { answer, exchanged } = await setUp();
  await Promise.all([answer(), answer(), answer()]);
  expect(exchanged).toHaveLength(1);
});

it('T5: refuses an answer with two states, and takes nothing', async () => {
  const { answer, states, exchanged, eventsNamed } = await setUp();
  const query = `state=${states[0]}&state=${states[0]}&code=the-code`;
  expect(await answer({ query })).toEqual({ result: 'refused' });
  expect(eventsNamed('callback.refused')).toMatchObject([{ reason: 'no_state' }]);
  expect(exchanged).toEqual([]);
  expect(await answer()).toMatchObject({ result: 'settled' });
  expect(exchanged).toHaveLength(1);
});

it('A5: tells the way to the provider only to the browser that began the attempt', async () => {
  const { flow, current } = await setUp();
  expect(await flow.destination(await current(), browser)).toMatchObject({ host: 'github.example' });
  expect(await flow.destination(await current(), digestOf('another browser'))).toBeUndefined();
  expect(await flow.destination(await current(), undefined)).toBeUndefined();
});
