import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { startRedis } from '@postern/testkit/redis';
import { type Bench, redisOptions } from '../support/bench.ts';
import {
  askBody,
  type GatewayProcess,
  type GatewaySettings,
  IDENTITY_ISSUER,
  newVaultKey,
  startGatewayProcess,
} from '../support/gateway.ts';
import { HttpConnection, httpRequest } from '../support/http-connection.ts';
import { issue } from '../support/issuing.ts';
import type { Row } from '../support/row.ts';
import { signInAll } from '../support/seeds.ts';

const IDLE_MS = 3000;
const MEGABYTE = 1_000_000;

/** What one gateway process costs before anybody has come, and what the first page costs the person who comes. */
export async function footprintRows(bench: Bench): Promise<Row[]> {
  await using redis = await startRedis(redisOptions);
  const settings = { ...bench, profileDir: undefined, redisUrl: redis.url, vaultKey: newVaultKey() };
  const cold = await starts(bench.runs, settings);
  // As `scripts/start.ts` and the image: compiled modules are kept.
  const cached = { ...settings, env: { NODE_COMPILE_CACHE: join(bench.directory, 'compile-cache') } };
  await starts(1, cached);
  const warm = await starts(bench.runs, cached);
  await using gateway = await startGatewayProcess(settings);
  const page = await firstPageBytes(gateway, redis.url);
  const kilobytes = (bytes: number) => [bytes / 1000];
  return [
    {
      figure: 'start to ready, as the image and `pnpm start` do it',
      unit: 'ms',
      ours: warm.readyAfter,
      target: { bound: 'at most', value: 1000 },
    },
    { figure: '  when no module was ever compiled', unit: 'ms', ours: cold.readyAfter },
    {
      figure: 'memory of an idle process (RSS), started so',
      unit: 'MB',
      ours: warm.resident,
      target: { bound: 'at most', value: 120 },
    },
    { figure: '  when no module was ever compiled', unit: 'MB', ours: cold.resident },
    {
      figure: 'first page load, page and stylesheet, gzip',
      unit: 'kB',
      ours: kilobytes(page.compressed),
      target: { bound: 'at most', value: 14 },
    },
    { figure: '  as the gateway itself sends it', unit: 'kB', ours: kilobytes(page.sent) },
  ];
}

async function starts(runs: number, settings: GatewaySettings) {
  const readyAfter: number[] = [];
  const resident: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    await using gateway = await startGatewayProcess(settings);
    readyAfter.push(gateway.readyAfterMs);
    await delay(IDLE_MS);
    resident.push(gateway.child.rss() / MEGABYTE);
  }
  return { readyAfter, resident };
}

/** The connect page of a signed-in person, the largest of the first pages, and everything it makes the browser load. */
async function firstPageBytes({ port }: GatewayProcess, redisUrl: string) {
  const [person] = await signInAll(redisUrl, 1);
  if (person === undefined) throw new Error('nobody has signed in');
  using connection = await HttpConnection.open(port);
  const headers = { cookie: person.cookie, 'accept-encoding': 'gzip, br' };
  const elicitationId = await issue(port, connection, askBody(person.subject));
  const page = await connection.request(httpRequest('GET', `/e/${elicitationId}`, port, headers));
  const loaded = [...page.body.matchAll(/<(?:link|script|img)\b[^>]*?\b(?:href|src)="([^"]+)"/g)].map(
    ([, address]) => address ?? '',
  );
  const foreign = loaded.filter(address => !address.startsWith('/'));
  if (page.status !== 200 || foreign.length > 0)
    throw new Error(`the first page of ${IDENTITY_ISSUER} loads from ${foreign.join(', ')}`);
  let sent = Buffer.byteLength(page.body, 'latin1');
  let compressed = gzipSync(Buffer.from(page.body, 'latin1')).byteLength;
  for (const path of loaded) {
    const { status, body } = await connection.request(httpRequest('GET', path, port, headers));
    if (status !== 200) throw new Error(`${path} was answered with ${status}`);
    sent += Buffer.byteLength(body, 'latin1');
    compressed += gzipSync(Buffer.from(body, 'latin1')).byteLength;
  }
  return { sent, compressed };
}
