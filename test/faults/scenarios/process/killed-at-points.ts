import assert from 'node:assert/strict';
import { type Crash, type CrashPointName, killAt } from '../../crash-points.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import type { TrafficOptions } from '../../traffic.ts';
import { finalsOf, killRepeatedly, reached, type Stricken, startStricken } from './kills.ts';

const created: Scenario = {
  item: 'P1',
  name: 'create: killed between the write to Redis and the 201; the repeat under the same key returns the same elicitation',
  async run(run) {
    const stricken = await startStricken(run, { traffic: { kinds: ['confirmation', 'payment', 'form'] } });
    await killRepeatedly(run, stricken, ['create_committed'], run.isLong ? 6 : 2);
    await stricken.traffic.settle();
    assert.ok(repeatedIssues(run) > 0, 'no issue was repeated');
  },
};

/** Counts issues whose first attempts had no response and that succeeded later. */
function repeatedIssues({ history }: FaultRun): number {
  const answers = new Map(
    history.entries.flatMap(entry => (entry.what === 'response' ? [[entry.call, entry] as const] : [])),
  );
  const issues = history.entries.filter(entry => entry.what === 'request' && entry.op === 'issue');
  const byKey = Map.groupBy(issues, entry => (entry.what === 'request' ? `${entry.who} ${entry.idempotencyKey}` : ''));
  return [...byKey.values()].filter(own => {
    const outcomes = own.map(entry => (entry.what === 'request' ? answers.get(entry.call)?.http : undefined));
    return outcomes.includes(undefined) && outcomes.some(http => http === 201 || http === 200);
  }).length;
}

/** Kills at a point of the OAuth callback. Users who connect an account reload and finish. */
const connecting: Partial<TrafficOptions> = {
  kinds: ['authorization', 'authorization', 'confirmation'],
  shares: { walkAway: 0.05, decline: 0.05 },
};

function inCallback(item: string, name: string, point: CrashPointName): Scenario {
  return {
    item,
    name,
    async run(run) {
      const stricken = await startStricken(run, { traffic: connecting });
      const crashes = await killRepeatedly(run, stricken, [point], run.isLong ? 6 : 2);
      await stricken.traffic.settle();
      const inVain = issuedInVain(run);
      run.measure('token sets issued and never stored', inVain, '');
      assert.ok(inVain >= (point === 'tokens_issued' ? crashes.length : 0), 'every issued token set was stored');
    },
  };
}

/** The unavoidable loss of P4: a code works once, so the user is asked again. */
function issuedInVain({ history }: FaultRun): number {
  const asked = new Set(
    history.entries.flatMap(entry =>
      entry.what === 'event' && entry.kind === 'authorization' && entry.status === 'completed'
        ? [entry.elicitationId]
        : [],
    ),
  );
  return history.entries.filter(({ what }) => what === 'token_issued').length - asked.size;
}

const committing: Scenario = {
  item: 'P5',
  name: 'commit: killed while the script is on its way to Redis; all of its writes or none',
  async run(run) {
    const stricken = await startStricken(run);
    // 20 seeds make a thousand kills.
    await killRepeatedly(run, stricken, ['commit_sent'], run.isLong ? 50 : 3);
    await stricken.traffic.settle();
  },
};

const anywhere: Scenario = {
  item: 'P5',
  name: 'anywhere: killed at random Redis commands, before or after their execution',
  async run(run) {
    const { gateways, traffic } = await startStricken(run);
    const rounds = run.isLong ? 12 : 3;
    for (let round = 0; round < rounds; round += 1) await killAnywhere(run, { gateways, traffic });
    run.measure('kills', rounds, '');
    await traffic.settle();
  },
};

async function killAnywhere(run: FaultRun, { gateways, traffic }: Pick<Stricken, 'gateways' | 'traffic'>) {
  const moment = run.random.pick(['request_arrives', 'request_passed', 'answer_arrives'] as const);
  const nth = run.random.between(1, 150);
  const matches = () => true;
  const { gateway } = await reached(moment, killAt(gateways, { why: `${moment} ${nth}`, moment, matches, nth }));
  await traffic.more(run.random.between(1, 6));
  await gateway.restart();
}

const committed: Scenario = {
  item: 'P6',
  name: 'commit: killed before the response to the browser; the reload shows the decision, and nothing happens twice',
  async run(run) {
    const stricken = await startStricken(run, { traffic: { shares: { walkAway: 0.05, decline: 0.05 } } });
    const crashes = await killRepeatedly(run, stricken, ['committed'], run.isLong ? 6 : 2);
    await stricken.traffic.settle();
    expectCompleted(run, crashes);
  },
};

function expectCompleted(run: FaultRun, crashes: readonly Crash[]): void {
  const finals = finalsOf(run);
  for (const { elicitationId } of crashes) {
    const status = finals.get(elicitationId ?? '');
    // An elicitation whose issue was never acknowledged has no final read.
    assert.ok(status === undefined || status === 'completed', `committed, but finally ${status}`);
  }
}

const relaying: Scenario = {
  item: 'P7',
  name: 'relay: killed between its steps; another replica continues, and every terminal status is announced under one id',
  async run(run) {
    const stricken = await startStricken(run);
    const points = run.random.chance(0.5)
      ? (['carry_begun', 'carried', 'cursor_sent'] as const)
      : (['carried', 'cursor_sent', 'carry_begun'] as const);
    await killRepeatedly(run, stricken, points, run.isLong ? 9 : 3);
    await stricken.traffic.settle();
  },
};

export const killedAtPoints: readonly Scenario[] = [
  created,
  inCallback(
    'P2',
    'callback: killed before the response is marked as used; the reload connects',
    'callback_unrecorded',
  ),
  inCallback(
    'P3',
    'callback: killed after the response is marked as used, before the token request; the user continues from the page',
    'callback_recorded',
  ),
  inCallback(
    'P4',
    'callback: killed after the provider issued tokens; no connection exists, and the user is asked again',
    'tokens_issued',
  ),
  committing,
  anywhere,
  committed,
  relaying,
];

/** All crash points of P1 to P7, in an order that mixes the kinds of faults. */
const points = [
  'create_committed',
  'callback_recorded',
  'carry_begun',
  'tokens_issued',
  'commit_sent',
  'carried',
  'callback_unrecorded',
  'committed',
  'cursor_sent',
] as const satisfies readonly CrashPointName[];

/** Combines the scenarios of P1 to P7 in one deployment, for tests, where each gateway start is expensive. */
export const killedAtEveryPoint: Scenario = {
  item: 'P1',
  name: 'P1 to P7: kills at every crash point and at random commands lose and duplicate nothing',
  async run(run) {
    const kinds = ['authorization', 'authorization', 'authorization', 'confirmation', 'payment', 'form'] as const;
    const traffic = { kinds, shares: { walkAway: 0.05, decline: 0.05 } };
    const stricken = await startStricken(run, { traffic });
    const crashes = await killRepeatedly(run, stricken, points, points.length);
    for (let round = 0; round < 2; round += 1) await killAnywhere(run, stricken);
    await stricken.traffic.settle();
    assert.ok(repeatedIssues(run) > 0, 'no issue was repeated');
    assert.ok(issuedInVain(run) > 0, 'every issued token set was stored');
    expectCompleted(
      run,
      [crashes[points.indexOf('committed')]].flatMap(crash => crash ?? []),
    );
  },
};
