import { isCharging, parseElicitationId } from '@postern/elicitation';
import type { AnsweredRequest } from '@postern/testkit/any-answer';
import { driveDevice } from '@postern/testkit/providers';
import { acceptWith, issueFor, paymentOf, visitorFor } from '../support/asks.ts';
import { connected, connectionIdOf } from '../support/connections.ts';
import { askForCode, endPollInterval } from '../support/device-page.ts';
import { csrfTokenIn, type RawAnswer } from '../support/raw-browser.ts';
import { endBackOff, untilNothingIsPending } from '../support/revocations.ts';
import { ageAccessToken } from '../support/token-expiry.ts';
import type { Answer } from '../support/world.ts';
import type { OutboundWorld } from './outbound-world.ts';

/** A response of the gateway to a user or an MCP server. */
export type Seen = Pick<RawAnswer, 'status' | 'body'> | Answer<unknown>;

/** One use of an outbound client, with a new user and its own MCP server. */
export interface Use {
  /** Triggers the client while its server sends arbitrary responses. @returns all responses of the gateway */
  damaged(): Promise<readonly Seen[]>;
  /** Completes the use with an honest server, from the current status. @throws if that fails */
  honest(): Promise<void>;
}

export interface OutboundClient {
  readonly machine: keyof OutboundWorld['machines'];
  readonly matches: (request: AnsweredRequest) => boolean;
  /** Files that send these requests; see `outbound-calls.test.ts`. */
  readonly calls: readonly string[];
  /** The requests are delayed, so fewer responses are played. */
  readonly isInBackground?: true;
  /** Responses that are valid for this client. */
  readonly excludes?: RegExp;
  /**
   * Whether the gateway caches a valid response. `with next`: finishing also triggers the next client, so both are
   * finished together.
   */
  readonly isKept?: true | 'with next';
  /** Prepares a use while all servers are honest. */
  readonly prepare: (world: OutboundWorld) => Promise<Use>;
}

const at =
  (method: string, path: string, grantType?: string) =>
  (request: AnsweredRequest): boolean =>
    request.method === method &&
    request.path.split('?')[0] === path &&
    (grantType === undefined || request.body.includes(`grant_type=${encodeURIComponent(grantType)}`));

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** All places of metadata: discovery goes on at the next after a failure. */
const atWellKnown = ({ path }: AnsweredRequest): boolean => path.startsWith('/.well-known/');

function assertStatus({ status }: Seen, expected: number): void {
  if (status !== expected) throw new Error(`the gateway answered ${status} instead of ${expected}`);
}

/** Signs in, with or without a user at the identity provider. */
async function signingIn({ stage, subject }: OutboundWorld): Promise<Use> {
  const user = subject();
  const { elicitationId } = await stage.ask(user);
  const raw = stage.raw();
  return {
    async damaged() {
      const started = await raw.get(`/login?e=${elicitationId}`);
      if (started.location === undefined) return [started];
      return [started, await raw.get(await raw.signInAnswer(elicitationId, user))];
    },
    honest: async () => void (await raw.signIn(elicitationId, user)),
  };
}

/** Connects an account, from the button of the page to the connection. */
const connecting = (provider: string, scopes: readonly string[]) => async (world: OutboundWorld) => {
  const { stage, subject } = world;
  const user = subject();
  const { elicitationId } = await stage.ask(user, { authorization: { provider, scopes: [...scopes] } });
  const raw = await visitorFor(stage, user, elicitationId);
  const accept = async () => raw.post(`/e/${elicitationId}/accept`, { form: await raw.acceptForm(elicitationId) });
  return {
    async damaged() {
      const accepted = await accept();
      if (accepted.location === undefined) return [accepted];
      const leaving = await raw.get(accepted.location);
      const target = destinationOf(leaving);
      if (target === undefined) return [accepted, leaving];
      return [
        accepted,
        leaving,
        await raw.get(await raw.decideAtProvider(target, 'alice')),
        await raw.get(`/e/${elicitationId}`),
      ];
    },
    async honest() {
      // The gateway has accepted a damaged response and already connected the account.
      if ((await stage.api.read(elicitationId)).body.status !== 'completed') {
        const callback = await raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), 'alice'));
        assertStatus(callback, 303);
      }
      await connectionIdOf(stage.api, elicitationId);
    },
  } satisfies Use;
};

