import { RequestChangedError, WrongPersonError } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { describe, expect, test } from 'vitest';
import { createElicitationStage, type ElicitationStage } from '../testing/elicitation-stage.ts';
import { signedInAs } from '../testing/flow-stage.ts';

const MINUTE = 60_000;

const passkey = { passkeyId: 'passkey-1', addedAt: 1000 };

async function approver(stage: ElicitationStage, shown: string, authTime?: number | 'unknown') {
  return { visitor: stage.visitor, browserSession: await stage.browserSession(authTime), shown };
}

describe('an approval', () => {
  test('completes a payment without a processor, and records the method', async () => {
    const stage = createElicitationStage();
    const asked = await stage.pay({ processor: 'none' });
    const authTime = stage.clock.now() - MINUTE;
    const { elicitation } = await approved(stage, asked, await approver(stage, asked.request.digest, authTime));
    expect(elicitation).toMatchObject({
      status: 'completed',
      outcome: { approval: { method: 'button', identity: 'login', at: stage.clock.now(), authTime } },
    });
  });

  test('that is repeated returns the first decision, even with an old sign-in', async () => {
    const stage = createElicitationStage();
    const asked = await stage.pay({ processor: 'none' });
    const person = await approver(stage, asked.request.digest);
    const first = await approved(stage, asked, person);
    stage.clock.advance(6 * MINUTE);
    const second = await approved(stage, await stage.again(asked, 'payment'), person);
    expect(second).toEqual(first);
    expect(stage.eventsNamed('elicitation.approved')).toHaveLength(1);
  });

  test('of other terms than those requested writes nothing', async () => {
    const stage = createElicitationStage();
    const asked = await stage.confirm();
    const other = await stage.confirm({ title: 'Delete everything' });
    const person = await approver(stage, other.request.digest);
    await expect(stage.approvalFlow(asked, person)).rejects.toThrow(RequestChangedError);
    expect(await stage.again(asked, 'confirmation')).toEqual(asked);
  });

  test('by another person writes nothing', async () => {
    const stage = createElicitationStage();
    const asked = await stage.pay();
    const person = { ...(await approver(stage, asked.request.digest)), visitor: signedInAs(samples.somebody()) };
    await expect(stage.approvalFlow(asked, person)).rejects.toThrow(WrongPersonError);
    expect(await stage.again(asked, 'payment')).toEqual(asked);
  });
});

describe('an approval needs', () => {
  test.each([6 * MINUTE, 'unknown'] as const)(
    'another sign-in if the last one is too old or of unknown age: %s',
    async age => {
      const stage = createElicitationStage();
      const asked = await stage.pay();
      const authTime = age === 'unknown' ? age : stage.clock.now() - age;
      const person = await approver(stage, asked.request.digest, authTime);
      expect(await stage.approvalFlow(asked, person)).toEqual({ result: 'sign_in_again' });
      expect(await stage.again(asked, 'payment')).toEqual(asked);
    },
  );

  test('a passkey above the threshold', async () => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR: 2489 } } });
    const asked = await stage.pay({ processor: 'none' });
    const person = await approver(stage, asked.request.digest);
    expect(await stage.approvalFlow(asked, person)).toEqual({ result: 'passkey_needed' });
    const { elicitation } = await approved(stage, asked, person, passkey);
    expect(elicitation).toMatchObject({
      outcome: { approval: { method: 'passkey', passkey: 'passkey-1', passkeyAddedAt: 1000 } },
    });
  });

  test('a passkey also if the processor returns the payment while the user presses the button', async () => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR: 0 } } });
    const asked = await stage.pay();
    const person = await approver(stage, asked.request.digest);
    const { elicitation: charging } = await approved(stage, asked, person, passkey);
    const seen = await stage.again(charging, 'payment');
    // Read while it was charging. Then the processor reports that nothing was paid.
    if (seen.status !== 'active') throw new Error('not charging');
    await stage.service.settle(seen.elicitationId, seen.attempt, { result: 'closed', as: 'retry' });
    await stage.approvalFlow(seen, { ...person, browserSession: await stage.browserSession(0) });
    expect(await stage.again(asked, 'payment')).toMatchObject({
      status: 'pending',
      retryReason: 'payment_not_finished',
    });
  });
});

async function approved(
  stage: ElicitationStage,
  ...[elicitation, person, passkey]: Parameters<ElicitationStage['approvalFlow']>
) {
  const approved = await stage.approvalFlow(elicitation, person, passkey);
  if (approved.result !== 'approved') throw new Error(approved.result);
  return approved;
}
