import { SHARDS, type Shard, type Stores } from '@postern/elicitation';
import { type Periodic, periodic } from '../platform/periodic.ts';
import type { WorkInProgress } from './work-in-progress.ts';

/** What the gateway does for anyone, so that it can end when that is nothing. */
export interface Activity {
  /** Epoch milliseconds of the last request or operation. */
  readonly lastAt: number;
  /** Until disposed of, something is in progress. Undefined if the gateway ends: then nothing may begin. */
  begin(): Disposable | undefined;
  openAsks(): Promise<number>;
  /** Ends all work, unless a user, a provider or a caller is owed anything. Resolves with whether it has. */
  endIfIdle(): Promise<boolean>;
}

/** Longer than the pause between two checks of a payment. */
const CHECKED_WITHIN_MS = 24 * 3_600_000;

export function watchActivity(p: {
  readonly work: WorkInProgress;
  readonly stores: {
    readonly lists: Pick<Stores['lists'], 'size'>;
    readonly payments: Pick<Stores['payments'], 'dueChecks'>;
    readonly jobs: Pick<Stores['jobs'], 'unfinished'>;
  };
  /** Token refreshes in progress. */
  readonly refreshes: ReadonlyMap<string, unknown>;
}): Activity {
  const { work, stores } = p;
  const sum = async (count: (shard: Shard) => Promise<number>) =>
    (await Promise.all(SHARDS.map(count))).reduce((total, each) => total + each, 0);
  const openAsks = () => sum(shard => stores.lists.size('open', shard));
  const dueRevocations = () => sum(shard => stores.lists.size('revocations', shard));
  /** Charges and refunds whose outcome is unknown. */
  const checks = () => sum(async shard => (await stores.payments.dueChecks(shard, 1, CHECKED_WITHIN_MS)).length);
  // A grant under way is an open ask until it is settled.
  const isBusy = async () =>
    !work.isEmpty ||
    p.refreshes.size > 0 ||
    (await openAsks()) > 0 ||
    (await dueRevocations()) > 0 ||
    (await checks()) > 0 ||
    (await stores.jobs.unfinished()).length > 0;
  return {
    get lastAt() {
      return work.lastAt;
    },
    begin: () => work.begin(),
    openAsks,
    async endIfIdle() {
      const { begun } = work;
      // A request that came meanwhile may have opened an ask behind the question.
      if ((await isBusy()) || work.begun !== begun) return false;
      work.end();
      return true;
    },
  };
}

/** Looks this many times within the idle time. */
const LOOKS = 20;

/**
 * Calls `onIdle` once, when nothing was in progress for a time, and nothing begins any more.
 * @param p.repeat tests call back themselves
 */
export function whenIdle(p: {
  readonly activity: Pick<Activity, 'lastAt' | 'endIfIdle'>;
  readonly idleMs: number;
  readonly now: () => number;
  readonly onIdle: () => void;
  readonly onError: (error: unknown) => void;
  readonly repeat?: typeof periodic;
}): Periodic {
  const { activity, idleMs, now, repeat = periodic } = p;
  const looking = repeat({
    every: idleMs / LOOKS,
    async run() {
      if (now() - activity.lastAt < idleMs || !(await activity.endIfIdle())) return;
      void looking.stop();
      p.onIdle();
    },
    onError: p.onError,
  });
  return looking;
}
