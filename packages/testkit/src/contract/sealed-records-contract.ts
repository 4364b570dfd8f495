import {
  type Connection,
  newRevocationId,
  type SealedRecord,
  type SealedRecordsStep,
  type Subject,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import { expect, test } from 'vitest';
import { suite } from './contract-stores.ts';
import { answer, askFor, credentialFor, type Sample } from './kind-samples.ts';
import { ask, complete, connectionFor, created, engage, moved, operation, somebody } from './samples.ts';

const sealedValue = () => `${operation()}.${operation()}`;

export const describeSealedRecords = suite('sealed records', stores => {
  async function connect(subject: Subject = somebody(), change: Partial<Connection> = {}): Promise<Connection> {
    const active = await moved(stores.elicitations, await created(stores.elicitations, ask(subject)), engage);
    const connection = { ...connectionFor(subject, active.elicitationId), sealedTokens: sealedValue(), ...change };
    await moved(stores.elicitations, active, { ...complete(active), putConnection: connection });
    return stored(connection);
  }

  async function stored({ connectionId }: Pick<Connection, 'connectionId'>): Promise<Connection> {
    const connection = await stores.connections.read(connectionId);
    if (connection === undefined) throw new Error('The connection is gone.');
    return connection;
  }

  const refreshed = (current: Connection, sealedTokens: string) =>
    stores.connections.finishRefresh({
      current,
      tokens: { sealedTokens, scopes: current.scopes, refreshable: true },
      operationId: operation(),
    });

  const recordOf = (connection: Connection): SealedRecord => ({
    kind: 'connection',
    id: connection.connectionId,
    sealed: connection.sealedTokens,
    owner: connection.owner,
    subject: connection.subject,
    provider: connection.provider,
    elicitationId: connection.elicitationId,
  });

  async function walked(): Promise<SealedRecordsStep> {
    const steps: SealedRecordsStep[] = [];
    for await (const step of stores.sealedRecords.walk()) steps.push(step);
    return { records: steps.flatMap(step => step.records), unreadable: steps.flatMap(step => step.unreadable) };
  }

  test('the walk returns every connection and every revocation on every node, and nothing else', async () => {
    const connections = await Promise.all(Array.from({ length: 300 }, () => connect()));
    const removed = connections.slice(0, 100);
    const revocations = await Promise.all(
      removed.map(async ({ connectionId, subject }) => {
        const revocationId = newRevocationId(shardOf(subject), systemEntropy);
        await stores.connections.remove({ connectionId, revocationId });
        return revocationId;
      }),
    );
    const digest = operation();
    await stores.clientRegistrations.putIfAbsent(digest, 'sealed-registration');
    const { records, unreadable } = await walked();
    const met = new Map(records.map(record => [record.id, record]));
    expect(unreadable).toEqual([]);
    expect([...met.keys()].sort()).toEqual(
      [...connections.slice(100).map(({ connectionId }) => connectionId), ...revocations, digest].sort(),
    );
    const registration: SealedRecord = { kind: 'registration', id: digest, sealed: 'sealed-registration' };
    expect(met.get(digest)).toEqual(registration);
    expect(await stores.sealedRecords.replace(registration, 'next')).toBe(true);
    expect(await stores.clientRegistrations.read(digest)).toBe('next');
    for (const connection of connections.slice(100)) {
      expect(met.get(connection.connectionId)).toEqual(recordOf(connection));
    }
    for (const [at, revocationId] of revocations.entries()) {
      const before = removed[at];
      expect(before && { ...recordOf(before), kind: 'revocation', id: revocationId }).toEqual(met.get(revocationId));
    }
  });

  test('the walk returns lasting credentials and results, and a replacement changes nothing else in them', async () => {
    const person = somebody();
    const make = (sample: Sample) => created(stores.elicitations, askFor(sample, person));
    const [lasting, once, form] = [await make('lasting'), await make('once'), await make('form')];
    const putCredential = credentialFor(lasting, { sealedValues: sealedValue() });
    await moved(stores.elicitations, lasting, { ...answer(lasting), putCredential });
    const sealed = { once: sealedValue(), form: sealedValue() };
    await moved(stores.elicitations, once, answer(once, sealed.once));
    await moved(stores.elicitations, form, answer(form, sealed.form));
    const result = { kind: 'result', mcpServerId: 'issue-tracker', subject: person } as const;
    const expected: readonly SealedRecord[] = [
      {
        kind: 'credential',
        id: putCredential.credentialId,
        sealed: putCredential.sealedValues,
        owner: 'issue-tracker',
        subject: person,
        name: 'acme-api',
        elicitationId: lasting.elicitationId,
      },
      {
        ...result,
        id: once.elicitationId,
        elicitationId: once.elicitationId,
        request: { kind: 'credential' },
        sealed: sealed.once,
      },
      {
        ...result,
        id: form.elicitationId,
        elicitationId: form.elicitationId,
        request: { kind: 'form' },
        sealed: sealed.form,
      },
    ];
    const { records, unreadable } = await walked();
    expect(unreadable).toEqual([]);
    for (const record of expected) expect(records.filter(({ id }) => id === record.id)).toEqual([record]);

    const { credentialId } = putCredential;
    await stores.credentials.recordUse({ credentialId, use: { mcpServerId: 'issue-tracker' } });
    const before = await stores.credentials.read(credentialId);
    for (const record of expected) {
      expect(await stores.sealedRecords.replace(record, `${record.sealed}.next`)).toBe(true);
      expect(await stores.sealedRecords.replace(record, `${record.sealed}.next`)).toBe(true);
      expect(await stores.sealedRecords.replace(record, sealedValue())).toBe(false);
    }
    expect(await stores.credentials.read(credentialId)).toEqual({
      ...before,
      sealedValues: `${putCredential.sealedValues}.next`,
    });
    const { elicitationId } = form;
    expect(await stores.elicitations.redeem({ elicitationId, redemption: 'one' })).toMatchObject({
      result: 'redeemed',
      sealed: `${sealed.form}.next`,
      isFirst: true,
    });
  });

  test('a replacement changes nothing else in the connection', async () => {
    const name = sealedValue();
    const before = await connect(somebody(), { sealedTokens: name, account: { id: '1', name } });
    await stores.connections.recordUse({ connectionId: before.connectionId, use: { mcpServerId: 'issue-tracker' } });
    await stores.connections.markLost({ current: before, reason: 'refused' });
    const used = await stored(before);
    stores.clock.advance(5_000);
    const next = sealedValue();
    expect(await stores.sealedRecords.replace(recordOf(before), next)).toBe(true);
    expect(await stored(before)).toEqual({ ...used, sealedTokens: next });
  });

  test('a refresh decided before the replacement is stored after it', async () => {
    const before = await connect();
    await stores.sealedRecords.replace(recordOf(before), sealedValue());
    const tokens = sealedValue();
    expect(await refreshed(before, tokens)).toMatchObject({ result: 'stored' });
    expect((await stored(before)).sealedTokens).toBe(tokens);
  });

  test('replaces neither newer tokens nor a removed record', async () => {
    const before = await connect();
    const tokens = sealedValue();
    await refreshed(before, tokens);
    expect(await stores.sealedRecords.replace(recordOf(before), sealedValue())).toBe(false);
    expect((await stored(before)).sealedTokens).toBe(tokens);
    await stores.connections.remove({ connectionId: before.connectionId });
    expect(await stores.sealedRecords.replace({ ...recordOf(before), sealed: tokens }, sealedValue())).toBe(false);
    expect(await stores.connections.read(before.connectionId)).toBeUndefined();
  });

  test('repeating a replacement succeeds and changes nothing', async () => {
    const before = await connect();
    const next = sealedValue();
    expect(await stores.sealedRecords.replace(recordOf(before), next)).toBe(true);
    expect(await stores.sealedRecords.replace(recordOf(before), next)).toBe(true);
    expect((await stored(before)).sealedTokens).toBe(next);
  });

  test('exactly one of many concurrent replacements wins', async () => {
    const before = await connect();
    const values = Array.from({ length: 50 }, sealedValue);
    const results = await Promise.all(values.map(value => stores.sealedRecords.replace(recordOf(before), value)));
    expect(results.filter(Boolean)).toHaveLength(1);
    expect((await stored(before)).sealedTokens).toBe(values[results.indexOf(true)]);
  });

  test('refreshed tokens stay if a replacement runs concurrently', async () => {
    const connections = await Promise.all(Array.from({ length: 50 }, () => connect()));
    await Promise.all(
      connections.map(async before => {
        const tokens = sealedValue();
        await Promise.all([
          stores.sealedRecords.replace(recordOf(before), sealedValue()),
          refreshed(before, tokens),
          stores.sealedRecords.replace(recordOf(before), sealedValue()),
        ]);
        expect(await stored(before)).toMatchObject({ sealedTokens: tokens, generation: before.generation + 1 });
      }),
    );
  });
});
