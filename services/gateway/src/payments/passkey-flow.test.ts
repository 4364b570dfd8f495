import {
  type BrowserSession,
  type ElicitationOf,
  FIRST_DELAY_MS,
  type IdentityMode,
  shardOf,
} from '@postern/elicitation';
import { createPasskeys } from '@postern/payment';
import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { describe, expect, test } from 'vitest';
import { PasskeyCeremonies } from '../identity/passkeys/passkey-ceremony.ts';
import { passkeyOwnerOf } from '../identity/passkeys/user-passkeys.ts';
import { createElicitationStage, type ElicitationStage } from '../testing/elicitation-stage.ts';
import { PasskeyFlow } from './passkey-flow.ts';

const ORIGIN = 'https://gate.example';
const MINUTE = 60_000;
type Payment = ElicitationOf<'payment'>;

function createBench(stage: ElicitationStage = createElicitationStage()) {
  const passkeys = createPasskeys({ rpId: 'gate.example', rpName: 'Postern', origin: ORIGIN });
  const ceremonies = new PasskeyCeremonies({ ...stage, passkeys, announcedAs: () => undefined });
  const flow = new PasskeyFlow({ ...stage, ceremonies });
  const begin = async (asked: Payment, secret = 'browser') => {
    const { optionsJson, ...started } = await flow.begin(asked, { browserSession: undefined, secret });
    return { ...started, options: JSON.parse(optionsJson) as unknown };
  };
  type Begun = Awaited<ReturnType<typeof begin>>;
  const formOf = ({ ceremony }: Begun, response: unknown, secret = 'browser') => ({
    ceremony,
    secret,
    response: JSON.stringify(response),
  });
  return {
    stage,
    flow,
    begin,
    formOf,
    async enrol(asked: Payment, device = new SoftwareAuthenticator(ORIGIN), by?: BrowserSession) {
      const begun = await begin(asked);
      const browserSession = by ?? (await stage.browserSession(stage.clock.now(), asked));
      const added = await flow.register(asked, browserSession, formOf(begun, device.create(begun.options)));
      return { device, added };
    },
    async use(asked: Payment, device: SoftwareAuthenticator) {
      const begun = await begin(asked);
      return flow.verify(asked, formOf(begun, device.get(begun.options)));
    },
  };
}

const identifiedBy = (asked: Payment, identityMode: IdentityMode, mcpServerId = asked.mcpServerId): Payment => ({
  ...asked,
  identityMode,
  mcpServerId,
});

describe('a passkey', () => {
  test('is added first, and then approves the payment', async () => {
    const bench = createBench();
    const asked = await bench.stage.pay();
    const { device, added } = await bench.enrol(asked);
    expect(added).toEqual({ result: 'verified', passkeyId: device.credentialId });
    expect(await bench.begin(asked)).toMatchObject({ mode: 'assert' });
    const addedAt = bench.stage.clock.now();
    bench.stage.clock.advance(MINUTE);
    const upTo = 50_000;
    expect(await bench.use(asked, device)).toEqual({
      result: 'verified',
      passkeyId: device.credentialId,
      addedAt,
      upTo,
    });
    expect(bench.stage.eventsNamed('passkey.added')).toHaveLength(1);
  });

  test('is added once by concurrent registrations of a first passkey', async () => {
    const bench = createBench();
    const asked = await bench.stage.pay();
    const devices = Array.from({ length: 8 }, () => new SoftwareAuthenticator(ORIGIN));
    const begun = await Promise.all(devices.map(() => bench.begin(asked)));
    const results = await Promise.all(
      devices.map(async (device, n) => {
        const own = begun[n];
        if (own === undefined) throw new Error('not begun');
        return bench.flow.register(asked, undefined, bench.formOf(own, device.create(own.options)));
      }),
    );
    expect(results.filter(({ result }) => result === 'verified')).toHaveLength(1);
    expect(await bench.stage.stores.passkeys.list(bench.stage.subject)).toHaveLength(1);
  });

  test.each([
    ['signs in at the identity provider', 'login', 'issue-tracker'],
    ['another application vouches for', 'external', 'calendar'],
    ['uses loopback mode', 'loopback', 'issue-tracker'],
  ] as const)(
    'added by a user of an application does not count for the same user who %s',
    async (_, mode, mcpServerId) => {
      const bench = createBench();
      const asked = await bench.stage.pay();
      const vouched = identifiedBy(asked, 'external');
      const { device, added } = await bench.enrol(vouched);
      expect(added.result).toBe('verified');
      expect(await bench.use(vouched, device)).toMatchObject({ result: 'verified' });

      const other = identifiedBy(asked, mode, mcpServerId);
      const begun = await bench.begin(other);
      expect(begun.mode).toBe('register');
      const own = await bench.enrol(other);
      expect(own.added.result).toBe('verified');
      expect(await bench.use(other, device)).toEqual({ result: 'failed' });
      expect(await bench.use(other, own.device)).toMatchObject({ result: 'verified' });
    },
  );
});

