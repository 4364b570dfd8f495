import { isShortRun } from '@postern/testkit/run-size';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isInert } from '../../packages/api/src/plain-text.ts';
import { filledSchemas } from '../../packages/api/src/testing/schema-arbitrary.ts';
import { everyCurrency } from '../../packages/payment/src/testing/every-currency.ts';
import { acceptWith, issueFor, paymentOf, visitorFor } from '../support/asks.ts';
import type { RawBrowser } from '../support/raw-browser.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

const SEED = 20_261_128;
const languages = ['en', 'de', 'fr', 'es', 'ja', 'ar', 'zh-Hans', 'zh-Hant'];

/** Characters that the contract accepts on their own: one in an ask that it refuses would leave the whole ask untested. */
const inert = (unit: 'grapheme' | 'binary') => fc.string({ unit, minLength: 1, maxLength: 1 }).filter(isInert);
/** Usual texts, and any that the contract may accept. Those that it refuses are not issued. */
const text = (maxLength: number) =>
  fc.oneof(
    { arbitrary: fc.constantFrom('Branch', '支付', 'שלום', '%s {brand} <b>&amp;', '\\', "'"), weight: 10 },
    { arbitrary: fc.string({ unit: inert('grapheme'), minLength: 1, maxLength }), weight: 10 },
    { arbitrary: fc.string({ unit: inert('binary'), minLength: 1, maxLength }), weight: 10 },
    { arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength }), weight: 1 },
  );
const localText = (maxLength: number) =>
  fc.oneof(
    { arbitrary: text(maxLength), weight: 3 },
    { arbitrary: fc.dictionary(fc.constantFrom(...languages), text(maxLength), { minKeys: 1, maxKeys: 3 }), weight: 1 },
  );
const currency = fc.oneof(
  fc.constantFrom(...everyCurrency),
  fc.constantFrom(...Intl.supportedValuesOf('currency')),
  fc.constantFrom('XAU', 'XXX', 'XTS', 'XDR', 'BGN', 'ZZZ'),
  fc.stringMatching(/^[A-Z]{3}$/),
);
const amount = fc.record({ currency, minorUnits: fc.integer({ min: 1, max: 999_999_999_999 }) });
const two = (max: number) => fc.nat(max).map(digits => String(digits).padStart(2, '0'));
const time = fc
  .tuple(
    fc.constantFrom('0000-01-01', '0001-01-01', '9999-12-31', '2024-02-29', '1883-11-18'),
    fc.oneof(
      fc.constantFrom('00:00:00', '23:59:59.999999999', '12:30'),
      fc.tuple(two(23), two(59)).map(at => at.join(':')),
    ),
    fc.oneof(
      fc.constantFrom('Z', '+00:00', '-00:00', '+14:00', '+23:59', '-23:59'),
      fc.tuple(fc.constantFrom('+', '-'), two(23), two(59)).map(([sign, hour, minute]) => `${sign}${hour}:${minute}`),
    ),
  )
  .map(([day, clock, offset]) => `${day}T${clock}${offset}`);
const host = fc.oneof(
  fc.domain(),
  fc.constantFrom('localhost', 'xn--a', 'xn--bcher-kva.example', '999.999', '0x7f.1', '127.0.0.1', 'a'.repeat(63), '1'),
);
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(-0, 5e-324, 1.7e308, 1e21),
);
const factOf = <T extends string>(type: T, value: fc.Arbitrary<unknown>) =>
  fc.record({ type: fc.constant(type), label: localText(60), value });
const fact = fc.oneof(
  factOf('text', localText(300)),
  factOf('number', number),
  factOf('amount', amount),
  factOf('time', time),
  factOf('host', host),
);
const optional = { requiredKeys: [] as never[] };

const confirmation = fc
  .tuple(
    fc.record({ title: localText(120), facts: fc.array(fact, { maxLength: 4 }) }),
    fc.record({ action: localText(30), danger: fc.constantFrom('normal', 'caution', 'destructive') }, optional),
  )
  .map(parts => ({ kind: 'confirmation', confirmation: Object.assign({}, ...parts) }));
