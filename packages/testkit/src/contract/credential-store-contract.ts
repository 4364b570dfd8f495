import {
  type Credential,
  credentialIdOf,
  type NewCredential,
  type Subject,
  USE_NOTED_AGAIN_MS,
} from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ContractStores, CROWD, crowd, type MakeStores } from './contract-stores.ts';
import { answer, askFor, credentialFor, credentialIdFor } from './kind-samples.ts';
import { created, moved, operation, secretDigest, somebody } from './samples.ts';

/** CredentialStore, and the commits that fill it: one value per owner, subject and name, as the person typed it last. */
export function describeCredentialStore(name: string, makeStores: MakeStores): void {
  describe(`${name}: credentials`, () => {
    let stores: ContractStores;
    beforeAll(async () => {
      stores = await makeStores();
    });
    afterAll(() => stores[Symbol.asyncDispose]());

    /** Asks anew, whatever is kept already. */
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

    test('what is typed is stored by the commit that completes, in generation 1', async () => {
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
        ...{ layout: 1, generation: 1, createdAt: now, updatedAt: now },
      });
    });

    test('an unknown one reads as nothing', async () => {
      expect(await stores.credentials.read(credentialIdFor(somebody()))).toBeUndefined();
    });

    test('typing it again replaces everything but the time of the first and its last use', async () => {
      const person = somebody();
      const first = await kept(person);
      const use = { mcpServerId: 'issue-tracker', tool: 'deploy' };
      await stores.credentials.noteUse({ credentialId: first.credentialId, use });
      const usedAt = stores.clock.now();
      stores.clock.advance(10_000);
      const second = await kept(person, { sealedValues: 'newer', title: 'Key of Acme', fields: ['key'] });
      expect(second).toEqual({
        ...credentialFor(second),
        ...{ sealedValues: 'newer', title: 'Key of Acme', fields: ['key'], lastUse: { ...use, at: usedAt } },
        ...{ layout: 1, generation: 2, createdAt: first.createdAt, updatedAt: stores.clock.now() },
      });
    });

    test('a conflict stores nothing', async () => {
      const elicitation = await pending(somebody());
      const stale = { current: elicitation, operationId: operation(), ...answer(elicitation) };
      await moved(stores.elicitations, elicitation, { events: ['cancel'], next: { status: 'cancelled' } });
      expect(await stores.elicitations.transition(stale)).toMatchObject({ result: 'conflict' });
      expect(await stores.credentials.read(credentialFor(elicitation).credentialId)).toBeUndefined();
    });

    test('what is typed too late is not stored', async () => {
      const elicitation = await pending(somebody());
      stores.clock.set(elicitation.expiresAt);
      const late = { current: elicitation, operationId: operation(), ...answer(elicitation) };
      expect(await stores.elicitations.transition(late)).toEqual({ result: 'untimely', current: elicitation });
      expect(await stores.credentials.read(credentialFor(elicitation).credentialId)).toBeUndefined();
    });

    test('a repeat of the completion stores nothing twice, and brings back nothing that was removed since', async () => {
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

    test('of many who complete at once, one stores what was typed', async () => {
      const current = await pending(somebody());
      const results = await crowd(nth => {
        const putCredential = credentialFor(current, { sealedValues: `sealed-${nth}` });
        return stores.elicitations.transition({
          ...{ current, operationId: operation(), ...answer(current) },
          putCredential,
        });
      });
      expect(results.filter(({ result }) => result === 'applied')).toHaveLength(1);
      expect(results.filter(({ result }) => result === 'conflict')).toHaveLength(CROWD - 1);
      const winner = results.findIndex(({ result }) => result === 'applied');
      expect(await stores.credentials.read(credentialFor(current).credentialId)).toMatchObject({
        ...{ generation: 1, sealedValues: `sealed-${winner}` },
      });
    });

    test('lists those of a person, of every owner, oldest first', async () => {
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

    test('removing answers with what was there, and then with nothing', async () => {
      const credential = await kept(somebody());
      expect(await stores.credentials.remove(credential.credentialId)).toEqual(credential);
      expect(await stores.credentials.remove(credential.credentialId)).toBeUndefined();
      expect(await stores.credentials.read(credential.credentialId)).toBeUndefined();
    });

    test('what is typed after removing begins anew', async () => {
      const person = somebody();
      const first = await kept(person);
      await stores.credentials.noteUse({
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

      test('the same is noted to the minute, another one at once', async () => {
        const credential = await kept(somebody());
        const { credentialId } = credential;
        await stores.credentials.noteUse({ credentialId, use });
        const first = { ...use, at: stores.clock.now() };
        expect(await stores.credentials.read(credentialId)).toEqual({ ...credential, lastUse: first });
        stores.clock.advance(USE_NOTED_AGAIN_MS - 1);
        await stores.credentials.noteUse({ credentialId, use });
        expect(await lastUse(credential)).toEqual(first);
        await stores.credentials.noteUse({ credentialId, use: { mcpServerId: 'calendar' } });
        expect(await lastUse(credential)).toEqual({ mcpServerId: 'calendar', at: stores.clock.now() });
        stores.clock.advance(USE_NOTED_AGAIN_MS);
        await stores.credentials.noteUse({ credentialId, use: { mcpServerId: 'calendar' } });
        expect(await lastUse(credential)).toEqual({ mcpServerId: 'calendar', at: stores.clock.now() });
      });

      test('of what is gone leaves nothing', async () => {
        const credential = await kept(somebody());
        await stores.credentials.remove(credential.credentialId);
        await stores.credentials.noteUse({ credentialId: credential.credentialId, use });
        expect(await stores.credentials.read(credential.credentialId)).toBeUndefined();
        expect(await stores.credentials.list(credential.subject)).toEqual([]);
      });
    });

    describe('an ask that a credential may answer', () => {
      const ask = (person: Subject, change = {}) => stores.elicitations.create(askFor('lasting', person, change));

      test('is told of one nobody has looked at, before anything that is open', async () => {
        const person = somebody();
        const { elicitationId } = await pending(person);
        await created(stores.elicitations, askFor('lasting', person));
        const credential = await kept(person);
        expect(await ask(person)).toEqual({ result: 'kept', credential });
        expect(await ask(person, { seen: { answer: credential } })).toMatchObject({ result: 'open' });
        expect(elicitationId).not.toBe(credential.elicitationId);
      });

      test('is told again when other values were typed since, and when it was removed and typed anew', async () => {
        const person = somebody();
        const first = await kept(person);
        const second = await kept(person);
        expect(await ask(person, { seen: { answer: first } })).toEqual({ result: 'kept', credential: second });
        await stores.credentials.remove(first.credentialId);
        stores.clock.advance(1);
        const third = await kept(person);
        expect(await ask(person, { seen: { answer: first } })).toEqual({ result: 'kept', credential: third });
      });

      test('is not told of one of another name or person', async () => {
        const person = somebody();
        await kept(somebody());
        await kept(person);
        const answeredBy = credentialIdFor(person, 'other');
        expect(await ask(person, { answeredBy, coalescingDigest: secretDigest() })).toMatchObject({
          result: 'created',
        });
      });

      test('without such an answer is not told of any', async () => {
        const person = somebody();
        await kept(person);
        const { answeredBy: _, ...request } = askFor('lasting', person);
        expect(await stores.elicitations.create(request)).toMatchObject({ result: 'created' });
      });
    });
  });
}
