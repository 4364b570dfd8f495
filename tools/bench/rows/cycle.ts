import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { z } from 'zod';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import type { McpServerSettings } from '../children/mcp-server.ts';
import { type Bench, redisOptions } from '../support/bench.ts';
import { type Child, readiness, startChild } from '../support/child.ts';
import { figures } from '../support/figures.ts';
import {
  API_KEY,
  IDENTITY_ISSUER,
  newSubject,
  newVaultKey,
  PROVIDER,
  startGatewayProcess,
} from '../support/gateway.ts';
import { type Elicited, McpSession } from '../support/mcp-session.ts';
import { startOfficialExample } from '../support/official-example.ts';
import { redisCpuMs } from '../support/redis-cpu.ts';
import { compared, type Row } from '../support/row.ts';
import { type SignedIn, signInAll } from '../support/seeds.ts';
import { interleave } from '../support/statistics.ts';

const SESSIONS = 32;

/** A user with an MCP client and a browser, who repeats the cycle. */
interface Participant extends Disposable {
  readonly mcpSession: McpSession;
  readonly tool: string;
  /** Posts the form that ends the elicitation. */
  decide(elicited: Elicited, cartId: string): Promise<void>;
}

let carts = 0;

interface CycleResult {
  readonly cycles: number;
  readonly perSecond: number;
  /** Processor time by process, in microseconds per cycle. */
  readonly cpuPerCycle: readonly number[];
}

/** What our side also counts, per cycle. */
interface OurResult extends CycleResult {
  /** Microseconds of processor time. */
  readonly redisCpu: number;
  readonly gatewayBytes: number;
}

/**
 * Cycles: tools/call → −32042 or a pushed request → POST of the page's form → completion notice on the session's stream, and the result
 * of the call if it waits.
 */
async function cycle(
  participants: readonly Participant[],
  children: readonly Child[],
  seconds: number,
): Promise<CycleResult> {
  const cpuBefore = children.map(child => child.cpuMs());
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  let cycles = 0;
  await Promise.all(
    participants.map(async ({ mcpSession, tool, decide }) => {
      while (performance.now() < until) {
        // A new cart for every cycle, because each call to the example is a new elicitation too.
        carts += 1;
        const cartId = `cart-${carts}`;
        const elicited = await mcpSession.call(tool, cartId);
        const completed = mcpSession.completion(elicited.elicitationId);
        await Promise.all([decide(elicited, cartId), completed]);
        cycles += 1;
      }
    }),
  );
  const perSecond = cycles / ((performance.now() - startedAt) / 1000);
  const cpuPerCycle = children.map((child, index) => ((child.cpuMs() - (cpuBefore[index] ?? 0)) * 1000) / cycles);
  return { cycles, perSecond, cpuPerCycle };
}

/** MCP server, gateway and Redis, compared with the official example, which does all of it in one process and in memory. */
export async function cycleRows(bench: Bench): Promise<Row[]> {
  await using redis = await startRedis(redisOptions);
  await using gateway = await startGatewayProcess({ ...bench, redisUrl: redis.url, vaultKey: newVaultKey() });
  const identity = await identityFor('http://localhost:7001/mcp');
  const settings: McpServerSettings = {
    gatewayUrl: gateway.publicUrl,
    apiKey: API_KEY,
    provider: PROVIDER,
    issuer: IDENTITY_ISSUER,
    audience: identity.audience,
    jwks: identity.jwks,
    isFloor: false,
  };
  await using mcpServer = startMcpServer(bench, 'mcp-server', settings);
  const mcpPort = await portOf(mcpServer);
  await using bare = startMcpServer({ ...bench, profileDir: undefined }, 'bare', { ...settings, isFloor: true });
  const barePort = await portOf(bare);
  await using example = await startOfficialExample();

  await using stack = new AsyncDisposableStack();
  const people = await signInAll(redis.url, SESSIONS);
  const ours = await Promise.all(
    people.map(async person => {
      const bearer = await identity.accessTokenOf(person.subject);
      return stack.use(
        await ourParticipant({ mcpPort, gatewayPort: gateway.port, publicUrl: gateway.publicUrl, bearer, person }),
      );
    }),
  );
  const bares: Participant[] = [];
  for (const { subject } of people)
    bares.push(stack.use(await bareParticipant(barePort, await identity.accessTokenOf(subject))));
  const theirs: Participant[] = [];
  for (let opened = 0; opened < SESSIONS; opened += 1) theirs.push(stack.use(await exampleParticipant(example)));

  const { seconds } = bench;
  let floor: CycleResult[] = [];
  const client = stack.adopt(new Redis(redis.url), each => each.disconnect());
  const runOurs = async (): Promise<OurResult> => {
    const [redisBefore, bytesBefore] = [await redisCpuMs(client), gateway.child.ioBytes()];
    const result = await cycle(ours, [mcpServer, gateway.child], seconds);
    const redisCpu = (((await redisCpuMs(client)) - redisBefore) * 1000) / result.cycles;
    return { ...result, redisCpu, gatewayBytes: (gateway.child.ioBytes() - bytesBefore) / result.cycles };
  };
  const runTheirs = async () => {
    floor.push(await cycle(bares, [bare], seconds));
    return await cycle(theirs, [example.child], seconds);
  };
  await runOurs();
  await runTheirs();
  floor = [];
  const pairs = await interleave(bench, runOurs, runTheirs);
  const rate = (result: CycleResult) => result.perSecond;
  const cpu = ({ cpuPerCycle }: CycleResult) => cpuPerCycle.reduce((total, value) => total + value, 0);
  const cpuOf = (process: 0 | 1) => pairs.ours.map(({ cpuPerCycle }) => cpuPerCycle[process] ?? Number.NaN);
  const alone = 'the MCP server alone';
  return [
    compared(figures.cycle, 'cycles/s', 'official example', {
      ours: pairs.ours.map(rate),
      baseline: pairs.baseline.map(rate),
    }),
    compared(
      'whole cycle, processor time of MCP server and gateway',
      'µs each',
      alone,
      { ours: pairs.ours.map(cpu), baseline: floor.map(cpu) },
      { bound: 'at most', value: 4, profile: 'cycle' },
    ),
    { figure: '  of which the MCP server', unit: 'µs each', ours: cpuOf(0) },
    { figure: figures.cycleGateway, unit: 'µs each', ours: cpuOf(1) },
    { figure: figures.cycleRedis, unit: 'µs each', ours: pairs.ours.map(({ redisCpu }) => redisCpu) },
    { figure: '  processor time of the official example', unit: 'µs each', ours: pairs.baseline.map(cpu) },
    {
      figure: figures.cycleTraffic,
      unit: 'kB each',
      ours: pairs.ours.map(({ gatewayBytes }) => gatewayBytes / 1000),
    },
    {
      figure: '  rate of the MCP server alone: its page in process, nothing checked but the token',
      unit: 'cycles/s',
      ours: floor.map(rate),
    },
  ];
}

