import type { McpServer } from '@modelcontextprotocol/server';
import { createReceiptVerifier, type Gate, type PaymentAccepted, termsDigest } from '@postern/mcp';
import { decline, testGate } from '@postern/mcp/testing';
import { CompactSign, exportJWK, generateKeyPair } from 'jose';
import { describe, expect, it } from 'vitest';
import { registerBookShop } from './book-shop.ts';
import { createLedger } from './ledger.ts';

const ISSUER = 'http://localhost:4400';
const MCP_SERVER_ID = 'desk-helper';
const alice = { iss: 'http://localhost:4401', sub: 'alice' };
const signer = await generateKeyPair('Ed25519', { extractable: true });
const stranger = await generateKeyPair('Ed25519', { extractable: true });

const order = {
  payee: { name: 'Corner Bookshop' },
  amount: { currency: 'EUR', minorUnits: 1250 },
  items: [{ label: 'An Atlas of Small Doors', quantity: 1, unitMinorUnits: 1250 }],
  reference: 'Order of small-doors',
};

async function sign(changes: { terms?: object; claims?: object; key?: CryptoKey } = {}): Promise<string> {
  const terms = { ...order, ...changes.terms };
  const at = '2026-05-01T10:00:00.000Z';
  const claims = {
    iss: ISSUER,
    aud: MCP_SERVER_ID,
    jti: 'el_1',
    iat: Date.parse(at) / 1000,
    sub_id: { format: 'iss_sub', ...alice },
    kind: 'payment',
    digest: termsDigest({ kind: 'payment', terms }),
    terms,
    approval: { method: 'button', identity: 'login', at },
    processor: 'none',
    ...changes.claims,
  };
  return await new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: 'EdDSA', kid: 'one', typ: 'postern-receipt+jwt' })
    .sign(changes.key ?? signer.privateKey);
}

type Handler = (args: object, ctx: object) => Promise<{ isError?: boolean; content: { text: string }[] }>;

/** A gate whose user has approved the payment with this result. */
const approving = (payment: object) => ({
  tool: (handler: Handler) => (args: object, ctx: object) =>
    handler(args, { ...ctx, gate: { pay: async () => payment as PaymentAccepted } }),
});

async function shop(gate: object) {
  const tools = new Map<string, Handler>();
  const ledger = createLedger();
  const receiptVerifier = createReceiptVerifier({
    issuer: ISSUER,
    mcpServerId: MCP_SERVER_ID,
    keys: { keys: [{ ...(await exportJWK(signer.publicKey)), kid: 'one' }] },
  });
  const mcpServer = { registerTool: (name: string, _: object, handler: Handler) => tools.set(name, handler) };
  registerBookShop(mcpServer as unknown as McpServer, { gate: gate as Gate, receiptVerifier, ledger });
  const buy = (book = 'small-doors') => tools.get('buy_book')?.({ book }, { http: { authInfo: { extra: alice } } });
  return { buy, charges: () => ledger.purchasesOf('alice') };
}

const accepted = (receipt: string) =>
  approving({ action: 'accept', elicitationId: 'el_1', idempotencyKey: 'key of el_1', receipt });

describe('buy_book', () => {
  it('charges the amount of the receipt, once per approval', async () => {
    const { buy, charges } = await shop(accepted(await sign()));
    const results = [await buy(), await buy()];
    expect(results[1]).toEqual(results[0]);
    expect(results[0]?.isError).toBeUndefined();
    expect(charges()).toMatchObject([{ buyer: 'alice', reference: 'Order of small-doors', cents: 1250 }]);
  });

  it.each([
    ['amount', 'wrong_amount', { terms: { amount: { currency: 'EUR', minorUnits: 1 }, items: undefined } }],
    ['currency', 'wrong_amount', { terms: { amount: { currency: 'JPY', minorUnits: 1250 } } }],
    ['payee', 'wrong_payee', { terms: { payee: { name: 'Somebody' } } }],
    ['reference', 'wrong_reference', { terms: { reference: 'Order of wrong-keys' } }],
    ['person', 'wrong_subject', { claims: { sub_id: { format: 'iss_sub', iss: alice.iss, sub: 'bob' } } }],
    ['issuer of the person', 'wrong_subject', { claims: { sub_id: { format: 'iss_sub', iss: 'x', sub: 'alice' } } }],
    ['elicitation', 'wrong_elicitation', { claims: { jti: 'el_2' } }],
    ['processor', 'wrong_processor', { claims: { processor: 'stripe-main' } }],
    ['MCP server', 'wrong_audience', { claims: { aud: 'another' } }],
    ['gateway', 'wrong_issuer', { claims: { iss: 'http://localhost:9' } }],
    ['key', 'wrong_signature', { key: stranger.privateKey }],
  ])('charges nothing for a receipt of another %s (%s)', async (_, code, changes) => {
    const { buy, charges } = await shop(accepted(await sign(changes)));
    await expect(buy()).rejects.toMatchObject({ name: 'ReceiptError', code });
    expect(charges()).toEqual([]);
  });

  it('charges nothing when the user declined', async () => {
    const { buy, charges } = await shop(testGate({ pay: decline() }));
    expect(await buy()).toMatchObject({ content: [{ text: expect.stringMatching(/declined/) }] });
    expect(charges()).toEqual([]);
  });

  it('asks for nothing if the book does not exist', async () => {
    const { buy, charges } = await shop(approving({ action: 'accept' }));
    expect(await buy('no-such-book')).toMatchObject({ isError: true });
    expect(charges()).toEqual([]);
  });
});
