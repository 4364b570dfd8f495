import { AuthorizationError, type DevicePollResult, type DeviceStart, type Provider } from '@postern/authorization';
import { connectionIdOf, digestOf } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { describe, expect, it } from 'vitest';
import { createFlowStage, ofAuthorization, signedInAs } from '../testing/flow-stage.ts';
import { createDeviceFlow } from './device-flow.ts';

const MINUTE = 60_000;
const REQUEST_LIMIT_MS = 10_000;
/** The interval of the provider and the increment of a `slow_down` (RFC 8628 section 3.5). */
const BETWEEN_POLLS_MS = 10_000;
const browser = digestOf('the browser that began');

const started: DeviceStart = {
  deviceCode: 'device-code',
  userCode: 'WDJB-MJHT',
  verificationUri: 'https://github.example/device',
  destinationHost: 'github.example',
  expectedIssuer: 'https://github.example',
  clientId: 'postern',
  expiresInMs: 15 * MINUTE,
  intervalMs: 5_000,
};

/** The user has begun. The provider responds with `answers` in turn, then with `pending`. */
async function setUp(...answers: (DevicePollResult | AuthorizationError | Promise<DevicePollResult>)[]) {
  const asked: string[] = [];
  const held: object[] = [];
  const firstAsked = Promise.withResolvers<void>();
  const provider = {
    flow: 'device',
    revocationReach: 'token',
    startDevice: async () => started,
    pollDevice: async ({ deviceCode, heldScopes, heldAccount }) => {
      asked.push(deviceCode);
      held.push({ heldScopes, heldAccount });
      firstAsked.resolve();
      const answer = answers.shift() ?? { result: 'pending' };
      if (answer instanceof AuthorizationError) throw answer;
      return answer;
    },
  } satisfies Partial<Provider> as Partial<Provider>;
  const stage = createFlowStage(provider, { requestLimitMs: REQUEST_LIMIT_MS });
  const flow = createDeviceFlow({ ...stage, stores: { ...stage.stores, leases: createLeases(stage.clock.now) } });
  const pending = ofAuthorization(
    await samples.created(stage.stores.elicitations, { ...samples.ask(stage.subject), ttlMs: 60 * MINUTE }),
  );
  await flow.begin(pending, signedInAs(stage.subject), browser, {
    requested: ['repo'],
    held: ['gist'],
    digest: 'plan',
    connection: await stage.connect(),
  });
  const current = async () => {
    const elicitation = await stage.service.find(pending.elicitationId);
    if (elicitation === undefined) throw new Error('the elicitation is gone');
    return ofAuthorization(elicitation);
  };
  return {
    ...stage,
    flow,
    asked,
    held,
    current,
    isAsked: firstAsked.promise,
    poll: async (by: string | undefined = browser) => flow.poll(await current(), by),
  };
}

/** Leases with one holder at a time, as in Redis. */
function createLeases(now: () => number) {
  const leases = new Map<string, { readonly holder: string; readonly endsAt: number }>();
  return {
    async take(p: { name: string; holder: string; leaseMs: number }): Promise<boolean> {
      const lease = leases.get(p.name);
      if (lease !== undefined && lease.holder !== p.holder && lease.endsAt > now()) return false;
      leases.set(p.name, { holder: p.holder, endsAt: now() + p.leaseMs });
      return true;
    },
    async release(p: { name: string; holder: string }): Promise<void> {
      if (leases.get(p.name)?.holder === p.holder) leases.delete(p.name);
    },
  };
}

