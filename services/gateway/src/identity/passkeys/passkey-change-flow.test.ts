import type { BrowserSession } from '@postern/elicitation';
import { createPasskeys, passkeyChallenge } from '@postern/payment';
import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { describe, expect, test } from 'vitest';
import { PasskeyFlow } from '../../payments/passkey-flow.ts';
import { createElicitationStage } from '../../testing/elicitation-stage.ts';
import { type CeremonyStart, PasskeyCeremonies } from './passkey-ceremony.ts';
import { type PasskeyChange, PasskeyChangeFlow } from './passkey-change-flow.ts';
import { MAX_PASSKEYS } from './user-passkeys.ts';

const ORIGIN = 'https://gate.example';
const MINUTE = 60_000;

/** A user with one passkey, and their browser session. */
async function createBench() {
  const stage = createElicitationStage();
  const passkeys = createPasskeys({ rpId: 'gate.example', rpName: 'Postern', origin: ORIGIN });
  const announcedAs = () => undefined;
  const ceremonies = new PasskeyCeremonies({ ...stage, passkeys, announcedAs });
  const flow = new PasskeyChangeFlow({ ...stage, ceremonies, announcedAs });
  const approvals = new PasskeyFlow({ ...stage, ceremonies });
  const session = await stage.browserSession();

  const ids = async () => (await stage.stores.passkeys.list(stage.subject)).map(({ passkeyId }) => passkeyId);
  const optionsOf = ({ optionsJson }: CeremonyStart): unknown => JSON.parse(optionsJson);
  const answer = ({ ceremony }: CeremonyStart, response: unknown) => ({ ceremony, response: JSON.stringify(response) });

  async function device(): Promise<SoftwareAuthenticator> {
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    const options = await passkeys.registrationOptions({
      subject: stage.subject,
      displayName: 'Somebody',
      existing: [],
      challenge: passkeyChallenge({ nonce: new Uint8Array(16), digest: 'A'.repeat(43), elicitationId: 'el_1' }),
    });
    const challenge = Buffer.from(options.challenge, 'base64url');
    const response = authenticator.create(options);
    await stage.stores.passkeys.add(
      await passkeys.verifyRegistration({ response, challenge, subject: stage.subject }),
      MAX_PASSKEYS,
    );
    return authenticator;
  }

  async function begin(change: PasskeyChange, by: BrowserSession = session): Promise<CeremonyStart> {
    const started = await flow.begin(by, change);
    if (started === undefined) throw new Error('no passkey');
    return started;
  }

  const own = await device();
  return {
    stage,
    flow,
    approvals,
    session,
    own,
    ids,
    device,
    begin,
    answer,
    optionsOf,
    /** The response of an authenticator to a ceremony that permits this change. */
    async proof(change: PasskeyChange, by = own, in_ = session) {
      const started = await begin(change, in_);
      return answer(started, by.get(optionsOf(started)));
    },
    async permitted(): Promise<CeremonyStart> {
      const started = await begin({ to: 'add' });
      const next = await flow.permit(session, answer(started, own.get(optionsOf(started))));
      if (next === undefined) throw new Error('not permitted');
      return next;
    },
  };
}

const remove = (passkeyId: string): PasskeyChange => ({ to: 'remove', passkeyId });

describe('S67: removing a passkey', () => {
  test('works with an assertion of that passkey or of another one of the user', async () => {
    const bench = await createBench();
    const other = await bench.device();
    const byOther = await bench.proof(remove(other.credentialId), bench.own);
    expect(await bench.flow.remove(bench.session, { passkeyId: other.credentialId }, byOther)).toBe(true);
    expect(await bench.ids()).toEqual([bench.own.credentialId]);
    const byItself = await bench.proof(remove(bench.own.credentialId));
    expect(await bench.flow.remove(bench.session, { passkeyId: bench.own.credentialId }, byItself)).toBe(true);
    expect(await bench.ids()).toEqual([]);
    expect(bench.stage.eventsNamed('passkey.removed')).toHaveLength(2);
    expect(await bench.flow.begin(bench.session, { to: 'add' })).toBeUndefined();
  });

  type Bench = Awaited<ReturnType<typeof createBench>>;
  test.each<[string, (bench: Bench) => Promise<{ ceremony: string; response: string }>]>([
    ['no ceremony', async () => ({ ceremony: 'x', response: '{}' })],
    ['no answer', async ({ begin, own }) => ({ ...(await begin(remove(own.credentialId))), response: 'null' })],
    [
      'a passkey that the user does not have',
      bench => bench.proof(remove(bench.own.credentialId), new SoftwareAuthenticator(ORIGIN)),
    ],
    ['an assertion that permits another passkey', bench => bench.proof({ to: 'add' })],
    ['an assertion that removes another passkey', bench => bench.proof(remove('another'))],
    [
      'an assertion in another browser session',
      async bench => bench.proof(remove(bench.own.credentialId), bench.own, await bench.stage.browserSession()),
    ],
    [
      'an assertion without user verification',
      async ({ begin, answer, optionsOf, own }) => {
        const started = await begin(remove(own.credentialId));
        return answer(started, own.get(optionsOf(started), { verified: false }));
      },
    ],
    [
      'an assertion that approves a payment',
      async ({ stage, approvals, session, own }) => {
        const asked = await stage.pay();
        const { ceremony, optionsJson } = await approvals.begin(asked, { browserSession: session, secret: session.id });
        return { ceremony, response: JSON.stringify(own.get(JSON.parse(optionsJson))) };
      },
    ],
    [
      'an assertion that is five minutes old',
      async bench => {
        const proof = await bench.proof(remove(bench.own.credentialId));
        bench.stage.clock.advance(5 * MINUTE);
        return proof;
      },
    ],
  ])('is refused with %s', async (_, proofFrom) => {
    const bench = await createBench();
    const proof = await proofFrom(bench);
    expect(await bench.flow.remove(bench.session, { passkeyId: bench.own.credentialId }, proof)).toBe(false);
    expect(await bench.ids()).toEqual([bench.own.credentialId]);
    expect(bench.stage.eventsNamed('passkey.refused')).toHaveLength(1);
    expect(bench.stage.eventsNamed('passkey.removed')).toEqual([]);
  });

  test('happens once for many simultaneous responses to one ceremony', async () => {
    const bench = await createBench();
    const passkeyId = bench.own.credentialId;
    const proof = await bench.proof(remove(passkeyId));
    const results = await Promise.all(
      Array.from({ length: 20 }, () => bench.flow.remove(bench.session, { passkeyId }, proof)),
    );
    expect(results.filter(removed => removed)).toHaveLength(1);
    expect(bench.stage.eventsNamed('passkey.removed')).toHaveLength(1);
  });
});

