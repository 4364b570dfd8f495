import { RequestChangedError, WrongPersonError } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { describe, expect, test } from 'vitest';
import { type AsksStage, createAsksStage } from '../testing/asks-stage.ts';
import { signedInAs } from '../testing/flow-stage.ts';

const MINUTE = 60_000;

const passkey = { passkeyId: 'passkey-1', addedAt: 1000 };

async function approver(stage: AsksStage, shown: string, authTime?: number | 'unknown') {
  return { visitor: stage.visitor, browserSession: await stage.browserSession(authTime), shown };
}

describe('a person approves', () => {
  test('a payment without a processor: it is done, and says how it was approved', async () => {
    const stage = createAsksStage();
    const asked = await stage.pay({ processor: 'none' });
    const authTime = stage.clock.now() - MINUTE;
    const { elicitation } = await approved(stage, asked, await approver(stage, asked.request.digest, authTime));
    expect(elicitation).toMatchObject({
      status: 'completed',
      outcome: { approval: { method: 'button', identity: 'login', at: stage.clock.now(), authTime } },
    });
  });

  test('twice: the second is answered with the first, however old the sign-in is by then', async () => {
    const stage = createAsksStage();
    const asked = await stage.pay({ processor: 'none' });
    const person = await approver(stage, asked.request.digest);
    const first = await approved(stage, asked, person);
    stage.clock.advance(6 * MINUTE);
    const second = await approved(stage, await stage.again(asked, 'payment'), person);
    expect(second).toEqual(first);
    expect(stage.eventsNamed('elicitation.approved')).toHaveLength(1);
  });

  test('something else than was asked: nothing is written', async () => {
    const stage = createAsksStage();
    const asked = await stage.confirm();
    const other = await stage.confirm({ title: 'Delete everything' });
    const person = await approver(stage, other.request.digest);
    await expect(stage.approvalFlow(asked, person)).rejects.toThrow(RequestChangedError);
    expect(await stage.again(asked, 'confirmation')).toEqual(asked);
  });

  test('as somebody else: nothing is written', async () => {
    const stage = createAsksStage();
    const asked = await stage.pay();
    const person = { ...(await approver(stage, asked.request.digest)), visitor: signedInAs(samples.somebody()) };
    await expect(stage.approvalFlow(asked, person)).rejects.toThrow(WrongPersonError);
    expect(await stage.again(asked, 'payment')).toEqual(asked);
  });
});

describe('what is still to be proved', () => {
  test.each([6 * MINUTE, 'unknown'] as const)('a sign-in of that age (%s) does not do', async age => {
    const stage = createAsksStage();
    const asked = await stage.pay();
    const authTime = age === 'unknown' ? age : stage.clock.now() - age;
    const person = await approver(stage, asked.request.digest, authTime);
    expect(await stage.approvalFlow(asked, person)).toEqual({ result: 'sign_in_again' });
    expect(await stage.again(asked, 'payment')).toEqual(asked);
  });

  test('a passkey above the threshold', async () => {
    const stage = createAsksStage({ payment: { passkeyAbove: { EUR: 2489 } } });
    const asked = await stage.pay({ processor: 'none' });
    const person = await approver(stage, asked.request.digest);
    expect(await stage.approvalFlow(asked, person)).toEqual({ result: 'passkey_needed' });
    const { elicitation } = await approved(stage, asked, person, passkey);
    expect(elicitation).toMatchObject({
      outcome: { approval: { method: 'passkey', passkey: 'passkey-1', passkeyAddedAt: 1000 } },
    });
  });

  test('a payment that comes back from its processor while the button is pressed is not approved by the button alone', async () => {
    const stage = createAsksStage({ payment: { passkeyAbove: { EUR: 0 } } });
    const asked = await stage.pay();
    const person = await approver(stage, asked.request.digest);
    const { elicitation: charging } = await approved(stage, asked, person, passkey);
    const seen = await stage.again(charging, 'payment');
    // Read while it was charging; then the processor says that nothing was paid.
    if (seen.status !== 'active') throw new Error('not charging');
    await stage.service.settle(seen.elicitationId, seen.attempt, { result: 'closed', as: 'retry' });
    await stage.approvalFlow(seen, { ...person, browserSession: await stage.browserSession(0) });
    expect(await stage.again(asked, 'payment')).toMatchObject({ status: 'pending', trouble: 'payment_not_finished' });
  });
});

async function approved(stage: AsksStage, ...[elicitation, person, passkey]: Parameters<AsksStage['approvalFlow']>) {
  const approved = await stage.approvalFlow(elicitation, person, passkey);
  if (approved.result !== 'approved') throw new Error(approved.result);
  return approved;
}
