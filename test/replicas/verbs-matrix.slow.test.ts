import { createReceiptVerifier, type ReceiptVerifier, termsDigest } from '@postern/mcp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { VerbEndpoint } from '../support/verb-endpoint.ts';
import { typed, typedSecrets, type VerbPerson } from '../support/verb-person.ts';
import { type Acting, filledDelivery, type Played, type VerbPlayer, type Way, ways } from '../support/verb-play.ts';
import { lasts, type OneQuestion, oneQuestion, verbAction, verbFacts, verbTerms } from '../support/verb-tools.ts';
import { startVerbWorld, TTL_SECONDS, type VerbWorld } from '../support/verb-world.ts';

let world: VerbWorld;
let receipts: ReceiptVerifier;
beforeAll(async () => {
  world = await startVerbWorld();
  // The verifier fetches the keys from the gateway.
  receipts = createReceiptVerifier({ issuer: world.publicUrl, mcpServerId: 'tracker', allowTestPayments: true });
});
afterAll(() => world[Symbol.asyncDispose]());

interface Scene {
  readonly way: Way;
  readonly tool: OneQuestion;
  readonly person: VerbPerson;
  readonly player: VerbPlayer;
  readonly endpoint: VerbEndpoint;
  readonly order: string;
  readonly isInBand: boolean;
  play(acting: Partial<Acting>): Promise<Played>;
}

async function openScene(way: Way, tool: OneQuestion): Promise<Scene> {
  const person = world.person();
  const player = await world.player(way, person);
  const order = world.order();
  const noPage = () => Promise.reject(new Error('unexpected page'));
  return {
    way,
    tool,
    person,
    player,
    order,
    isInBand: tool === 'form' && way.showsForms,
    endpoint: await world.endpoint(way.endpoint),
    play: acting => player.play(tool, { order, ttlSeconds: TTL_SECONDS }, { atPage: noPage, ...acting }),
  };
}

/**
 * Expects exactly one elicitation, in the way that this MCP client supports. @returns the elicitation, if there is a
 * page
 */
function expectAsked({ way, isInBand }: Scene, { reached }: Played): string | undefined {
  expect(reached.map(({ by }) => by)).toEqual([isInBand ? 'form' : way.url]);
  return reached.flatMap(one => ('elicitationId' in one ? [one.elicitationId] : []))[0];
}

/** The single result that the handler received for this order. */
function given({ endpoint, order }: Scene): Readonly<Record<string, unknown>> {
  const all = endpoint.given.filter(one => one.order === order);
  expect(all).toHaveLength(1);
  return all[0]?.what ?? {};
}

async function expectReceipt({ order, person, tool }: Scene, what: Readonly<Record<string, unknown>>, id = '') {
  const subject = { issuer: world.identityProvider.issuer, subject: person.user };
  const receipt = String(what['receipt']);
  if (tool === 'confirm') {
    const terms = { title: `Delete ${order}`, action: verbAction, facts: [...verbFacts], danger: 'normal' as const };
    const digest = termsDigest({ kind: 'confirmation', terms });
    const verified = await receipts.verify(receipt, { kind: 'confirmation', elicitationId: id, subject, digest });
    expect(verified.terms).toEqual(terms);
    return;
  }
  const { items, ...rest } = verbTerms(order);
  const terms = { ...rest, items: items.map(item => ({ quantity: 1, ...item })) };
  const digest = termsDigest({ kind: 'payment', terms });
  const processor = tool === 'pay_none' ? 'none' : 'stripe-main';
  const expected = { kind: 'payment', elicitationId: id, subject, digest, processor, maxAgeMs: 60_000 } as const;
  const verified = await receipts.verify(receipt, { ...expected, amount: terms.amount, reference: order });
  expect(verified.terms).toEqual(terms);
  const charges = world.stripe.chargesOf(id);
  expect(charges.map(({ amount, currency }) => [amount, currency])).toEqual(
    tool === 'pay_none' ? [] : [[terms.amount.minorUnits, 'eur']],
  );
  expect(verified.processorReference).toBe(charges[0]?.paymentIntentId);
  expect(what['processorReference']).toBe(charges[0]?.paymentIntentId);
}

