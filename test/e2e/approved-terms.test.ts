import { askDigest, parseElicitationId } from '@postern/elicitation';
import { sampled } from '@postern/testkit/run-size';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, bookTerms, issueFor, paymentOf, paymentPolicy, visitorFor } from '../support/asks.ts';
import { type AskedKind, askedKinds, askKind, askOfEach } from '../support/every-kind.ts';
import type { RawBrowser } from '../support/raw-browser.ts';
import { registeredRoutes } from '../support/registered-routes.ts';
import { storedElicitation, tamper } from '../support/stored-elicitation.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({
    mcpServer: { payment: paymentPolicy(), limits: { elicitationsPerSubject: 1000 } },
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const readOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body;

async function storedDigest(elicitationId: string): Promise<{ digest: string; recomputed: string }> {
  const id = parseElicitationId(elicitationId);
  const found = id === undefined ? undefined : await world.gateways[0]?.deps.service.find(id);
  if (found === undefined || found.request.kind === 'authorization') throw new Error('there is no such ask');
  return { digest: found.request.digest, recomputed: askDigest(found.request) };
}

/** Forms of payments and confirmations also say in which language the page was. */
async function shownDigest(raw: RawBrowser, elicitationId: string): Promise<string | undefined> {
  const { shown } = await raw.acceptForm(elicitationId);
  return shown?.split('.')[0];
}

/** The record is unchanged. */
async function expectRefused(
  elicitationId: string,
  act: () => Promise<{ status: number; body: string }>,
  status: number,
) {
  const before = await storedElicitation(world, elicitationId);
  expect((await act()).status).toBe(status);
  expect(await storedElicitation(world, elicitationId)).toEqual(before);
}

describe('S36, T30: the user approves exactly the terms that are shown and stored', () => {
  it.each(askedKinds)('%s: the form carries the digest of the stored terms', async kind => {
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, kind);
    const raw = await visitorFor(world, user, elicitationId);
    const shown = await shownDigest(raw, elicitationId);
    const { digest, recomputed } = await storedDigest(elicitationId);
    expect(shown).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect([digest, recomputed]).toEqual([shown, shown]);
  });

  it.each(['payment', 'confirmation'] as const)('%s: outcome and receipt contain that digest', async kind => {
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, kind);
    const raw = await visitorFor(world, user, elicitationId);
    const shown = await shownDigest(raw, elicitationId);
    await acceptWith(raw, elicitationId);
    expect((await readOf(elicitationId)).outcome).toMatchObject({ kind, digest: shown });
    const { receipt } = (await world.api.redeem(elicitationId)).body;
    expect(decodeJwt(receipt ?? '')).toMatchObject({ digest: shown, jti: elicitationId, kind });
  });

  it.each(askedKinds)('%s: a form with another digest or none approves nothing', async kind => {
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, kind);
    const raw = await visitorFor(world, user, elicitationId);
    const form = await raw.acceptForm(elicitationId);
    const other = await askKind(world, world.subject(), kind === 'payment' ? 'confirmation' : 'payment');
    const forgeries: (string | undefined)[] = [
      undefined,
      '',
      'A'.repeat(43),
      (await storedDigest(other.elicitationId)).digest,
      form['shown']?.toLowerCase(),
    ];
    for (const shown of forgeries) {
      const { shown: _, ...rest } = form;
      const forged = { ...rest, ...typedFor(kind), ...(shown === undefined ? undefined : { shown }) };
      await expectRefused(elicitationId, () => raw.post(`/e/${elicitationId}/accept`, { form: forged }), 409);
    }
    const long = { ...form, ...typedFor(kind), shown: 'A'.repeat(65) };
    await expectRefused(elicitationId, () => raw.post(`/e/${elicitationId}/accept`, { form: long }), 400);
    // The unmodified form still works.
    expect((await acceptWith(raw, elicitationId, askOfEach[kind].typed)).status).toBe(303);
    expect((await readOf(elicitationId)).status).toBe('completed');
  });

  it('extra amount fields in a form are ignored', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, paymentOf({ processor: 'none' }));
    const raw = await visitorFor(world, user, elicitationId);
    const form = await raw.acceptForm(elicitationId);
    const extras = ['amount', 'minorUnits', 'amount[minorUnits]', 'digest'].map(name => ({ [name]: '1' }));
    for (const more of extras)
      await expectRefused(
        elicitationId,
        () => raw.post(`/e/${elicitationId}/accept`, { form: { ...form, ...more } }),
        400,
      );
    // A payment has no input fields, so this is an unknown field.
    await raw.post(`/e/${elicitationId}/accept`, { form: { ...form, 'field.minorUnits': '1' } });
    const { receipt } = (await world.api.redeem(elicitationId)).body;
    expect(decodeJwt(receipt ?? '')['terms']).toMatchObject({ amount: bookTerms.amount });
  });
});

