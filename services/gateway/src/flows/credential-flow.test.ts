import { generateKeyPairSync } from 'node:crypto';
import { type CredentialId, NotFoundError } from '@postern/elicitation';
import { compactDecrypt } from 'jose';
import { describe, expect, test } from 'vitest';
import { registerMcpServer } from '../registered-mcp-server.ts';
import { type AsksStage, createAsksStage } from '../testing/asks-stage.ts';
import { createCredentialFlow } from './credential-flow.ts';
import { createSubmissionFlow } from './submission-flow.ts';

const MINUTE = 60_000;
const keyPair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = { ...keyPair.publicKey.export({ format: 'jwk' }), kid: 'enc' } as never;

function createBench(stage: AsksStage = createAsksStage()) {
  const flow = createCredentialFlow(stage);
  const submission = createSubmissionFlow({ ...stage, credentialCheck: async () => 'accepted' });
  return {
    ...{ stage, flow },
    async kept(value = 'ak_1', rejectedGeneration?: number) {
      const change = rejectedGeneration === undefined ? {} : { rejectedGeneration };
      const asked = await stage.credential({ retention: 'lasting', ...change });
      const submitter = { visitor: stage.visitor, shown: asked.request.digest };
      const ended = await submission.credential(asked, submitter, { api_key: value });
      const outcome = ended.status === 'completed' ? ended.outcome : undefined;
      if (outcome?.kind !== 'credential' || outcome.credentialId === undefined) throw new Error('not kept');
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
  test('is read by its MCP server again and again; who read it last is remembered to the minute', async () => {
    const { stage, flow, kept, stored } = createBench();
    const id = await kept();
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
    ['another MCP server', (stage: AsksStage) => stage.caller('calendar')],
    ['one that may no longer ask', (stage: AsksStage) => changed(stage, { kinds: ['form'] })],
    [
      'one that may no longer name its person',
      (stage: AsksStage) => changed(stage, { issuers: ['https://x.example'] }),
    ],
    ['one that has left its group', (stage: AsksStage) => changed(stage, { group: 'other' })],
  ])('is as good as unknown to %s', async (_, callerIn) => {
    const { stage, flow, kept } = createBench();
    const id = await kept();
    await expect(flow.read(callerIn(stage), id, {})).rejects.toThrow(NotFoundError);
    await expect(flow.remove(callerIn(stage), id)).rejects.toThrow(NotFoundError);
    expect(await flow.read(stage.caller(), id, {})).toMatchObject({ values: { api_key: 'ak_1' } });
  });

  test('of a group is read by all of it', async () => {
    const { stage, flow, kept } = createBench(createAsksStage({ mcpServer: { group: 'acme' } }));
    const id = await kept();
    expect(await flow.read(stage.caller('calendar'), id, {})).toMatchObject({ values: { api_key: 'ak_1' } });
  });

  test('that was turned away is typed anew, under a generation that was never there', async () => {
    const { stage, flow, kept } = createBench();
    const id = await kept('old');
    const { generation } = await flow.read(stage.caller(), id, {});
    expect(await kept('new', generation)).toBe(id);
    const read = await flow.read(stage.caller(), id, {});
    expect(read).toMatchObject({ values: { api_key: 'new' } });
    expect(read.generation).toBeGreaterThan(generation);
  });

  test('is deleted once, by its person or its MCP server, and is gone', async () => {
    const { stage, flow, kept, stored } = createBench();
    const id = await kept();
    await flow.delete(await stored(id), 'person');
    await expect(flow.read(stage.caller(), id, {})).rejects.toThrow(NotFoundError);
    await expect(flow.remove(stage.caller(), id)).rejects.toThrow(NotFoundError);
    expect(await kept('again')).toBe(id);
    await flow.remove(stage.caller(), id);
    expect(stage.eventsNamed('credential.deleted')).toMatchObject([
      { by: 'person' },
      { by: 'mcp_server', mcpServerId: 'issue-tracker' },
    ]);
  });

  test('copied to another place opens there for nobody', async () => {
    const { stage, flow, kept, stored } = createBench();
    const { sealedValues } = await stored(await kept());
    const other = await stage.credential({ name: 'other-api', title: 'Other', retention: 'lasting' });
    const shown = { visitor: stage.visitor, shown: other.request.digest };
    const submission = createSubmissionFlow({ ...stage, credentialCheck: async () => 'accepted' });
    const ended = await submission.credential(other, shown, { api_key: 'ak_2' });
    if (ended.status !== 'completed' || ended.outcome.kind !== 'credential') throw new Error('not kept');
    const moved = { ...(await stored(ended.outcome.credentialId ?? 'cr_')), sealedValues };
    await expect(flow.fingerprint(moved)).rejects.toThrow(expect.objectContaining({ code: 'not_authentic' }));
  });
});

describe('its delivery', () => {
  const bench = (required: boolean) => createBench(createAsksStage({ mcpServer: { encryption: { key, required } } }));

  test.each([
    [true, {}],
    [false, { sealed: true as const }],
  ])('sealed to the key of the MCP server (required: %s)', async (required, request) => {
    const { stage, flow, kept } = bench(required);
    const id = await kept();
    const read = await flow.read(stage.caller(), id, request);
    if (!('sealedValues' in read)) throw new Error('not sealed');
    expect(JSON.stringify(read)).not.toContain('ak_1');
    const { plaintext, protectedHeader } = await compactDecrypt(read.sealedValues, keyPair.privateKey);
    expect(JSON.parse(new TextDecoder().decode(plaintext))).toEqual({ api_key: 'ak_1' });
    expect(protectedHeader).toMatchObject({ aud: 'issue-tracker', credentialId: id, generation: read.generation });
  });

  test('in the clear where neither asks otherwise; never sealed to a key that nobody has', async () => {
    const { stage, flow, kept } = bench(false);
    expect(await flow.read(stage.caller(), await kept(), {})).toMatchObject({ values: { api_key: 'ak_1' } });
    const bare = createBench();
    const refusal = expect.objectContaining({ code: 'encryption_key_not_registered' });
    const id = await bare.kept();
    await expect(bare.flow.read(bare.stage.caller(), id, { sealed: true })).rejects.toThrow(refusal);
  });
});

test('a fingerprint tells values apart, is the same each time and shows none of them', async () => {
  const { stage, flow, kept, stored } = createBench();
  const id = await kept('one');
  const one = await flow.fingerprint(await stored(id));
  expect(one).toMatch(/^[0-9A-F]{4} [0-9A-F]{4}$/);
  expect(await flow.fingerprint(await stored(id))).toBe(one);
  const { generation } = await flow.read(stage.caller(), id, {});
  await kept('two', generation);
  expect(await flow.fingerprint(await stored(id))).not.toBe(one);
});

function changed(stage: AsksStage, change: Partial<Parameters<typeof registerMcpServer>[0]>) {
  return registerMcpServer({ ...stage.caller().config, ...change }, stage.caller().limits.quota);
}
