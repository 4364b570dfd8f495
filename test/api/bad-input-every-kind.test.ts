import { issueElicitationSchema } from '@postern/api';
import { type FakeStripe, startFakeStripe } from '@postern/testkit/stripe';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  acceptWith,
  apiKeyRequest,
  bookTerms,
  deletion,
  deliveryForm,
  issueFor,
  paymentConfig,
  visitorFor,
} from '../support/asks.ts';
import { askedKinds, askKind } from '../support/every-kind.ts';
import { createFuzzer, type Fuzzer } from '../support/fuzzer.ts';
import { hostileText, hostileValue, withOneFault } from '../support/hostile-input.ts';
import type { RawBrowser } from '../support/raw-browser.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { keyOf } from '../support/world.ts';

let stage: Stage;
let stripe: FakeStripe;
let fuzzer: Fuzzer;
let person: RawBrowser;
let ids: string[];
let credentialId: string;
beforeAll(async () => {
  stripe = await startFakeStripe();
  const { processors, payment } = paymentConfig(stripe, { passkeyAbove: { EUR: 100 } });
  const limits = { requestsPerMinute: 10_000_000, elicitationsPerSubject: 1_000_000 };
  stage = await startStage({
    config: { processors },
    mcpServer: { payment, limits },
    otherMcpServers: [{ id: 'local', identity: { mode: 'loopback' }, payment, limits }],
  });
  const user = stage.subject();
  ids = [];
  for (const kind of askedKinds) ids.push((await askKind(stage, user, kind, { ttlSeconds: 3600 })).elicitationId);
  person = await visitorFor(stage, user, ids[0] ?? '');
  const credential = { ...apiKeyRequest, name: 'kept', retention: 'lasting' } as const;
  const kept = await issueFor(stage, user, { kind: 'credential', credential });
  await acceptWith(person, kept.elicitationId, { api_key: 'ak_0123456789' });
  credentialId = (await stage.api.read(kept.elicitationId)).body.outcome?.credentialId ?? '';
  fuzzer = createFuzzer(stage.world);
});
afterAll(async () => {
  fuzzer?.[Symbol.dispose]();
  await stage?.[Symbol.asyncDispose]();
  await stripe?.close();
});

const is4xx = (status: number): boolean => status >= 400 && status < 500;
const json = { authorization: `Bearer ${keyOf('tracker')}`, 'content-type': 'application/json' };

/** With every member that there is, so that each can be the faulty one. */
const valid = {
  payment: { ...bookTerms, processor: 'none' },
  confirmation: {
    ...deletion,
    facts: [
      ...deletion.facts,
      { type: 'amount', label: 'Sum', value: { currency: 'EUR', minorUnits: 1 } },
      { type: 'time', label: 'When', value: '2026-01-01T00:00:00Z' },
      { type: 'host', label: 'Where', value: 'example.com' },
    ],
  },
  credential: { ...apiKeyRequest, retention: 'lasting', rejectedGeneration: 1 },
  form: { ...deliveryForm, secretFields: ['name'] },
} as const;

describe('S44, S47: hostile bodies of every kind', () => {
  it.each(askedKinds)('issue %s: one hostile member in a valid request', async kind => {
    const subject = { issuer: stage.world.identityProvider.issuer, subject: 'alice' };
    const ask = { kind, subject, [kind]: valid[kind] };
    const issued = await stage.api.call<{ elicitationId: string }>('POST', '/v1/elicitations', ask);
    expect([issued.status, kind]).toEqual([201, kind]);
    const faults = withOneFault(ask).filter(text => !isAnotherAsk(text));
    await fuzzer.run(
      faults.map(body => ({ method: 'POST', path: '/v1/elicitations', headers: json, body })),
      is4xx,
    );
  });

  it.each([
    ['redeem', () => `/v1/elicitations/${ids[0]}/redeem`],
    ['read a credential', () => `/v1/credentials/${credentialId}/values`],
  ] as const)('%s: hostile values of every shape', async (_, path) => {
    const bodies = fc.oneof(
      hostileValue.map(value => JSON.stringify(value) ?? ''),
      fc.record({ sealed: hostileValue, tool: hostileValue }).map(value => JSON.stringify(value)),
    );
    const isRequest = (text: string) => ['', 'null', '{}'].includes(text.trim());
    await fuzzer.run(
      bodies.filter(text => !isRequest(text)).map(body => ({ method: 'POST', path: path(), headers: json, body })),
      is4xx,
    );
  });

  it('webhooks: anything but the processor is turned away', async () => {
    const bodies = fc.oneof(
      hostileText,
      hostileValue.map(value => JSON.stringify(value) ?? ''),
    );
    const signatures = fc.oneof(
      fc.constantFrom('', 't=1,v1=x', `t=${Math.floor(Date.now() / 1000)},v1=${'a'.repeat(64)}`, 't=,v1='),
      fc.string({ unit: fc.constantFrom(...'tv1=,0af'), maxLength: 100 }),
    );
    await fuzzer.run(
      fc
        .tuple(bodies, signatures, fc.constantFrom('stripe-main', 'none', 'x', '__proto__'))
        .map(([body, signature, name]) => ({
          method: 'POST',
          path: `/webhooks/${name}`,
          headers: { 'content-type': 'application/json', 'stripe-signature': signature },
          body: body.toWellFormed(),
        })),
      is4xx,
    );
  });

  it('forms of people: nothing passes that is not of the page, whatever stands in the fields', async () => {
    // Where nobody signs in, no session is kept alive by a form with its token, so that nothing at all is written.
    const local = stage.world.api({ apiKey: keyOf('local') });
    const subject = { issuer: stage.world.identityProvider.issuer, subject: 'bob' };
    const somebody = stage.raw();
    const tokens = new Map<string, string>();
    for (const kind of askedKinds) {
      const { body } = await local.call<{ elicitationId: string }>('POST', '/v1/elicitations', {
        kind,
        subject,
        [kind]: valid[kind],
        ttlSeconds: 3600,
      });
      tokens.set(body.elicitationId, await somebody.csrfToken(body.elicitationId));
    }
    const cookie = [...somebody.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const text = hostileText.map(value => value.toWellFormed().slice(0, 2000));
    const names = fc.oneof(
      fc.constantFrom(
        'shown',
        'ceremony',
        'response',
        'field.',
        'field.api_key',
        'field.name',
        'field.__proto__',
        'field[x]',
        '__proto__',
      ),
      text,
    );
    const forms = fc
      .tuple(fc.constantFrom(...tokens.keys()), fc.array(fc.tuple(names, text), { maxLength: 6 }), fc.boolean())
      .map(([id, pairs, hasToken]) => {
        const token: [string, string][] = hasToken ? [['csrf_token', tokens.get(id) ?? '']] : [];
        return { id, body: new URLSearchParams([...token, ...pairs]).toString() };
      });
    const routes = fc.constantFrom('accept', 'passkey', 'passkey/new');
    await fuzzer.run(
      fc.tuple(forms, routes).map(([{ id, body }, route]) => ({
        method: 'POST',
        path: `/e/${id}/${route}`,
        headers: {
          cookie,
          origin: stage.world.publicUrl,
          'sec-fetch-site': 'same-origin',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body,
      })),
      // To the passkey page, where the button alone is not enough.
      status => is4xx(status) || status === 303,
    );
  });
});

/** A replaced text, number or list may make another valid ask of it. */
function isAnotherAsk(text: string): boolean {
  try {
    const body: unknown = JSON.parse(text);
    return issueElicitationSchema.safeParse(body).success;
  } catch {
    return false;
  }
}
