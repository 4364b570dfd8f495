import { keyOf } from './api.ts';
import { dumpRedis } from './redis-dump.ts';
import { createSecretRecorder, findLeaks } from './secret-recorder.ts';
import type { World } from './world.ts';

export interface LeakWatch extends Disposable {
  /** @throws when a secret that occurred in this world stands in a log line or anywhere in Redis; names its kind only. */
  assertNone(): Promise<void>;
  /** How many secrets have been seen so far. */
  readonly count: () => number;
}

type Watched = Pick<World, 'gateways' | 'identityProvider' | 'provider' | 'redis' | 'log'>;

/** Learns every code, token, state, nonce, verifier and cookie as it goes over the wire of this world, by whomever. */
export function watchForLeaks(world: Watched): LeakWatch {
  const recorder = createSecretRecorder();
  recorder.watchProvider('identity provider', world.identityProvider);
  recorder.watchProvider('provider', world.provider);
  for (const { address } of world.gateways) recorder.watchGateway(address);
  recorder.note('API key', keyOf('tracker'));
  return {
    count: () => recorder.secrets().length,
    async assertNone() {
      const sinks = { log: world.log(), redis: JSON.stringify(await dumpRedis(world.redis.url)) };
      const leaks = findLeaks(sinks, recorder.secrets());
      if (leaks.length > 0)
        throw new Error(`leaked: ${leaks.map(({ kind, sink }) => `${kind} in ${sink}`).join(', ')}`);
    },
    [Symbol.dispose]: () => recorder[Symbol.dispose](),
  };
}
