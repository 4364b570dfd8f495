import { credentialIdOf, RequestChangedError, WrongPersonError } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { VaultError } from '@postern/vault';
import { describe, expect, test, vi } from 'vitest';
import { createElicitationStage, type ElicitationStage } from '../testing/elicitation-stage.ts';
import { signedInAs } from '../testing/flow-stage.ts';
import type { CheckResult } from './credential-check.ts';
import { createSubmissionFlow } from './submission-flow.ts';

const checked = { mcpServer: { credentialChecks: { 'acme-api': { url: 'https://acme.example', bearer: 'api_key' } } } };
const values = { api_key: 'ak_1' };

/** The submission flow with a scripted credential check. */
function createBench(stage: ElicitationStage, results: CheckResult[] = []) {
  const credentialCheck = vi.fn(async () => results.shift() ?? 'accepted');
  const flow = createSubmissionFlow({ ...stage, credentialCheck });
  const submitter = (asked: { request: { digest: string } }) => ({
    visitor: stage.visitor,
    shown: asked.request.digest,
  });
  return { flow, credentialCheck, submitter };
}

async function sealedIn(
  stage: ElicitationStage,
  { elicitationId }: { elicitationId: `el_${string}` },
): Promise<string> {
  const redeemed = await stage.service.redeem(stage.caller(), elicitationId, 'r');
  return redeemed.sealed ?? '';
}

describe('a submission', () => {
  test('a submission is sealed for its elicitation and does not open for another', async () => {
    const stage = createElicitationStage();
    const { flow, submitter } = createBench(stage);
    const [one, two] = [await stage.credential(), await stage.credential({ title: 'Another' })];
    expect(await flow.credential(one, submitter(one), values)).toMatchObject({ status: 'completed' });
    await flow.credential(two, submitter(two), values);
    const sealed = await sealedIn(stage, one);
    expect(sealed).not.toContain('ak_1');
    const context = (elicitation: string) => ({
      purpose: 'result',
      kind: 'credential',
      mcpServer: 'issue-tracker',
      elicitation,
      issuer: stage.subject.issuer,
      subject: stage.subject.subject,
    });
    expect(JSON.parse(await stage.vault.open(sealed, context(one.elicitationId)))).toEqual(values);
    await expect(stage.vault.open(sealed, context(two.elicitationId))).rejects.toThrow(VaultError);
  });

  test('a submission of a lasting credential is stored for its owner under the requested name', async () => {
    const stage = createElicitationStage({ mcpServer: { group: 'acme' } });
    const { flow, submitter } = createBench(stage);
    const asked = await stage.credential({ retention: 'lasting' });
    await flow.credential(asked, submitter(asked), values);
    const credentialId = credentialIdOf({ owner: 'group:acme', subject: stage.subject, name: 'acme-api' });
    const stored = await stage.stores.credentials.read(credentialId);
    expect(stored).toMatchObject({ owner: 'group:acme', fields: ['api_key'], elicitationId: asked.elicitationId });
    expect(JSON.stringify(stored)).not.toContain('ak_1');
  });

  test('a submission of a form counts once; a second submission is dropped', async () => {
    const stage = createElicitationStage();
    const { flow, submitter } = createBench(stage);
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } } as const;
    const asked = await stage.form({ requestedSchema });
    const first = await flow.form(asked, submitter(asked), { name: 'first' });
    expect(await flow.form(asked, submitter(asked), { name: 'second' })).toEqual(first);
    const { issuer, subject } = stage.subject;
    const context = { purpose: 'result', kind: 'form', mcpServer: 'issue-tracker', issuer, subject };
    const json = await stage.vault.open(await sealedIn(stage, asked), { ...context, elicitation: asked.elicitationId });
    expect(JSON.parse(json)).toEqual({ name: 'first' });
  });

  test('a submission for a changed request or by a wrong person is neither stored nor checked', async () => {
    const stage = createElicitationStage(checked);
    const { flow, submitter, credentialCheck } = createBench(stage);
    const asked = await stage.credential();
    const other = await stage.credential({ title: 'Another' });
    await expect(flow.credential(asked, submitter(other), values)).rejects.toThrow(RequestChangedError);
    const somebody = { ...submitter(asked), visitor: signedInAs(samples.somebody()) };
    await expect(flow.credential(asked, somebody, values)).rejects.toThrow(WrongPersonError);
    expect(credentialCheck).not.toHaveBeenCalled();
    expect(await stage.again(asked, 'credential')).toEqual(asked);
  });
});

describe('a credential with a check', () => {
  test.each([
    ['rejected', 'credential_rejected'],
    ['unavailable', 'check_unavailable'],
  ] as const)('returns to the user if %s', async (result, retryReason) => {
    const stage = createElicitationStage(checked);
    const { flow, submitter } = createBench(stage, [result]);
    const asked = await stage.credential();
    expect(await flow.credential(asked, submitter(asked), values)).toMatchObject({ status: 'pending', retryReason });
    expect(stage.eventsNamed('credential.checked')).toMatchObject([{ result }]);
    const again = await stage.again(asked, 'credential');
    expect(await flow.credential(again, submitter(again), values)).toMatchObject({ status: 'completed' });
  });

  test('keeps the submission of another tab, and ignores the result of the earlier check', async () => {
    const stage = createElicitationStage(checked);
    const { flow, submitter, credentialCheck } = createBench(stage);
    const asked = await stage.credential();
    credentialCheck.mockImplementationOnce(async () => {
      await flow.credential(asked, submitter(asked), { api_key: 'ak_2' });
      return 'rejected';
    });
    expect(await flow.credential(asked, submitter(asked), values)).toMatchObject({ status: 'completed' });
    const { issuer, subject } = stage.subject;
    const context = { purpose: 'result', kind: 'credential', mcpServer: 'issue-tracker', issuer, subject };
    const json = await stage.vault.open(await sealedIn(stage, asked), { ...context, elicitation: asked.elicitationId });
    expect(JSON.parse(json)).toEqual({ api_key: 'ak_2' });
  });

  test('a credential with a check is checked at most ten times per user within ten minutes, over all elicitations', async () => {
    const stage = createElicitationStage(checked);
    const { flow, submitter, credentialCheck } = createBench(stage, Array<CheckResult>(11).fill('rejected'));
    for (let n = 0; n < 10; n += 1) {
      const asked = await stage.credential({ title: `Attempt ${n % 3}` });
      await flow.credential(asked, submitter(asked), { api_key: `guess-${n}` });
    }
    const asked = await stage.credential({ title: 'A last one' });
    const tooMany = expect.objectContaining({ code: 'rate_limited', retryAfterMs: expect.any(Number) });
    await expect(flow.credential(asked, submitter(asked), values)).rejects.toThrow(tooMany);
    expect(credentialCheck).toHaveBeenCalledTimes(10);
    expect(await stage.again(asked, 'credential')).toEqual(asked);
    stage.clock.advance(10 * 60_000);
    const later = await stage.credential({ title: 'Later' });
    expect(await flow.credential(later, submitter(later), values)).toMatchObject({ status: 'pending' });
  });

  test('the check of a credential is not looked up on Object.prototype', async () => {
    const stage = createElicitationStage();
    const { flow, submitter, credentialCheck } = createBench(stage);
    const asked = await stage.credential({ name: 'constructor' });
    expect(await flow.credential(asked, submitter(asked), values)).toMatchObject({ status: 'completed' });
    expect(credentialCheck).not.toHaveBeenCalled();
  });
});