function startMcpServer({ directory, profileDir }: Bench, name: string, settings: McpServerSettings): Child {
  const settingsPath = join(directory, `${name}.json`);
  writeFileSync(settingsPath, JSON.stringify(settings));
  return startChild({ module: 'tools/bench/children/mcp-server.ts', args: [settingsPath], profileDir });
}

async function portOf(mcpServer: Child): Promise<number> {
  return z.object({ port: z.int() }).parse(await readiness(mcpServer)).port;
}

async function bareParticipant(port: number, bearer: string): Promise<Participant> {
  const mcpSession = await McpSession.open(port, bearer);
  const browser = await HttpConnection.open(port);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return {
    mcpSession,
    tool: 'close_cart',
    async decide({ url }) {
      const path = `${new URL(url).pathname}/decline`;
      const { status } = await browser.request(httpRequest('POST', path, port, headers, 'a=b'));
      if (status !== 303) throw new Error(`the decision was answered with ${status}`);
    },
    [Symbol.dispose]: () => mcpSession[Symbol.dispose](),
  };
}

async function ourParticipant(p: {
  mcpPort: number;
  gatewayPort: number;
  publicUrl: string;
  bearer: string;
  person: SignedIn;
}): Promise<Participant> {
  const mcpSession = await McpSession.open(p.mcpPort, p.bearer);
  const browser = await HttpConnection.open(p.gatewayPort);
  const headers = {
    cookie: p.person.cookie,
    origin: p.publicUrl,
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/x-www-form-urlencoded',
  };
  // The token belongs to the browser session, so it is read from the first page only.
  const first = await mcpSession.call('close_cart', newSubject());
  const page = await browser.request(httpRequest('GET', new URL(first.url).pathname, p.gatewayPort, headers));
  const csrfToken = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1];
  if (page.status !== 200 || csrfToken === undefined) throw new Error('the page offers no decision');
  const form = new URLSearchParams({ csrf_token: csrfToken }).toString();

  const decide = async ({ url }: Elicited): Promise<void> => {
    const path = `${new URL(url).pathname}/decline`;
    const { status } = await browser.request(httpRequest('POST', path, p.gatewayPort, headers, form));
    if (status !== 303) throw new Error(`the decision was answered with ${status}`);
  };
  const completed = mcpSession.completion(first.elicitationId);
  await Promise.all([decide(first), completed]);
  return { mcpSession, tool: 'close_cart', decide, [Symbol.dispose]: () => mcpSession[Symbol.dispose]() };
}

async function exampleParticipant(example: {
  port: number;
  accessToken: string;
  cookie: string;
}): Promise<Participant> {
  const mcpSession = await McpSession.open(example.port, example.accessToken);
  const browser = await HttpConnection.open(example.port);
  const headers = { cookie: example.cookie, 'content-type': 'application/x-www-form-urlencoded' };
  return {
    mcpSession,
    tool: 'payment-confirm',
    async decide({ url }, cartId) {
      const { searchParams } = new URL(url);
      const form = new URLSearchParams({
        session: searchParams.get('session') ?? '',
        elicitation: searchParams.get('elicitation') ?? '',
        cartId,
        action: 'confirm',
      }).toString();
      const { status } = await browser.request(httpRequest('POST', '/confirm-payment', example.port, headers, form));
      if (status !== 200) throw new Error(`the example answered the decision with ${status}`);
    },
    [Symbol.dispose]: () => mcpSession[Symbol.dispose](),
  };
}

/** The signing key of an authorization server, and the access tokens that it issues for the MCP server (RFC 9068). */
async function identityFor(audience: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  return {
    audience,
    jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'bench', alg: 'ES256' }] },
    accessTokenOf: (subject: string) =>
      new SignJWT({ client_id: 'example-host', scope: 'mcp:tools' })
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'bench' })
        .setIssuer(IDENTITY_ISSUER)
        .setAudience(audience)
        .setSubject(subject)
        .setIssuedAt()
        .setExpirationTime('8h')
        .sign(privateKey),
  };
}
