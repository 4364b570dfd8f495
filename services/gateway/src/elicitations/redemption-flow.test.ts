import { generateKeyPairSync } from 'node:crypto';
import { NotFoundError } from '@postern/elicitation';
import { createReceiptKeys, createReceipts, newReceiptKey } from '@postern/payment';
import { compactDecrypt, compactVerify, decodeJwt, importJWK } from 'jose';
import { describe, expect, test, vi } from 'vitest';
import { createSubmissionFlow } from '../entries/submission-flow.ts';
import { registerMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import { createElicitationStage, type ElicitationStage } from '../testing/elicitation-stage.ts';
import { RedemptionFlow } from './redemption-flow.ts';

const encryption = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = { ...encryption.publicKey.export({ format: 'jwk' }), kid: 'enc' } as const;
const sealing = { mcpServer: { encryption: { key: jwk as never } } };
const code = (value: string) => expect.objectContaining({ code: value });

async function createBench(stage: ElicitationStage = createElicitationStage()) {
  const receipts = createReceipts({
    issuer: 'https://gate.example',
    keys: createReceiptKeys([await newReceiptKey()]),
  });
  const flow = new RedemptionFlow({ ...stage, receipts });
  const submission = createSubmissionFlow({ ...stage, credentialCheck: async () => 'accepted' });
  const { visitor } = stage;
  return {
    stage,
    flow,
    receipts,
    async typed() {
      const asked = await stage.credential();
      await submission.credential(asked, { visitor, shown: asked.request.digest }, { api_key: 'ak_1' });
      return asked.elicitationId;
    },
    async paid() {
      const asked = await stage.pay({ processor: 'none' });
      const browserSession = await stage.browserSession();
      await stage.approvals.approve(asked, { visitor, browserSession, shown: asked.request.digest });
      return asked.elicitationId;
    },
  };
}

describe('a typed result', () => {
  test('a typed result is redeemed once, and again only with the same Idempotency-Key by the same MCP server', async () => {
    const { stage, flow, typed } = await createBench();
    const id = await typed();
    const first = await flow.redeem(stage.caller(), id, {}, 'key-1');
    expect(first).toMatchObject({ kind: 'credential', values: { api_key: 'ak_1' } });
    expect(await flow.redeem(stage.caller(), id, {}, 'key-1')).toEqual(first);
    await expect(flow.redeem(stage.caller(), id, {}, 'key-2')).rejects.toThrow(code('already_redeemed'));
    await expect(flow.redeem(stage.caller(), id, {}, undefined)).rejects.toThrow(code('already_redeemed'));
    await expect(flow.redeem(stage.caller('calendar'), id, {}, 'key-1')).rejects.toThrow(NotFoundError);
  });

  test('cannot be redeemed again without an Idempotency-Key', async () => {
    const { stage, flow, typed } = await createBench();
    const id = await typed();
    await flow.redeem(stage.caller(), id, {}, undefined);
    await expect(flow.redeem(stage.caller(), id, {}, undefined)).rejects.toThrow(code('already_redeemed'));
  });

  test('goes to exactly one of many concurrent redemptions with different keys', async () => {
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
    'is not redeemed while the operator has withdrawn %s, and is redeemed once it is allowed again',
    async (_, change) => {
      const { stage, flow, typed } = await createBench();
      const id = await typed();
      const withdrawn = registerMcpServer({ ...stage.caller().config, ...change }, stage.caller().limits.quota);
      await expect(flow.redeem(withdrawn, id, {}, 'key-1')).rejects.toThrow(NotFoundError);
      expect(await flow.redeem(stage.caller(), id, {}, 'key-2')).toMatchObject({ values: { api_key: 'ak_1' } });
    },
  );

  test('a typed result is sealed to the key of the MCP server, for this elicitation', async () => {
    const { stage, flow, typed } = await createBench(createElicitationStage(sealing));
    const id = await typed();
    const redeemed = await flow.redeem(stage.caller(), id, { sealed: true }, 'key-1');
    if (!('sealedResult' in redeemed)) throw new Error('not sealed');
    expect(redeemed).not.toHaveProperty('values');
    const { plaintext, protectedHeader } = await compactDecrypt(redeemed.sealedResult, encryption.privateKey);
    expect(JSON.parse(new TextDecoder().decode(plaintext))).toEqual({ api_key: 'ak_1' });
    expect(protectedHeader).toMatchObject({ aud: 'issue-tracker', elicitationId: id });
  });

  test('a typed result is not consumed if the caller requests sealing without a registered key', async () => {
    const { stage, flow, typed } = await createBench();
    const id = await typed();
    const refusal = code('encryption_key_not_registered');
    await expect(flow.redeem(stage.caller(), id, { sealed: true }, 'key-1')).rejects.toThrow(refusal);
    expect(await flow.redeem(stage.caller(), id, {}, 'key-2')).toMatchObject({ values: { api_key: 'ak_1' } });
  });

  test('a typed result can be redeemed with the same key after the vault was unavailable', async () => {
    const { stage, flow, typed } = await createBench();
    const id = await typed();
    vi.spyOn(stage.vault, 'open').mockRejectedValueOnce(new Error('away'));
    await expect(flow.redeem(stage.caller(), id, {}, 'key-1')).rejects.toThrow('away');
    expect(await flow.redeem(stage.caller(), id, {}, 'key-1')).toMatchObject({ values: { api_key: 'ak_1' } });
  });
});

describe('a receipt', () => {
  test('names the MCP server and the elicitation, and verifies with the published key', async () => {
    const { stage, flow, receipts, paid } = await createBench();
    const id = await paid();
    const redeemed = await flow.redeem(stage.caller(), id, {}, 'key-1');
    if (!('receipt' in redeemed)) throw new Error('no receipt');
    const [key] = receipts.jwks().keys;
    await compactVerify(redeemed.receipt, await importJWK({ ...key }, 'EdDSA'));
    expect(decodeJwt(redeemed.receipt)).toMatchObject({
      iss: 'https://gate.example',
      aud: 'issue-tracker',
      jti: id,
      kind: 'payment',
      sub_id: { iss: stage.subject.issuer, sub: stage.subject.subject },
    });
    expect(redeemed.receipt).toBe(((await flow.redeem(stage.caller(), id, {}, 'key-1')) as typeof redeemed).receipt);
  });

  test('a receipt of a payment is redeemable after the MCP server has lost the permission for payments', async () => {
    const { stage, flow, paid } = await createBench();
    const id = await paid();
    const withdrawn = registerMcpServer({ ...stage.caller().config, kinds: ['form'] }, stage.caller().limits.quota);
    expect(await flow.redeem(withdrawn, id, {}, 'key-1')).toMatchObject({ kind: 'payment' });
  });

  test('a receipt does not exist before the approval', async () => {
    const { stage, flow } = await createBench();
    const { elicitationId } = await stage.pay();
    await expect(flow.redeem(stage.caller(), elicitationId, {}, 'key-1')).rejects.toThrow(code('not_redeemable'));
  });
});