test('S203: a passkey counts in the quota of the MCP server whose application says who the user is, and of no other user', async () => {
  const bench = createBench(createElicitationStage({ mcpServer: { limits: { storedRecords: 25_600 } } }));
  const asked = await bench.stage.pay();
  const vouched = identifiedBy(asked, 'external');
  const shard = shardOf(passkeyOwnerOf(vouched));
  const { mcpServerId, limits } = bench.stage.caller();
  // Each of the 256 shards has 100 records, and half of them may be lasting ones.
  for (let made = 0; made < 50; ) {
    const subject = { issuer: 'external issue-tracker', subject: crypto.randomUUID() };
    if (shardOf(subject) !== shard) continue;
    const passkey = { passkeyId: subject.subject, publicKey: 'p', signCount: 0, transports: [], label: 'Key' };
    const payer = { mcpServerId, quota: limits.quota };
    await bench.stage.stores.passkeys.add(
      { ...passkey, subject, backedUp: false },
      1,
      undefined,
      'later',
      undefined,
      payer,
    );
    made += 1;
  }
  await expect(bench.enrol(vouched)).rejects.toMatchObject({ code: 'quota_exceeded', mcpServerId });
  expect((await bench.enrol(asked)).added.result).toBe('verified');
});

describe('S67: a first passkey', () => {
  test.each([
    ['within the limit, after a sign-in for this payment', { minorUnits: 50_000 }, 'this', true],
    ['above the limit', { minorUnits: 50_001 }, 'this', false],
    ['in a currency without a limit', { currency: 'JPY', minorUnits: 1 }, 'this', false],
    ['after a sign-in for another payment', {}, 'another', false],
    ['after any other sign-in', {}, 'none', false],
    ['after a sign-in an hour ago', {}, 'old', false],
  ] as const)('%s', async (_, amount, sign, isAtOnce) => {
    const bench = createBench();
    const { stage } = bench;
    const asked = await stage.pay({ amount: { currency: 'EUR', minorUnits: 2490, ...amount } });
    const provedFor = { this: asked, old: asked, another: await stage.pay({ reference: 'order-2' }), none: undefined };
    const signedInAt = stage.clock.now() - (sign === 'old' ? 60 * MINUTE : 0);
    const by = await stage.browserSession(signedInAt, provedFor[sign]);
    const { device } = await bench.enrol(asked, undefined, by);
    const countsFrom = stage.clock.now() + FIRST_DELAY_MS;
    expect(await bench.flow.countsFrom(asked)).toBe(isAtOnce ? undefined : countsFrom);
    expect(await bench.use(asked, device)).toMatchObject(
      isAtOnce ? { result: 'verified' } : { result: 'too_new', countsFrom },
    );
    stage.clock.advance(FIRST_DELAY_MS);
    expect(await bench.use(asked, device)).toMatchObject({ result: 'verified' });
  });

  test('S89: approves no sum of payments that exceeds its limit above the daily threshold', async () => {
    const stage = createElicitationStage({ payment: { perPersonAndDay: { EUR: { passkeyAbove: 2000 } } } });
    const bench = createBench(stage);
    const pay = (minorUnits: number, reference: string) =>
      stage.pay({
        amount: { currency: 'EUR', minorUnits },
        items: [{ label: 'x', unitMinorUnits: minorUnits }],
        reference,
        processor: 'none',
      });
    const [first, second, third] = [await pay(40_000, 'a'), await pay(12_001, 'b'), await pay(12_000, 'c')];
    const { device } = await bench.enrol(first);
    const proof = await bench.use(first, device);
    if (proof.result !== 'verified') throw new Error(proof.result);
    const approver = { visitor: stage.visitor, browserSession: await stage.browserSession() };
    const approved = await stage.approvals.approve(first, { ...approver, shown: first.request.digest }, proof);
    expect(approved).toMatchObject({ result: 'decided' });
    const countsFrom = stage.clock.now() + FIRST_DELAY_MS;
    expect(await bench.flow.countsFrom(second)).toBe(countsFrom);
    expect(await bench.use(second, device)).toEqual({ result: 'too_new', countsFrom });
    expect(await bench.use(third, device)).toMatchObject({ result: 'verified' });
  });

  test('counts after 24 hours if no limit is configured', async () => {
    const bench = createBench(createElicitationStage({ payment: { firstPasskeyUpTo: {} } }));
    const asked = await bench.stage.pay();
    const { device } = await bench.enrol(asked);
    expect(await bench.use(asked, device)).toMatchObject({ result: 'too_new' });
    bench.stage.clock.advance(FIRST_DELAY_MS);
    expect(await bench.use(asked, device)).toMatchObject({ result: 'verified' });
  });

  test('counts immediately in loopback mode', async () => {
    const bench = createBench();
    const asked = identifiedBy(await bench.stage.pay({ amount: { currency: 'EUR', minorUnits: 90_000 } }), 'loopback');
    const { device } = await bench.enrol(asked);
    expect(await bench.use(asked, device)).toMatchObject({ result: 'verified' });
  });
});

