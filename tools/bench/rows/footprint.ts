import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startRedis } from '@postern/testkit/redis';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { type Bench, redisOptions } from '../support/bench.ts';
import { figures } from '../support/figures.ts';
import {
  askBody,
  type GatewayProcess,
  type GatewaySettings,
  IDENTITY_ISSUER,
  newVaultKey,
  startGatewayProcess,
} from '../support/gateway.ts';
import { buildGatewayImage } from '../support/image.ts';
import { issue } from '../support/issuing.ts';
import type { Row } from '../support/row.ts';
import { signInAll } from '../support/seeds.ts';
import { type Rounds, rounds } from '../support/statistics.ts';

const IDLE_MS = 3000;
const MEGABYTE = 1_000_000;

/** Cost of one gateway process without traffic, and of the first page for its user. */
export async function footprintRows(bench: Bench): Promise<Row[]> {
  await using redis = await startRedis(redisOptions);
  const settings = { ...bench, profileDir: undefined, redisUrl: redis.url, vaultKey: newVaultKey() };
  const image = buildGatewayImage(join(bench.directory, 'image'));
  const compiled = { ...settings, program: image.program };
  const shipped = await starts(bench, { ...compiled, env: { NODE_COMPILE_CACHE: image.compiled } });
  const uncached = await starts(bench, compiled);
  const sources = await starts(bench, settings);
  await using gateway = await startGatewayProcess(settings);
  const page = await firstPageBytes(gateway, redis.url);
  const kilobytes = (bytes: number) => [bytes / 1000];
  return [
    {
      figure: 'start to ready, as the image does it',
      unit: 'ms',
      ours: shipped.readyAfter,
      target: { bound: 'at most', value: 700, profile: 'start' },
    },
    {
      figure: '  without compiled modules',
      unit: 'ms',
      ours: uncached.readyAfter,
      target: { bound: 'at most', value: 700, profile: 'start' },
    },
    { figure: '  from the sources', unit: 'ms', ours: sources.readyAfter },
    {
      figure: figures.idle,
      unit: 'MB',
      ours: shipped.resident,
      target: { bound: 'at most', value: 120, profile: 'idle-memory' },
    },
    { figure: '  without compiled modules', unit: 'MB', ours: uncached.resident },
    { figure: '  from the sources', unit: 'MB', ours: sources.resident },
    {
      figure: 'size of the image beside Node.js',
      unit: 'MB',
      ours: [image.bytes / MEGABYTE],
      target: { bound: 'at most', value: 60, profile: 'sizes' },
    },
    {
      figure: figures.page,
      unit: 'kB',
      ours: kilobytes(page.sum),
      target: { bound: 'at most', value: 13, profile: 'sizes' },
    },
    ...page.parts.map(({ what, bytes }) => ({ figure: `  ${what}`, unit: 'kB', ours: kilobytes(bytes) }) as const),
  ];
}

async function starts(extent: Rounds, settings: GatewaySettings) {
  const readyAfter: number[] = [];
  const resident: number[] = [];
  for (const _ of rounds(extent)) {
    await using gateway = await startGatewayProcess(settings);
    readyAfter.push(gateway.readyAfterMs);
    await delay(IDLE_MS);
    resident.push(gateway.child.rss() / MEGABYTE);
  }
  return { readyAfter, resident };
}

/** The connect page of a signed-in user, the largest first page, and everything that the browser loads for it. */
async function firstPageBytes({ port }: GatewayProcess, redisUrl: string) {
  const [person] = await signInAll(redisUrl, 1);
  if (person === undefined) throw new Error('no user has signed in');
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
  const parts = [{ what: 'the page, not compressed', bytes: Buffer.byteLength(page.body, 'latin1') }];
  for (const path of new Set(loaded)) {
    const { status, body } = await connection.request(httpRequest('GET', path, port, headers));
    if (status !== 200) throw new Error(`${path} was answered with ${status}`);
    parts.push({
      what: path.endsWith('.css') ? 'stylesheet' : path.endsWith('.js') ? 'script' : 'icon',
      bytes: Buffer.byteLength(body, 'latin1'),
    });
  }
  return { parts, sum: parts.reduce((sum, { bytes }) => sum + bytes, 0) };
}
