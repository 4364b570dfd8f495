import { randomBytes } from 'node:crypto';
import { startFakeTransit } from '@postern/testkit/key-services';
import { kidOf } from '@postern/vault';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { vaultOf } from '../testing/vault-of.ts';
import { rewrapAll, takeCensus, totalOf } from './rewrap.ts';
import { connectionContext } from './seal-contexts.ts';

const transit = await startFakeTransit({ keys: ['postern'] });
afterAll(() => transit[Symbol.asyncDispose]());
afterEach(() => transit.setMood('well'));

const transactionKey = randomBytes(32).toString('base64');
const file = { kid: 'file', key: randomBytes(32).toString('base64') };
const bao = {
  kid: 'bao',
  service: 'vault-transit' as const,
  key: 'postern',
  url: transit.url,
  token: transit.token,
};
const bao2 = { ...bao, kid: 'bao-2', keyVersion: 2 };
type Keys = Parameters<typeof vaultOf>[0];
const opened = (...keys: Keys) => vaultOf(keys, { transactionKey });

describe('S121: what is under way is sealed without the key service', () => {
  const transactions = [
    'login-transaction',
    'external-open',
    'external-ticket',
    'passkey-ceremony',
    'authorization-transaction',
    'verification',
    'device-transaction',
  ].map(purpose => ({ purpose }));

  it('seals and opens them on every replica, without a request', async () => {
    await using one = await opened(bao);
    await using other = await opened(bao);
    const before = transit.calls.length;
    for (const context of transactions)
      expect(await other.vault.open(await one.vault.seal('x', context), context)).toBe('x');
    expect(transit.calls).toHaveLength(before);
  });

  it('a value under the name of a service key causes no request', async () => {
    await using replica = await opened(bao);
    const stored = await replica.vault.seal('x', { purpose: 'connection' });
    const before = transit.calls.length;
    for (const context of transactions)
      await expect(replica.vault.open(stored, context)).rejects.toMatchObject({ code: 'unknown_key' });
    expect(transit.calls).toHaveLength(before);
  });

  it('opens on replicas before and after each step from a file to the service, and back', async () => {
    const context = { purpose: 'login-transaction' };
    const steps: Keys[] = [[file], [file, bao], [bao, file], [bao], [bao, file], [file, bao], [file]];
    for (const [at, keys] of steps.entries()) {
      const next = steps[at + 1] ?? keys;
      await using one = await opened(...keys);
      await using other = await opened(...next);
      // Only the last step of a rotation takes the key away under which others still seal, as without a key service.
      const isRemoval = next.length < keys.length;
      await expect(one.vault.seal('x', context).then(sealed => other.vault.open(sealed, context))).resolves.toBe('x');
      if (!isRemoval)
        await expect(other.vault.seal('x', context).then(sealed => one.vault.open(sealed, context))).resolves.toBe('x');
    }
  });
});

describe('rotation', () => {
  const subject = { issuer: 'https://id.example', subject: 'alice' };
  const records = Array.from({ length: 7 }, (_, at) => ({
    kind: 'connection' as const,
    id: `c${at}`,
    owner: 'tracker',
    subject,
    provider: 'forge',
    elicitationId: `el_7f${'x'.repeat(42)}${at}` as never,
    sealed: '',
  }));

  /** The values of a store, which outlive the vaults that seal them. */
  function createStore() {
    const values = new Map(records.map(record => [record.id, record]));
    return {
      values,
      async *walk() {
        yield { records: [...values.values()], unreadable: [] };
      },
      async replace({ id }: { id: string }, sealed: string) {
        const stored = values.get(id);
        if (stored !== undefined) values.set(id, { ...stored, sealed });
        return stored !== undefined;
      },
    };
  }

  it.each<[string, Keys[number], Keys[number]]>([
    ['from a file to the service', file, bao],
    ['from the service to a file', bao, file],
    ['from one version of the service key to the next', bao, bao2],
  ])('S120, S159: %s, counted by the census, until the old key can be removed', async (_, old, next) => {
    transit.rotate('postern');
    const store = createStore();
    {
      await using before = await opened(old);
      for (const record of records)
        await store.replace(record, await before.vault.seal(`token ${record.id}`, connectionContext(record)));
    }
    await using both = await opened(next, old);
    const counts = async () => {
      const { keys } = await takeCensus({ records: store, vault: both.vault });
      return keys.map(({ kid, role, counts: ofKid }) => [kid, role, totalOf(ofKid)]);
    };
    expect(await counts()).toEqual([
      [next.kid, 'current', 0],
      [old.kid, 'old', 7],
    ]);
    const report = await rewrapAll({ records: store, vault: both.vault, batch: 3, shouldContinue: () => true });
    expect(report).toMatchObject({ result: 'done', rewrapped: 7, damaged: [] });
    expect(await counts()).toEqual([
      [next.kid, 'current', 7],
      [old.kid, 'old', 0],
    ]);
    await using after = await opened(next);
    for (const record of store.values.values()) {
      expect(kidOf(record.sealed)).toBe(next.kid);
      expect(await after.vault.open(record.sealed, connectionContext(record))).toBe(`token ${record.id}`);
    }
  });

  it('a value of one version does not open under the name of the other', async () => {
    await using one = await opened(bao);
    const sealed = await one.vault.seal('x', { purpose: 'connection' });
    await using renamed = await opened({ ...bao2, kid: 'bao' });
    await expect(renamed.vault.open(sealed, { purpose: 'connection' })).rejects.toMatchObject({
      code: 'not_authentic',
    });
  });

  it('while the service is away, a re-wrap fails and changes nothing', async () => {
    const store = createStore();
    await using before = await opened(file);
    for (const record of records) await store.replace(record, await before.vault.seal('x', connectionContext(record)));
    await using both = await opened(bao, file);
    transit.setMood('sealed');
    const rewrap = () => rewrapAll({ records: store, vault: both.vault, batch: 3, shouldContinue: () => true });
    await expect(rewrap()).rejects.toMatchObject({ code: 'key_service_unavailable', fault: 'sealed' });
    expect([...store.values.values()].every(({ sealed }) => kidOf(sealed) === 'file')).toBe(true);
    transit.setMood('well');
    expect(await rewrap()).toMatchObject({ result: 'done', rewrapped: 7 });
  });
});