describe('S67: a passkey that was added after a reset', () => {
  test('approves nothing for 24 hours', async () => {
    const bench = createBench();
    const asked = await bench.stage.pay();
    await bench.enrol(asked);
    await bench.stage.stores.passkeys.reset(bench.stage.subject);
    const { device } = await bench.enrol(asked);
    const countsFrom = bench.stage.clock.now() + FIRST_DELAY_MS;
    expect(await bench.flow.countsFrom(asked)).toBe(countsFrom);
    expect(await bench.use(asked, device)).toEqual({ result: 'too_new', countsFrom });
    expect(bench.stage.eventsNamed('passkey.refused')).toMatchObject([{ code: 'too_new' }]);
    bench.stage.clock.advance(FIRST_DELAY_MS - 1);
    expect(await bench.use(asked, device)).toMatchObject({ result: 'too_new' });
    bench.stage.clock.advance(1);
    expect(await bench.flow.countsFrom(asked)).toBeUndefined();
    expect(await bench.use(asked, device)).toMatchObject({ result: 'verified', passkeyId: device.credentialId });
  });
});

describe('a ceremony is valid', () => {
  async function refused(change: (bench: ReturnType<typeof createBench>, asked: Payment) => Promise<unknown>) {
    const bench = createBench();
    const asked = await bench.stage.pay();
    const { device } = await bench.enrol(asked);
    expect(await change(bench, asked)).toEqual({ result: 'failed' });
    // The passkey itself is still valid.
    expect(await bench.use(asked, device)).toMatchObject({ result: 'verified' });
  }

  test('once', async () => {
    const bench = createBench();
    const asked = await bench.stage.pay();
    const { device } = await bench.enrol(asked);
    const begun = await bench.begin(asked);
    const form = bench.formOf(begun, device.get(begun.options));
    expect(await bench.flow.verify(asked, form)).toMatchObject({ result: 'verified' });
    expect(await bench.flow.verify(asked, form)).toEqual({ result: 'failed' });
  });

  test('for its payment only', async () => {
    const bench = createBench();
    const [asked, dearer] = [await bench.stage.pay(), await bench.stage.pay({ reference: 'order-2' })];
    const { device } = await bench.enrol(asked);
    const begun = await bench.begin(asked);
    const form = bench.formOf(begun, device.get(begun.options));
    expect(await bench.flow.verify(dearer, form)).toEqual({ result: 'failed' });
  });

  test('in its browser session only', async () => {
    const bench = createBench();
    const asked = await bench.stage.pay();
    const { device } = await bench.enrol(asked);
    const begun = await bench.begin(asked, 'another browser');
    const assertion = device.get(begun.options);
    expect(await bench.flow.verify(asked, bench.formOf(begun, assertion))).toEqual({ result: 'failed' });
    const inItsOwn = bench.formOf(begun, assertion, 'another browser');
    expect(await bench.flow.verify(asked, inItsOwn)).toMatchObject({ result: 'verified' });
  });

  test('for its purpose only: an assertion does not register a passkey', () =>
    refused(async ({ begin, flow, formOf }, asked) => {
      const begun = await begin(asked);
      const challenge = (begun.options as { challenge: string }).challenge;
      const options = { challenge, rp: { id: 'gate.example' }, user: { id: 'AAAA' } };
      return flow.register(asked, undefined, formOf(begun, new SoftwareAuthenticator(ORIGIN).create(options)));
    }));

  test('for five minutes', async () => {
    const bench = createBench();
    const asked = await bench.stage.pay();
    const { device } = await bench.enrol(asked);
    const begun = await bench.begin(asked);
    const form = bench.formOf(begun, device.get(begun.options));
    bench.stage.clock.advance(5 * MINUTE);
    expect(await bench.flow.verify(asked, form)).toEqual({ result: 'failed' });
  });

  test.each(['', 'null', '{', '[]', '"x"', '{"id":{}}'])('only with a well-formed response: not %j', response =>
    refused(async ({ begin, flow, formOf }, asked) => {
      const begun = await begin(asked);
      return flow.verify(asked, { ...formOf(begun, {}), response });
    }),
  );

  test.each([{ verified: false }, { present: false }, { origin: 'https://evil.example' }, { rpId: 'evil.example' }])(
    'only with user verification, presence, our origin and our RP id: not %j',
    async deviation => {
      const bench = createBench();
      const asked = await bench.stage.pay();
      const { device } = await bench.enrol(asked);
      const begun = await bench.begin(asked);
      const form = bench.formOf(begun, device.get(begun.options, deviation));
      expect(await bench.flow.verify(asked, form)).toEqual({ result: 'failed' });
      expect(bench.stage.eventsNamed('passkey.refused')).toHaveLength(1);
    },
  );

  test('only with a growing counter, which detects a cloned passkey', async () => {
    const bench = createBench();
    const asked = await bench.stage.pay();
    const { device } = await bench.enrol(asked, new SoftwareAuthenticator(ORIGIN, { counts: true }));
    const begun = await bench.begin(asked);
    const again = await bench.begin(asked);
    const first = bench.formOf(begun, device.get(begun.options, { counter: 7 }));
    const copy = bench.formOf(again, device.get(again.options, { counter: 7 }));
    expect(await bench.flow.verify(asked, first)).toMatchObject({ result: 'verified' });
    expect(await bench.flow.verify(asked, copy)).toEqual({ result: 'failed' });
  });
});
