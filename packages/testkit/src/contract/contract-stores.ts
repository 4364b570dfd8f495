import {
  type Elicitation,
  type ElicitationEvent,
  SHARDS,
  type Shard,
  type Stores,
  shardIn,
} from '@postern/elicitation';
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import type { FakeClock } from '../fake-clock.ts';

/** An implementation under test. All tests of a suite share it, so each test uses a separate user. */
export interface ContractStores extends Stores {
  /** The clock of the stores. */
  readonly clock: FakeClock;
}

/** The events of these shards, oldest first within each. */
export async function eventsIn(
  { events }: Pick<Stores, 'events'>,
  ...shards: readonly Shard[]
): Promise<readonly ElicitationEvent[]> {
  const logs = await Promise.all(shards.map(shard => events.read(shard, { limit: 10_000 })));
  return logs.flat().map(({ event }) => event);
}

/** The events of an elicitation, oldest first. */
export const eventsOf = async (stores: Pick<Stores, 'events'>, of: Pick<Elicitation, 'elicitationId'>) =>
  (await eventsIn(stores, shardIn(of.elicitationId))).filter(event => event.elicitationId === of.elicitationId);

export const allEvents = (stores: Pick<Stores, 'events'>) => eventsIn(stores, ...SHARDS);

/** Retention of the feeds of an implementation under test. */
export const FEED_RETENTION = { events: 50, maxAgeMs: 7 * 24 * 3_600_000 } as const;

export type MakeStores = () => Promise<ContractStores>;

/** Declares the tests of a port for an implementation, which `name` names. */
export type Suite = (name: string, makeStores: MakeStores) => void;

/** A suite whose tests share their stores, so each uses users of its own. */
export const suite = (title: string, declare: (stores: ContractStores) => void) =>
  suiteWith(title, declare, beforeAll, afterAll);

/** A suite each of whose tests has stores of its own. */
export const freshSuite = (title: string, declare: (stores: ContractStores) => void) =>
  suiteWith(title, declare, beforeEach, afterEach);

function suiteWith(
  title: string,
  declare: (stores: ContractStores) => void,
  before: typeof beforeAll | typeof beforeEach,
  after: typeof afterAll | typeof afterEach,
): Suite {
  return (name, makeStores) =>
    describe(`${name}: ${title}`, () => {
      let made: Partial<ContractStores> = {};
      before(async () => {
        made = await makeStores();
      });
      after(() => made[Symbol.asyncDispose]?.());
      // Stands for the stores that only exist when the tests run.
      declare(new Proxy({} as ContractStores, { get: (_, name) => Reflect.get(made, name) }));
    });
}

/** Enough concurrent callers to reveal a race. */
export const CROWD = 50;

/** Makes the same call concurrently and returns the results in no particular order. */
export function crowd<T>(call: (nth: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: CROWD }, (_, nth) => call(nth)));
}
