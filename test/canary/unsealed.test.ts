import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appendOnlyFile, snapshot, watchCommands } from '../support/redis-files.ts';
import { createSecretRecorder, findLeaks, type Leak, type SecretRecorder } from '../support/secret-recorder.ts';
import { startWorld, type World } from '../support/world.ts';
import { type LastingStage, prepareLastingStory } from './lasting-story.ts';

let recorder: SecretRecorder;
let lasting: LastingStage;
let world: World;
let leaks: readonly Leak[];

/**
 * The same story with a vault that does not encrypt: every search that finds nothing in `canary.test.ts` must find
 * something here.
 */
beforeAll(async () => {
  recorder = createSecretRecorder();
  lasting = await prepareLastingStory(recorder.note);
  world = await startWorld({ ...lasting.options, plantsLeaks: true });
  const [gateway] = world.gateways;
  if (gateway === undefined) throw new Error('there is no gateway');
  Object.assign(gateway.deps.vault, {
    seal: async (text: string) => text,
    open: async (text: string) => text,
  });
  recorder.watchProvider('provider', world.provider);
  using commands = await watchCommands(world.redis.url);
  await lasting.play({ world, api: world.api, recorder, browser: () => recorder.watchBrowser(world.raw()) });
  const { url } = world.redis;
  const sinks = { aof: await appendOnlyFile(url), rdb: await snapshot(url), monitor: commands.text() };
  leaks = findLeaks(sinks, recorder.secrets());
});
afterAll(async () => {
  recorder?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
  await lasting?.[Symbol.asyncDispose]();
});

describe('S49: without the vault', () => {
  it.each([
    'provider access_token',
    'provider refresh_token',
    'provider code_verifier',
    'provider nonce',
    'provider device_code',
    'provider user_code',
    'provider client_secret',
    'provider registration_access_token',
    'DPoP private key',
  ])('without sealing, the scan finds the %s in the append-only file and in the commands to Redis', kind => {
    expect(leaks).toContainEqual({ sink: 'aof', kind });
    expect(leaks).toContainEqual({ sink: 'monitor', kind });
  });

  it('without sealing, the scan finds long-lived secrets in a snapshot', () => {
    for (const kind of [
      'provider access_token',
      'provider refresh_token',
      'DPoP private key',
      'provider client_secret',
    ])
      expect(leaks).toContainEqual({ sink: 'rdb', kind });
  });
});
