import { randomBytes } from 'node:crypto';
import { startFakeTransit } from '@postern/testkit/key-services';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { GatewayConfigInput } from '../../platform/config/config-schema.ts';
import { parseConfig } from '../../platform/config/load-config.ts';
import { sampleConfig, sampleReceipts } from '../../testing/sample-config.ts';
import { checked } from './findings.ts';
import { checkKeyServices } from './key-service-check.ts';

const transit = await startFakeTransit({ keys: ['postern'] });
afterAll(() => transit[Symbol.asyncDispose]());
afterEach(() => transit.allowAll());

const local = { kid: 'file', key: randomBytes(32).toString('base64') };
const bao = {
  kid: 'bao',
  service: 'vault-transit' as const,
  key: 'postern',
  url: transit.url,
  token: transit.token,
};
const check = (...keys: GatewayConfigInput['vault']['keys']) =>
  checked('vault.keyServices', 30_000, () =>
    checkKeyServices(
      parseConfig(
        sampleConfig({
          receipts: sampleReceipts,
          vault: { keys, transactionKey: local.key, keyServices: { timeoutSeconds: 10 } },
        }),
      ),
    ),
  );

describe('postern check: S120', () => {
  it('says nothing about local keys, and that the key service of another key works', async () => {
    expect(await check(local)).toEqual([]);
    expect(await check(local, bao)).toMatchObject([{ check: 'vault.keys.bao', status: 'ok' }]);
  });

  it.each(['encrypt', 'decrypt'] as const)('names the missing permission: %s', async verb => {
    transit.deny(verb);
    const [finding] = await check(bao);
    expect(finding).toMatchObject({ check: 'vault.keys.bao', status: 'failed' });
    expect(finding?.message).toMatch(
      verb === 'encrypt' ? /^Encrypting failed \(permission_/ : /^Decrypting failed \(permission_/,
    );
    expect(finding?.message).not.toContain(transit.token);
  });

  it('explains an adapter that does not load', async () => {
    const [finding] = await check({ kid: 'own', service: 'module', key: 'a', module: '/nowhere/adapter.mjs' });
    expect(finding).toMatchObject({ check: 'vault.keyServices', status: 'failed' });
    expect(finding?.message).toContain('/nowhere/adapter.mjs');
  });
});
