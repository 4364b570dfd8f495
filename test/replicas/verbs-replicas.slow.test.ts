import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { movesOf } from '../support/payment-person.ts';
import type { VerbEndpoint } from '../support/verb-endpoint.ts';
import { elicitationIdsOf, filledDelivery, startVerbPlayer, type Way, wayNamed } from '../support/verb-play.ts';
import { lasts, oneQuestion } from '../support/verb-tools.ts';
import { startVerbWorld, type VerbWorld } from '../support/verb-world.ts';

/** Two replicas of an MCP server, each with a replica of the gateway; the user's requests alternate between those. */
const REPLICAS = [0, 1] as const;

let world: VerbWorld;
beforeAll(async () => {
  world = await startVerbWorld({ replicas: REPLICAS.length });
});
afterAll(() => world[Symbol.asyncDispose]());

const at = (way: Way, replica: number): Way => ({ ...way, endpoint: { ...way.endpoint, replica } });

const endpointsOf = async (way: Way): Promise<readonly [VerbEndpoint, VerbEndpoint]> => [
  await world.endpoint(at(way, 0).endpoint),
  await world.endpoint(at(way, 1).endpoint),
];

/** An MCP client behind a load balancer without affinity: tool calls alternate between the replicas. */
async function balanced(way: Way, subject: string) {
  const endpoints = await endpointsOf(way);
  let calls = 0;
  const player = await startVerbPlayer({
    way,
    subject,
    endpoint: {
      url: endpoints[0].url,
      untilHolding: id => Promise.race(endpoints.map(endpoint => endpoint.untilHolding(id))),
    },
    fetch: (target, init) => {
      const isCall = typeof init?.body === 'string' && init.body.includes('"method":"tools/call"');
      return fetch(isCall ? (endpoints[calls++ % 2]?.url ?? target) : target, init);
    },
  });
  return { player, endpoints };
}

const givenFor = (endpoint: VerbEndpoint, order: string) => endpoint.given.filter(one => one.order === order);
const redemptions = (elicitationId: string) =>
  movesOf(world, elicitationId).filter(event => event === 'elicitation.redeemed').length;

const roaming = [
  '2026-07-28 url and form',
  '2026-07-28 no capability',
  '2025-11-25 stateless, −32042, v2',
  '2025-11-25 stateless, −32042, v1',
];

describe.each(roaming)('%s: one replica elicits, the other continues', name => {
  const way = wayNamed(name);

  it.each(oneQuestion)('%s', async tool => {
    const person = world.person(REPLICAS);
    const { player, endpoints } = await balanced(way, person.user);
    await using _ = player;
    const order = world.order();
    const played = await player.play(tool, { order }, { atPage: person.accept, fillForm: () => filledDelivery });

    expect(played.text).toBe('accept');
    expect(played.reached).toHaveLength(1);
    expect(endpoints.map(endpoint => givenFor(endpoint, order).length)).toEqual([0, 1]);
    const [elicitationId] = elicitationIdsOf(played);
    if (elicitationId === undefined) return;
    expect(redemptions(elicitationId)).toBe(lasts(tool) ? 0 : 1);
    expect(world.stripe.chargesOf(elicitationId)).toHaveLength(tool === 'pay_stripe' ? 1 : 0);
  });
});

