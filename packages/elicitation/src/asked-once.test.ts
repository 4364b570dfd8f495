import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit';
import { describe, expect, test } from 'vitest';
import { generationNumber } from './connection.ts';
import { askDigest, type PaymentRequest } from './elicitation.ts';
import type { Issued, RequestInput } from './elicitation-service.ts';
import type { McpServer } from './mcp-server.ts';
import { answered, asked, charging, person, redeemable, requests, samples } from './testing/kind-bench.ts';
import { alice, bob, ISSUER, issuedIn, mcpServer, TTL_MS } from './testing/samples.ts';
import { createServiceBench } from './testing/service-bench.ts';

function createBench() {
  const clock = createFakeClock();
  return createServiceBench(createSqliteStores({ path: ':memory:', now: clock.now }), clock);
}
type Bench = ReturnType<typeof createBench>;

const again = (bench: Bench, request: RequestInput, server = mcpServer()): Promise<Issued> =>
  bench.issue(server, { request });
const paying = (change: Partial<PaymentRequest['terms']>, processor = 'stripe'): PaymentRequest => {
  const request = { kind: 'payment', terms: { ...requests.payment.terms, ...change }, processor } as const;
  return { ...request, digest: askDigest(request) };
};
const eur = (minorUnits: number) => paying({ amount: { currency: 'EUR', minorUnits } });

describe('issuing a request that is answered once', () => {
  test.each(samples)('%s: the elicitation contains exactly the request', async sample => {
    const bench = createBench();
    const elicitation = await asked(bench, sample);
    expect(elicitation).toMatchObject({ status: 'pending', subject: alice });
    expect(elicitation.request).toEqual(requests[sample]);
    expect(bench.audits.map(({ type }) => type)).toEqual(['issued']);
  });

  const refusals: { what: string; code: string; server?: Partial<McpServer>; request?: RequestInput }[] = [
    { what: 'a kind', code: 'kind_not_allowed', server: { kinds: ['authorization', 'form'] } },
    { what: 'an issuer', code: 'issuer_not_allowed', server: { issuers: [`${ISSUER}/`] } },
    { what: 'a processor', code: 'processor_not_allowed', request: paying({}, 'paypal') },
    {
      what: 'no processor',
      code: 'processor_not_allowed',
      server: { payment: { processors: ['stripe'], maxMinorUnits: { EUR: 9_999 } } },
      request: requests.approval,
    },
    {
      what: 'a currency',
      code: 'currency_not_allowed',
      request: paying({ amount: { currency: 'USD', minorUnits: 1 } }),
    },
    {
      what: 'a name of every object',
      code: 'currency_not_allowed',
      request: paying({ amount: { currency: 'toString', minorUnits: 1 } }),
    },
    { what: 'an amount', code: 'amount_over_limit', request: eur(100_001) },
    {
      what: 'an amount where the limit is no number',
      code: 'amount_over_limit',
      server: { payment: { processors: ['stripe'], maxMinorUnits: { EUR: Number.NaN } } },
    },
  ];
  test.each(refusals)(
    'S39 T33 refuses $what that is not allowed with $code, and writes nothing',
    async ({ code, server, request }) => {
      const bench = createBench();
      const call = again(bench, request ?? requests.payment, mcpServer(server));
      await expect(call).rejects.toMatchObject({ code });
      expect([await bench.allAnnounced(), bench.audits]).toEqual([[], []]);
    },
  );

  test('refuses a payment if none is configured', async () => {
    const bench = createBench();
    const { payment: _, ...server } = mcpServer();
    await expect(again(bench, requests.payment, server)).rejects.toMatchObject({ code: 'processor_not_allowed' });
    expect(await again(bench, requests.confirmation, server)).toMatchObject({ disposition: 'created' });
  });

  test.each([1, 100_000])('issues an amount of %i within the limit', async minorUnits => {
    expect(await again(createBench(), eur(minorUnits))).toMatchObject({ disposition: 'created' });
  });

  test.each([0, -1, 0.5, 2 ** 53, Number.NaN])('throws a TypeError for an amount of %d', async minorUnits => {
    const request = { ...eur(1), terms: { ...eur(1).terms, amount: { currency: 'EUR', minorUnits } } };
    const call = async () => again(createBench(), { ...request, digest: askDigest(request) });
    await expect(call()).rejects.not.toHaveProperty('code');
  });

  test.each(samples)(
    'S36 %s: throws a TypeError for the digest of another request, and writes nothing',
    async sample => {
      const bench = createBench();
      const call = again(bench, { ...requests[sample], digest: 'another' });
      await expect(call).rejects.toThrow(TypeError);
      expect(await bench.allAnnounced()).toEqual([]);
    },
  );
});

