import { randomUUID } from 'node:crypto';
import { startRedis } from '@postern/testkit/redis';
import { type Bench, redisOptions } from '../support/bench.ts';
import { captureCommand } from '../support/captured-command.ts';
import { startCeiling } from '../support/ceiling.ts';
import { figures } from '../support/figures.ts';
import { apiHeaders, askBody, newSubject, newVaultKey, startGatewayProcess } from '../support/gateway.ts';
import { flush, issueOnce } from '../support/issuing.ts';
import { type Load, load } from '../support/load.ts';
import { loadRows } from '../support/load-rows.ts';
import type { Row } from '../support/row.ts';
import { interleave } from '../support/statistics.ts';

/** One gateway process on one Redis under load, compared with a bare handler that sends Redis the same command. */
export async function issueRows(bench: Bench): Promise<Row[]> {
  await using redis = await startRedis(redisOptions);
  await using gateway = await startGatewayProcess({ ...bench, redisUrl: redis.url, vaultKey: newVaultKey() });
  await issueOnce(gateway);
  await using ceiling = await startCeiling(bench, {
    redisUrl: redis.url,
    issue: await captureCommand(redis.url, () => issueOnce(gateway)),
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
  await ours();
  await bare();
  const resident: number[] = [];
  const issued = await interleave(
    bench.runs,
    async () => {
      const result = await ours();
      resident.push(gateway.child.rss() / 1_000_000);
      return result;
    },
    bare,
  );
  const idempotent = await interleave(bench.runs, issuing(gateway, '/v1/elicitations', true), bare);
  return [
    ...loadRows(figures.issue, 'bare handler, same script', issued, { bound: 'at least', value: 0.8 }),
    { figure: figures.issueMemory, unit: 'MB', ours: resident },
    ...loadRows('issue with Idempotency-Key', 'bare handler, no key', idempotent, { bound: 'at least', value: 0.75 }),
  ];
}
