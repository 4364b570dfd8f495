import { credentialIdOf, RequestChangedError, WrongPersonError } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { VaultError } from '@postern/vault';
import { describe, expect, test, vi } from 'vitest';
import { type AsksStage, createAsksStage } from '../testing/asks-stage.ts';
import { signedInAs } from '../testing/flow-stage.ts';
import type { CheckResult } from './credential-check.ts';
import { createSubmissionFlow } from './submission-flow.ts';

const checked = { mcpServer: { credentialChecks: { 'acme-api': { url: 'https://acme.example', bearer: 'api_key' } } } };
const values = { api_key: 'ak_1' };

/** The submission flow, and the API behind that says what it is told to. */
function createBench(stage: AsksStage, results: CheckResult[] = []) {
  const credentialCheck = vi.fn(async () => results.shift() ?? 'accepted');
  const flow = createSubmissionFlow({ ...stage, credentialCheck });
  const submitter = (asked: { request: { digest: string } }) => ({
    visitor: stage.visitor,
    shown: asked.request.digest,
  });
  return { flow, credentialCheck, submitter };
}

async function sealedIn(stage: AsksStage, { elicitationId }: { elicitationId: `el_${string}` }): Promise<string> {
  const redeemed = await stage.service.redeem(stage.caller(), elicitationId, 'r');
  return redeemed.sealed ?? '';
}

describe('what is typed', () => {
  test('is sealed for its elicitation, and opens for no other', async () => {
    const stage = createAsksStage();
    const { flow, submitter } = createBench(stage);
    const [one, two] = [await stage.credential(), await stage.credential({ title: 'Another' })];
    expect(await flow.credential(one, submitter(one), values)).toMatchObject({ status: 'completed' });
    await flow.credential(two, submitter(two), values);
    const sealed = await sealedIn(stage, one);
    expect(sealed).not.toContain('ak_1');
    const context = (elicitation: string) => ({
      ...{ purpose: 'result', kind: 'credential', mcpServer: 'issue-tracker', elicitation },
      ...{ issuer: stage.subject.issuer, subject: stage.subject.subject },
    });
    expect(JSON.parse(await stage.vault.open(sealed, context(one.elicitationId)))).toEqual(values);
    await expect(stage.vault.open(sealed, context(two.elicitationId))).rejects.toThrow(VaultError);
  });

  test('lasting goes to its owner, under the name that was asked', async () => {
    const stage = createAsksStage({ mcpServer: { group: 'acme' } });
    const { flow, submitter } = createBench(stage);
    const asked = await stage.credential({ retention: 'lasting' });
    await flow.credential(asked, submitter(asked), values);
    const credentialId = credentialIdOf({ owner: 'group:acme', subject: stage.subject, name: 'acme-api' });
    const stored = await stage.stores.credentials.read(credentialId);
    expect(stored).toMatchObject({ owner: 'group:acme', fields: ['api_key'], elicitationId: asked.elicitationId });
    expect(JSON.stringify(stored)).not.toContain('ak_1');
  });

  test('a form is answered once; the second is dropped', async () => {
    const stage = createAsksStage();
    const { flow, submitter } = createBench(stage);
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } } as const;
    const asked = await stage.form({ requestedSchema });
    const first = await flow.form(asked, submitter(asked), { name: 'first' });
    expect(await flow.form(asked, submitter(asked), { name: 'second' })).toEqual(first);
    const { issuer, subject } = stage.subject;
    const context = { ...{ purpose: 'result', kind: 'form', mcpServer: 'issue-tracker' }, issuer, subject };
    const json = await stage.vault.open(await sealedIn(stage, asked), { ...context, elicitation: asked.elicitationId });
    expect(JSON.parse(json)).toEqual({ name: 'first' });
  });

  test('for something else than was asked, or by somebody else, is stored nowhere and tried nowhere', async () => {
    const stage = createAsksStage(checked);
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

describe('a credential that is checked', () => {
  test.each([
    ['rejected', 'credential_rejected'],
    ['unavailable', 'check_unavailable'],
  ] as const)('%s: the person is asked again', async (result, trouble) => {
    const stage = createAsksStage(checked);
    const { flow, submitter } = createBench(stage, [result]);
    const asked = await stage.credential();
    expect(await flow.credential(asked, submitter(asked), values)).toMatchObject({ status: 'pending', trouble });
    expect(stage.eventsNamed('credential.checked')).toMatchObject([{ result }]);
    const again = await stage.again(asked, 'credential');
    expect(await flow.credential(again, submitter(again), values)).toMatchObject({ status: 'completed' });
  });

  test('what is typed into another tab meanwhile counts, and the answer to the first does not', async () => {
    const stage = createAsksStage(checked);
    const { flow, submitter, credentialCheck } = createBench(stage);
    const asked = await stage.credential();
    credentialCheck.mockImplementationOnce(async () => {
      await flow.credential(asked, submitter(asked), { api_key: 'ak_2' });
      return 'rejected';
    });
    expect(await flow.credential(asked, submitter(asked), values)).toMatchObject({ status: 'completed' });
    const { issuer, subject } = stage.subject;
    const context = { ...{ purpose: 'result', kind: 'credential', mcpServer: 'issue-tracker' }, issuer, subject };
    const json = await stage.vault.open(await sealedIn(stage, asked), { ...context, elicitation: asked.elicitationId });
    expect(JSON.parse(json)).toEqual({ api_key: 'ak_2' });
  });

  test('is no way to find out what works by trying: over all elicitations of a person, for a while', async () => {
    const stage = createAsksStage(checked);
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

  test('under a name that every object has is not checked where nothing is configured for it', async () => {
    const stage = createAsksStage();
    const { flow, submitter, credentialCheck } = createBench(stage);
    const asked = await stage.credential({ name: 'constructor' });
    expect(await flow.credential(asked, submitter(asked), values)).toMatchObject({ status: 'completed' });
    expect(credentialCheck).not.toHaveBeenCalled();
  });
});