describe('a repeated request', () => {
  test.each(samples)('%s: returns the open elicitation', async sample => {
    const bench = createBench();
    const elicitation = await asked(bench, sample);
    expect(await again(bench, requests[sample])).toEqual({ disposition: 'open', elicitation });
    bench.clock.set(elicitation.expiresAt);
    expect(await again(bench, requests[sample])).toMatchObject({ disposition: 'created' });
  });

  test('returns the charging payment, even after expiry, and the completed one', async () => {
    const bench = createBench();
    const elicitation = await charging(bench);
    for (const ms of [0, TTL_MS, 10 * TTL_MS]) {
      bench.clock.advance(ms);
      expect(await again(bench, requests.payment)).toEqual({ disposition: 'open', elicitation });
    }
    const { elicitationId, attempt } = elicitation;
    const paid = { result: 'paid', processorReference: 'pi_1' } as const;
    const completed = await bench.service.settle(elicitationId, attempt, paid);
    expect(await again(bench, requests.payment)).toEqual({ disposition: 'answered', elicitation: completed });
  });

  test.each(redeemable)(
    '%s: returns the answer until it is redeemed, and a new elicitation afterwards',
    async sample => {
      const bench = createBench();
      const elicitation = await answered(bench, sample);
      bench.clock.set(elicitation.expiresAt - 1);
      const audits = await bench.audited(async () => {
        expect(await again(bench, requests[sample])).toEqual({ disposition: 'answered', elicitation });
      });
      expect(audits).toEqual([]);
      await bench.service.redeem(mcpServer(), elicitation.elicitationId, 'one');
      const next = await again(bench, requests[sample]);
      expect(next).toMatchObject({ disposition: 'created' });
      expect(issuedIn(next).elicitationId).not.toBe(elicitation.elicitationId);
    },
  );

  const unpaid = redeemable.filter(sample => sample !== 'payment');
  test.each(unpaid)(
    '%s: an unredeemed answer does not answer requests after expiry, and can still be redeemed',
    async sample => {
      const bench = createBench();
      const { elicitationId, expiresAt } = await answered(bench, sample);
      bench.clock.set(expiresAt);
      expect(await again(bench, requests[sample])).toMatchObject({ disposition: 'created' });
      expect(await bench.service.redeem(mcpServer(), elicitationId, 'one')).toMatchObject({ isFirst: true });
    },
  );

  test.each(samples)('%s: returns a new elicitation after a decline', async sample => {
    const bench = createBench();
    const { elicitationId } = await asked(bench, sample);
    await bench.service.decline(elicitationId, person);
    expect(await again(bench, requests[sample])).toMatchObject({ disposition: 'created' });
  });

  test.each<{ what: string; server?: Partial<McpServer>; request?: RequestInput; subject?: typeof bob }>([
    { what: 'another amount', request: eur(1_051) },
    { what: 'another reference', request: paying({ reference: 'order-8' }) },
    { what: 'another payee', request: paying({ payee: { name: 'Coffee' } }) },
    { what: 'no processor', request: requests.approval },
    { what: 'another kind', request: requests.confirmation },
    { what: 'another MCP server', server: { mcpServerId: 'calendar' } },
    { what: 'another identity mode', server: { identityMode: 'external' } },
    { what: 'another person', subject: bob },
  ])('is not that of $what', async ({ server, request = requests.payment, subject = alice }) => {
    const bench = createBench();
    await asked(bench, 'payment');
    expect(await bench.issue(mcpServer(server), { request, subject })).toMatchObject({ disposition: 'created' });
  });

  test('concurrent requests create one elicitation, and all callers get it', async () => {
    const bench = createBench();
    const issued = await Promise.all(Array.from({ length: 50 }, () => again(bench, requests.payment)));
    expect(issued.filter(({ disposition }) => disposition === 'created')).toHaveLength(1);
    expect(new Set(issued.map(each => issuedIn(each).elicitationId)).size).toBe(1);
  });

  test('concurrent requests during a charge return the same elicitation', async () => {
    const bench = createBench();
    const { elicitationId, attempt } = await charging(bench);
    const paid = { result: 'paid', processorReference: 'pi_1' } as const;
    const [, ...issued] = await Promise.all([
      bench.service.settle(elicitationId, attempt, paid),
      ...Array.from({ length: 50 }, () => again(bench, requests.payment)),
    ]);
    expect(new Set(issued.map(each => issuedIn(each).elicitationId))).toEqual(new Set([elicitationId]));
  });
});

