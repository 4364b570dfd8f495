import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JWK } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { current, ISSUER, keys, MCP_SERVER, payment, retired, sign } from '../testing/signed-receipts.ts';
import { createReceiptVerifier } from './verifier.ts';

const refusal = (code: string) => ({ name: 'ReceiptError', code });
const { kid: _, ...unnamed } = current.publicJwk;

describe('keys', () => {
  afterEach(() => vi.useRealTimers());

  async function serveKeys() {
    const published: { keys: JWK[]; status: number; requests: string[] } = { keys: [], status: 200, requests: [] };
    const httpServer = createServer((request, response) => {
      published.requests.push(request.url ?? '');
      response.writeHead(published.status, { 'content-type': 'application/jwk-set+json', location: '/elsewhere' });
      response.end(JSON.stringify({ keys: published.keys }));
    });
    await new Promise<void>(resolve => httpServer.listen(0, '127.0.0.1', resolve));
    const issuer = `http://127.0.0.1:${(httpServer.address() as AddressInfo).port}`;
    const close = () => new Promise(resolve => httpServer.close(resolve).closeAllConnections());
    return { published, issuer, [Symbol.asyncDispose]: async () => void (await close()) };
  }

  it('keys are fetched once from the issuer, again for a new key id, and not more often', async () => {
    await using endpoint = await serveKeys();
    const { published, issuer } = endpoint;
    published.keys = [current.publicJwk];
    vi.useFakeTimers({ toFake: ['Date'] });
    const remote = createReceiptVerifier({ issuer, mcpServerId: MCP_SERVER });
    const [known, rotated, madeUp] = await Promise.all([
      sign({ ...payment, iss: issuer }),
      sign({ ...payment, iss: issuer }, {}, retired),
      sign({ ...payment, iss: issuer }, { kid: 'made-up' }),
    ]);
    await Promise.all(Array.from({ length: 5 }, () => remote.verify(known)));
    expect(published.requests).toEqual(['/.well-known/jwks.json']);

    published.keys = [retired.publicJwk, current.publicJwk];
    await expect(remote.verify(rotated)).rejects.toMatchObject(refusal('unknown_key'));
    expect(published.requests.length).toBe(1);
    vi.setSystemTime(Date.now() + 30_001);
    expect(await remote.verify(rotated)).toBeDefined();
    expect(published.requests.length).toBe(2);
    for (let n = 0; n < 10; n += 1) await expect(remote.verify(madeUp)).rejects.toMatchObject(refusal('unknown_key'));
    expect(published.requests.length).toBe(2);

    published.keys = [retired.publicJwk];
    vi.setSystemTime(Date.now() + 600_001);
    await expect(remote.verify(known)).rejects.toMatchObject(refusal('unknown_key'));
  });

  it.each([404, 302, 500])('unavailable keys (%i) neither verify nor reject a receipt', async status => {
    await using endpoint = await serveKeys();
    endpoint.published.keys = [current.publicJwk];
    endpoint.published.status = status;
    const { issuer } = endpoint;
    const remote = createReceiptVerifier({ issuer, mcpServerId: MCP_SERVER });
    const receipt = await sign({ ...payment, iss: issuer });
    await expect(remote.verify(receipt)).rejects.toMatchObject(refusal('keys_unavailable'));
    endpoint.published.status = 200;
    expect(await remote.verify(receipt)).toBeDefined();
  });

  it('keys are fetched from the given address, below an issuer with a path', async () => {
    await using endpoint = await serveKeys();
    endpoint.published.keys = [current.publicJwk];
    const issuer = `${endpoint.issuer}/base`;
    const receipt = await sign({ ...payment, iss: issuer });
    await createReceiptVerifier({ issuer, mcpServerId: MCP_SERVER }).verify(receipt);
    await createReceiptVerifier({ issuer, mcpServerId: MCP_SERVER, keys: `${endpoint.issuer}/keys` }).verify(receipt);
    expect(endpoint.published.requests).toEqual(['/base/.well-known/jwks.json', '/keys']);
  });

  it('offline keys need no request', async () => {
    const fetched = vi.fn<typeof fetch>();
    const offline = createReceiptVerifier({ issuer: ISSUER, mcpServerId: MCP_SERVER, keys, fetch: fetched });
    expect(await offline.verify(await sign(payment))).toBeDefined();
    expect(fetched).not.toHaveBeenCalled();
  });

  it.each<[string, Partial<Parameters<typeof createReceiptVerifier>[0]>]>([
    ['no issuer', { issuer: '' }],
    ['no MCP server', { mcpServerId: '' }],
    ['plain http', { keys: 'http://postern.example.com/jwks.json' }],
    ['a URL with a user', { keys: 'https://user@postern.example.com/jwks.json' }],
    ['no URL', { keys: 'jwks.json' }],
    ['an empty JWK set', { keys: { keys: [] } }],
    ['a key without a name', { keys: { keys: [unnamed] } }],
    ['a private key', { keys: { keys: [{ ...current.publicJwk, d: 'AAAA' }] } }],
  ])('are refused when the verifier is made: %s', (_, change) => {
    expect(() => createReceiptVerifier({ issuer: ISSUER, mcpServerId: MCP_SERVER, ...change })).toThrow(
      expect.objectContaining({ code: 'invalid_options' }),
    );
  });
});
