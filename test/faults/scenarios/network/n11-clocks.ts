import { startWebhookReceiver } from '../../../support/webhook-receiver.ts';
import { faketimeEnv } from '../../faketime.ts';
import { startFaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { startTraffic } from '../../traffic.ts';

const MINUTES = 10;

/** One of two gateways has a clock that is minutes off, and tells a receiver of its own. */
async function withOneClockOff(run: FaultRun, minutes: number): Promise<void> {
  const world = await startFaultWorld(run, { hasWebhooks: false });
  const receiver = run.stack.use(await startWebhookReceiver());
  await world.startGateway('right');
  const off = await world.startGateway('off', {
    env: faketimeEnv(`${minutes < 0 ? '-' : '+'}${Math.abs(minutes)}m`),
    config: config => ({
      ...config,
      mcpServers: config.mcpServers.map(mcpServer =>
        mcpServer.id === 'tracker'
          ? { ...mcpServer, webhooks: [{ id: 'clock', url: receiver.url, secrets: [receiver.secret] }] }
          : mcpServer,
      ),
    }),
  });
  const traffic = await startTraffic(run, { world, kinds: ['confirmation', 'payment', 'form'] });
  await traffic.more(run.isLong ? 40 : 10, 90_000);
  const before = Date.now();
  const random = run.random.fork('ttl');
  const { issuer } = world.world.identityProvider;
  const subject = world.people[0] ?? '';
  const issued = await traffic.caller('tracker').call(
    {
      ...{ op: 'issue', method: 'POST', path: '/v1/elicitations', kind: 'confirmation', subject },
      body: {
        kind: 'confirmation',
        subject: { issuer, subject },
        ttlSeconds: 60,
        confirmation: { title: `Clock ${random.below(1e9)}`, facts: [] },
      },
    },
    off.address,
  );
  const expiresAt = Date.parse(String(issued?.body['expiresAt']));
  // By the clock of Redis, whatever the gateway thinks.
  if (!(Math.abs(expiresAt - 60_000 - before) < 30_000)) throw new Error(`ends at ${issued?.body['expiresAt']}`);
  await traffic.settle();
  if (receiver.received.length > 0) throw new Error('a receiver has taken what is signed minutes off');
  if (receiver.refused.length === 0) throw new Error('nothing was delivered at all');
  if (!off.lines.some(line => line.includes('webhook.clock_skew'))) throw new Error('the skew was not told');
}

export const clocks: readonly Scenario[] = [-MINUTES, MINUTES].map(minutes => ({
  item: 'N11',
  name: `one of two gateways has a clock ${Math.abs(minutes)} minutes ${minutes < 0 ? 'slow' : 'fast'}`,
  needs: ['faketime'],
  timeoutMs: 240_000,
  run: run => withOneClockOff(run, minutes),
}));