function destinationOf(page: RawAnswer): URL | undefined {
  const href = /<a class="button accent" href="([^"]+)"/.exec(page.body)?.[1];
  return href === undefined ? undefined : new URL(href.replaceAll('&amp;', '&').replaceAll('&#38;', '&'));
}

/** @param until the part of the device flow to test */
const byDevice = (until: 'code' | 'poll') => async (world: OutboundWorld) => {
  const { stage, subject } = world;
  const user = subject();
  const { elicitationId } = await stage.ask(user, { authorization: { provider: 'panel', scopes: ['repo'] } });
  const raw = await visitorFor(stage, user, elicitationId);
  const poll = async () => {
    await endPollInterval(stage);
    const page = await raw.get(`/e/${elicitationId}/device`);
    if (page.status !== 200 || !page.body.includes('csrf_token')) return page;
    return raw.post(`/e/${elicitationId}/device`, { form: { csrf_token: csrfTokenIn(page) } });
  };
  const enter = async () => driveDevice(await askForCode(raw, elicitationId), 'alice');
  if (until === 'poll') await enter();
  return {
    async damaged() {
      if (until === 'poll') return [await poll()];
      const accepted = await raw.post(`/e/${elicitationId}/accept`, { form: await raw.acceptForm(elicitationId) });
      return accepted.location === undefined ? [accepted] : [accepted, await raw.get(accepted.location)];
    },
    async honest() {
      const { status } = (await stage.api.read(elicitationId)).body;
      if (status === 'completed') return;
      // Restarts an ended attempt, as the page offers.
      if (status === 'pending') await enter();
      await poll();
      if ((await stage.api.read(elicitationId)).body.status !== 'completed') {
        await enter();
        await poll();
      }
      await connectionIdOf(stage.api, elicitationId);
    },
  } satisfies Use;
};

/** With a token close to expiry, the gateway does not wait for a failed refresh. */
async function refreshing({ stage, subject }: OutboundWorld): Promise<Use> {
  const { connectionId } = await connected(stage, { user: subject() });
  await ageAccessToken(stage.redis.url, connectionId);
  const read = () => stage.api.accessToken(connectionId);
  return {
    damaged: async () => [await read()],
    async honest() {
      const { status, body } = await read();
      // If the response has ended the grant, the user connects again.
      if (status !== 200 && body.code !== 'reauthorization_required') throw new Error(`not served: ${status}`);
    },
  };
}

async function revoking({ stage, subject }: OutboundWorld): Promise<Use> {
  const { connectionId } = await connected(stage, { user: subject() });
  return {
    damaged: async () => [await stage.api.remove(connectionId)],
    honest: async () => {
      await endBackOff(stage);
      await untilNothingIsPending(stage);
    },
  };
}

async function verifyingToken(world: OutboundWorld): Promise<Use> {
  const accessToken = await world.accessTokenOf(world.subject());
  const ask = {
    kind: 'authorization',
    subject: { accessToken },
    authorization: { provider: 'forge', scopes: ['repo'] },
  };
  const issue = () => world.stage.api.call('POST', '/v1/elicitations', ask);
  return {
    damaged: async () => [await issue()],
    honest: async () => {
      const { status } = await issue();
      if (status > 201) throw new Error(`not issued: ${status}`);
    },
  };
}

