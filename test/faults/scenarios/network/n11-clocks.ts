import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startWebhookReceiver } from '../../../support/webhook-receiver.ts';
import { faketimeEnv, faketimeFileEnv } from '../../faketime.ts';
import { startFaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { startTraffic } from '../../traffic.ts';

const MINUTES = 10;

/** The clock of one of two gateways is minutes off. This gateway sends webhooks to its own receiver. */
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
  await traffic.more(run.isLong ? 40 : 10);
  const before = Date.now();
  const random = run.random.fork('ttl');
  const { issuer } = world.world.identityProvider;
  const subject = world.people[0] ?? '';
  const issued = await traffic.caller('tracker').call(
    {
      op: 'issue',
      method: 'POST',
      path: '/v1/elicitations',
      kind: 'confirmation',
      subject,
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
  // Expiry follows the clock of Redis, whatever the gateway's clock says.
  if (!(Math.abs(expiresAt - 60_000 - before) < (MINUTES / 2) * 60_000))
    throw new Error(`ends at ${issued?.body['expiresAt']}`);
  await traffic.settle();
  if (receiver.received.length > 0) throw new Error('a receiver accepted a signature that is minutes off');
  if (receiver.refused.length === 0) throw new Error('no delivery was attempted');
  if (!off.lines.some(line => line.includes('webhook.clock_skew')))
    throw new Error('the gateway did not log the clock skew');
}

/** Clock offsets, in order: an administrator sets the clock back and ahead, then by an hour as with a wrong time zone. */
const STEPS = ['-10m', '+0', '+10m', '-10m', '+1h', '-1h', '+0'];

/** The clock of one of two gateways jumps back and ahead while users act. */
async function withClockThatLeaps(run: FaultRun): Promise<void> {
  const world = await startFaultWorld(run, { hasWebhooks: false });
  const directory = mkdtempSync(join(tmpdir(), 'postern-clock-'));
  run.stack.defer(() => rmSync(directory, { recursive: true }));
  const clock = join(directory, 'offset');
  writeFileSync(clock, '+0');
  await world.startGateway('right');
  const leaping = await world.startGateway('leaping', { env: faketimeFileEnv(clock) });
  const traffic = await startTraffic(run, { world, kinds: ['confirmation', 'payment', 'form'] });
  await traffic.more(4);
  for (const offset of run.isLong ? [...STEPS, ...STEPS, ...STEPS] : STEPS) {
    // Renamed into place, so a concurrent reader sees either the old or the new offset.
    writeFileSync(`${clock}.next`, offset);
    renameSync(`${clock}.next`, clock);
    run.history.record({ who: 'harness', what: 'fault', fault: `clock ${offset}`, target: 'leaping' });
    await traffic.more(4);
  }
  await traffic.settle();
  const seen = new Set(leaping.lines.flatMap(line => /"time":"\d{4}-\d\d-\d\dT(\d\d)/.exec(line)?.[1] ?? []));
  if (seen.size < 2) throw new Error('the clock of the gateway has not moved');
}

export const clocks: readonly Scenario[] = [
  ...[-MINUTES, MINUTES].map(
    (minutes): Scenario => ({
      item: 'N11',
      name: `flows complete if the clock of one of two gateways is ${Math.abs(minutes)} minutes ${minutes < 0 ? 'slow' : 'fast'}`,
      needs: ['faketime'],
      run: run => withOneClockOff(run, minutes),
    }),
  ),
  {
    item: 'N11',
    name: 'the clock of one of two gateways jumps back and forward under traffic',
    needs: ['faketime'],
    run: withClockThatLeaps,
  },
];
