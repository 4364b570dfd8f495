import assert from 'node:assert/strict';
import { modernCall, urlRequestOf } from '../../../support/modern-call.ts';
import { movesOf } from '../../../support/payment-person.ts';
import { elicitationIdOf } from '../../../support/person-at-gateway.ts';
import { elicitationIdsOf, ways } from '../../../support/verb-play.ts';
import { takenOnce } from '../../../support/verb-tools.ts';
import { TTL_SECONDS, type VerbWorld } from '../../../support/verb-world.ts';
import type { Scenario } from '../scenario.ts';

const onPage = [...takenOnce, 'credential_lasting'] as const;
const hearing = ways.filter(way => way.hearsOfEnd);

async function cancel({ api }: VerbWorld, elicitationId: string): Promise<void> {
  const { status } = await api.cancel(elicitationId);
  assert.equal(status, 200);
}

const statusOf = async ({ api }: VerbWorld, elicitationId: string) => (await api.read(elicitationId)).body.status;

/** How a payment, a confirmation, a credential or a form ends, who gets the outcome, and how often it counts. */
export const kindsEnding: readonly Scenario[] = [
  {
    id: 'url-mode:kinds:accept-is-consent-only',
    async run({ verbs }) {
      const world = await verbs();
      const { url } = await world.endpoint({ postern: { holdMs: 0 } });
      for (const tool of onPage) {
        const { user: subject } = world.person();
        const args = { order: world.order() };
        const { key, requestState, url: page } = urlRequestOf(await modernCall(url, { tool, subject, args }));
        const inputResponses = { [key]: { action: 'accept', content: { approved: true } } };
        const retried = await modernCall(url, { tool, subject, args, inputResponses, requestState });
        assert.equal(retried.result?.resultType, 'input_required', tool);
        assert.equal(await statusOf(world, elicitationIdOf(page)), 'pending', tool);
        assert.deepEqual(world.stripe.checkoutSessionsOf(elicitationIdOf(page)), []);
      }
    },
  },
  {
    id: 'url-mode:kinds:same-person',
    async run({ verbs }) {
      const world = await verbs();
      for (const way of ways.filter(({ url }) => url === 'elicitation/create')) {
        for (const tool of onPage) {
          const [person, stranger] = [world.person(), world.person()];
          const player = await world.player(way, person);
          const atPage = async (elicitationId: string) => {
            for (const act of [stranger.accept, stranger.decline])
              await assert.rejects(act(elicitationId), /^Error: 403/);
            assert.equal(await statusOf(world, elicitationId), 'pending');
            await person.accept(elicitationId);
          };
          const { text } = await player.play(tool, { order: world.order() }, { atPage });
          assert.equal(text, 'accept', `${tool}, ${way.name}`);
        }
      }
    },
  },
  {
    id: 'url-mode:kinds:endings',
    async run({ verbs }) {
      const world = await verbs();
      for (const way of ways) {
        const person = world.person();
        const player = await world.player(way, person);
        const ends = [
          [person.decline, 'decline declined'],
          [(id: string) => cancel(world, id), 'cancel cancelled'],
          [world.expire, 'cancel expired'],
        ] as const;
        for (const tool of onPage) {
          const args = { order: world.order(), ttlSeconds: TTL_SECONDS };
          for (const [atPage, text] of ends)
            assert.equal((await player.play(tool, args, { atPage })).text, text, `${tool}, ${way.name}`);
        }
        const refused = async (elicitationId: string) => {
          world.stripe.fault({ kind: 'create', does: { status: 402 } });
          await person.approve(elicitationId);
        };
        const { text } = await player.play('pay_stripe', { order: world.order() }, { atPage: refused });
        assert.equal(text, 'error processor_refused', way.name);
      }
    },
  },
  {
    id: 'url-mode:kinds:completion-once',
    async run({ verbs }) {
      const world = await verbs();
      for (const way of hearing) {
        const person = world.person();
        const player = await world.player(way, person);
        const asked: string[] = [];
        for (const tool of onPage) {
          const args = { order: world.order(), ttlSeconds: TTL_SECONDS };
          for (const atPage of [person.decline, (id: string) => cancel(world, id), world.expire, person.accept])
            asked.push(...elicitationIdsOf(await player.play(tool, args, { atPage })));
        }
        for (const id of asked) await player.host.untilCompleted(id);
        assert.deepEqual([...player.host.completions].sort(), [...asked].sort(), way.name);
      }
    },
  },
  {
    id: 'url-mode:kinds:one-redemption',
    async run({ verbs }) {
      const world = await verbs();
      const endpoint = await world.endpoint({});
      for (const tool of takenOnce) {
        const person = world.person();
        const args = { order: world.order() };
        const call = { tool, subject: person.user, args };
        const { key, requestState, url: page } = urlRequestOf(await modernCall(endpoint.url, call));
        const elicitationId = elicitationIdOf(page);
        await person.accept(elicitationId);
        const retry = { ...call, inputResponses: { [key]: { action: 'accept' } }, requestState };
        // One after the other, and at once.
        assert.equal((await modernCall(endpoint.url, retry)).text, 'accept', tool);
        const copies = await Promise.all([retry, retry].map(copy => modernCall(endpoint.url, copy)));
        for (const { text } of copies) assert.equal(text, 'accept', tool);
        const [first, ...same] = endpoint.given.filter(({ order }) => order === args.order);
        assert.equal(same.length, 2);
        for (const other of same) assert.deepEqual(other, first);
        const redeemed = movesOf(world, elicitationId).filter(event => event === 'elicitation.redeemed');
        assert.equal(redeemed.length, 1);
        assert.equal(world.stripe.chargesOf(elicitationId).length, tool === 'pay_stripe' ? 1 : 0);
        // A call without it is another call.
        assert.notEqual(urlRequestOf(await modernCall(endpoint.url, call)).url, page);
      }
    },
  },
  {
    id: 'url-mode:kinds:one-approval-one-call',
    async run({ verbs }) {
      const world = await verbs();
      for (const way of ways) {
        const person = world.person();
        const players = await Promise.all([world.player(way, person), world.player(way, person)]);
        const { given } = await world.endpoint(way.endpoint);
        for (const tool of takenOnce) {
          const order = world.order();
          const accepted = new Map<string, Promise<void>>();
          const atPage = (elicitationId: string) => {
            const known = accepted.get(elicitationId) ?? person.accept(elicitationId);
            accepted.set(elicitationId, known);
            return known;
          };
          const played = await Promise.all(players.map(player => player.play(tool, { order }, { atPage })));
          assert.deepEqual(
            played.map(({ text }) => text),
            ['accept', 'accept'],
          );
          const ids = given.filter(one => one.order === order).map(({ what }) => String(what['elicitationId']));
          assert.deepEqual([...ids].sort(), [...accepted.keys()].sort(), `${tool}, ${way.name}`);
          assert.equal(accepted.size, 2);
        }
      }
    },
  },
];