const paying = (step: 'open' | 'status' | 'close') => async (world: OutboundWorld) => {
  const { stage, stripe, subject } = world;
  const user = subject();
  const { elicitationId } = await issueFor(stage, user, paymentOf());
  const raw = await visitorFor(stage, user, elicitationId);
  const page = `/e/${elicitationId}`;
  const form = async () => ({ csrf_token: csrfTokenIn(await raw.get(page)) });
  const approve = async () => raw.post(`${page}/accept`, { form: await raw.acceptForm(elicitationId) });
  const act = async (): Promise<Seen> => {
    if (step === 'close') return raw.post(`${page}/decline`, { form: await form() });
    return step === 'open' ? approve() : raw.get(`${page}/charge`);
  };
  if (step !== 'open') await approve();
  return {
    damaged: async () => [await act(), await raw.get(page)],
    async honest() {
      if (step === 'close') {
        if ((await stage.api.read(elicitationId)).body.status !== 'declined') await act();
        const { status } = (await stage.api.read(elicitationId)).body;
        if (status !== 'declined') throw new Error(`not declined: ${status}`);
        return;
      }
      const shown = await raw.get(page);
      if (shown.body.includes(`${page}/charge`))
        await raw.post(`${page}/charge`, { form: { csrf_token: csrfTokenIn(shown) } });
      const { body } = await stage.api.read(elicitationId);
      // The gateway fails the payment if a new session has another amount: no user was redirected to it.
      if (body.status === 'failed') return;
      const [session] = stripe.checkoutSessionsOf(elicitationId);
      if (session === undefined) throw new Error('no Checkout Session');
      stripe.pay(session.id);
      await raw.get(`${page}/charge`);
      const { status } = (await stage.api.read(elicitationId)).body;
      // After an otherwise valid response with a wrong id, the gateway does not know the session.
      if (status === 'active' && (await referenceOf(world, elicitationId)) !== session.id) return;
      if (status !== 'completed') throw new Error(`not completed: ${status}`);
    },
  } satisfies Use;
};

async function referenceOf({ stage }: OutboundWorld, id: string): Promise<string | undefined> {
  const elicitationId = parseElicitationId(id);
  const stores = stage.gateways[0]?.deps.stores;
  if (elicitationId === undefined || stores === undefined) throw new TypeError('nothing to read');
  const stored = await stores.elicitations.read(elicitationId);
  return stored !== undefined && isCharging(stored) ? stored.charge?.reference : undefined;
}

async function checkingCredential({ stage, subject }: OutboundWorld): Promise<Use> {
  const user = subject();
  const credential = { name: 'acme', title: 'API key of Acme', fields: [{ name: 'key', label: 'API key' }] };
  const { elicitationId } = await issueFor(stage, user, { kind: 'credential', credential });
  const raw = await visitorFor(stage, user, elicitationId);
  const type = () => acceptWith(raw, elicitationId, { key: 'a-typed-key' });
  return {
    damaged: async () => [await type()],
    async honest() {
      if ((await stage.api.read(elicitationId)).body.status !== 'completed') assertStatus(await type(), 303);
      const { status } = (await stage.api.read(elicitationId)).body;
      if (status !== 'completed') throw new Error(`not completed: ${status}`);
    },
  };
}

/** @param path of a delayed request that no caller waits for */
const inTheBackground = (path: string) => async (world: OutboundWorld) => {
  const { stage, subject } = world;
  const cancelled = async (): Promise<Seen> => {
    const { elicitationId } = await stage.ask(subject());
    return stage.api.cancel(elicitationId);
  };
  const { requests } = world.machines.others;
  const arrived = async (count: number) => {
    while (requests.filter(request => request.path === path).length <= count)
      await new Promise(resolve => setTimeout(resolve, 10));
  };
  const played = async () => {
    const before = requests.filter(request => request.path === path).length;
    const seen = await cancelled();
    await arrived(before);
    return [seen];
  };
  return { damaged: played, honest: async () => void (await played()) } satisfies Use;
};

/**
 * Every outbound client of the gateway. A client whose response is cached comes before the clients that use the cache.
 */
