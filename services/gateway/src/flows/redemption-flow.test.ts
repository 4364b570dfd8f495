import { generateKeyPairSync } from 'node:crypto';
import { NotFoundError } from '@postern/elicitation';
import { createReceiptKeys, createReceipts, newReceiptKey } from '@postern/payment';
import { compactDecrypt, compactVerify, decodeJwt, importJWK } from 'jose';
import { describe, expect, test, vi } from 'vitest';
import { registerMcpServer } from '../registered-mcp-server.ts';
import { type AsksStage, createAsksStage } from '../testing/asks-stage.ts';
import { createRedemptionFlow } from './redemption-flow.ts';
import { createSubmissionFlow } from './submission-flow.ts';

const encryption = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = { ...encryption.publicKey.export({ format: 'jwk' }), kid: 'enc' } as const;
const sealing = { mcpServer: { encryption: { key: jwk as never } } };
const code = (value: string) => expect.objectContaining({ code: value });

async function createBench(stage: AsksStage = createAsksStage()) {
  const receipts = createReceipts({
    issuer: 'https://gate.example',
    keys: createReceiptKeys([await newReceiptKey()]),
  });
  const flow = createRedemptionFlow({ ...stage, receipts });
  const submission = createSubmissionFlow({ ...stage, credentialCheck: async () => 'accepted' });
  const { visitor } = stage;
  return {
    ...{ stage, flow, receipts },
    async typed() {
      const asked = await stage.credential();
      await submission.credential(asked, { visitor, shown: asked.request.digest }, { api_key: 'ak_1' });
      return asked.elicitationId;
    },
    async paid() {
      const asked = await stage.pay({ processor: 'none' });
      const browserSession = await stage.browserSession();
      await stage.approvalFlow(asked, { visitor, browserSession, shown: asked.request.digest });
      return asked.elicitationId;
    },
  };
}

describe('what a person typed', () => {
  test('is given once; again under the same name, to nobody else', async () => {
    const { stage, flow, typed } = await createBench();
    const id = await typed();
    const first = await flow.redeem(stage.caller(), id, {}, 'key-1');
    expect(first).toMatchObject({ kind: 'credential', values: { api_key: 'ak_1' } });
    expect(await flow.redeem(stage.caller(), id, {}, 'key-1')).toEqual(first);
    await expect(flow.redeem(stage.caller(), id, {}, 'key-2')).rejects.toThrow(code('already_redeemed'));
    await expect(flow.redeem(stage.caller(), id, {}, undefined)).rejects.toThrow(code('already_redeemed'));
    await expect(flow.redeem(stage.caller('calendar'), id, {}, 'key-1')).rejects.toThrow(NotFoundError);
  });

  test('without a name nobody can repeat it', async () => {
    const { stage, flow, typed } = await createBench();
    const id = await typed();
    await flow.redeem(stage.caller(), id, {}, undefined);
    await expect(flow.redeem(stage.caller(), id, {}, undefined)).rejects.toThrow(code('already_redeemed'));
  });

  test('of many at once under different names, one gets it', async () => {
    const { stage, flow, typed } = await createBench();
    const id = await typed();
    const names = Array.from({ length: 20 }, (_, n) => `key-${n}`);
    const results = await Promise.allSettled(names.map(name => flow.redeem(stage.caller(), id, {}, name)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(stage.eventsNamed('elicitation.redeemed')).toHaveLength(1);
  });

  test.each([
    ['the kind', { kinds: ['payment' as const] }],
    ['the issuer', { issuers: ['https://other.example'] }],
  ])(
    'stays where it is once the operator has withdrawn %s, and is given when it is allowed again',
    async (_, change) => {
      const { stage, flow, typed } = await createBench();
      const id = await typed();
      const withdrawn = registerMcpServer({ ...stage.caller().config, ...change }, stage.caller().limits.quota);
      await expect(flow.redeem(withdrawn, id, {}, 'key-1')).rejects.toThrow(NotFoundError);
      expect(await flow.redeem(stage.caller(), id, {}, 'key-2')).toMatchObject({ values: { api_key: 'ak_1' } });
    },
  );

  test('is sealed to the key of the MCP server, for this elicitation', async () => {
    const { stage, flow, typed } = await createBench(createAsksStage(sealing));
    const id = await typed();
    const redeemed = await flow.redeem(stage.caller(), id, { sealed: true }, 'key-1');
    if (!('sealedResult' in redeemed)) throw new Error('not sealed');
    expect(redeemed).not.toHaveProperty('values');
    const { plaintext, protectedHeader } = await compactDecrypt(redeemed.sealedResult, encryption.privateKey);
    expect(JSON.parse(new TextDecoder().decode(plaintext))).toEqual({ api_key: 'ak_1' });
    expect(protectedHeader).toMatchObject({ aud: 'issue-tracker', elicitationId: id });
  });

  test('where sealing is asked for and no key is registered, nothing is taken', async () => {
    const { stage, flow, typed } = await createBench();
    const id = await typed();
    const refusal = code('encryption_key_not_registered');
    await expect(flow.redeem(stage.caller(), id, { sealed: true }, 'key-1')).rejects.toThrow(refusal);
    expect(await flow.redeem(stage.caller(), id, {}, 'key-2')).toMatchObject({ values: { api_key: 'ak_1' } });
  });

  test('survives a vault that is away: the same name gets it afterwards', async () => {
    const { stage, flow, typed } = await createBench();
    const id = await typed();
    vi.spyOn(stage.vault, 'open').mockRejectedValueOnce(new Error('away'));
    await expect(flow.redeem(stage.caller(), id, {}, 'key-1')).rejects.toThrow('away');
    expect(await flow.redeem(stage.caller(), id, {}, 'key-1')).toMatchObject({ values: { api_key: 'ak_1' } });
  });
});

describe('a receipt', () => {
  test('is for this MCP server, about these terms, and verifies with the published key', async () => {
    const { stage, flow, receipts, paid } = await createBench();
    const id = await paid();
    const redeemed = await flow.redeem(stage.caller(), id, {}, 'key-1');
    if (!('receipt' in redeemed)) throw new Error('no receipt');
    const [key] = receipts.jwks().keys;
    await compactVerify(redeemed.receipt, await importJWK({ ...key }, 'EdDSA'));
    expect(decodeJwt(redeemed.receipt)).toMatchObject({
      ...{ iss: 'https://gate.example', aud: 'issue-tracker', jti: id, kind: 'payment' },
      sub_id: { iss: stage.subject.issuer, sub: stage.subject.subject },
    });
    expect(redeemed.receipt).toBe(((await flow.redeem(stage.caller(), id, {}, 'key-1')) as typeof redeemed).receipt);
  });

  test('of what was paid stays due when the MCP server may ask for payments no longer', async () => {
    const { stage, flow, paid } = await createBench();
    const id = await paid();
    const withdrawn = registerMcpServer({ ...stage.caller().config, kinds: ['form'] }, stage.caller().limits.quota);
    expect(await flow.redeem(withdrawn, id, {}, 'key-1')).toMatchObject({ kind: 'payment' });
  });

  test('there is none before the approval', async () => {
    const { stage, flow } = await createBench();
    const { elicitationId } = await stage.pay();
    await expect(flow.redeem(stage.caller(), elicitationId, {}, 'key-1')).rejects.toThrow(code('not_redeemable'));
  });
});
