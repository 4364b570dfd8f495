import { generateKeyPairSync } from 'node:crypto';
import { type CredentialId, NotFoundError } from '@postern/elicitation';
import { compactDecrypt } from 'jose';
import { describe, expect, test } from 'vitest';
import { registerMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import { createElicitationStage, type ElicitationStage } from '../testing/elicitation-stage.ts';
import { createCredentialFlow } from './credential-flow.ts';
import { createSubmissionFlow } from './submission-flow.ts';

const MINUTE = 60_000;
const keyPair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = { ...keyPair.publicKey.export({ format: 'jwk' }), kid: 'enc' } as never;

function createBench(stage: ElicitationStage = createElicitationStage()) {
  const flow = createCredentialFlow(stage);
  const submission = createSubmissionFlow({ ...stage, credentialCheck: async () => 'accepted' });
  return {
    stage,
    flow,
    async saved(value = 'ak_1', rejectedGeneration?: number) {
      const change = rejectedGeneration === undefined ? {} : { rejectedGeneration };
      const asked = await stage.credential({ retention: 'lasting', ...change });
      const submitter = { visitor: stage.visitor, shown: asked.request.digest };
      const ended = await submission.credential(asked, submitter, { api_key: value });
      const outcome = ended.status === 'completed' ? ended.outcome : undefined;
      if (outcome?.kind !== 'credential' || outcome.credentialId === undefined) throw new Error('not saved');
      return outcome.credentialId;
    },
    async stored(credentialId: CredentialId) {
      const credential = await stage.stores.credentials.read(credentialId);
      if (credential === undefined) throw new Error('not there');
      return credential;
    },
  };
}

describe('a lasting credential', () => {
  test('a lasting credential can be read repeatedly by its MCP server, and records the last use once per minute', async () => {
    const { stage, flow, saved, stored } = createBench();
    const id = await saved();
    expect(await flow.read(stage.caller(), id, { tool: 'deploy' })).toMatchObject({ values: { api_key: 'ak_1' } });
    const { lastUse } = await stored(id);
    expect(lastUse).toEqual({ mcpServerId: 'issue-tracker', tool: 'deploy', at: stage.clock.now() });
    stage.clock.advance(MINUTE / 2);
    await flow.read(stage.caller(), id, { tool: 'deploy' });
    expect((await stored(id)).lastUse).toEqual(lastUse);
    expect(stage.eventsNamed('credential.read')).toHaveLength(2);
    expect(JSON.stringify(stage.eventsNamed('credential.read'))).not.toContain('ak_1');
  });

  test.each([
    ['another MCP server', (stage: ElicitationStage) => stage.caller('calendar')],
    ['one that has lost the permission', (stage: ElicitationStage) => changed(stage, { kinds: ['form'] })],
    [
      'one that has lost the issuer of its user',
      (stage: ElicitationStage) => changed(stage, { issuers: ['https://x.example'] }),
    ],
    ['one that has left its group', (stage: ElicitationStage) => changed(stage, { group: 'other' })],
  ])('a lasting credential is not found for %s', async (_, callerIn) => {
    const { stage, flow, saved } = createBench();
    const id = await saved();
    await expect(flow.read(callerIn(stage), id, {})).rejects.toThrow(NotFoundError);
    await expect(flow.remove(callerIn(stage), id)).rejects.toThrow(NotFoundError);
    expect(await flow.read(stage.caller(), id, {})).toMatchObject({ values: { api_key: 'ak_1' } });
  });

  test('a lasting credential of a group can be read by every MCP server of the group', async () => {
    const { stage, flow, saved } = createBench(createElicitationStage({ mcpServer: { group: 'acme' } }));
    const id = await saved();
    expect(await flow.read(stage.caller('calendar'), id, {})).toMatchObject({ values: { api_key: 'ak_1' } });
  });

  test('a lasting credential that was rejected is replaced under a new generation', async () => {
    const { stage, flow, saved } = createBench();
    const id = await saved('old');
    const { generation } = await flow.read(stage.caller(), id, {});
    expect(await saved('new', generation)).toBe(id);
    const read = await flow.read(stage.caller(), id, {});
    expect(read).toMatchObject({ values: { api_key: 'new' } });
    expect(read.generation).toBeGreaterThan(generation);
  });

  test('a lasting credential is deleted once, by its user or its MCP server', async () => {
    const { stage, flow, saved, stored } = createBench();
    const id = await saved();
    await flow.delete(await stored(id), 'person');
    await expect(flow.read(stage.caller(), id, {})).rejects.toThrow(NotFoundError);
    await expect(flow.remove(stage.caller(), id)).rejects.toThrow(NotFoundError);
    expect(await saved('again')).toBe(id);
    await flow.remove(stage.caller(), id);
    expect(stage.eventsNamed('credential.deleted')).toMatchObject([
      { by: 'person' },
      { by: 'mcp_server', mcpServerId: 'issue-tracker' },
    ]);
  });

  test('a lasting credential does not open in the record of another credential', async () => {
    const { stage, flow, saved, stored } = createBench();
    const { sealedValues } = await stored(await saved());
    const other = await stage.credential({ name: 'other-api', title: 'Other', retention: 'lasting' });
    const shown = { visitor: stage.visitor, shown: other.request.digest };
    const submission = createSubmissionFlow({ ...stage, credentialCheck: async () => 'accepted' });
    const ended = await submission.credential(other, shown, { api_key: 'ak_2' });
    if (ended.status !== 'completed' || ended.outcome.kind !== 'credential') throw new Error('not saved');
    const moved = { ...(await stored(ended.outcome.credentialId ?? 'cr_')), sealedValues };
    await expect(flow.fingerprint(moved)).rejects.toThrow(expect.objectContaining({ code: 'not_authentic' }));
  });
});

describe('the values of a credential', () => {
  const bench = (required: boolean) =>
    createBench(createElicitationStage({ mcpServer: { encryption: { key, required } } }));

  test.each([
    [true, {}],
    [false, { sealed: true as const }],
  ])('the values of a credential are sealed to the key of the MCP server (required: %s)', async (required, request) => {
    const { stage, flow, saved } = bench(required);
    const id = await saved();
    const read = await flow.read(stage.caller(), id, request);
    if (!('sealedValues' in read)) throw new Error('not sealed');
    expect(JSON.stringify(read)).not.toContain('ak_1');
    const { plaintext, protectedHeader } = await compactDecrypt(read.sealedValues, keyPair.privateKey);
    expect(JSON.parse(new TextDecoder().decode(plaintext))).toEqual({ api_key: 'ak_1' });
    expect(protectedHeader).toMatchObject({ aud: 'issue-tracker', credentialId: id, generation: read.generation });
  });

  test('the values of a credential are plain unless sealing is requested or required, which needs a registered key', async () => {
    const { stage, flow, saved } = bench(false);
    expect(await flow.read(stage.caller(), await saved(), {})).toMatchObject({ values: { api_key: 'ak_1' } });
    const bare = createBench();
    const refusal = expect.objectContaining({ code: 'encryption_key_not_registered' });
    const id = await bare.saved();
    await expect(bare.flow.read(bare.stage.caller(), id, { sealed: true })).rejects.toThrow(refusal);
  });
});

test('a fingerprint is stable, differs between values and does not contain them', async () => {
  const { stage, flow, saved, stored } = createBench();
  const id = await saved('one');
  const one = await flow.fingerprint(await stored(id));
  expect(one).toMatch(/^[0-9A-F]{4} [0-9A-F]{4}$/);
  expect(await flow.fingerprint(await stored(id))).toBe(one);
  const { generation } = await flow.read(stage.caller(), id, {});
  await saved('two', generation);
  expect(await flow.fingerprint(await stored(id))).not.toBe(one);
});

test('S198: values that are typed again after a deletion have another fingerprint, which confirms no guess', async () => {
  const { stage, flow, saved, stored } = createBench();
  const before = await stored(await saved('4711'));
  const fingerprint = await flow.fingerprint(before);
  await flow.remove(stage.caller(), before.credentialId);
  stage.clock.advance(1000);
  const after = await stored(await saved('4711'));
  expect(after.credentialId).toBe(before.credentialId);
  expect(await flow.fingerprint(after)).not.toBe(fingerprint);
});

test('S198: a fingerprint has a secret key, so the public id of the credential and a guess do not confirm a short secret', async () => {
  const { stage, flow, saved, stored } = createBench();
  const pin = await stored(await saved('4711'));
  const vault = { ...stage.config.vault, transactionKey: new Uint8Array(32) };
  const elsewhere = createCredentialFlow({ ...stage, config: { vault } });
  expect(await elsewhere.fingerprint(pin)).not.toBe(await flow.fingerprint(pin));
});

function changed(stage: ElicitationStage, change: Partial<Parameters<typeof registerMcpServer>[0]>) {
  return registerMcpServer({ ...stage.caller().config, ...change }, stage.caller().limits.quota);
}
