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
/** Number of responses per client. */
const ANSWERS = 30;
const transportCodes = ['network_error', 'timeout', 'invalid_response'];
const ownFetch: typeof fetch = (...p) => fetch(...p);
const ways: readonly (readonly [string, typeof fetch | undefined])[] = [
  ['node:http', undefined],
  ['a custom fetch', ownFetch],
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

/** @param asked result of the first round of the call, after which the user has opened the link */
const call = async ({ endpoint }: GatedServer, asked?: Asked) =>
  modernCall(endpoint.url, {
    tool: 'connect',
    subject: 'alice',
    requestState: asked?.requestState,
    inputResponses: Object.fromEntries(Object.keys(asked?.inputRequests ?? {}).map(key => [key, { action: 'accept' }])),
  });

describe(`a gateway, or a proxy before it, sends arbitrary responses (seed ${SEED})`, () => {
  it.each(ways)('the tool gets a typed error, over %s', async (_, fetch) => {
    await using server = await startGatedServer(machine, { ownFetch: fetch, gatewayTimeoutMs: 20_000 });
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
    // It closes the connection at once, so the client does not wait.
    using _switched = machine.answer(() => true, answerNamed(anyAnswers(CANARY), 'a switch of protocols'));
    expect((await call(server)).text).toBe('error network_error');
    expect(server.background.filter(error => String(error).includes(CANARY))).toEqual([]);
    expect(surprises).toEqual([]);
  });

  it('an endless response is a timeout', async () => {
    await using server = await startGatedServer(machine, { gatewayTimeoutMs: 200 });
    using _ = machine.answer(() => true, answerNamed(endlessAnswers, 'a body in drips'));
    const { text = '' } = await call(server);
    expect(transportCodes.map(code => `error ${code}`)).toContain(text);
  });

  it.each(ways)('the tool reads only a small part of a flood, over %s', async (_, fetch) => {
    await using server = await startGatedServer(machine, { ownFetch: fetch, gatewayTimeoutMs: 20_000 });
    for (const [name, damage] of Object.entries(floods)) {
      // Does not limit the headers that a custom `fetch` reads.
      if (fetch !== undefined && !/^(a body|chunks|gzip)/.test(name)) continue;
      using order = machine.answer(() => true, damage);
      const { text = '' } = await call(server);
      expect({ name, isError: transportCodes.includes(text.slice('error '.length)) }).toEqual({ name, isError: true });
      for (const sent of await order.floods()) expect({ name, sent }).toEqual({ name, sent: smallPart });
    }
  });

  it('any response of a provider’s API causes at most an error of the tool', async () => {
    machine.behind(answerAsGateway(machine.port));
    await using server = await startGatedServer(machine, {
      gatewayTimeoutMs: 20_000,
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
        name,
        isAsked: true,
        said: expect.stringMatching(/^(read|error)$/),
      });
    }
  });

  it('no response of the key set endpoint makes a receipt valid, and the verifier reads only a small part of a flood', async () => {
    const { privateKey } = await generateKeyPair('Ed25519');
    const issuer = `http://localhost:${machine.port}`;
    const receipt = await new SignJWT({})
      .setProtectedHeader({ alg: 'EdDSA', typ: 'postern-receipt+jwt', kid: 'k' })
      .sign(privateKey);
    const bodies = Object.entries(floods).filter(([name]) => /^(a body|chunks|gzip)/.test(name));
    for (const [name, damage] of [...answersBy(SEED).slice(0, ANSWERS), ...bodies]) {
      using order = machine.answer(() => true, damage);
      const verifier = createReceiptVerifier({ issuer, mcpServerId: 'tracker', gatewayTimeoutMs: 20_000 });
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

/** Allows for the buffers of both sockets, and a limit of some MiB. */
const smallPart: unknown = expect.toSatisfy((sent: number) => sent < FLOOD_BYTES / 2);

function answerNamed(answers: Readonly<Record<string, Damage>>, name: string): Damage {
  const answer = answers[name];
  if (answer === undefined) throw new TypeError(`no answer ${name}`);
  return answer;
}
