import { expect, test } from 'vitest';
import { freshSuite } from './contract-stores.ts';

const newKey = (apiKeyId: string) => ({
  apiKeyId,
  mcpServerId: 'tracker',
  name: 'production',
  lastFour: 'abcd',
  by: 'olga',
  reason: 'first key',
  sealedDigest: `sealed-${apiKeyId}`,
});
const change = { by: 'olga', reason: 'leaked' };

export const describeApiKeyStore = freshSuite('API keys', stores => {
  test('lists added keys, and returns nothing for a known version', async () => {
    const empty = await stores.apiKeys.read();
    expect(empty).toEqual({ version: '', apiKeys: [] });
    expect(await stores.apiKeys.read(empty?.version)).toEqual(empty);
    expect(await stores.apiKeys.add(newKey('ak_1'))).toBe('added');
    const page = await stores.apiKeys.read('');
    expect(page?.apiKeys).toEqual([
      {
        apiKeyId: 'ak_1',
        mcpServerId: 'tracker',
        createdAt: expect.any(Number),
        sealedDigest: 'sealed-ak_1',
        added: { name: 'production', lastFour: 'abcd', by: 'olga', reason: 'first key' },
      },
    ]);
    expect(await stores.apiKeys.read(page?.version)).toBeUndefined();
  });

  test('repeats of an addition change nothing, and another key cannot take its id', async () => {
    expect(await stores.apiKeys.add(newKey('ak_1'))).toBe('added');
    const before = await stores.apiKeys.read();
    expect(await stores.apiKeys.add(newKey('ak_1'))).toBe('added');
    expect(await stores.apiKeys.add({ ...newKey('ak_1'), sealedDigest: 'other' })).toBe('exists');
    expect(await stores.apiKeys.read()).toEqual(before);
  });

  test('a revocation deletes the sealed digest, and the first one stays', async () => {
    await stores.apiKeys.add(newKey('ak_1'));
    const results = await Promise.all(
      ['a', 'b', 'c', 'd'].map(by => stores.apiKeys.revoke('ak_1', { by, reason: 'leaked' })),
    );
    expect(results.sort()).toEqual(['already', 'already', 'already', 'revoked']);
    const [apiKey] = (await stores.apiKeys.read())?.apiKeys ?? [];
    expect(apiKey).toMatchObject({ apiKeyId: 'ak_1', revoked: { reason: 'leaked', at: expect.any(Number) } });
    expect(apiKey?.sealedDigest).toBeUndefined();
    expect(await stores.apiKeys.add(newKey('ak_1'))).toBe('exists');
  });

  test('revokes a key of the configuration, and does not know others', async () => {
    expect(await stores.apiKeys.revoke('ak_unknown', change)).toBe('unknown');
    const ofFile = { apiKeyId: 'ak_file_1', mcpServerId: 'tracker', digest: 'd1' };
    expect(await stores.apiKeys.revoke(ofFile, change)).toBe('revoked');
    const page = await stores.apiKeys.read();
    expect(page?.apiKeys).toMatchObject([{ ...ofFile, revoked: change }]);
  });

  test('a key stays revoked whatever characters its reason has', async () => {
    const ofFile = { apiKeyId: 'ak_file_1', mcpServerId: 'tracker', digest: 'd1' };
    const odd = { by: 'olga\u2028', reason: 'leaked\u2029\n\u0085' };
    expect(await stores.apiKeys.revoke(ofFile, odd)).toBe('revoked');
    expect((await stores.apiKeys.read())?.apiKeys).toMatchObject([{ ...ofFile, revoked: odd }]);
  });

  test('a revoked key of the store stays listed for a while, one of the configuration as long as it may come back', async () => {
    const ids = async () => (await stores.apiKeys.read())?.apiKeys.map(({ apiKeyId }) => apiKeyId).sort();
    const ofFile = { apiKeyId: 'ak_file_1', mcpServerId: 'tracker', digest: 'd1' };
    await stores.apiKeys.revoke(ofFile, change);
    for (const id of ['ak_1', 'ak_2']) await stores.apiKeys.add(newKey(id));
    await stores.apiKeys.revoke('ak_1', change);
    expect(await ids()).toEqual(['ak_1', 'ak_2', 'ak_file_1']);
    stores.clock.advance(91 * 24 * 3_600_000);
    expect(await stores.apiKeys.revoke('ak_2', change)).toBe('revoked');
    expect(await ids()).toEqual(['ak_2', 'ak_file_1']);
  });

  test('the walk over sealed records returns valid keys only, and re-wraps them', async () => {
    await stores.apiKeys.add(newKey('ak_1'));
    await stores.apiKeys.add(newKey('ak_2'));
    await stores.apiKeys.revoke('ak_2', change);
    const records = [];
    for await (const step of stores.sealedRecords.walk()) {
      expect(step.unreadable).toEqual([]);
      records.push(...step.records);
    }
    expect(records).toEqual([{ kind: 'apiKey', id: 'ak_1', mcpServerId: 'tracker', sealed: 'sealed-ak_1' }]);
    expect(await stores.sealedRecords.replace({ kind: 'apiKey', id: 'ak_1', sealed: 'sealed-ak_1' }, 'new')).toBe(true);
    expect((await stores.apiKeys.read())?.apiKeys[0]?.sealedDigest).toBe('new');
  });
});
