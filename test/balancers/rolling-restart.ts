import type { GatewayProcess } from '../support/gateway-process.ts';
import type { MixedLoad } from './mixed-load.ts';

/** Number of requests before and after each stop, so that every replica stops with requests in flight. */
const REQUESTS_BETWEEN = 100;

/**
 * Stops and starts every replica in turn, as a supervisor does. `between` runs before the next one.
 * @throws when a replica does not end with 0
 */
export async function rollThrough(p: {
  readonly replicas: readonly GatewayProcess[];
  readonly load: MixedLoad;
  readonly between: (restarted: GatewayProcess) => Promise<void>;
}): Promise<void> {
  for (const replica of p.replicas) {
    await p.load.more(REQUESTS_BETWEEN);
    replica.signal('SIGTERM');
    const { code, signal } = await replica.ended();
    if (code !== 0) throw new Error(`a replica ended with ${code ?? signal}`);
    await p.load.more(REQUESTS_BETWEEN);
    await replica.restart();
    await p.between(replica);
  }
}
