import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { startFaultWorld } from '../../fault-world.ts';
import { canaryOf } from '../../history.ts';
import type { Scenario } from '../../scenario.ts';
import { startTraffic } from '../../traffic.ts';

const module = fileURLToPath(new URL('../../support/reject-on-signal.ts', import.meta.url));

/** An unhandled error occurs during the work. */
export const surprises: Scenario = {
  item: 'P12',
  name: 'an unhandled rejection or exception ends the process, is logged without secrets, and loses nothing',
  async run(run) {
    const world = await startFaultWorld(run);
    // No product code: `--import` loads the fault, and a signal triggers it.
    const secret = canaryOf(run.seed, 'held by an error');
    run.history.secret('what an error holds', secret);
    const surprised = (kind: 'rejection' | 'exception') => ({
      env: { NODE_OPTIONS: `--import=${module}`, SURPRISE_KIND: kind, SURPRISE_SECRET: secret },
    });
    const kinds = ['rejection', 'exception'] as const;
    const gateways = await Promise.all(kinds.map(kind => world.startGateway(kind, surprised(kind))));
    const traffic = await startTraffic(run, { world });
    for (const gateway of gateways) {
      await traffic.more(run.random.between(4, 12));
      gateway.signal('SIGUSR2');
      run.history.record({ who: 'harness', what: 'fault', fault: gateway.name, target: gateway.name });
      const { code, signal } = await gateway.ended();
      assert.deepEqual({ code, signal }, { code: 1, signal: null });
      const event = gateway.name === 'rejection' ? 'process.unhandled_rejection' : 'process.uncaught_exception';
      assert.ok(
        gateway.lines.some(line => line.includes(`"${event}"`)),
        `${event} was not logged`,
      );
      await traffic.more(run.random.between(2, 6));
      await gateway.restart();
    }
    await traffic.settle();
  },
};
