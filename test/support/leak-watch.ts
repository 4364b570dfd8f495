import { keyOf } from './api.ts';
import { dumpRedis } from './redis-dump.ts';
import { createSecretRecorder, findLeaks } from './secret-recorder.ts';
import type { World } from './world-parts.ts';

export interface LeakWatch extends Disposable {
  /** @throws if a secret of this world occurs in a log line or in Redis; names only its kind */
  assertNone(): Promise<void>;
  /** Number of secrets recorded so far. */
  readonly count: () => number;
}

type Watched = Pick<World, 'gateways' | 'identityProvider' | 'provider' | 'redis' | 'log'>;

/** Records every code, token, state, nonce, verifier and cookie on the wire of this world. */
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
