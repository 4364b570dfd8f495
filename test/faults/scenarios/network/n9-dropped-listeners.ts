import { startFaultWorld } from '../../fault-world.ts';
import type { Scenario } from '../../scenario.ts';
import { startTraffic } from '../../traffic.ts';

export const droppedListeners: readonly Scenario[] = [
  {
    item: 'N9',
    name: 'event streams disconnect at random, and resume at either of two gateways',
    async run(run) {
      const world = await startFaultWorld(run);
      for (const name of ['a', 'b']) await world.startGateway(name);
      const traffic = await startTraffic(run, { world, kinds: ['confirmation', 'payment', 'form', 'credential'] });
      const random = run.random.fork('drops');
      let drops = 0;
      for (let round = 0; round < (run.isLong ? 40 : 12); round += 1) {
        await traffic.more(1 + random.below(3));
        for (const [mcpServerId, listener] of traffic.listeners) {
          if (!random.chance(0.7)) continue;
          run.history.record({ who: 'harness', what: 'fault', fault: 'listener dropped', target: mcpServerId });
          listener.drop();
          drops += 1;
        }
      }
      await traffic.settle();
      run.measure('drops', drops, '');
    },
  },
];
