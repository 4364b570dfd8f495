import { startRedis } from '@postern/testkit/redis';
import { type Bench, redisOptions } from '../support/bench.ts';
import { newVaultKey, startGatewayProcess } from '../support/gateway.ts';
import { fillHistory } from '../support/large-history.ts';
import { CLICK_MS, clicks, signedInOperator } from '../support/operator.ts';
import type { Row } from '../support/row.ts';
import { interleave, median } from '../support/statistics.ts';
import { type SteadyRun, startSteadyLoad, steadyRows } from '../support/steady-load.ts';

const PER_SECOND = 150;
const OPERATORS = 2;
/** In each run, the operators together open every page once: all runs do the same work. */
const CYCLE_SECONDS = (clicks.length * CLICK_MS) / OPERATORS / 1000;

interface WithPages extends SteadyRun {
  readonly pages: readonly number[];
}

/** The API at a fixed rate, without and with operators at the console of the same gateway process. */
export async function consoleRows(bench: Bench): Promise<Row[]> {
  const elicitations = bench.quick ? 100_000 : 1_000_000;
  await using redis = await startRedis(redisOptions);
  const vaultKey = newVaultKey();
  const settings = { ...bench, redisUrl: redis.url, vaultKey, isShared: true, hasConsole: true } as const;
  await using gateway = await startGatewayProcess(settings);
  await fillHistory(redis, gateway, { elicitations, vaultKey });
  const operators = await Promise.all(
    Array.from({ length: OPERATORS }, (_, nth) =>
      signedInOperator(redis.url, gateway, (nth * clicks.length) / OPERATORS),
    ),
  );
  await using load = await startSteadyLoad(gateway, PER_SECOND);

  const alone = () => load.run(CYCLE_SECONDS);
  async function besideOperators(): Promise<WithPages> {
    const [run, ...pages] = await Promise.all([alone(), ...operators.map(({ browse }) => browse(CYCLE_SECONDS))]);
    return { ...run, pages: pages.flat() };
  }

  await besideOperators();
  await alone();
  // More than other rows in a quick run: the 99th percentile of 1,500 requests varies.
  const { ours, baseline } = await interleave({ ...bench, runs: Math.max(bench.runs, 5) }, besideOperators, alone);
  const size = elicitations.toLocaleString('en-GB');
  return [
    ...steadyRows(
      `p99 of the API, ${PER_SECOND} requests/s, beside ${OPERATORS} operators at the console, ${size} elicitations`,
      'no operators',
      { ours, baseline },
      { value: 1.25, profile: 'console' },
    ),
    { figure: '  a page of the console, p50', unit: 'ms', ours: ours.map(({ pages }) => median(pages)) },
    { figure: '  the slowest page', unit: 'ms', ours: ours.map(({ pages }) => Math.max(...pages)) },
  ];
}
