import { anyAnswers, type Damage, FLOOD_BYTES, whole } from '@postern/testkit/any-answer';
import fc from 'fast-check';
import { expect } from 'vitest';
import { jsonFaults } from '../faults/fuzz/json-faults.ts';
import { seeded } from '../support/seeded-random.ts';
import { type OutboundClient, outboundClients, type Seen, type Use } from './outbound-clients.ts';
import { type Deadlines, takeDeadlines } from './outbound-deadlines.ts';
import { type OutboundWorld, startOutboundWorld } from './outbound-world.ts';

/** Occurs in every text of a damaged response, and must not occur in a log or in a response of the gateway. */
export const CANARY = 'Canary-7Q2-Canary';

export type NamedDamage = readonly [name: string, damage: Damage];

/** Returns a valid response with one seeded mutation. */
function mutation(seed: number): NamedDamage {
  const damage: Damage = ({ status, body }) => {
    const text = String(body);
    if (!/^\s*[[{]/.test(text)) return whole(status, CANARY);
    const { odd, refused } = jsonFaults(text);
    return whole(status, fc.sample(fc.oneof(odd, refused), { seed, numRuns: 1 })[0] ?? '');
  };
  return [`mutation ${seed}`, damage];
}

/** The fixed responses in a seeded order, with a mutation after each. */
export function answersBy(seed: number): readonly NamedDamage[] {
  const random = seeded(seed);
  return Object.entries(anyAnswers(CANARY))
    .map(entry => [random.below(2 ** 31), entry] as const)
    .sort(([a], [b]) => a - b)
    .flatMap(([, entry], at) => [entry, mutation(seed * 1_000 + at)]);
}

export interface OutboundPlay extends AsyncDisposable {
  readonly world: OutboundWorld;
  /** Makes the server of a client send these responses, and checks the gateway and its callers. */
  run(name: string, answers: Iterable<NamedDamage>, limit: number): Promise<void>;
}

/**
 * @param options.endless every damaged response is endless, and the timeout of its request fires soon after it started
 */
export async function startOutboundPlay(options: { readonly endless?: true } = {}): Promise<OutboundPlay> {
  const world = await startOutboundWorld();
  const deadlines: Deadlines | undefined = options.endless && takeDeadlines(world.timeoutSeconds * 1000);
  const surprises: unknown[] = [];
  const unfinished: [Use, NamedDamage][] = [];
  const note = (error: unknown) => void surprises.push(error);
  process.on('unhandledRejection', note);
  process.on('uncaughtException', note);

  async function damage(client: OutboundClient, use: Use, [name, answer]: NamedDamage): Promise<void> {
    using order = world.machines[client.machine].answer(client.matches, honest => {
      deadlines?.passSoon();
      return answer(honest);
    });
    const seen = await use.damaged();
    const faults = seen.map(faultIn).filter(fault => fault !== undefined);
    expect({ name, isAsked: order.count > 0, faults }).toEqual({ name, isAsked: true, faults: [] });
    for (const sent of await order.floods())
      expect({ name, isCut: sent < FLOOD_BYTES / 2 }).toEqual({ name, isCut: true });
  }

  async function finish(use: Use, [name]: NamedDamage): Promise<void> {
    await use.honest().catch((error: unknown) => {
      throw new Error(`not finished after: ${name}`, { cause: error });
    });
    expect({ name, surprises }).toEqual({ name, surprises: [] });
  }

  return {
    world,
    async run(name, answers, limit) {
      const client = outboundClients[name];
      if (client === undefined) throw new TypeError(`no client ${name}`);
      // The gateway caches an honest response and then sends no further request, so all damaged responses come first.
      const { excludes } = client;
      const isKeptAnswer = (answer: string) => client.isKept !== undefined && /^(honest, |mutation )/.test(answer);
      const fits = [...answers].filter(([answer]) => !isKeptAnswer(answer) && excludes?.test(answer) !== true);
      for (const answer of fits.slice(0, client.isInBackground ? Math.ceil(limit / 4) : limit)) {
        const use = await client.prepare(world);
        await damage(client, use, answer);
        if (client.isKept) unfinished.push([use, answer]);
        else await finish(use, answer);
      }
      if (client.isKept !== 'with next') for (const [use, answer] of unfinished.splice(0)) await finish(use, answer);
      const log = world.stage.log();
      expect({ name, isInLog: log.includes(CANARY) }).toEqual({ name, isInLog: false });
      expect(log).not.toMatch(/"code":"internal_error"|unhandled|uncaught/);
    },
    async [Symbol.asyncDispose]() {
      process.off('unhandledRejection', note);
      process.off('uncaughtException', note);
      deadlines?.[Symbol.dispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** Describes the fault of a gateway response; undefined if it has none. */
function faultIn({ status, body }: Seen): string | undefined {
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? '');
  if (status === 500 || status > 503 || text.includes('internal_error')) return `${status} ${text.slice(0, 200)}`;
  if (text.includes(CANARY)) return 'repeats the answer';
  return /\bat \S+ \(?(file:|node:|\/)/.test(text) ? 'has a stack' : undefined;
}
