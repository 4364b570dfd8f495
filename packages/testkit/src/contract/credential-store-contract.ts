import {
  type Credential,
  credentialIdOf,
  type NewCredential,
  type Subject,
  USE_NOTED_AGAIN_MS,
} from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { CROWD, crowd, suite } from './contract-stores.ts';
import { answer, askFor, credentialFor, credentialIdFor } from './kind-samples.ts';
import { created, moved, operation, secretDigest, somebody } from './samples.ts';

/** CredentialStore, and the commits that fill it: one set of values per owner, subject and name, as the user typed it last. */
export const describeCredentialStore = suite('credentials', stores => {
  /** Creates a new elicitation, whatever is already stored. */
  const pending = (person: Subject) => {
    const { answeredBy: _, ...request } = askFor('lasting', person, { coalescingDigest: operation() });
    return created(stores.elicitations, request);
  };
  async function kept(person: Subject, change: Partial<NewCredential> = {}): Promise<Credential> {
    const elicitation = await pending(person);
    const putCredential = credentialFor(elicitation, change);
    const { credentialId } = putCredential;
    const next = {
      status: 'completed',
      outcome: { kind: 'credential', name: 'acme-api', credentialId },
    } as const;
    await moved(stores.elicitations, elicitation, { ...answer(elicitation), next, putCredential });
    const stored = await stores.credentials.read(credentialId);
    if (stored === undefined) throw new Error('Expected a credential.');
    return stored;
  }

  test('the completing commit stores the credential, in generation 1', async () => {
    const elicitation = await pending(somebody());
    const completed = await moved(stores.elicitations, elicitation, answer(elicitation));
    const { credentialId } = credentialFor(elicitation);
    expect(completed).toMatchObject({
      status: 'completed',
      version: 2,
      outcome: { kind: 'credential', name: 'acme-api', credentialId },
    });
    expect(await stores.elicitations.read(completed.elicitationId)).toEqual(completed);
    const now = stores.clock.now();
    expect(await stores.credentials.read(credentialId)).toEqual({
      ...credentialFor(elicitation),
      generation: 1,
      createdAt: now,
      updatedAt: now,
    });
  });

  test('returns undefined for an unknown credential', async () => {
    expect(await stores.credentials.read(credentialIdFor(somebody()))).toBeUndefined();
  });

  test('typing a credential again replaces all members except createdAt and the last use', async () => {
    const person = somebody();
    const first = await kept(person);
    const use = { mcpServerId: 'issue-tracker', tool: 'deploy' };
    await stores.credentials.recordUse({ credentialId: first.credentialId, use });
    const usedAt = stores.clock.now();
    stores.clock.advance(10_000);
    const second = await kept(person, { sealedValues: 'newer', title: 'Key of Acme', fields: ['key'] });
    expect(second).toEqual({
      ...credentialFor(second),
      sealedValues: 'newer',
      title: 'Key of Acme',
      fields: ['key'],
      lastUse: { ...use, at: usedAt },
      generation: 2,
      createdAt: first.createdAt,
      updatedAt: stores.clock.now(),
    });
  });

  test('stores nothing on a conflict', async () => {
    const elicitation = await pending(somebody());
    const stale = { current: elicitation, operationId: operation(), ...answer(elicitation) };
    await moved(stores.elicitations, elicitation, { events: ['cancel'], next: { status: 'cancelled' } });
    expect(await stores.elicitations.transition(stale)).toMatchObject({ result: 'conflict' });
    expect(await stores.credentials.read(credentialFor(elicitation).credentialId)).toBeUndefined();
  });

  test('does not store a credential that was typed after expiresAt', async () => {
    const elicitation = await pending(somebody());
    stores.clock.set(elicitation.expiresAt);
    const late = { current: elicitation, operationId: operation(), ...answer(elicitation) };
    expect(await stores.elicitations.transition(late)).toEqual({ result: 'untimely', current: elicitation });
    expect(await stores.credentials.read(credentialFor(elicitation).credentialId)).toBeUndefined();
  });

  test('a repeated completion stores nothing twice, and restores no removed credential', async () => {
    const elicitation = await pending(somebody());
    const move = { current: elicitation, operationId: operation(), ...answer(elicitation) };
    const first = await stores.elicitations.transition(move);
    expect(await stores.elicitations.transition(move)).toEqual(first);
    const { credentialId } = credentialFor(elicitation);
    expect(await stores.credentials.read(credentialId)).toMatchObject({ generation: 1 });
    await stores.credentials.remove(credentialId);
    expect(await stores.elicitations.transition(move)).toEqual(first);
    expect(await stores.credentials.read(credentialId)).toBeUndefined();
  });

  test('stores the credential of one of many concurrent completions', async () => {
    const current = await pending(somebody());
    const results = await crowd(nth => {
      const putCredential = credentialFor(current, { sealedValues: `sealed-${nth}` });
      return stores.elicitations.transition({
        current,
        operationId: operation(),
        ...answer(current),
        putCredential,
      });
    });
    expect(results.filter(({ result }) => result === 'applied')).toHaveLength(1);
    expect(results.filter(({ result }) => result === 'conflict')).toHaveLength(CROWD - 1);
    const winner = results.findIndex(({ result }) => result === 'applied');
    expect(await stores.credentials.read(credentialFor(current).credentialId)).toMatchObject({
      generation: 1,
      sealedValues: `sealed-${winner}`,
    });
  });

  test('lists the credentials of a person, of every owner, oldest first', async () => {
    const [person, other] = [somebody(), somebody()];
    expect(await stores.credentials.list(person)).toEqual([]);
    const credentialId = credentialIdOf({ owner: 'calendar', subject: person, name: 'acme-api' });
    const first = await kept(person, { owner: 'calendar', credentialId });
    stores.clock.advance(1);
    const second = await kept(person);
    await kept(other);
    expect(await stores.credentials.list(person)).toEqual([first, second]);
    await stores.credentials.remove(first.credentialId);
    expect(await stores.credentials.list(person)).toEqual([second]);
  });

  test('removing returns the credential, and undefined the second time', async () => {
    const credential = await kept(somebody());
    expect(await stores.credentials.remove(credential.credentialId)).toEqual(credential);
    expect(await stores.credentials.remove(credential.credentialId)).toBeUndefined();
    expect(await stores.credentials.read(credential.credentialId)).toBeUndefined();
  });

  test('a credential typed after the removal starts in generation 1', async () => {
    const person = somebody();
    const first = await kept(person);
    await stores.credentials.recordUse({
      credentialId: first.credentialId,
      use: { mcpServerId: 'issue-tracker' },
    });
    await stores.credentials.remove(first.credentialId);
    stores.clock.advance(1);
    const second = await kept(person);
    expect(second).toMatchObject({ generation: 1, createdAt: stores.clock.now() });
    expect(second).not.toHaveProperty('lastUse');
  });

  describe('use', () => {
    const use = { mcpServerId: 'issue-tracker', tool: 'deploy' };
    const lastUse = async ({ credentialId }: Credential) => (await stores.credentials.read(credentialId))?.lastUse;

    test('writes the same use at most once a minute, and another use immediately', async () => {
      const credential = await kept(somebody());
      const { credentialId } = credential;
      await stores.credentials.recordUse({ credentialId, use });
      const first = { ...use, at: stores.clock.now() };
      expect(await stores.credentials.read(credentialId)).toEqual({ ...credential, lastUse: first });
      stores.clock.advance(USE_NOTED_AGAIN_MS - 1);
      await stores.credentials.recordUse({ credentialId, use });
      expect(await lastUse(credential)).toEqual(first);
      await stores.credentials.recordUse({ credentialId, use: { mcpServerId: 'calendar' } });
      expect(await lastUse(credential)).toEqual({ mcpServerId: 'calendar', at: stores.clock.now() });
      stores.clock.advance(USE_NOTED_AGAIN_MS);
      await stores.credentials.recordUse({ credentialId, use: { mcpServerId: 'calendar' } });
      expect(await lastUse(credential)).toEqual({ mcpServerId: 'calendar', at: stores.clock.now() });
    });

    test('recording the use of a removed credential writes nothing', async () => {
      const credential = await kept(somebody());
      await stores.credentials.remove(credential.credentialId);
      await stores.credentials.recordUse({ credentialId: credential.credentialId, use });
      expect(await stores.credentials.read(credential.credentialId)).toBeUndefined();
      expect(await stores.credentials.list(credential.subject)).toEqual([]);
    });
  });

  describe('a request that a credential may answer', () => {
    const ask = (person: Subject, change = {}) => stores.elicitations.create(askFor('lasting', person, change));

    test('returns an unreported credential rather than an open elicitation', async () => {
      const person = somebody();
      const { elicitationId } = await pending(person);
      await created(stores.elicitations, askFor('lasting', person));
      const credential = await kept(person);
      expect(await ask(person)).toEqual({ result: 'existing_credential', credential });
      expect(await ask(person, { seen: { answer: credential } })).toMatchObject({ result: 'open' });
      expect(elicitationId).not.toBe(credential.elicitationId);
    });

    test('returns the credential again after the user has changed it, or deleted and entered it again', async () => {
      const person = somebody();
      const first = await kept(person);
      const second = await kept(person);
      expect(await ask(person, { seen: { answer: first } })).toEqual({
        result: 'existing_credential',
        credential: second,
      });
      await stores.credentials.remove(first.credentialId);
      stores.clock.advance(1);
      const third = await kept(person);
      expect(await ask(person, { seen: { answer: first } })).toEqual({
        result: 'existing_credential',
        credential: third,
      });
    });

    test('never returns a credential of another name or user', async () => {
      const person = somebody();
      await kept(somebody());
      await kept(person);
      const answeredBy = credentialIdFor(person, 'other');
      expect(await ask(person, { answeredBy, coalescingDigest: secretDigest() })).toMatchObject({
        result: 'created',
      });
    });

    test('returns no credential without `answeredBy`', async () => {
      const person = somebody();
      await kept(person);
      const { answeredBy: _, ...request } = askFor('lasting', person);
      expect(await stores.elicitations.create(request)).toMatchObject({ result: 'created' });
    });
  });
});