describe('a lasting credential', () => {
  const { digest: _, ...lasting } = requests.lasting;

  test('answers a request immediately, without a new elicitation', async () => {
    const bench = createBench();
    await answered(bench, 'lasting');
    const audits = await bench.audited(async () => {
      const credential = (await bench.stores.credentials.list(alice))[0];
      expect(await again(bench, requests.lasting)).toEqual({ disposition: 'existing_credential', credential });
    });
    expect(audits).toEqual([]);
  });

  test('does not answer after its rejection, until the user types other values', async () => {
    const bench = createBench();
    await answered(bench, 'lasting');
    const [first] = await bench.stores.credentials.list(alice);
    if (first === undefined) throw new Error('Nothing is kept.');
    const rejecting = { ...requests.lasting, rejectedGeneration: generationNumber(first) };
    const asking = await again(bench, rejecting);
    expect(asking).toMatchObject({ disposition: 'created', elicitation: { request: rejecting } });
    // A tool that has not tried it yet gets the stored credential.
    expect(await again(bench, requests.lasting)).toMatchObject({ disposition: 'existing_credential' });
    expect(await again(bench, rejecting)).toMatchObject({ disposition: 'open' });
    const { elicitationId } = issuedIn(asking);
    const credential = { ...first, elicitationId, sealedValues: 'newer' };
    await bench.service.submit(elicitationId, person, { shown: rejecting.digest, credential });
    expect(await again(bench, rejecting)).toMatchObject({
      disposition: 'existing_credential',
      credential: { generation: 2, sealedValues: 'newer' },
    });
  });

  test('answers a request for fewer fields, but not for more', async () => {
    const bench = createBench();
    await answered(bench, 'lasting');
    const [key] = lasting.fields;
    const fewer = { ...lasting, fields: [key] };
    const other = { ...lasting, fields: [key, { ...key, name: 'account' }] };
    expect(await again(bench, { ...fewer, digest: askDigest(fewer) })).toMatchObject({
      disposition: 'existing_credential',
    });
    expect(await again(bench, { ...other, digest: askDigest(other) })).toMatchObject({ disposition: 'created' });
  });

  test('answers for the same owner, but not for another owner or user', async () => {
    const bench = createBench();
    await answered(bench, 'lasting');
    const foreign = mcpServer({ mcpServerId: 'calendar' });
    expect(await again(bench, requests.lasting, foreign)).toMatchObject({ disposition: 'created' });
    const mine = { request: requests.lasting, subject: bob };
    expect(await bench.issue(mcpServer(), mine)).toMatchObject({ disposition: 'created' });
    const grouped = mcpServer({ mcpServerId: 'calendar', connectionOwner: 'issue-tracker' });
    expect(await again(bench, requests.lasting, grouped)).toMatchObject({ disposition: 'existing_credential' });
  });

  test('does not answer a request for a credential that is redeemed once', async () => {
    const bench = createBench();
    await answered(bench, 'lasting');
    expect(await again(bench, requests.once)).toMatchObject({ disposition: 'created' });
  });

  test('a removed credential is requested again', async () => {
    const bench = createBench();
    await answered(bench, 'lasting');
    for (const { credentialId } of await bench.stores.credentials.list(alice))
      await bench.stores.credentials.remove(credentialId);
    expect(await again(bench, requests.lasting)).toMatchObject({ disposition: 'created' });
  });
});
