import { createReceiptVerifier, isElicitationPending, postern } from '@postern/mcp';
import { type AnsweringMachine, anyAnswers, endlessAnswers, startAnsweringMachine } from '@postern/testkit/any-answer';
import { generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bearerIsSubject, type McpEndpoint, startMcpEndpoint } from '../support/mcp-endpoint.ts';
import { modernCall } from '../support/modern-call.ts';
import { answersBy, CANARY } from './play-outbound.ts';

const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
/** Answers per client. */
const ANSWERS = 30;
const transportCodes = ['network_error', 'timeout', 'invalid_response'];

let machine: AnsweringMachine;
const surprises: unknown[] = [];
const note = (error: unknown) => void surprises.push(error);

beforeAll(async () => {
  machine = await startAnsweringMachine();
  process.on('unhandledRejection', note);
  process.on('uncaughtException', note);
});
afterAll(async () => {
  process.off('unhandledRejection', note);
  process.off('uncaughtException', note);
  await machine[Symbol.asyncDispose]();
});

/** An MCP server whose tool says which error its handler got. */
async function startServer(ownFetch: typeof fetch | undefined, timeoutMs: number) {
  const background: Error[] = [];
  const gate = postern({
    ...{
      url: `http://localhost:${machine.port}`,
      apiKey: 'pk_only-for-tests-0123456789-0123456789',
      timeoutMs,
      holdMs: 0,
    },
    ...(ownFetch === undefined ? {} : { fetch: ownFetch }),
    onBackgroundError: error => void background.push(error),
  });
  const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });
  const endpoint: McpEndpoint = await startMcpEndpoint({
    authenticate: bearerIsSubject('https://id.example'),
    offer: mcpServer => {
      mcpServer.registerTool(
        'connect',
        { inputSchema: z.object({}) },
        gate.tool(async (_, ctx) => {
          try {
            const forge = await ctx.gate.authorize('forge', { scopes: ['repo'] });
            return say(forge.action);
          } catch (error) {
            if (isElicitationPending(error)) throw error;
            return say(`error ${error instanceof Error && 'code' in error ? String(error.code) : String(error)}`);
          }
        }),
      );
    },
  });
  return {
    endpoint,
    background,
    async [Symbol.asyncDispose]() {
      gate.close();
      await endpoint[Symbol.asyncDispose]();
    },
  };
}

describe(`a gateway, or a proxy before it, answers anything (seed ${SEED})`, () => {
  it.each([
    ['node:http', undefined],
    ['a fetch of its own', (...p: Parameters<typeof fetch>) => fetch(...p)],
  ])('the tool gets a typed error, over %s', async (_, ownFetch) => {
    await using server = await startServer(ownFetch, 20_000);
    for (const [name, damage] of answersBy(SEED)
      .filter(([name]) => !name.includes('honest'))
      .slice(0, ANSWERS)) {
      using order = machine.answer(() => true, damage);
      const { text = '' } = await modernCall(server.endpoint.url, { tool: 'connect', subject: 'alice' });
      const [kind, code = ''] = text.split(' ');
      expect({ name, kind, isAsked: order.count > 0 }).toEqual({ name, kind: 'error', isAsked: true });
      expect({ name, code }).toEqual({ name, code: expect.stringMatching(/^[a-z][a-z_]+$/) });
      expect(text).not.toContain(CANARY);
    }
    // It closes the connection at once, so nothing is to be waited for.
    using _switched = machine.answer(() => true, anyAnswers(CANARY)['a switch of protocols'] ?? (() => raise()));
    const { text = '' } = await modernCall(server.endpoint.url, { tool: 'connect', subject: 'alice' });
    expect(text).toBe('error network_error');
    expect(server.background.filter(error => String(error).includes(CANARY))).toEqual([]);
    expect(surprises).toEqual([]);
  });

  it('an answer without an end is a timeout', async () => {
    await using server = await startServer(undefined, 200);
    using _ = machine.answer(() => true, endlessAnswers['a body in drips'] ?? (() => raise()));
    const { text = '' } = await modernCall(server.endpoint.url, { tool: 'connect', subject: 'alice' });
    expect(transportCodes.map(code => `error ${code}`)).toContain(text);
  });

  it('no answer for the key set lets a receipt pass', async () => {
    const { privateKey } = await generateKeyPair('Ed25519');
    const issuer = `http://localhost:${machine.port}`;
    const receipt = await new SignJWT({})
      .setProtectedHeader({ alg: 'EdDSA', typ: 'postern-receipt+jwt', kid: 'k' })
      .sign(privateKey);
    for (const [name, damage] of answersBy(SEED).slice(0, ANSWERS)) {
      using _ = machine.answer(() => true, damage);
      const verifier = createReceiptVerifier({ issuer, mcpServerId: 'tracker', timeoutMs: 20_000 });
      const code = await verifier.verify(receipt).then(
        () => 'verified',
        (error: { name?: string; code?: string }) => `${error.name} ${error.code}`,
      );
      expect({ name, code }).toEqual({ name, code: expect.stringMatching(/^ReceiptError \w+$/) });
    }
    expect(surprises).toEqual([]);
  });
});

function raise(): never {
  throw new TypeError('no such answer');
}
