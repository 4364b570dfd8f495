import { randomUUID } from 'node:crypto';
import { startRedis } from '@postern/testkit/redis';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { type Bench, redisOptions } from '../support/bench.ts';
import { captureCommand } from '../support/captured-command.ts';
import { checkedAs, startCeiling } from '../support/ceiling.ts';
import { figures } from '../support/figures.ts';
import { apiHeaders, askBody, newSubject, newVaultKey, startGatewayProcess } from '../support/gateway.ts';
import { flush, issueOnce } from '../support/issuing.ts';
import { type Load, type LoadResult, load } from '../support/load.ts';
import { checkedRow, loadRows } from '../support/load-rows.ts';
import type { Row } from '../support/row.ts';
import { interleave } from '../support/statistics.ts';

/** One gateway process on one Redis under load, compared with a bare handler that sends Redis the same command. */
export async function issueRows(bench: Bench): Promise<Row[]> {
  await using redis = await startRedis(redisOptions);
  await using gateway = await startGatewayProcess({ ...bench, redisUrl: redis.url, vaultKey: newVaultKey() });
  await issueOnce(gateway);
  using connection = await HttpConnection.open(gateway.port);
  const request = httpRequest('POST', '/v1/elicitations', gateway.port, apiHeaders, askBody(newSubject()));
  const checked = checkedAs(await connection.request(request));
  await using ceiling = await startCeiling(bench, {
    redisUrl: redis.url,
    issue: await captureCommand(redis.url, () => issueOnce(gateway)),
    checked,
  });

  const { seconds } = bench;
  const issuing =
    (target: Pick<Load, 'child' | 'port'>, path: string, isIdempotent = false) =>
    async () => {
      await flush(redis.url);
      const next = () => ({
        path,
        body: askBody(newSubject()),
        headers: isIdempotent ? { ...apiHeaders, 'idempotency-key': randomUUID() } : apiHeaders,
      });
      return load({ ...target, seconds, next });
    };
  const ours = issuing(gateway, '/v1/elicitations');
  const bare = issuing(ceiling, '/issue');
  const checking = issuing(ceiling, '/checked/issue');
  await ours();
  await bare();
  await checking();
  /** Every run is followed by one of each baseline. */
  const against = async (measure: () => Promise<LoadResult>) => {
    const withChecks: LoadResult[] = [];
    const pairs = await interleave(bench, measure, async () => {
      withChecks.push(await checking());
      return bare();
    });
    return { pairs, checked: { ours: pairs.ours, baseline: withChecks } };
  };
  const resident: number[] = [];
  const issued = await against(async () => {
    const result = await ours();
    resident.push(gateway.child.rss() / 1_000_000);
    return result;
  });
  const idempotent = await against(issuing(gateway, '/v1/elicitations', true));
  const withKey = 'issue with Idempotency-Key';
  const target = { bound: 'at most', value: 3, profile: 'issue' } as const;
  return [
    ...loadRows(figures.issue, 'bare handler, same script', issued.pairs),
    checkedRow(figures.issue, issued.checked, target),
    { figure: figures.issueMemory, unit: 'MB', ours: resident },
    ...loadRows(withKey, 'bare handler, no key', idempotent.pairs),
    checkedRow(withKey, idempotent.checked, target),
  ];
}
