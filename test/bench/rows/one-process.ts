import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { type Bench, redisOptions } from '../support/bench.ts';
import { captureCommand } from '../support/captured-command.ts';
import { readiness, startChild } from '../support/child.ts';
import {
  apiHeaders,
  askBody,
  type GatewayProcess,
  newSubject,
  newVaultKey,
  startGatewayProcess,
} from '../support/gateway.ts';
import { HttpConnection, httpRequest } from '../support/http-connection.ts';
import { type Load, type LoadResult, load } from '../support/load.ts';
import { compared, type Row } from '../support/row.ts';
import { connectAll } from '../support/seeds.ts';
import { interleave, type Pairs } from '../support/statistics.ts';

const CONNECTED = 512;
const { authorization } = apiHeaders;
const tokenHeaders = { authorization: authorization ?? '' };

/** One gateway process on one Redis under load, against a bare handler that sends Redis the same command. */
export async function oneProcessRows(bench: Bench): Promise<Row[]> {
  await using redis = await startRedis(redisOptions);
  const vaultKey = newVaultKey();
  await using gateway = await startGatewayProcess({ ...bench, redisUrl: redis.url, vaultKey });

  await issueOnce(gateway);
  const [connectionId = ''] = await connectAll(redis.url, vaultKey, 1);
  const settings = {
    redisUrl: redis.url,
    issue: await captureCommand(redis.url, () => issueOnce(gateway)),
    readConnection: await captureCommand(redis.url, () => readTokenOnce(gateway, connectionId)),
  };
  const settingsPath = join(bench.directory, 'ceiling.json');
  writeFileSync(settingsPath, JSON.stringify(settings));
  await using ceiling = startChild({ module: 'test/bench/children/ceiling.ts', args: [settingsPath] });
  const { port: ceilingPort } = z.object({ port: z.int() }).parse(await readiness(ceiling));

  const { seconds } = bench;
  const issuing =
    (target: Target, path: string, isIdempotent = false) =>
    async () => {
      await flush(redis.url);
      const next = () => ({
        path,
        body: askBody(newSubject()),
        headers: isIdempotent ? { ...apiHeaders, 'idempotency-key': randomUUID() } : apiHeaders,
      });
      return load({ ...target, seconds, next });
    };
  const bareTarget = { child: ceiling, port: ceilingPort };
  const ours = issuing(gateway, '/v1/elicitations');
  const bare = issuing(bareTarget, '/issue');
  await ours();
  await bare();
  const issued = await interleave(bench.runs, ours, bare);
  const idempotent = await interleave(bench.runs, issuing(gateway, '/v1/elicitations', true), bare);

  const connectionIds = await connectAll(redis.url, vaultKey, CONNECTED);
  const reading = (target: Target, pathOf: (id: string) => string) => () => {
    let turn = 0;
    const next = () => {
      turn += 1;
      return { path: pathOf(connectionIds[turn % CONNECTED] ?? ''), headers: tokenHeaders, body: '' };
    };
    return load({ ...target, seconds, next });
  };
  const oursRead = reading(gateway, id => `/v1/connections/${id}/access-token`);
  const bareRead = reading(bareTarget, id => `/access-token/${id}`);
  await oursRead();
  await bareRead();
  const read = await interleave(bench.runs, oursRead, bareRead);

  const atLeast = { bound: 'at least', value: 0.6 } as const;
  return [
    ...loadRows('issue', 'bare handler, same script', issued, atLeast),
    ...loadRows('issue with Idempotency-Key (3 scripts)', 'bare handler, 1 script', idempotent),
    ...loadRows('read a fresh access token', 'bare handler, same read', read, atLeast),
  ];
}

type Target = Pick<Load, 'child' | 'port'>;

function loadRows(figure: string, baseline: string, pairs: Pairs<LoadResult>, bound?: Row['target']): Row[] {
  return [
    compared(figure, 'requests/s', baseline, picked(pairs, 'perSecond'), bound),
    compared('  its processor time', 'µs each', baseline, picked(pairs, 'cpuPerRequest')),
  ];
}

const picked = (pairs: Pairs<LoadResult>, name: keyof LoadResult): Pairs<number> => ({
  ours: pairs.ours.map(result => result[name]),
  baseline: pairs.baseline.map(result => result[name]),
});

async function flush(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl);
  await redis.flushall();
  redis.disconnect();
}

const issuedSchema = z.object({ elicitationId: z.string() });

async function issueOnce({ port }: GatewayProcess): Promise<{ id: string; subject: string }> {
  using connection = await HttpConnection.open(port);
  const subject = newSubject();
  const answer = await connection.request(httpRequest('POST', '/v1/elicitations', port, apiHeaders, askBody(subject)));
  if (answer.status !== 201) throw new Error(`issuing was answered with ${answer.status}`);
  return { id: issuedSchema.parse(JSON.parse(answer.body)).elicitationId, subject };
}

async function readTokenOnce({ port }: GatewayProcess, connectionId: string) {
  using connection = await HttpConnection.open(port);
  const path = `/v1/connections/${connectionId}/access-token`;
  const answer = await connection.request(httpRequest('POST', path, port, tokenHeaders));
  if (answer.status !== 200) throw new Error(`reading an access token was answered with ${answer.status}`);
  return { id: connectionId, subject: 'nobody' };
}