describe('polling', () => {
  it('polls at most once per interval, however often the user submits the page', async () => {
    const { poll, clock, asked } = await setUp();
    expect(await poll()).toBe('not_yet');
    expect(await poll()).toBe('wait');
    clock.advance(BETWEEN_POLLS_MS - 1);
    expect(await poll()).toBe('wait');
    expect(asked).toHaveLength(1);
    clock.advance(1);
    expect(await poll()).toBe('not_yet');
    expect(asked).toHaveLength(2);
  });

  it('the device flow does not poll again while a poll hangs until its timeout', async () => {
    const hanging = Promise.withResolvers<DevicePollResult>();
    const { poll, clock, asked, isAsked } = await setUp(hanging.promise);
    const first = poll();
    await isAsked;
    // A DPoP nonce challenge makes it two requests.
    for (let passed = 0; passed < 2 * REQUEST_LIMIT_MS; passed += BETWEEN_POLLS_MS) {
      clock.advance(BETWEEN_POLLS_MS);
      expect(await poll()).toBe('wait');
    }
    expect(asked).toHaveLength(1);
    hanging.resolve({ result: 'pending' });
    expect(await first).toBe('not_yet');
    clock.advance(BETWEEN_POLLS_MS);
    expect(await poll()).toBe('not_yet');
    expect(asked).toHaveLength(2);
  });

  it('continues after the replica that polled has died', async () => {
    const { poll, clock, asked, isAsked } = await setUp(new Promise(() => {}));
    void poll();
    await isAsked;
    clock.advance(3 * REQUEST_LIMIT_MS);
    expect(await poll()).toBe('not_yet');
    expect(asked).toHaveLength(2);
  });

  it('keeps the attempt while the provider is unavailable', async () => {
    const { poll, clock, current } = await setUp(new AuthorizationError('provider_unavailable'));
    expect(await poll()).toBe('wait');
    clock.advance(BETWEEN_POLLS_MS);
    expect(await poll()).toBe('not_yet');
    expect(await current()).toMatchObject({ status: 'active' });
  });

  it('stores the connection after the user has agreed', async () => {
    const origin = { issuer: undefined, clientId: 'postern' };
    const grant = { accessToken: 'granted', tokenType: 'bearer', scopes: ['repo'], ...origin } as const;
    const { poll, held, current, stored, tokenSets, subject } = await setUp({
      result: 'granted',
      grant: { ...grant, scopes: [...grant.scopes] },
    });
    expect(await poll()).toBe('settled');
    expect(held).toEqual([{ heldScopes: ['gist'], heldAccount: 'octocat' }]);
    expect(await current()).toMatchObject({ status: 'completed' });
    const connection = await stored(connectionIdOf({ owner: 'issue-tracker', subject, provider: 'github' }));
    expect(await tokenSets.open(connection)).toMatchObject({ accessToken: 'granted' });
  });

  it.each([
    { answer: { result: 'denied' }, retryReason: 'provider_denied' },
    { answer: { result: 'expired' }, retryReason: 'start_again' },
    {
      answer: {
        result: 'granted',
        grant: { accessToken: 'granted', tokenType: 'bearer', scopes: [], issuer: undefined, clientId: 'postern' },
      },
      retryReason: 'fewer_scopes',
    },
    { answer: new AuthorizationError('provider_error'), retryReason: 'provider_refused' },
  ] as const)('returns to the user: $retryReason', async ({ answer, retryReason }) => {
    const { poll, current } = await setUp(
      'result' in answer && answer.result === 'granted'
        ? { ...answer, grant: { ...answer.grant, scopes: [...answer.grant.scopes] } }
        : answer,
    );
    expect(await poll()).toBe('settled');
    expect(await current()).toMatchObject({ status: 'pending', retryReason });
  });
});

describe('an expired code', () => {
  it('an expired code is not shown, and the user starts again without a poll', async () => {
    const { flow, poll, clock, current, asked } = await setUp();
    clock.advance(15 * MINUTE - 1);
    expect(await flow.currentAttempt(await current(), browser)).toMatchObject({ userCode: 'WDJB-MJHT' });
    clock.advance(1);
    expect(await flow.currentAttempt(await current(), browser)).toBeUndefined();
    expect(await poll()).toBe('settled');
    expect(await current()).toMatchObject({ status: 'pending', retryReason: 'start_again' });
    expect(asked).toEqual([]);
  });
});

describe('a code in another browser than the one that began', () => {
  it.each([undefined, digestOf('another browser')])(
    'a code in another browser than the one that began is neither shown nor polled (%s)',
    async by => {
      const { flow, current, asked } = await setUp();
      expect(await flow.currentAttempt(await current(), by)).toBeUndefined();
      expect(await flow.poll(await current(), by)).toBe('settled');
      expect(asked).toEqual([]);
      expect(await current()).toMatchObject({ status: 'active' });
    },
  );
});