const field = fc
  .tuple(
    fc.record({ label: localText(60), secret: fc.boolean(), maxLength: fc.integer({ min: 1, max: 4096 }) }),
    fc.record({ help: localText(200), example: localText(100), multiline: fc.boolean() }, optional),
  )
  .map(parts => Object.assign({}, ...parts));
const credential = fc
  .record({
    name: fc.uuid(),
    title: localText(80),
    fields: fc
      .array(field, { minLength: 1, maxLength: 4 })
      .map(fields => fields.map((each, at) => ({ ...each, name: `f${at}` }))),
    retention: fc.constantFrom('once', 'lasting'),
  })
  .map(({ name, ...rest }) => ({ kind: 'credential', credential: { ...rest, name: name.replaceAll('-', '') } }));
const form = fc
  .tuple(filledSchemas(), fc.record({ title: localText(120) }, optional))
  .map(([{ schema }, title]) => ({ kind: 'form', form: { requestedSchema: schema, ...title } }));
const payment = fc
  .record({
    amount,
    item: localText(120),
    reference: text(80),
    quantity: fc.integer({ min: 1, max: 1_000_000 }),
  })
  .map(({ item, quantity, ...terms }) => {
    const minorUnits = Math.min(terms.amount.minorUnits, 999_999) * quantity;
    const items = [{ label: item, quantity, unitMinorUnits: minorUnits / quantity }];
    return paymentOf({ ...terms, amount: { ...terms.amount, minorUnits }, items, processor: 'none' } as never);
  });
const ask = fc
  .tuple(
    fc.oneof(confirmation, credential, form, payment),
    fc.record(
      {
        message: localText(300),
        requestedBy: fc.record({ mcpClient: text(80), tool: text(80) }, optional),
        locale: fc.constantFrom('de', 'zh-Hant-TW', 'xx', 'en-u-nu-arab', 'abcdefgh', 'ar-x-y', 'de-1996'),
      },
      optional,
    ),
  )
  .map(parts => Object.assign({}, ...parts));

let world: PayingWorld;
let user: string;
let raw: RawBrowser;
beforeAll(async () => {
  // One person's elicitations fill the share of one shard.
  const storage = { storedRecords: 1_000_000_000, storedMegabytes: 1_000_000 };
  const limits = { elicitationsPerSubject: 100_000, requestsPerMinute: 1_000_000, ...storage };
  const maxAmount = Object.fromEntries(everyCurrency.map(code => [code, 999_999_999_999]));
  world = await startWorld({
    payment: { processors: ['none'], maxAmount, firstPasskeyUpTo: maxAmount },
    mcpServer: { limits },
    config: { limits: { pageRequestsPerMinute: 1_000_000 } },
  });
  user = world.subject();
  raw = await visitorFor(world, user, (await issueFor(world, user, paymentOf())).elicitationId);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

it('S199: a page shows whatever is issued, open and approved, in every language', async () => {
  const issued: Record<string, number> = {};
  const subject = { issuer: world.identityProvider.issuer, subject: user };
  await fc.assert(
    fc.asyncProperty(ask, fc.constantFrom(...languages), async (asked, language) => {
      const { status, body } = await world.api.issue({ ...asked, subject } as never);
      expect(status).toBeLessThan(500);
      if (status !== 201) return;
      issued[asked.kind] = (issued[asked.kind] ?? 0) + 1;
      const { elicitationId } = body;
      const headers = { 'accept-language': language };
      expect((await raw.get(`/e/${elicitationId}`, { headers })).status).toBe(200);
      if (asked.kind !== 'confirmation' && asked.kind !== 'payment')
        return void (await world.api.cancel(elicitationId));
      expect((await acceptWith(raw, elicitationId)).status).toBe(303);
      expect((await raw.get(`/e/${elicitationId}`, { headers })).status).toBe(200);
    }),
    { numRuns: isShortRun ? 120 : 1_000, seed: SEED },
  );
  for (const kind of ['confirmation', 'credential', 'form', 'payment']) expect(issued[kind], kind).toBeGreaterThan(3);
});