describe.each(['v2', 'v1'])(
  '2025-11-25, −32042, %s: the repeated call succeeds in a session of the other replica',
  sdk => {
    const way = wayNamed(`2025-11-25 session, −32042, ${sdk}`);

    it.each(oneQuestion.filter(tool => tool !== 'form'))('%s', async tool => {
      const person = world.person(REPLICAS);
      const [here, there] = await Promise.all(REPLICAS.map(replica => world.player(at(way, replica), person)));
      if (here === undefined || there === undefined) throw new Error('two were connected');
      const endpoints = await endpointsOf(way);
      const order = world.order();
      const args = { order };
      const noPage = () => Promise.reject(new Error('asked again'));

      let asked = '';
      // The other replica is faster than the one that waits for its completion notice.
      const first = await here.play(tool, args, {
        async atPage(elicitationId) {
          if (asked !== '') return await person.decline(elicitationId);
          asked = elicitationId;
          await person.accept(elicitationId);
          await here.host.untilCompleted(elicitationId);
          expect(await there.play(tool, args, { atPage: noPage })).toEqual({ text: 'accept', reached: [] });
        },
      });
      expect(endpoints[1].given.filter(one => one.order === order)).toHaveLength(1);
      expect(here.host.completions[0]).toBe(asked);
      expect(there.host.completions).toEqual([]);
      if (lasts(tool)) {
        expect(first).toMatchObject({ text: 'accept', reached: [{ elicitationId: asked }] });
        return;
      }
      // The other replica has redeemed the result, so this call needs a separate approval.
      expect(first.text).toBe('decline declined');
      expect(new Set(elicitationIdsOf(first)).size).toBe(2);
      expect(givenFor(endpoints[0], order)).toEqual([]);
      expect(redemptions(asked)).toBe(1);
      expect(world.stripe.chargesOf(asked)).toHaveLength(tool === 'pay_stripe' ? 1 : 0);
    });
  },
);

describe.each(['v2', 'v1'])('2025-11-25, pushed, %s: the user’s requests reach both replicas of the gateway', sdk => {
  it.each(oneQuestion)('%s', async tool => {
    const way = at(wayNamed(`2025-11-25 session, push, ${sdk}`), 1);
    const person = world.person(REPLICAS);
    const player = await world.player(way, person);
    const order = world.order();
    const played = await player.play(tool, { order }, { atPage: person.accept, fillForm: () => filledDelivery });
    expect(played.text).toBe('accept');
    expect(givenFor(await world.endpoint(way.endpoint), order)).toHaveLength(1);
    for (const id of elicitationIdsOf(played)) await player.host.untilCompleted(id);
    expect(player.host.completions).toEqual(elicitationIdsOf(played));
  });
});

describe('three elicitations in one handler, with runs that alternate between the replicas', () => {
  it('2026-07-28: earlier answers are carried in the request state', async () => {
    const person = world.person(REPLICAS);
    const { player, endpoints } = await balanced(wayNamed('2026-07-28 url and form'), person.user);
    await using _ = player;
    const order = world.order();
    const played = await player.play('steps', { order }, { atPage: person.accept, fillForm: () => filledDelivery });
    expect(played.text).toBe('accept');
    expect(played.reached.map(({ by }) => by)).toEqual(['elicitation/create', 'elicitation/create', 'form']);
    expect(endpoints.flatMap(endpoint => givenFor(endpoint, order))).toHaveLength(1);
    for (const id of elicitationIdsOf(played)) expect(redemptions(id)).toBe(1);
    expect(world.stripe.chargesOf(elicitationIdsOf(played)[1] ?? '')).toHaveLength(1);
  });

  it.each(['v2', 'v1'])(
    '2025-11-25 stateless, %s: a result that the other replica redeemed needs a new approval',
    async sdk => {
      const person = world.person(REPLICAS);
      const { player, endpoints } = await balanced(wayNamed(`2025-11-25 stateless, −32042, ${sdk}`), person.user);
      await using _ = player;
      const order = world.order();
      const played = await player.play('steps', { order }, { atPage: person.accept });
      expect(played.text).toBe('accept');
      expect(endpoints.flatMap(endpoint => givenFor(endpoint, order))).toHaveLength(1);
      const ids = elicitationIdsOf(played);
      expect(new Set(ids).size).toBe(ids.length);
      // No result is delivered twice, and every charge has its own approval.
      for (const id of ids) {
        expect(redemptions(id)).toBeLessThanOrEqual(1);
        const charges = world.stripe.chargesOf(id).length;
        expect(charges).toBeLessThanOrEqual(1);
        if (charges > 0) expect(movesOf(world, id)).toContain('elicitation.approved');
      }
    },
  );
});
