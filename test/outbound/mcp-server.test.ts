import { createReceiptVerifier } from '@postern/mcp';
import {
  type AnsweringMachine,
  anyAnswers,
  type Damage,
  endlessAnswers,
  FLOOD_BYTES,
  floods,
  startAnsweringMachine,
} from '@postern/testkit/any-answer';
import { generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modernCall } from '../support/modern-call.ts';
import { answerAsGateway, type GatedServer, startGatedServer } from './gated-server.ts';
import { answersBy, CANARY } from './play-outbound.ts';

const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
/** Answers per client. */
const ANSWERS = 30;
const transportCodes = ['network_error', 'timeout', 'invalid_response'];
const ownFetch: typeof fetch = (...p) => fetch(...p);
const ways: readonly (readonly [string, typeof fetch | undefined])[] = [
  ['node:http', undefined],
  ['a fetch of its own', ownFetch],
];

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
  expect(surprises).toEqual([]);
});

type Asked = Awaited<ReturnType<typeof modernCall>>['result'];

/** @param asked how the first round of the call ended; the user has opened the link since */
const call = async ({ endpoint }: GatedServer, asked?: Asked) =>
  modernCall(endpoint.url, {
    ...{ tool: 'connect', subject: 'alice', requestState: asked?.requestState },
    inputResponses: Object.fromEntries(Object.keys(asked?.inputRequests ?? {}).map(key => [key, { action: 'accept' }])),
  });

