import assert from 'node:assert/strict';
import { SHARDS } from '@postern/elicitation';
import { createRedisStores, UnsafeRedisError } from '@postern/store-redis';
import { startRedis } from '@postern/testkit/redis';
import { createApi, keyOf } from '../../../support/world.ts';
import { indexed } from '../../checks/indexed.ts';
import { startFaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { until } from '../../support/until.ts';
import { startTraffic } from '../../traffic.ts';
import { expectOnlyUnavailable, expectRecovered, note, startPair } from './common.ts';

/** The default of Debian: occasional snapshots, no append-only file. */
const DEBIAN = { appendonly: 'no', args: ['--save', '3600', '1', '300', '100', '60', '10000'] } as const;

const refused: Scenario = {
  item: 'R2',
  name: 'the gateway refuses to start on a Redis without an append-only file and names the reason',
  async run(run) {
    const redis = run.stack.use(await startRedis(DEBIAN));
    const world = await startFaultWorld(run, { redis: { url: redis.url }, hasWebhooks: false });
    await assert.rejects(createRedisStores({ url: redis.url }), (error: unknown) => {
      assert.ok(error instanceof UnsafeRedisError, String(error));
      assert.equal(error.setting, 'appendonly');
      assert.match(error.message, /appendonly yes/);
      return true;
    });
    await assert.rejects(world.startGateway('a', { startAttempts: 1 }), /did not start.*appendonly yes/);
  },
};

/** The operator sets assumeDurable for a Redis that hides its configuration, and is wrong. */
const vouchedFor: Scenario = {
  item: 'R2',
  name: 'assumeDurable and killed: not ready until the loss is accepted; acknowledged records are then unknown',
  async run(run) {
    run.history.tolerate(['I1', 'I3'], 'docs/redis.md: assumeDurable on a Redis that forgets');
    const mute = ['--user', 'default', 'on', 'nopass', '~*', '&*', '+@all', '-config'];
    const redis = run.stack.use(await startRedis({ ...DEBIAN, args: [...DEBIAN.args, ...mute] }));
    const { world, addresses } = await startPair(run, { url: redis.url, assumeDurable: true });
    const traffic = await startTraffic(run, { world, attempts: 6 });
    await traffic.more(10);
    await traffic.stop();
    note(run, 'killed');
    await using operator = await createRedisStores({ url: redis.url, assumeDurable: true });
    const deployment = [...(await operator.epochs.inspect()).values()][0]?.epoch?.deployment ?? '';
    await redis.kill();
    await redis.restart();
    note(run, 'started, and empty');
    await until('both to refuse a Redis without data', async () =>
      (await Promise.all(addresses.map(notReadyCodeOf))).every(code => code === 'data_lost'),
    );
    // The operator's connection may still be reconnecting.
    const accepted = { deployment, epoch: Date.now() };
    await until('the operator to accept the loss', async () => {
      await operator.epochs.begin(accepted, SHARDS, { replaces: false });
      return true;
    });
    note(run, 'accepted');
    await expectRecovered(run, addresses);
    await expectForgotten(run, addresses);
    await traffic.settle();
    expectOnlyUnavailable(run);
  },
};

async function notReadyCodeOf(address: string): Promise<unknown> {
  const response = await fetch(`${address}/readyz`);
  return ((await response.json()) as { code?: unknown }).code;
}

/** Every acknowledged elicitation is unknown at every gateway, whatever its status was. */
async function expectForgotten(run: FaultRun, addresses: readonly string[]): Promise<void> {
  const { acknowledged } = indexed(run.history.entries);
  assert.ok(acknowledged.size > 0);
  for (const { elicitationId, mcpServerId } of acknowledged.values())
    for (const address of addresses) {
      const { status, body } = await createApi(address, keyOf(mcpServerId)).read(elicitationId);
      assert.deepEqual({ status, code: body.code }, { status: 404, code: 'not_found' });
    }
  run.measure('forgotten', acknowledged.size, '');
}

export const forgetful: readonly Scenario[] = [refused, vouchedFor];