export const outboundClients: Readonly<Record<string, OutboundClient>> = {
  'metadata of an identity provider': {
    isKept: 'with next',
    machine: 'identity',
    matches: atWellKnown,
    prepare: signingIn,
    calls: ['server-metadata.ts'],
  },
  'key set of an identity provider': {
    isKept: true,
    machine: 'identity',
    matches: at('GET', '/jwks'),
    prepare: signingIn,
    calls: ['oauth-client.ts'],
  },
  'token endpoint of an identity provider': {
    machine: 'identity',
    matches: at('POST', '/token'),
    prepare: signingIn,
    calls: ['token-request.ts'],
  },
  'userinfo of an identity provider': {
    machine: 'identity',
    matches: at('GET', '/me'),
    prepare: signingIn,
    calls: ['oauth-client.ts'],
  },
  'metadata of the issuer of an access token': {
    isKept: 'with next',
    machine: 'others',
    matches: atWellKnown,
    prepare: verifyingToken,
    calls: ['server-metadata.ts'],
  },
  'key set of the issuer of an access token': {
    isKept: true,
    machine: 'others',
    matches: at('GET', '/jwks'),
    prepare: verifyingToken,
    calls: ['issuer-keys.ts', 'issuer-keys.ts 2'],
  },
  'metadata of a provider': {
    isKept: 'with next',
    machine: 'forge',
    matches: atWellKnown,
    prepare: connecting('forge', ['repo']),
    calls: ['server-metadata.ts'],
  },
  'key set of a provider': {
    isKept: true,
    machine: 'forge',
    matches: at('GET', '/jwks'),
    prepare: connecting('forge', ['repo']),
    calls: ['oauth-client.ts'],
  },
  'pushed authorization request': {
    machine: 'forge',
    matches: at('POST', '/request'),
    prepare: connecting('forge', ['repo']),
    calls: ['pushed-authorization.ts'],
  },
  'code exchange at a provider': {
    machine: 'forge',
    matches: at('POST', '/token', 'authorization_code'),
    prepare: connecting('forge', ['repo']),
    calls: ['token-request.ts'],
  },
  'userinfo of a provider': {
    machine: 'forge',
    matches: at('GET', '/me'),
    prepare: connecting('profile', ['repo']),
    calls: ['oauth-client.ts'],
  },
  'refresh at a provider': {
    machine: 'forge',
    matches: at('POST', '/token', 'refresh_token'),
    prepare: refreshing,
    calls: ['token-request.ts'],
  },
  'revocation at a provider': {
    machine: 'forge',
    matches: at('POST', '/token/revocation'),
    prepare: revoking,
    calls: ['revocation.ts'],
  },
  'device authorization': {
    machine: 'forge',
    matches: at('POST', '/device/auth'),
    prepare: byDevice('code'),
    calls: ['device-flow.ts'],
  },
  'device poll': {
    machine: 'forge',
    matches: at('POST', '/token', DEVICE_GRANT),
    prepare: byDevice('poll'),
    calls: ['token-request.ts'],
  },
  'metadata of an authorization server': {
    isKept: true,
    machine: 'remote',
    matches: atWellKnown,
    prepare: connecting('remote-1', []),
    calls: ['server-metadata.ts'],
  },
  'dynamic registration': {
    isKept: true,
    machine: 'remote',
    matches: at('POST', '/reg'),
    prepare: connecting('remote-2', []),
    calls: ['registration-endpoint.ts 2'],
  },
  'challenge of a remote MCP server': {
    isKept: true,
    machine: 'others',
    matches: at('POST', '/mcp/remote-3'),
    prepare: connecting('remote-3', []),
    calls: ['protected-resource-metadata.ts'],
  },
  'metadata of a remote MCP server': {
    isKept: true,
    machine: 'others',
    matches: at('GET', '/resource/remote-4'),
    prepare: connecting('remote-4', []),
    calls: ['server-metadata.ts'],
  },
  'a new charge': {
    machine: 'stripe',
    matches: at('POST', '/v1/checkout/sessions'),
    prepare: paying('open'),
    calls: ['stripe-responses.ts'],
  },
  'the status of a charge': {
    machine: 'stripe',
    matches: ({ method }) => method === 'GET',
    prepare: paying('status'),
    calls: ['stripe-responses.ts'],
  },
  'the end of a charge': {
    machine: 'stripe',
    matches: ({ path }) => path.endsWith('/expire'),
    prepare: paying('close'),
    calls: ['stripe-responses.ts'],
  },
  'credential check': {
    machine: 'others',
    matches: at('GET', '/check'),
    prepare: checkingCredential,
    calls: ['credential-check.ts'],
  },
  'webhook delivery': {
    // A 410 disables a receiver until an operator enables it.
    excludes: /\b410$/,
    isInBackground: true,
    machine: 'others',
    matches: at('POST', '/hooks'),
    prepare: inTheBackground('/hooks'),
    calls: ['deliver.ts'],
  },
  'trace export': {
    isInBackground: true,
    // The exporter reads interim responses for five seconds.
    excludes: /^interim responses/,
    machine: 'others',
    matches: at('POST', '/v1/traces'),
    prepare: inTheBackground('/v1/traces'),
    calls: ['telemetry.ts'],
  },
};