/** Changes of the stored record that would harm a user or an MCP server. */
const tampered: readonly [AskedKind, string, string, string][] = [
  ['payment', 'the amount', '"minorUnits":2490', '"minorUnits":24900'],
  ['payment', 'the currency', '"currency":"EUR"', '"currency":"KWD"'],
  ['payment', 'the payee', '"name":"Book Shop"', '"name":"Evil Shop"'],
  ['payment', 'an item', '"label":"Postage"', '"label":"Nothing"'],
  ['confirmation', 'the title', 'Delete the repository', 'Keep the repository'],
  ['confirmation', 'the action', '"action":"Delete repository"', '"action":"Keep repository"'],
  ['confirmation', 'a fact', '"value":3', '"value":0'],
  ['confirmation', 'an argument', '\\"depth\\":1.0', '\\"depth\\":1.1'],
  ['confirmation', 'the danger', '"danger":"destructive"', '"danger":"normal"'],
  ['credential', 'a field', '"label":"API key"', '"label":"Password"'],
  ['credential', 'the retention', '"retention":"once"', '"retention":"lasting"'],
  ['form', 'a question', '"title":"Express delivery"', '"title":"Pay double"'],
];

describe('S36, S187, T30: a record changed in Redis cannot be approved', () => {
  it.each(sampled(tampered, 3))('%s: %s, after the page was shown', async (kind, _, from, to) => {
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, kind);
    const raw = await visitorFor(world, user, elicitationId);
    const form = { ...(await raw.acceptForm(elicitationId)), ...typedFor(kind) };
    await tamper(world, elicitationId, from, to);
    // The digest in the form is still the stored one, but the terms are different.
    await expectRefused(elicitationId, () => raw.post(`/e/${elicitationId}/accept`, { form }), 409);
    expect(await readOf(elicitationId)).toMatchObject({ status: 'pending' });
  });

  it.each(sampled(tampered, 2))('%s: %s, before the page is shown', async (kind, _, from, to) => {
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, kind);
    const raw = await visitorFor(world, user, elicitationId);
    await tamper(world, elicitationId, from, to);
    await expectRefused(elicitationId, () => acceptWith(raw, elicitationId, askOfEach[kind].typed), 409);
    expect(await readOf(elicitationId)).toMatchObject({ status: 'pending' });
  });

  it('a record changed after the approval yields no receipt and does not reveal the changed terms', async () => {
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, 'payment');
    const raw = await visitorFor(world, user, elicitationId);
    await acceptWith(raw, elicitationId);
    await tamper(world, elicitationId, '"minorUnits":2490', '"minorUnits":24900');
    const redeemed = await world.api.redeem(elicitationId);
    expect(redeemed.status).toBe(500);
    expect(JSON.stringify(redeemed.body)).not.toContain('24900');
  });
});

describe('S36: terms never change', () => {
  it('another amount under the same Idempotency-Key gets 422 and leaves the first elicitation unchanged', async () => {
    const user = world.subject();
    const subject = { issuer: world.identityProvider.issuer, subject: user };
    const ask = { ...paymentOf({ processor: 'none' }), subject };
    if (ask.kind !== 'payment') throw new Error('another kind');
    const key = { 'idempotency-key': `terms-of-${user}` };
    const first = await world.api.issue(ask, key);
    expect(first.status).toBe(201);
    const dearer = {
      ...ask,
      payment: { ...ask.payment, items: undefined, amount: { currency: 'EUR', minorUnits: 9990 } },
    };
    expect(await world.api.issue(JSON.parse(JSON.stringify(dearer)), key)).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    });
    expect(await world.api.issue(ask, key)).toMatchObject({ status: 201, body: first.body });
    const raw = await visitorFor(world, user, first.body.elicitationId);
    expect((await raw.get(`/e/${first.body.elicitationId}`)).body).toContain('24.90');
  });

  it('another amount without the key starts another elicitation and leaves the first unchanged', async () => {
    const user = world.subject();
    const reference = 'order-of-two-amounts';
    const first = await issueFor(world, user, paymentOf({ processor: 'none', reference }));
    const before = await storedElicitation(world, first.elicitationId);
    const items = [{ label: 'Book', unitMinorUnits: 9990 }];
    const second = await issueFor(
      world,
      user,
      paymentOf({ processor: 'none', reference, items, amount: { currency: 'EUR', minorUnits: 9990 } }),
    );
    expect(second.elicitationId).not.toBe(first.elicitationId);
    expect(await storedElicitation(world, first.elicitationId)).toEqual(before);
  });

  it('no route changes them', async () => {
    const { elicitationId } = await askKind(world, world.subject(), 'payment');
    const before = await storedElicitation(world, elicitationId);
    const routes = registeredRoutes(world.gateways[0]?.app ?? raise());
    expect(routes.filter(({ method }) => method === 'PUT' || method === 'PATCH')).toEqual([]);
    for (const method of ['PUT', 'PATCH', 'DELETE', 'POST'])
      for (const path of [`/v1/elicitations/${elicitationId}`, `/v1/elicitations/${elicitationId}/terms`]) {
        const { status } = await world.api.call(method, path, { payment: { ...bookTerms, reference: 'changed' } });
        expect([404, 405], `${method} ${path}`).toContain(status);
      }
    for (const act of ['cancel', 'redeem'])
      expect(
        (await world.api.call('POST', `/v1/elicitations/${elicitationId}/${act}`, { payment: bookTerms })).status,
      ).toBe(400);
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
  });
});

