import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { findLocalGateway, LITTLE_MEMORY, personalFiles } from '@postern/api/local';
import { startRedis } from '@postern/testkit/redis';
import { z } from 'zod';
import { HttpConnection, headerOf, httpRequest } from '../../../test/support/http-connection.ts';
import { type Bench, redisOptions } from '../support/bench.ts';
import { type Child, root, startChild } from '../support/child.ts';
import {
  apiHeaders,
  type GatewaySettings,
  IDENTITY_ISSUER,
  newSubject,
  newVaultKey,
  startGatewayProcess,
} from '../support/gateway.ts';
import { buildGatewayImage } from '../support/image.ts';
import { issue } from '../support/issuing.ts';
import { compared, type Row } from '../support/row.ts';
import { interleave, rounds } from '../support/statistics.ts';

const IDLE_MS = 3000;
const MEGABYTE = 1_000_000;
const redis = 'over Redis';

/** The gateway of one person, on a file and over Redis, as npm installs it: bundled, without compiled modules. */
export async function onePersonRows(bench: Bench): Promise<Row[]> {
  await using server = await startRedis(redisOptions);
  const image = buildGatewayImage(join(bench.directory, 'one-person'));
  const onFile: GatewaySettings = {
    directory: bench.directory,
    vaultKey: newVaultKey(),
    program: image.program,
    isLoopback: true,
  };
  const overRedis: GatewaySettings = { ...onFile, redisUrl: server.url };
  const compiled = { NODE_COMPILE_CACHE: image.compiled };
  const pair = (env: Readonly<Record<string, string>>) =>
    interleave(bench, start({ ...onFile, env }), start({ ...overRedis, env }));
  const starts = await pair({});
  const again = await pair(compiled);
  const personal: number[] = [];
  for (const _ of rounds(bench)) personal.push(await personalMemory(image.program));

  const sqlite = pathToFileURL(join(root, 'tools/bench/children/sqlite-times.ts')).href;
  await using gateway = await startGatewayProcess({ ...onFile, env: { NODE_OPTIONS: `--import=${sqlite}` } });
  await using baseline = await startGatewayProcess(overRedis);
  const run = (port: number) => async () => {
    using connection = await HttpConnection.open(port);
    return await cyclesPerSecond(port, connection, bench.seconds);
  };
  await run(gateway.port)();
  await run(baseline.port)();
  await blockedTurns(gateway.child);
  const blocked: number[] = [];
  const cycles = await interleave(
    bench,
    async () => {
      const rate = await run(gateway.port)();
      blocked.push(percentile99(await blockedTurns(gateway.child)));
      return rate;
    },
    run(baseline.port),
  );

  const values = ({ ours, baseline }: typeof starts, of: (measured: Started) => number) => ({
    ours: ours.map(of),
    baseline: baseline.map(of),
  });
  const ready = ({ readyAfterMs }: Started) => readyAfterMs;
  const resident = ({ rss }: Started) => rss / MEGABYTE;
  const notSlower = { bound: 'at most', value: 1, profile: 'one-person' } as const;
  return [
    compared('gateway of one person on a file: start to ready', 'ms', redis, values(starts, ready), notSlower),
    compared('  with compiled modules', 'ms', redis, values(again, ready)),
    compared(
      '  its first page',
      'ms',
      redis,
      values(starts, ({ firstPageMs }) => firstPageMs),
    ),
    {
      figure: '  memory of an idle personal gateway (RSS)',
      unit: 'MB',
      ours: personal,
      target: { bound: 'at most', value: 90, profile: 'one-person' },
    },
    compared('  of one that its user started', 'MB', redis, values(starts, resident)),
    compared('  whole cycle: issue → page → form POST → redeem, one after the other', 'cycles/s', redis, cycles, {
      bound: 'at least',
      value: 0.6,
      profile: 'one-person',
    }),
    {
      figure: '  time in SQLite per turn of the event loop, p99',
      unit: 'ms',
      ours: blocked,
      target: { bound: 'at most', value: 5, profile: 'one-person' },
    },
  ];
}