describe(`a gateway, or a proxy before it, answers anything (seed ${SEED})`, () => {
  it.each(ways)('the tool gets a typed error, over %s', async (_, fetch) => {
    await using server = await startGatedServer(machine, { ownFetch: fetch, timeoutMs: 20_000 });
    for (const [name, damage] of answersBy(SEED)
      .filter(([name]) => !name.includes('honest'))
      .slice(0, ANSWERS)) {
      using order = machine.answer(() => true, damage);
      const { text = '' } = await call(server);
      const [kind, code = ''] = text.split(' ');
      expect({ name, kind, isAsked: order.count > 0 }).toEqual({ name, kind: 'error', isAsked: true });
      expect({ name, code }).toEqual({ name, code: expect.stringMatching(/^[a-z][a-z_]+$/) });
      expect(text).not.toContain(CANARY);
    }
    // It closes the connection at once, so nothing is to be waited for.
    using _switched = machine.answer(() => true, answerNamed(anyAnswers(CANARY), 'a switch of protocols'));
    expect((await call(server)).text).toBe('error network_error');
    expect(server.background.filter(error => String(error).includes(CANARY))).toEqual([]);
    expect(surprises).toEqual([]);
  });

  it('an answer without an end is a timeout', async () => {
    await using server = await startGatedServer(machine, { timeoutMs: 200 });
    using _ = machine.answer(() => true, answerNamed(endlessAnswers, 'a body in drips'));
    const { text = '' } = await call(server);
    expect(transportCodes.map(code => `error ${code}`)).toContain(text);
  });

  it.each(ways)('of a flood the tool reads a small part, over %s', async (_, fetch) => {
    await using server = await startGatedServer(machine, { ownFetch: fetch, timeoutMs: 20_000 });
    for (const [name, damage] of Object.entries(floods)) {
      // What another `fetch` reads before it has a body is its own affair.
      if (fetch !== undefined && !/^(a body|chunks|gzip)/.test(name)) continue;
      using order = machine.answer(() => true, damage);
      const { text = '' } = await call(server);
      expect({ name, isError: transportCodes.includes(text.slice('error '.length)) }).toEqual({ name, isError: true });
      for (const sent of await order.floods()) expect({ name, sent }).toEqual({ name, sent: smallPart });
    }
  });

  it('no stream of events keeps the tool from its answer', async () => {
    const answers = [...answersBy(SEED).slice(0, ANSWERS), ...Object.entries(streams)];
    for (const [name, damage] of answers) {
      using order = machine.answer(({ path }) => path.startsWith('/v1/events'), damage);
      const isOpened = async () => {
        while (order.count === 0) await new Promise(resolve => setTimeout(resolve, 5));
      };
      machine.behind(answerAsGateway(machine.port, isOpened));
      await using server = await startGatedServer(machine, { timeoutMs: 20_000, holdMs: 60_000 });
      const { result } = await call(server);
      const { text } = await call(server, result);
      expect({ name, text }).toEqual({ name, text: 'accept' });
      expect(server.background.filter(error => String(error).includes(CANARY))).toEqual([]);
    }
  });

  it('no answer of the API of a provider is more than an error of the tool', async () => {
    machine.behind(answerAsGateway(machine.port));
    await using server = await startGatedServer(machine, {
      timeoutMs: 20_000,
      holdMs: 60_000,
      use: async ({ fetch }) => {
        const response = await fetch(`http://localhost:${machine.port}/api`, { signal: AbortSignal.timeout(20_000) });
        return `read ${response.status} ${(await response.text()).length}`;
      },
    });
    const { result } = await call(server);
    const challenges = Object.entries(anyAnswers(CANARY)).filter(([name]) => name.includes('challenge'));
    for (const [name, damage] of [...answersBy(SEED).slice(0, ANSWERS), ...challenges]) {
      using order = machine.answer(({ path }) => path === '/api', damage);
      const { text = '' } = await call(server, result);
      expect({ name, isAsked: order.count > 0, said: text.split(' ')[0] }).toEqual({
        ...{ name, isAsked: true, said: expect.stringMatching(/^(read|error)$/) },
      });
    }
  });

  it('no answer for the key set lets a receipt pass, and of a flood a small part is read', async () => {
    const { privateKey } = await generateKeyPair('Ed25519');
    const issuer = `http://localhost:${machine.port}`;
    const receipt = await new SignJWT({})
      .setProtectedHeader({ alg: 'EdDSA', typ: 'postern-receipt+jwt', kid: 'k' })
      .sign(privateKey);
    const bodies = Object.entries(floods).filter(([name]) => /^(a body|chunks|gzip)/.test(name));
    for (const [name, damage] of [...answersBy(SEED).slice(0, ANSWERS), ...bodies]) {
      using order = machine.answer(() => true, damage);
      const verifier = createReceiptVerifier({ issuer, mcpServerId: 'tracker', timeoutMs: 20_000 });
      const code = await verifier.verify(receipt).then(
        () => 'verified',
        (error: { name?: string; code?: string }) => `${error.name} ${error.code}`,
      );
      expect({ name, code }).toEqual({ name, code: expect.stringMatching(/^ReceiptError \w+$/) });
      for (const sent of await order.floods()) expect({ name, sent }).toEqual({ name, sent: smallPart });
    }
    expect(surprises).toEqual([]);
  });
});

const streamOf =
  (body: string, after: 'end' | 'reset' | 'silence'): Damage =>
  () => ({
    bytes: Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${body}`),
    after,
  });

/** Streams of events as no gateway sends them. */
const streams: Readonly<Record<string, Damage>> = {
  'a stream of nothing': streamOf('', 'end'),
  'a stream that is reset': streamOf('retry: 2000\nid: 1-0\n\n', 'reset'),
  'a stream with an id that no header takes': streamOf('retry: 0\nid: ☃\u0001\n\n', 'end'),
  'a stream with data of the wrong type': streamOf(
    'id: 1-0\n\ndata: 5\n\ndata: null\n\ndata: {"elicitationId":[]}\n\n',
    'end',
  ),
  'a stream of one long line': streamOf(`data: ${CANARY.repeat(50_000)}`, 'silence'),
};

/** A number of bytes that the buffers of both sockets explain, and a limit of some MiB. */
const smallPart: unknown = expect.toSatisfy((sent: number) => sent < FLOOD_BYTES / 2);

function answerNamed(answers: Readonly<Record<string, Damage>>, name: string): Damage {
  const answer = answers[name];
  if (answer === undefined) throw new TypeError(`no answer ${name}`);
  return answer;
}
