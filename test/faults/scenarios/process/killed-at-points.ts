import assert from 'node:assert/strict';
import { type Crash, type CrashPointName, killAt } from '../../crash-points.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import type { TrafficOptions } from '../../traffic.ts';
import { finalsOf, killRepeatedly, reached, type Stricken, startStricken } from './kills.ts';

/** Of an Idempotency-Key whose holder died (services/gateway: issue-flow). */
const KEY_LEASE_MS = 15_000;

/** Somebody repeats under a key whose holder died: only when its lease is over is the key free. */
const patience = { patienceMs: KEY_LEASE_MS + 1_000 };

const created: Scenario = {
  item: 'P1',
  name: 'create: killed between the write to Redis and the 201; the repeat under the same key finds the same elicitation',
  async run(run) {
    const stricken = await startStricken(run, { traffic: { ...patience, kinds: ['confirmation', 'payment', 'form'] } });
    await killRepeatedly(run, stricken, ['create_committed', 'create_answer_kept'], run.isLong ? 6 : 2);
    await stricken.traffic.settle();
    assert.ok(repeatedIssues(run) > 0, 'nobody had to repeat an issue');
  },
};

/** Issues that got no answer at first, and then one. */
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

/** Killed at a point that people come to who connect an account; they reload, and are through. */
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
      assert.ok(inVain >= (point === 'tokens_issued' ? crashes.length : 0), 'tokens were stored that never came');
    },
  };
}

/** What P4 cannot avoid: codes are used once. The person is asked again. */
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
  name: 'commit: killed when it is on its way to Redis; all of it is there or nothing',
  async run(run) {
    const stricken = await startStricken(run);
    // 20 seeds make a thousand.
    await killRepeatedly(run, stricken, ['commit_sent'], run.isLong ? 50 : 3);
    await stricken.traffic.settle();
  },
};

const anywhere: Scenario = {
  item: 'P5',
  name: 'anywhere: killed at random commands to Redis, before or after they are carried out',
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

/** Also part of the short tests. */
export const committed: Scenario = {
  item: 'P6',
  name: 'commit: killed before the browser is told; the reload shows what was decided, and nothing happens twice',
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
    // One whose issue was never acknowledged is not read in the end.
    assert.ok(status === undefined || status === 'completed', `committed, and ${status} in the end`);
  }
}

const relaying: Scenario = {
  item: 'P7',
  name: 'relay: killed between the steps of carrying events; another goes on, and every end is announced under one id',
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
    'callback: killed before it is recorded that the answer was used; the reload connects',
    'callback_unrecorded',
  ),
  inCallback(
    'P3',
    'callback: killed when that is recorded and no token was asked for; the person goes on from the page',
    'callback_recorded',
  ),
  inCallback(
    'P4',
    'callback: killed with the tokens of the provider in hand; nothing is bound, and the person is asked again',
    'tokens_issued',
  ),
  committing,
  anywhere,
  committed,
  relaying,
];

/** All points of P1 to P7, in an order that leaves the kinds of trouble mixed. */
const points = [
  'create_committed',
  'callback_recorded',
  'carry_begun',
  'tokens_issued',
  'commit_sent',
  'create_answer_kept',
  'carried',
  'callback_unrecorded',
  'committed',
  'cursor_sent',
] as const satisfies readonly CrashPointName[];

/** What the scenarios of P1 to P7 show one by one, in one deployment: for tests, which pay for every gateway that is started. */
export const killedAtEveryPoint: Scenario = {
  item: 'P1',
  name: 'P1 to P7: killed at every point and at random commands in turn; nothing is lost, nothing happens twice',
  async run(run) {
    const kinds = ['authorization', 'authorization', 'authorization', 'confirmation', 'payment', 'form'] as const;
    const traffic = { ...patience, kinds, shares: { walkAway: 0.05, decline: 0.05 } };
    const stricken = await startStricken(run, { traffic });
    const crashes = await killRepeatedly(run, stricken, points, points.length);
    for (let round = 0; round < 2; round += 1) await killAnywhere(run, stricken);
    await stricken.traffic.settle();
    assert.ok(repeatedIssues(run) > 0, 'nobody had to repeat an issue');
    assert.ok(issuedInVain(run) > 0, 'tokens were stored that never came');
    expectCompleted(
      run,
      [crashes[points.indexOf('committed')]].flatMap(crash => crash ?? []),
    );
  },
};