interface Started {
  readonly readyAfterMs: number;
  readonly rss: number;
  readonly firstPageMs: number;
}

const start = (settings: GatewaySettings) => async (): Promise<Started> => {
  await using gateway = await startGatewayProcess(settings);
  await delay(IDLE_MS);
  const rss = gateway.child.rss();
  using connection = await HttpConnection.open(gateway.port);
  const elicitationId = await issue(gateway.port, connection, ask());
  const startedAt = performance.now();
  await openPage(gateway.port, connection, elicitationId, {});
  return { readyAfterMs: gateway.readyAfterMs, rss, firstPageMs: performance.now() - startedAt };
};

/** Resident memory of the gateway that `@postern/mcp` starts in the background, three seconds after it has started. */
async function personalMemory(program: string): Promise<number> {
  const home = await mkdtemp(join(tmpdir(), 'postern-personal-'));
  try {
    await using child = startChild({
      flags: LITTLE_MEMORY,
      module: program,
      args: ['local'],
      env: { POSTERN_HOME: home },
    });
    const { store } = personalFiles(home);
    while ((await isRunning(store)) === false) await delay(20);
    await delay(IDLE_MS);
    return child.rss() / MEGABYTE;
  } finally {
    await rm(home, { recursive: true });
  }
}

async function isRunning(store: string): Promise<boolean> {
  using gateway = await findLocalGateway(store);
  return gateway !== undefined;
}

const ask = () =>
  JSON.stringify({
    kind: 'form',
    subject: { issuer: IDENTITY_ISSUER, subject: newSubject() },
    form: { requestedSchema: { type: 'object', properties: { branch: { type: 'string' } }, required: ['branch'] } },
  });

/** The person, the MCP server and the gateway do one thing after the other, as with one tool call. */
async function cyclesPerSecond(port: number, connection: HttpConnection, seconds: number): Promise<number> {
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  let cookie: Readonly<Record<string, string>> = {};
  let cycles = 0;
  while (performance.now() < until) {
    const elicitationId = await issue(port, connection, ask());
    const opened = await openPage(port, connection, elicitationId, cookie);
    cookie = opened.cookie;
    const headers = {
      ...cookie,
      origin: `http://localhost:${port}`,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
    };
    const form = new URLSearchParams([...opened.hidden, ['field.branch', 'main']]).toString();
    const posted = await connection.request(httpRequest('POST', `/e/${elicitationId}/accept`, port, headers, form));
    if (posted.status !== 303) throw new Error(`the form was answered with ${posted.status}`);
    const redeemed = await connection.request(
      httpRequest('POST', `/v1/elicitations/${elicitationId}/redeem`, port, apiHeaders, '{}'),
    );
    if (redeemed.status !== 200) throw new Error(`redeeming was answered with ${redeemed.status}: ${redeemed.body}`);
    cycles += 1;
  }
  return cycles / ((performance.now() - startedAt) / 1000);
}

async function openPage(
  port: number,
  connection: HttpConnection,
  elicitationId: string,
  cookie: Readonly<Record<string, string>>,
) {
  const page = await connection.request(httpRequest('GET', `/e/${elicitationId}`, port, cookie));
  if (page.status !== 200) throw new Error(`the page was answered with ${page.status}`);
  const [, answer = ''] = page.body.split('/accept"', 2);
  const hidden = [...answer.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
    ([, name = '', value = '']): [string, string] => [name, value],
  );
  const [pair] = headerOf(page, 'set-cookie')?.split(';', 1) ?? [];
  return { hidden, cookie: pair === undefined ? cookie : { cookie: pair } };
}

/** Milliseconds that SQLite took of each turn since the last call. */
async function blockedTurns({ process }: Child): Promise<readonly number[]> {
  const answered = once(process, 'message');
  process.send('turns');
  const [turns] = await answered;
  return z.array(z.number()).parse(turns);
}

function percentile99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? Number.NaN;
}