const content = { name: 'Alice', parcels: 2, size: 'large', express: false };
const values = { account: typed['account'], api_key: typed['api_key'] };

async function expectGiven(scene: Scene, elicitationId: string | undefined): Promise<void> {
  const what = given(scene);
  const { tool, isInBand } = scene;
  switch (tool) {
    case 'authorize':
      expect(what).toMatchObject({ account: 'alice', scopes: expect.arrayContaining(['repo']) });
      return;
    case 'pay_none':
    case 'pay_stripe':
    case 'confirm':
      expect(what).toMatchObject({ elicitationId, approval: { method: 'button', identity: 'login' } });
      return await expectReceipt(scene, what, elicitationId);
    case 'credential':
      expect(what).toMatchObject({ elicitationId, values });
      return;
    case 'credential_lasting':
      expect(what).toMatchObject({ generation: expect.any(Number), values, again: values });
      return;
    case 'form':
      expect(what).toMatchObject({ content, by: isInBand ? 'mcp-client' : 'page' });
      return;
    case 'form_secret':
      expect(what).toMatchObject({ elicitationId, content: { branch: 'release', token: typed['token'] }, by: 'page' });
  }
}

/** A decline and an expiry reach the tool; then the tool may ask the user again. */
async function refuseTwice(scene: Scene): Promise<(string | undefined)[]> {
  const { person, play } = scene;
  const declined = await play({ atPage: person.decline, fillForm: () => ({ action: 'decline' }) });
  expect(declined.text).toBe('decline declined');
  const ended = await play({ atPage: world.expire, fillForm: () => ({ action: 'cancel' }) });
  expect(ended.text).toBe(scene.isInBand ? 'cancel cancelled' : 'cancel expired');
  return [declined, ended].map(played => expectAsked(scene, played));
}

/** The call has redeemed the result; a redemption under another key is refused. */
async function expectTaken(elicitationId: string): Promise<void> {
  const again = await world.api.redeem(elicitationId, { 'idempotency-key': 'somebody-else' });
  expect(again).toMatchObject({ status: 409, body: { code: 'already_redeemed' } });
}

/** A stored approval serves the next call, or the user is asked again; then the MCP server ends it. */
async function callAgain(scene: Scene): Promise<string[]> {
  const { tool, play, endpoint, order } = scene;
  const { api } = world;
  const again = await play({
    atPage: async elicitationId => expect(await api.cancel(elicitationId)).toMatchObject({ status: 200 }),
    fillForm: () => ({ action: 'cancel' }),
  });
  if (lasts(tool)) {
    expect(again).toEqual({ text: 'accept', reached: [] });
    expect(endpoint.given.filter(one => one.order === order)).toHaveLength(2);
    return [];
  }
  expect(again.text).toBe('cancel cancelled');
  const asked = expectAsked(scene, again);
  given(scene);
  return asked === undefined ? [] : [asked];
}

describe.each(ways.map(way => [way.name, way] as const))('%s', (_name, way) => {
  it.each(oneQuestion)('%s: declined, expired, accepted, and called again', async tool => {
    const scene = await openScene(way, tool);
    const { player, person, play, isInBand } = scene;
    const refused = await refuseTwice(scene);
    expect(scene.endpoint.given.filter(({ order }) => order === scene.order)).toEqual([]);

    const agreed = await play({ atPage: person.accept, fillForm: () => filledDelivery });
    expect(agreed.text).toBe('accept');
    const elicitationId = expectAsked(scene, agreed);
    await expectGiven(scene, elicitationId);
    if (elicitationId !== undefined && !lasts(tool)) await expectTaken(elicitationId);
    const cancelled = await callAgain(scene);

    const ids = [...refused, elicitationId, ...cancelled].filter(id => id !== undefined);
    expect(new Set(ids).size).toBe(isInBand ? 0 : lasts(tool) ? 3 : 4);
    if (way.hearsOfEnd) for (const id of ids) await player.host.untilCompleted(id);
    expect([...player.host.completions].sort()).toEqual(way.hearsOfEnd ? [...ids].sort() : []);
    for (const secret of typedSecrets) expect(player.host.frames.join('\n')).not.toContain(secret);
  });
});
