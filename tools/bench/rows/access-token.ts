import { startRedis } from '@postern/testkit/redis';
import { type HttpAnswer, HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { type Bench, redisOptions } from '../support/bench.ts';
import { captureCommand } from '../support/captured-command.ts';
import { checkedAs, startCeiling } from '../support/ceiling.ts';
import { figures } from '../support/figures.ts';
import { apiHeaders, type GatewayProcess, newVaultKey, startGatewayProcess } from '../support/gateway.ts';
import { type Load, type LoadResult, load } from '../support/load.ts';
import { checkedRow, loadRows } from '../support/load-rows.ts';
import type { Row } from '../support/row.ts';
import { connectAll } from '../support/seeds.ts';
import { interleave } from '../support/statistics.ts';

const CONNECTED = 512;
const { authorization = '' } = apiHeaders;
const headers = { authorization };

/** One gateway process on one Redis returns tokens under load, compared with a bare handler that does the same read. */
export async function accessTokenRows(bench: Bench): Promise<Row[]> {
  await using redis = await startRedis(redisOptions);
  const vaultKey = newVaultKey();
  await using gateway = await startGatewayProcess({ ...bench, redisUrl: redis.url, vaultKey });
  const connectionIds = await connectAll(redis.url, vaultKey, CONNECTED);
  const [firstId = ''] = connectionIds;
  // The first call records the use, at most once a minute. The second call sends the command that every call sends.
  const checked = checkedAs(await readOnce(gateway, firstId));
  await using ceiling = await startCeiling(bench, {
    redisUrl: redis.url,
    readConnection: await captureCommand(redis.url, async () => {
      await readOnce(gateway, firstId);
      return { id: firstId, subject: 'unused' };
    }),
    checked,
  });

  const { seconds } = bench;
  const reading = (target: Pick<Load, 'child' | 'port'>, pathOf: (id: string) => string) => () => {
    let turn = 0;
    const next = () => {
      turn += 1;
      return { path: pathOf(connectionIds[turn % CONNECTED] ?? ''), headers, body: '' };
    };
    return load({ ...target, seconds, next });
  };
  const ours = reading(gateway, id => `/v1/connections/${id}/access-token`);
  const bare = reading(ceiling, id => `/access-token/${id}`);
  const checking = reading(ceiling, id => `/checked/access-token/${id}`);
  await ours();
  await bare();
  await checking();
  const withChecks: LoadResult[] = [];
  const read = await interleave(bench, ours, async () => {
    withChecks.push(await checking());
    return bare();
  });
  return [
    ...loadRows(figures.read, 'bare handler, same read', read),
    checkedRow(
      figures.read,
      { ours: read.ours, baseline: withChecks },
      { bound: 'at most', value: 2.5, profile: 'access-token' },
    ),
  ];
}

async function readOnce({ port }: GatewayProcess, connectionId: string): Promise<HttpAnswer> {
  using connection = await HttpConnection.open(port);
  const path = `/v1/connections/${connectionId}/access-token`;
  const answer = await connection.request(httpRequest('POST', path, port, headers));
  if (answer.status !== 200) throw new Error(`reading an access token was answered with ${answer.status}`);
  return answer;
}
