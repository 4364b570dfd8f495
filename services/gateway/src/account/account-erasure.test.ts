import { type Elicitation, newBrowserSessionId, shardOf, systemEntropy } from '@postern/elicitation';
import { kindSamples, samples } from '@postern/testkit/contract';
import { describe, expect, it } from 'vitest';
import { createDisconnection } from '../authorization/disconnection.ts';
import { createCredentialFlow } from '../entries/credential-flow.ts';
import { createFlowStage } from '../testing/flow-stage.ts';
import { createErasure } from './account-erasure.ts';

const lifetime = { idleMs: 60_000, absoluteMs: 60_000 };

/** A signed-in user with two connections, a credential and open elicitations of this and of another kind of progress. */
async function settled() {
  const stage = createFlowStage({
    revocationReach: 'token',
    isRevocable: async () => true,
    revoke: async () => 'revoked',
  });
  const { subject, stores } = stage;
  const issue = (sample: Parameters<typeof kindSamples.askFor>[0]) =>
    samples.created(stores.elicitations, {
      ...kindSamples.askFor(sample, subject),
      coalescingDigest: samples.operation(),
    });
  const connections = [await stage.connect(), await stage.connect({ owner: 'calendar' })];
  const lasting = await issue('lasting');
  await samples.moved(stores.elicitations, lasting, kindSamples.answer(lasting));
  const open = await issue('confirmation');
  const paying = await samples.moved(
    stores.elicitations,
    await issue('payment'),
    kindSamples.approve,
    kindSamples.charge,
  );
  await samples.moved(stores.elicitations, paying, kindSamples.answer(paying));
  const charging = await samples.moved(stores.elicitations, await issue('payment'), kindSamples.approve);
  const browserSession = await stores.browserSessions.create(
    {
      id: newBrowserSessionId(shardOf(subject), systemEntropy),
      subject,
      origin: { identityProvider: 'example-id' },
      displayName: 'Alice',
      authTime: stage.clock.now(),
    },
    lifetime,
  );
  const { erase } = createErasure({
    deps: { ...stage, disconnection: createDisconnection(stage), credentialFlow: createCredentialFlow(stage) },
  });
  const left = async () => ({
    connections: (await stores.connections.list(subject)).length,
    credentials: (await stores.credentials.list(subject)).length,
    open: (await stores.elicitations.read(open.elicitationId))?.status,
    payments: (await stores.payments.listPaid({ subject, skip: 0, limit: 9 })).length,
    isSignedIn: (await stores.browserSessions.read(browserSession.id)) !== undefined,
  });
  const statusOf = async ({ elicitationId }: Elicitation) => (await stores.elicitations.read(elicitationId))?.status;
  return {
    ...stage,
    browserSession,
    charging,
    paying,
    connections,
    erase: () => erase(browserSession),
    left,
    statusOf,
  };
}

const NOTHING = { connections: 0, credentials: 0, open: 'declined', payments: 0, isSignedIn: false };

describe('S103: deletion', () => {
  it('removes everything, leaves a charging payment to its processor, and reports what the providers answered', async () => {
    const { erase, left, statusOf, charging, paying, stores, eventsNamed } = await settled();
    expect((await left()).payments).toBe(1);
    expect(await erase()).toMatchObject([{ revocation: 'revoked' }, { revocation: 'revoked' }]);
    expect(await left()).toEqual(NOTHING);
    expect(await statusOf(charging)).toBe('active');
    expect(await stores.payments.list(paying.elicitationId)).toHaveLength(1);
    expect(eventsNamed('account.erased')).toMatchObject([{ declined: 1, connections: 2, credentials: 1 }]);
  });

  it.each([
    ['connections', 'remove'],
    ['credentials', 'remove'],
    ['browserSessions', 'endAll'],
  ] as const)('a crash in %s.%s leaves the user signed in, and a repeat completes it', async (store, verb) => {
    const { erase, left, stores, losesNext, eventsNamed } = await settled();
    losesNext(stores[store] as unknown as Record<typeof verb, unknown>, verb);
    await expect(erase()).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(await left()).toMatchObject({ open: 'declined', isSignedIn: true });
    expect(eventsNamed('account.erased')).toEqual([]);
    await erase();
    expect(await left()).toEqual(NOTHING);
    expect(eventsNamed('connection.disconnected')).toHaveLength(2);
    expect(eventsNamed('account.erased')).toHaveLength(1);
  });

  it('fails an elicitation that waits for an application, also if the provider answered during the deletion', async () => {
    const stage = await settled();
    const { stores, subject, browserSession, service } = stage;
    await createDisconnection(stage).disconnectAll(await stores.connections.list(subject), 'person');
    const asked = await samples.created(stores.elicitations, samples.ask(subject));
    const atProvider = await samples.moved(stores.elicitations, asked, samples.engage);
    const decline: typeof service.decline = async (...values) => {
      await samples.moved(stores.elicitations, atProvider, samples.hold);
      return service.decline(...values);
    };
    const { erase } = createErasure({
      deps: {
        ...stage,
        service: { ...service, listOpen: async () => [atProvider], decline },
        disconnection: createDisconnection(stage),
        credentialFlow: createCredentialFlow(stage),
      },
    });
    await erase(browserSession);
    expect(await stores.elicitations.read(asked.elicitationId)).toMatchObject({
      status: 'failed',
      failure: 'verification_expired',
    });
  });

  it('repeating it changes nothing', async () => {
    const { erase, left } = await settled();
    await erase();
    expect(await erase()).toEqual([]);
    expect(await left()).toEqual(NOTHING);
  });
});