describe('S67: adding a further passkey', () => {
  test('works after an assertion of one of the user’s passkeys', async () => {
    const bench = await createBench();
    const next = await bench.permitted();
    expect(next.mode).toBe('register');
    const added = new SoftwareAuthenticator(ORIGIN);
    expect(await bench.flow.add(bench.session, bench.answer(next, added.create(bench.optionsOf(next))))).toBe(true);
    expect((await bench.ids()).toSorted()).toEqual([bench.own.credentialId, added.credentialId].toSorted());
    expect(bench.stage.eventsNamed('passkey.added')).toHaveLength(1);
  });

  test('is refused with an assertion of a passkey that the user does not have', async () => {
    const bench = await createBench();
    const proof = await bench.proof({ to: 'add' }, new SoftwareAuthenticator(ORIGIN));
    expect(await bench.flow.permit(bench.session, proof)).toBeUndefined();
  });

  test('is refused with the ceremony of a first passkey, which no assertion has permitted', async () => {
    const bench = await createBench();
    const asked = await bench.stage.pay();
    const stranger = { issuer: 'https://another.example', subject: 'stranger' };
    const started = await bench.approvals.begin(
      { ...asked, subject: stranger },
      {
        browserSession: bench.session,
        secret: bench.session.id,
      },
    );
    expect(started.mode).toBe('register');
    const thief = new SoftwareAuthenticator(ORIGIN);
    const answer = bench.answer(started, thief.create(JSON.parse(started.optionsJson)));
    expect(await bench.flow.add(bench.session, answer)).toBe(false);
    expect(await bench.ids()).toEqual([bench.own.credentialId]);
  });

  test('is refused in another browser session than the permitting one', async () => {
    const bench = await createBench();
    const next = await bench.permitted();
    const response = new SoftwareAuthenticator(ORIGIN).create(bench.optionsOf(next));
    const other = await bench.stage.browserSession();
    expect(await bench.flow.add(other, bench.answer(next, response))).toBe(false);
    expect(await bench.ids()).toEqual([bench.own.credentialId]);
  });

  test('is refused if the permitting passkey has been removed since', async () => {
    const bench = await createBench();
    const next = await bench.permitted();
    await bench.device();
    await bench.stage.stores.passkeys.remove(bench.stage.subject, bench.own.credentialId);
    const response = new SoftwareAuthenticator(ORIGIN).create(bench.optionsOf(next));
    expect(await bench.flow.add(bench.session, bench.answer(next, response))).toBe(false);
    expect(await bench.ids()).toHaveLength(1);
  });

  test('happens once for many simultaneous responses to one permission', async () => {
    const bench = await createBench();
    const next = await bench.permitted();
    const results = await Promise.all(
      Array.from({ length: 20 }, () =>
        bench.flow.add(
          bench.session,
          bench.answer(next, new SoftwareAuthenticator(ORIGIN).create(bench.optionsOf(next))),
        ),
      ),
    );
    expect(results.filter(added => added)).toHaveLength(1);
    expect(await bench.ids()).toHaveLength(2);
  });

  test('is permitted once for many simultaneous responses to one ceremony', async () => {
    const bench = await createBench();
    const proof = await bench.proof({ to: 'add' });
    const results = await Promise.all(Array.from({ length: 20 }, () => bench.flow.permit(bench.session, proof)));
    expect(results.filter(started => started !== undefined)).toHaveLength(1);
  });

  test('is refused at the maximum number of passkeys', async () => {
    const bench = await createBench();
    for (let n = 1; n < MAX_PASSKEYS; n += 1) await bench.device();
    const next = await bench.permitted();
    const response = new SoftwareAuthenticator(ORIGIN).create(bench.optionsOf(next));
    expect(await bench.flow.add(bench.session, bench.answer(next, response))).toBe(false);
    expect(await bench.ids()).toHaveLength(MAX_PASSKEYS);
  });
});
