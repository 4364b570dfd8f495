import { createReceiptVerifier, termsDigest } from '@postern/mcp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { auditOf } from '../support/payment-person.ts';
import type { VerbEndpoint } from '../support/verb-endpoint.ts';
import { elicitationIdsOf, filledDelivery, type Way, ways } from '../support/verb-play.ts';
import { takenOnce, verbTerms } from '../support/verb-tools.ts';
import { startVerbWorld, type VerbWorld } from '../support/verb-world.ts';

/** Currencies with none, two, three and four decimals. */
const currencies = ['JPY', 'EUR', 'KWD', 'CLF'];

let world: VerbWorld;
beforeAll(async () => {
  const maxAmount = Object.fromEntries(currencies.map(currency => [currency, 100_000]));
  world = await startVerbWorld({ payment: { maxAmount } });
});
afterEach(() => world.stripe.clearFaults());
afterAll(() => world[Symbol.asyncDispose]());

const named = (which: (way: Way) => boolean) => ways.filter(which).map(way => [way.name, way] as const);
const everyWay = named(() => true);
const asking = named(way => way.url === 'elicitation/create');

const givenFor = ({ given }: VerbEndpoint, order: string) =>
  given.filter(one => one.order === order).map(({ what }) => what);

const noPage = async () => {
  throw new Error('unexpected page');
};

function auditedTimes(event: string, elicitationId: string): number {
  return auditOf(world, elicitationId).filter(line => line.event === event).length;
}

describe('three elicitations in one handler', () => {
  it.each(everyWay)('%s', async (_name, way) => {
    const person = world.person();
    const player = await world.player(way, person);
    const endpoint = await world.endpoint(way.endpoint);
    const order = world.order();
    const played = await player.play('steps', { order }, { atPage: person.accept, fillForm: () => filledDelivery });

    expect(played.text).toBe('accept');
    expect(played.reached.map(({ by }) => by)).toEqual([way.url, way.url, way.showsForms ? 'form' : way.url]);
    const [yes = '', payment = '', form] = elicitationIdsOf(played);
    expect(givenFor(endpoint, order)).toEqual([
      {
        yes: expect.objectContaining({ elicitationId: yes }),
        payment: expect.objectContaining({ elicitationId: payment }),
        delivery: expect.objectContaining({
          elicitationId: form,
          content: { ...filledDelivery.content, express: false },
        }),
      },
    ]);
    expect(world.stripe.chargesOf(payment)).toHaveLength(1);
    // The result is redeemed once, however many runs of the handler read it.
    for (const id of elicitationIdsOf(played)) expect(auditedTimes('elicitation.redeemed', id)).toBe(1);
  });

  it.each(everyWay)(
    '%s: declining the second ends the call, and the first approval serves no other call',
    async (_name, way) => {
      const person = world.person();
      const player = await world.player(way, person);
      const endpoint = await world.endpoint(way.endpoint);
      const order = world.order();
      const acts = [person.accept, person.decline];
      const declined = await player.play('steps', { order }, { atPage: async id => await acts.shift()?.(id) });
      expect(declined.text).toBe('decline declined');
      expect(declined.reached).toHaveLength(2);
      // A new call, because the previous one has consumed the approval.
      const again = await player.play('steps', { order }, { atPage: person.decline });
      expect(again).toMatchObject({ text: 'decline declined', reached: [{ by: way.url }] });
      expect(elicitationIdsOf(declined)).not.toContain(elicitationIdsOf(again)[0]);
      expect(givenFor(endpoint, order)).toEqual([]);
    },
  );
});

describe('two equal calls at the same time need two approvals', () => {
  it.each(everyWay)('%s', async (_name, way) => {
    const person = world.person();
    const players = await Promise.all([world.player(way, person), world.player(way, person)]);
    const endpoint = await world.endpoint(way.endpoint);
    for (const tool of takenOnce) {
      const order = world.order();
      const accepted = new Map<string, Promise<void>>();
      // Both show the same link at first, and the user follows it once.
      const atPage = (elicitationId: string) => {
        const known = accepted.get(elicitationId) ?? person.accept(elicitationId);
        accepted.set(elicitationId, known);
        return known;
      };
      const played = await Promise.all(players.map(player => player.play(tool, { order }, { atPage })));

      expect(played.map(({ text }) => text)).toEqual(['accept', 'accept']);
      const given = givenFor(endpoint, order).map(({ elicitationId }) => String(elicitationId));
      expect(new Set(given).size).toBe(2);
      expect([...accepted.keys()].sort()).toEqual([...given].sort());
      for (const id of given) expect(auditedTimes('elicitation.redeemed', id)).toBe(1);
      for (const id of given) expect(world.stripe.chargesOf(id)).toHaveLength(tool === 'pay_stripe' ? 1 : 0);
    }
  });
});