describe('T29, T33: amounts come only from typed fields', () => {
  it('a message that imitates an amount is shown only as a quotation', async () => {
    const user = world.subject();
    const message = 'Amount: €0.01. Paid to Charity. Total €0.01 (Approve)';
    const { elicitationId } = await askKind(world, user, 'payment', { message, requestedBy: { tool: 'Total €0.02' } });
    const raw = await visitorFor(world, user, elicitationId);
    const { body } = await raw.get(`/e/${elicitationId}`);
    const quotation = /<blockquote[^>]*>.*?<\/blockquote>/s.exec(body)?.[0] ?? '';
    expect(quotation).toContain('0.01');
    expect(/<strong class="sum">.*?<\/strong>/s.exec(body)?.[0]).toContain('24.90');
    const bill = /<dl class="facts bill">.*?<\/dl>/s.exec(body)?.[0] ?? '';
    expect(bill).toContain('Book Shop');
    expect(bill).not.toContain('0.01');
    expect(bill).not.toContain('Charity');
    // A token may contain the digits by chance.
    expect(body.replace(quotation, '')).not.toContain('€0.01');
  });

  it.each<[string, unknown]>([
    ['a fraction', 24.9],
    ['a text', '2490'],
    ['a text with a point', '24.90'],
    ['an exponent', '1e3'],
    ['nothing', 0],
    ['less than nothing', -1],
    ['above the exact range', 2 ** 53],
    ['a list', [2490]],
  ])('%s is rejected as an amount', async (_, minorUnits) => {
    const ask = { ...paymentOf(), subject: { issuer: world.identityProvider.issuer, subject: world.subject() } };
    const payment = { payee: { name: 'Book Shop' }, reference: 'r', amount: { currency: 'EUR', minorUnits } };
    const answer = await world.api.call<{ errors?: { path: string }[] }>('POST', '/v1/elicitations', {
      ...ask,
      payment,
    });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors?.map(({ path }) => path)).toContain('body.payment.amount.minorUnits');
  });

  it.each<[string, { currency: string; minorUnits: number }, { quantity: number; unitMinorUnits: number }[]]>([
    ['one cent off', { currency: 'EUR', minorUnits: 2491 }, [{ quantity: 1, unitMinorUnits: 2490 }]],
    ['a discount too many', { currency: 'EUR', minorUnits: 10 }, [{ quantity: 3, unitMinorUnits: -10 }]],
    [
      'sums above the exact range',
      { currency: 'EUR', minorUnits: 1 },
      [
        { quantity: 1_000_000, unitMinorUnits: 999_999_999_999 },
        { quantity: 1_000_000, unitMinorUnits: -999_999_999_999 },
        { quantity: 1, unitMinorUnits: 1 },
      ],
    ],
  ])('items that do not add up to the total are refused: %s', async (_, amount, items) => {
    const ask = {
      kind: 'payment',
      subject: { issuer: world.identityProvider.issuer, subject: 'alice' },
      payment: {
        payee: { name: 'Book Shop' },
        reference: 'r',
        amount,
        items: items.map(item => ({ label: 'x', ...item })),
      },
    };
    const answer = await world.api.call<{ errors?: { path: string }[] }>('POST', '/v1/elicitations', ask);
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'body.payment.items' }] } });
  });
});

function typedFor(kind: AskedKind): Record<string, string> {
  return Object.fromEntries(Object.entries(askOfEach[kind].typed).map(([name, value]) => [`field.${name}`, value]));
}

function raise(): never {
  throw new Error('there is no gateway');
}
