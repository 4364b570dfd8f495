import { setTimeout as delay } from 'node:timers/promises';
import { startFaultWorld } from '../../fault-world.ts';
import { HANG_MS } from '../../hang.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { digestOf } from '../../traffic/caller.ts';
import { formsIn } from '../../traffic/person.ts';
import { startTraffic, type Traffic } from '../../traffic.ts';

interface Rate {
  readonly flowsPerSecond: number;
  readonly flows: number;
  readonly errors: number;
  readonly firstError: unknown;
  readonly p99ApiMs: number;
  readonly p99NotifyMs: number;
}

const LIMITS = { apiMs: 100, notifyMs: 500 };
/** Target of the catalogue, on a machine that runs nothing else. */
const WANTED = 200;
const PEOPLE = 48;

const percentile = (values: readonly number[], share: number) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? Number.POSITIVE_INFINITY;

/**
 * Complete flows at a fixed rate, regardless of responses: issue, open the page, accept, receive the event on the stream. The users
 * have signed in before.
 */
async function flowsAt(
  run: FaultRun,
  traffic: Traffic,
  perSecond: number,
  seconds: number,
  name: string,
): Promise<Rate> {
  const api: number[] = [];
  const notify: number[] = [];
  let errors = 0;
  let first: unknown;
  const caller = traffic.caller('tracker');
  const ends = traffic.listeners.get('tracker')?.ends ?? new Map();
  const random = run.random.fork(name);
  const timed = async <T>(work: Promise<T>): Promise<T> => {
    const began = performance.now();
    try {
      return await work;
    } finally {
      api.push(performance.now() - began);
    }
  };
  const flow = async (n: number) => {
    const person = traffic.person(n % PEOPLE);
    const own = random.fork(`flow ${n}`);
    const issued = await timed(
      caller.issue(
        {
          kind: 'confirmation',
          subject: { issuer: issuerOf.get(traffic) ?? '', subject: person.sub },
          ttlSeconds: 120,
          confirmation: { title: `${name}, flow ${n}`, facts: [] },
        },
        { idempotencyKey: digestOf([run.seed, name, n]), subject: person.sub },
        own,
      ),
    );
    const seen = issued === undefined ? undefined : await timed(person.look(issued.elicitationId, own));
    const forms = seen === undefined ? undefined : formsIn(seen);
    if (issued === undefined || forms === undefined) throw new Error('no page with a decision');
    const { elicitationId } = issued;
    const pressed = await timed(person.press({ op: 'accept', elicitationId, form: forms.accept }));
    if (pressed?.status !== 303) throw new Error(`accepting was answered with ${pressed?.status}`);
    const done = performance.now();
    while (!ends.has(elicitationId)) {
      if (performance.now() - done > HANG_MS) throw new Error('no event arrived');
      await delay(5);
    }
    notify.push(performance.now() - done);
  };
  const flows: Promise<void>[] = [];
  const began = performance.now();
  const count = Math.round(perSecond * seconds);
  for (let n = 0; n < count; n += 1) {
    const due = began + (n / perSecond) * 1000;
    await delay(Math.max(0, due - performance.now()));
    flows.push(
      flow(n).catch((error: unknown) => {
        errors += 1;
        first ??= error;
      }),
    );
  }
  await Promise.all(flows);
  return {
    flowsPerSecond: notify.length / ((performance.now() - began) / 1000),
    flows: notify.length,
    errors,
    firstError: first,
    p99ApiMs: percentile(api, 0.99),
    p99NotifyMs: percentile(notify, 0.99),
  };
}

const issuerOf = new WeakMap<Traffic, string>();
const holds = ({ errors, p99ApiMs, p99NotifyMs }: Rate) =>
  errors === 0 && p99ApiMs < LIMITS.apiMs && p99NotifyMs < LIMITS.notifyMs;

async function steadyFlows(run: FaultRun): Promise<void> {
  const world = await startFaultWorld(run, { people: PEOPLE + 1, hasWebhooks: false });
  await world.startGateway('a');
  const traffic = await startTraffic(run, { world, flows: 0, concurrency: 1, timeoutMs: 20_000 });
  issuerOf.set(traffic, world.world.identityProvider.issuer);
  // Sign in all users first.
  const before = await flowsAt(run, traffic, 10, PEOPLE / 10, 'signing in');
  if (before.errors > 0) throw new Error(`${before.errors} flows failed during sign-in`, { cause: before.firstError });

  if (!run.isLong) {
    // The rate depends on the machine; losses do not.
    const rate = await flowsAt(run, traffic, 10, 3, 'short');
    report(run, rate);
    if (rate.errors > 0) throw new Error(`${rate.errors} flows failed`, { cause: rate.firstError });
  } else {
    let best = 0;
    for (const perSecond of [10, 20, 40, 60, 80, 100, 130, 160, WANTED]) {
      const tried = await flowsAt(run, traffic, perSecond, 6, `at ${perSecond}`);
      if (!holds(tried)) break;
      best = perSecond;
    }
    // Leave headroom for other work of the machine during the minute.
    const steady = await flowsAt(run, traffic, Math.max(1, best * 0.8), 60, 'steady');
    run.measure('highest rate tried that held', best, 'flows/s');
    report(run, steady);
    if (!holds(steady)) throw new Error(`does not hold: ${JSON.stringify(steady)}`);
  }
  await traffic.settle();
}

function report(run: FaultRun, rate: Rate): void {
  run.measure('rate', rate.flowsPerSecond, 'flows/s');
  run.measure('p99 API', rate.p99ApiMs, 'ms');
  run.measure('p99 notify', rate.p99NotifyMs, 'ms');
  run.measure('errors', rate.errors, '');
}

export const flows: readonly Scenario[] = [
  { item: 'L1', name: 'one process completes flows at a steady rate without errors', run: steadyFlows },
];
