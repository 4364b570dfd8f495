import { type BrowserSession, type ElicitationOf, FIRST_DELAY_MS, type IdentityMode } from '@postern/elicitation';
import { createPasskeys } from '@postern/payment';
import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { describe, expect, test } from 'vitest';
import { type AsksStage, createAsksStage } from '../testing/asks-stage.ts';
import { createPasskeyFlow } from './passkey-flow.ts';

const ORIGIN = 'https://gate.example';
const MINUTE = 60_000;
type Payment = ElicitationOf<'payment'>;

function createBench(stage: AsksStage = createAsksStage()) {
  const passkeys = createPasskeys({ rpId: 'gate.example', rpName: 'Postern', origin: ORIGIN });
  const flow = createPasskeyFlow({ ...stage, passkeys });
  const begin = async (asked: Payment, secret = 'browser') => {
    const { optionsJson, ...started } = await flow.begin(asked, { browserSession: undefined, secret });
    return { ...started, options: JSON.parse(optionsJson) as unknown };
  };
  type Begun = Awaited<ReturnType<typeof begin>>;
  const formOf = ({ ceremony }: Begun, response: unknown, secret = 'browser') => ({
    ...{ ceremony, secret, response: JSON.stringify(response) },
  });
  return {
    ...{ stage, flow, begin, formOf },
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

const recognisedBy = (asked: Payment, identityMode: IdentityMode, mcpServerId = asked.mcpServerId): Payment => ({
  ...{ ...asked, identityMode, mcpServerId },
});

describe('a passkey', () => {
  test('is added first and used then, for this payment', async () => {
    const bench = createBench();
    const asked = await bench.stage.pay();
    const { device, added } = await bench.enrol(asked);
    expect(added).toEqual({ result: 'verified', passkeyId: device.credentialId });
    expect(await bench.begin(asked)).toMatchObject({ mode: 'assert' });
    const addedAt = bench.stage.clock.now();
    bench.stage.clock.advance(MINUTE);
    expect(await bench.use(asked, device)).toEqual({ result: 'verified', passkeyId: device.credentialId, addedAt });
    expect(bench.stage.eventsNamed('passkey.added')).toHaveLength(1);
  });

  test('of many that are added at once, one is the first', async () => {
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
    ['signs in', 'login', 'issue-tracker'],
    ['comes from another application', 'external', 'calendar'],
    ['is alone on this machine', 'loopback', 'issue-tracker'],
  ] as const)('added by the word of an application is none of who %s', async (_, mode, mcpServerId) => {
    const bench = createBench();
    const asked = await bench.stage.pay();
    const vouched = recognisedBy(asked, 'external');
    const { device, added } = await bench.enrol(vouched);
    expect(added.result).toBe('verified');
    expect(await bench.use(vouched, device)).toMatchObject({ result: 'verified' });

    const other = recognisedBy(asked, mode, mcpServerId);
    const begun = await bench.begin(other);
    expect(begun.mode).toBe('register');
    const own = await bench.enrol(other);
    expect(own.added.result).toBe('verified');
    expect(await bench.use(other, device)).toEqual({ result: 'failed' });
    expect(await bench.use(other, own.device)).toMatchObject({ result: 'verified' });
  });
});

describe('S67: a first passkey', () => {
  test.each([
    ['added in a sign-in for this payment, within the limit', { minorUnits: 50_000 }, 'this', true],
    ['above the limit', { minorUnits: 50_001 }, 'this', false],
    ['in a currency without a limit', { currency: 'JPY', minorUnits: 1 }, 'this', false],
    ['added in a sign-in for another payment', {}, 'another', false],
    ['added in any other sign-in', {}, 'none', false],
    ['added in a sign-in of an hour ago', {}, 'old', false],
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

  test('counts after 24 hours where nothing is configured', async () => {
    const bench = createBench(createAsksStage({ payment: { firstPasskeyUpTo: {} } }));
    const asked = await bench.stage.pay();
    const { device } = await bench.enrol(asked);
    expect(await bench.use(asked, device)).toMatchObject({ result: 'too_new' });
    bench.stage.clock.advance(FIRST_DELAY_MS);
    expect(await bench.use(asked, device)).toMatchObject({ result: 'verified' });
  });

  test('counts at once for the one person of a machine, whom nobody signs in', async () => {
    const bench = createBench();
    const asked = recognisedBy(await bench.stage.pay({ amount: { currency: 'EUR', minorUnits: 90_000 } }), 'loopback');
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

describe('a ceremony counts', () => {
  async function refused(change: (bench: ReturnType<typeof createBench>, asked: Payment) => Promise<unknown>) {
    const bench = createBench();
    const asked = await bench.stage.pay();
    const { device } = await bench.enrol(asked);
    expect(await change(bench, asked)).toEqual({ result: 'failed' });
    // It is no fault of the passkey.
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

  test('for its payment', async () => {
    const bench = createBench();
    const [asked, dearer] = [await bench.stage.pay(), await bench.stage.pay({ reference: 'order-2' })];
    const { device } = await bench.enrol(asked);
    const begun = await bench.begin(asked);
    const form = bench.formOf(begun, device.get(begun.options));
    expect(await bench.flow.verify(dearer, form)).toEqual({ result: 'failed' });
  });

  test('in its browser: a valid assertion in another browser session approves nothing', async () => {
    const bench = createBench();
    const asked = await bench.stage.pay();
    const { device } = await bench.enrol(asked);
    const begun = await bench.begin(asked, 'another browser');
    const assertion = device.get(begun.options);
    expect(await bench.flow.verify(asked, bench.formOf(begun, assertion))).toEqual({ result: 'failed' });
    const inItsOwn = bench.formOf(begun, assertion, 'another browser');
    expect(await bench.flow.verify(asked, inItsOwn)).toMatchObject({ result: 'verified' });
  });

  test('for its purpose: what adds a passkey approves nothing', () =>
    refused(async ({ begin, flow, formOf }, asked) => {
      const begun = await begin(asked);
      const challenge = (begun.options as { challenge: string }).challenge;
      const options = { challenge, rp: { id: 'gate.example' }, user: { id: 'AAAA' } };
      return flow.register(asked, undefined, formOf(begun, new SoftwareAuthenticator(ORIGIN).create(options)));
    }));

  test('while it is fresh', async () => {
    const bench = createBench();
    const asked = await bench.stage.pay();
    const { device } = await bench.enrol(asked);
    const begun = await bench.begin(asked);
    const form = bench.formOf(begun, device.get(begun.options));
    bench.stage.clock.advance(5 * MINUTE);
    expect(await bench.flow.verify(asked, form)).toEqual({ result: 'failed' });
  });

  test.each(['', 'null', '{', '[]', '"x"', '{"id":{}}'])('with an answer that is one: %j', response =>
    refused(async ({ begin, flow, formOf }, asked) => {
      const begun = await begin(asked);
      return flow.verify(asked, { ...formOf(begun, {}), response });
    }),
  );

  test.each([{ verified: false }, { present: false }, { origin: 'https://evil.example' }, { rpId: 'evil.example' }])(
    'from a device that says so: %j',
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

  test('with a counter that grows: a copy of the passkey is found out', async () => {
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