describe('an MCP client that responds instead of its user', () => {
  const tools = ['authorize', ...takenOnce] as const;

  it.each(asking)('%s: its response reaches the tool, and the page stays open', async (_name, way) => {
    const person = world.person();
    const player = await world.player(way, person);
    for (const tool of tools) {
      const order = world.order();
      const declined = await player.play(tool, { order }, { atPage: noPage, opens: 'decline' });
      expect(declined.text).toBe('decline client_declined');
      const [elicitationId = ''] = elicitationIdsOf(declined);
      expect(elicitationIdsOf(declined)).toHaveLength(1);
      // In a session, −32042 follows a cancel.
      if (way.revision === '2026-07-28') {
        const cancelled = await player.play(tool, { order }, { atPage: noPage, opens: 'cancel' });
        expect(cancelled.text).toBe('cancel client_cancelled');
        expect(elicitationIdsOf(cancelled)).toEqual([elicitationId]);
      }
      // The user's decision on the page still counts, and the next call gets it.
      await person.accept(elicitationId);
      expect(await player.play(tool, { order }, { atPage: noPage })).toEqual({ text: 'accept', reached: [] });
    }
  });

  it.each(asking)(
    '%s: a decline by the MCP client does not undo the user’s decision on the page',
    async (_name, way) => {
      const person = world.person();
      const player = await world.player(way, person);
      const order = world.order();
      const opened = await player.play('pay_stripe', { order }, { atPage: noPage, opens: 'decline' });
      await person.accept(elicitationIdsOf(opened)[0] ?? '');
      expect(await player.play('pay_stripe', { order }, { atPage: noPage, opens: 'decline' })).toEqual({
        text: 'accept',
        reached: [],
      });
      expect(world.stripe.chargesOf(elicitationIdsOf(opened)[0] ?? '')).toHaveLength(1);
    },
  );
});

describe('a payment that Stripe refuses', () => {
  it.each(everyWay)('%s: fails, and the tool gets the error code', async (_name, way) => {
    const person = world.person();
    const player = await world.player(way, person);
    const refused = async (elicitationId: string) => {
      world.stripe.fault({ kind: 'create', does: { status: 402 } });
      await person.approve(elicitationId);
    };
    const played = await player.play('pay_stripe', { order: world.order() }, { atPage: refused });
    expect(played.text).toBe('error processor_refused');
    const [elicitationId = ''] = elicitationIdsOf(played);
    if (way.hearsOfEnd) await player.host.untilCompleted(elicitationId);
    expect(player.host.completions).toEqual(way.hearsOfEnd ? [elicitationId] : []);
    expect(world.stripe.chargesOf(elicitationId)).toEqual([]);
  });
});

describe('receipts', () => {
  it.each(currencies)('%s: verify with the keys that the gateway publishes', async currency => {
    const surroundings = world;
    const published = await fetch(`${surroundings.publicUrl}/.well-known/jwks.json`);
    const receipts = createReceiptVerifier({
      issuer: surroundings.publicUrl,
      mcpServerId: 'tracker',
      keys: (await published.json()) as { keys: [] },
    });
    const elsewhere = createReceiptVerifier({ issuer: surroundings.publicUrl, mcpServerId: 'portal' });
    for (const [, way] of named(({ url }) => url === 'elicitation/create')) {
      const person = world.person();
      const player = await world.player(way, person);
      const order = world.order();
      expect(await player.play('pay_none', { order, currency }, { atPage: person.accept })).toMatchObject({
        text: 'accept',
      });
      const [what = {}] = givenFor(await world.endpoint(way.endpoint), order);
      const receipt = String(what['receipt']);
      const { items, ...terms } = verbTerms(order, currency);
      const approved = { ...terms, items: items.map(item => ({ quantity: 1, ...item })) };
      const subject = { issuer: surroundings.identityProvider.issuer, subject: person.user };
      const digest = termsDigest({ kind: 'payment', terms: approved });
      expect(digest).toBe(what['digest']);
      const verified = await receipts.verify(receipt, { kind: 'payment', digest, subject, amount: terms.amount });
      expect(verified).toMatchObject({ terms: approved, processor: 'none', approval: what['approval'] });

      const { amount } = terms;
      const dearer = { ...amount, minorUnits: amount.minorUnits + 1 };
      await expect(receipts.verify(receipt, { amount: dearer })).rejects.toMatchObject({ code: 'wrong_amount' });
      const other = { ...amount, currency: 'USD' };
      await expect(receipts.verify(receipt, { amount: other })).rejects.toMatchObject({ code: 'wrong_amount' });
      await expect(receipts.verify(receipt, { reference: `${order}0` })).rejects.toMatchObject({
        code: 'wrong_reference',
      });
      await expect(elsewhere.verify(receipt)).rejects.toMatchObject({ code: 'wrong_audience' });
    }
  });
});
