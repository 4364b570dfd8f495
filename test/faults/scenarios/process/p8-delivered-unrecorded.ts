import type { GatewayConfigInput } from '@postern/gateway';
import { startFaultProxy } from '@postern/testkit/fault-proxy';
import { type FaultGateway, startFaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { until } from '../../support/until.ts';
import { startTraffic } from '../../traffic.ts';
import { reached } from './kills.ts';

/** The receiver has returned 2xx, and the gateway is killed before it gets the response. */
export const deliveredUnrecorded: Scenario = {
  item: 'P8',
  name: 'webhook: killed after the 2xx of the receiver, before it is recorded; delivered again under the same id',
  async run(run) {
    const world = await startFaultWorld(run, { receiverFailureRate: 0 });
    const [hook] = world.config.mcpServers[0]?.webhooks ?? [];
    const receiver = new URL(hook?.url ?? '');
    const names = ['a', 'b'] as const;
    const links = await Promise.all(names.map(() => startFaultProxy(Number(receiver.port), { seed: run.seed })));
    for (const link of links) run.stack.use(link);
    const gateways = await Promise.all(
      names.map((name, n) => world.startGateway(name, { config: config => through(config, links[n]?.port ?? 0) })),
    );
    const traffic = await startTraffic(run, { world, kinds: ['confirmation', 'payment', 'form', 'credential'] });
    const rounds = run.isLong ? 3 : 1;
    for (let round = 0; round < rounds; round += 1) {
      const struck = await reached('2xx of the receiver', killedAtAnswer(links, gateways, run.random.between(1, 4)));
      await traffic.more(run.random.between(3, 8));
      await struck.restart();
    }
    await traffic.settle();
    await untilToldAgain(run, rounds);
  },
};

function through(config: GatewayConfigInput, port: number): GatewayConfigInput {
  const [first, ...others] = config.mcpServers;
  if (first === undefined) return config;
  const webhooks = (first.webhooks ?? []).map(webhook => {
    const url = new URL(webhook.url);
    url.port = String(port);
    return { ...webhook, url: url.href };
  });
  return { ...config, mcpServers: [{ ...first, webhooks }, ...others] };
}

async function killedAtAnswer(
  links: readonly Awaited<ReturnType<typeof startFaultProxy>>[],
  gateways: readonly FaultGateway[],
  nth: number,
): Promise<FaultGateway> {
  const { promise, resolve } = Promise.withResolvers<FaultGateway>();
  let left = nth;
  for (const [n, link] of links.entries())
    void link.watch({
      moment: 'answer_arrives',
      matches() {
        left -= 1;
        return left === 0;
      },
      act() {
        const gateway = gateways[n];
        if (gateway === undefined) throw new TypeError('the link belongs to no gateway');
        gateway.strike('2xx of the receiver not recorded');
        resolve(gateway);
        return 'cut';
      },
    });
  const gateway = await promise;
  await gateway.untilDead();
  return gateway;
}

/** A delivery whose response was cut off was received, so its repeat is the second one. */
async function untilToldAgain({ history, measure }: FaultRun, rounds: number): Promise<void> {
  const repeated = () => {
    const times = new Map<string, number>();
    for (const entry of history.entries)
      if (entry.what === 'delivery') times.set(entry.eventId, (times.get(entry.eventId) ?? 0) + 1);
    return [...times.values()].filter(count => count > 1).length;
  };
  // Another process takes over a dead process's delivery after twice the lock duration (services/gateway: delivery-worker).
  await until('the second delivery of what was cut off', () => repeated() >= rounds);
  measure('deliveries repeated under their id', repeated(), '');
}
