import { keyOf } from './api.ts';
import { dumpRedis } from './redis-dump.ts';
import { createSecretRecorder, findLeaks } from './secret-recorder.ts';
import { dumpFile } from './store-dump.ts';
import type { World } from './world-parts.ts';

async function storeOf({ file, redis }: Watched): Promise<Record<string, string>> {
  if (file === undefined) return { redis: JSON.stringify(await dumpRedis(redis.url)) };
  const { records, bytes } = dumpFile(file);
  return { records: JSON.stringify(records), file: bytes.toString('latin1') };
}

export interface LeakWatch extends Disposable {
  /** @throws if a secret of this world occurs in a log line or in the store; names only its kind */
  assertNone(): Promise<void>;
  /** Number of secrets recorded so far. */
  readonly count: () => number;
}

type Watched = Pick<World, 'gateways' | 'identityProvider' | 'provider' | 'redis' | 'file' | 'log'>;

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
      const sinks = { log: world.log(), ...(await storeOf(world)) };
      const leaks = findLeaks(sinks, recorder.secrets());
      if (leaks.length > 0)
        throw new Error(`leaked: ${leaks.map(({ kind, sink }) => `${kind} in ${sink}`).join(', ')}`);
    },
    [Symbol.dispose]: () => recorder[Symbol.dispose](),
  };
}
