import { setTimeout as delay } from 'node:timers/promises';
import {
  DomainError,
  type JobAbout,
  type JobProgress,
  newOperationId,
  type StoredJob,
  type Stores,
  systemEntropy,
} from '@postern/elicitation';
import type { WebhookQueues } from '../events/webhooks/webhook-queues.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { Pseudonyms } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { Actor, RecordAct } from './admin-audit.ts';
import { type ConnectionSearchDeps, createConnectionSearch, type DisconnectTarget } from './connection-search.ts';

/** Thrown when too many jobs are unfinished. */
export class TooManyJobsError extends Error {
  override name = 'TooManyJobsError';
}

export interface JobsDeps {
  readonly config: Pick<GatewayConfig, 'providers'>;
  readonly stores: ConnectionSearchDeps['stores'] & Pick<Stores, 'jobs'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly pseudonym: Pseudonyms;
  readonly record: RecordAct;
  readonly queues: () => Promise<WebhookQueues['all']>;
  /** Works on a job in this process until it has ended, is lost to another replica, or `signal` is aborted. */
  readonly workOn: (
    jobId: string,
    p: { readonly signal: AbortSignal; readonly onProgress?: (progress: JobProgress) => void },
  ) => Promise<'ended' | 'released' | 'elsewhere'>;
}

/** Records that a plan reads at most, unless it must be complete. */
const READ_PER_PLAN = 20_000;
/** Pause before a command looks again at a job that a gateway works on. */
const LOOK_MS = 300;

const iso = (at: number): string => new Date(at).toISOString();

/** A job as operators see it: its person under the pseudonym. */
function jobItem({ jobId, about, createdAt, updatedAt, isHeld, progress, ended }: StoredJob) {
  const { verb, by, door, reason } = about;
  const { since, ...target } = about.target;
  const { found = 0, done = 0, unreadable = 0, share = 0, error, delivered = 0, failedAgain = 0 } = progress ?? {};
  /** `waiting`: without an attempt since the job has started them. */
  const deliveries = { delivered, failedAgain, waiting: done - delivered - failedAgain };
  return {
    jobId,
    verb,
    by,
    door,
    target: { ...target, since: since === undefined ? undefined : iso(since) },
    status: ended?.status ?? (isHeld ? ('running' as const) : ('waiting' as const)),
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
    found,
    done,
    unreadable,
    share,
    ...(verb === 'redeliver' ? { deliveries } : {}),
    reason,
    error,
    endedAt: ended && iso(ended.at),
  };
}

export type JobItem = ReturnType<typeof jobItem>;

/** Changes of many records: planned first, then done by whichever replica claims the job. */
export function createJobs({ config, stores, mcpServers, pseudonym, record, queues, workOn }: JobsDeps) {
  const search = createConnectionSearch({ stores, mcpServers });
  const providers = new Set(config.providers.map(({ name }) => name));

  /** A target without a person or anything else would be everything. */
  function checked(q: DisconnectTarget): DisconnectTarget {
    if ([q.connectionId, q.subject, q.provider, q.mcpServerId].every(member => member === undefined))
      throw new TypeError('A target names a connection, a person, a provider or an MCP server.');
    return q;
  }

  const aboutOf = ({ who, door, reason }: Actor, p: Pick<JobAbout, 'verb' | 'target'>): JobAbout => ({
    ...p,
    by: who,
    door,
    reason,
  });

  async function started(jobId: string, p: Omit<Parameters<typeof stores.jobs.start>[0], 'jobId'>): Promise<JobItem> {
    const createdAt = await stores.jobs.start({ jobId, ...p });
    if (createdAt === undefined) throw new TooManyJobsError('Too many jobs are unfinished.');
    return jobItem({ jobId, about: p.about, createdAt, updatedAt: createdAt, isHeld: false });
  }

  async function job(jobId: string): Promise<JobItem | undefined> {
    if (!/^jb_[A-Za-z0-9_-]{22}$/.test(jobId)) return undefined;
    const found = await stores.jobs.read(jobId);
    return found && jobItem(found);
  }

  return {
    job,

    /** What `startDisconnect` would remove now. Changes nothing. @param p.isComplete reads everything, however long it takes */
    async planDisconnect(actor: Actor, q: DisconnectTarget, p: { readonly isComplete?: boolean } = {}) {
      checked(q);
      const [one] = q.connectionId === undefined ? [] : [await stores.connections.read(q.connectionId)];
      const subject = q.subject ?? one?.subject;
      if (subject !== undefined) await record(actor, { event: 'admin.person_viewed', subject, what: 'disconnect' });
      const seen = new Set<string>();
      const people = new Set<string>();
      const ofProvider = new Map<string, number>();
      const ofOwner = new Map<string, number>();
      let read = 0;
      let isComplete = true;
      for await (const step of search(q)) {
        for (const of of step.connections) {
          if (seen.has(of.connectionId)) continue;
          seen.add(of.connectionId);
          people.add(pseudonym(of.subject));
          ofProvider.set(of.provider, (ofProvider.get(of.provider) ?? 0) + 1);
          ofOwner.set(of.owner, (ofOwner.get(of.owner) ?? 0) + 1);
        }
        read += step.read;
        if (p.isComplete === true || read < READ_PER_PLAN) continue;
        isComplete = false;
        break;
      }
      const counted = [...ofProvider].map(([provider, connections]) => ({ provider, connections }));
      return {
        connections: seen.size,
        people: people.size,
        /** Connections whose provider is not configured any more: their grants cannot be revoked. */
        notRevocable: counted
          .filter(({ provider }) => !providers.has(provider))
          .reduce((sum, { connections }) => sum + connections, 0),
        providers: counted,
        owners: [...ofOwner].map(([owner, connections]) => ({ owner, connections })),
        isComplete,
      };
    },

    /** Starts to remove the connections that exist now and match. @throws TooManyJobsError */
    async startDisconnect(actor: Actor, q: DisconnectTarget): Promise<JobItem> {
      const { subject, since, ...names } = checked(q);
      const jobId = `jb_${newOperationId(systemEntropy)}`;
      const target = { ...names, since: since?.getTime(), subject: subject && pseudonym(subject) };
      await record(actor, {
        event: 'admin.disconnect_started',
        jobId,
        ...names,
        subject,
        since: since?.toISOString(),
      });
      return started(jobId, {
        about: aboutOf(actor, { verb: 'disconnect', target }),
        person: subject,
      });
    },

    /** Starts to retry the deliveries of an endpoint that are dead now. Undefined for an endpoint that is not configured. */
    async startRedelivery(actor: Actor, { endpoint }: { readonly endpoint: string }): Promise<JobItem | undefined> {
      if (!(await queues()).some(each => each.endpoint.name === endpoint)) return undefined;
      const jobId = `jb_${newOperationId(systemEntropy)}`;
      await record(actor, { event: 'admin.redelivery_started', jobId, endpoint });
      return started(jobId, { about: aboutOf(actor, { verb: 'redeliver', target: { endpoint } }) });
    },

    /** Retries one event at once, at every endpoint, or the given one, that has a dead delivery of it. */
    async redeliver(actor: Actor, q: { readonly eventId: string; readonly endpoint?: string }) {
      const wanted = (await queues()).filter(each => q.endpoint === undefined || each.endpoint.name === q.endpoint);
      await record(actor, { event: 'admin.event_redelivered', ...q });
      const redelivered = await Promise.all(wanted.map(({ queue }) => queue.redeliver(q.eventId)));
      return { redelivered: redelivered.filter(Boolean).length };
    },

    /** Endpoints with a dead delivery of this event. */
    async endpointsWithDead(eventId: string): Promise<readonly string[]> {
      const found = await Promise.all(
        (await queues()).map(async ({ endpoint, queue }) => ((await queue.isDead(eventId)) ? [endpoint.name] : [])),
      );
      return found.flat();
    },

    /** Unfinished ones first, then the last to end. Without those of a release whose records this one cannot read. */
    async jobs({ limit }: { readonly limit: number }): Promise<readonly JobItem[]> {
      const [unfinished, ended] = await Promise.all([stores.jobs.unfinished(), stores.jobs.ended(limit)]);
      const ids = [...new Set([...[...unfinished].reverse(), ...ended])].slice(0, limit);
      const readable = async (jobId: string) => {
        try {
          return await job(jobId);
        } catch (error) {
          if (error instanceof DomainError && error.code === 'unknown_record_layout') return undefined;
          throw error;
        }
      };
      return (await Promise.all(ids.map(readable))).filter(found => found !== undefined);
    },

    /** Stops a job. What it has done stays done. Undefined for an unknown job. */
    async cancelJob(actor: Actor, jobId: string): Promise<JobItem | undefined> {
      const found = await job(jobId);
      if (found === undefined || found.endedAt !== undefined) return found;
      await record(actor, { event: 'admin.job_cancelled', jobId, verb: found.verb });
      await stores.jobs.end({ jobId, status: 'cancelled' });
      return job(jobId);
    },

    /**
     * Works on a job in this process, or watches the gateway that does, until it has ended. Returns it unfinished after `signal` is
     * aborted: a gateway completes it.
     */
    async completeJob(
      jobId: string,
      p: { readonly signal: AbortSignal; readonly onProgress: (job: Pick<JobItem, 'found' | 'done'>) => void },
    ): Promise<JobItem | undefined> {
      while (true) {
        const worked = await workOn(jobId, p);
        const found = await job(jobId);
        if (found === undefined || found.endedAt !== undefined || p.signal.aborted) return found;
        p.onProgress(found);
        if (worked !== 'ended') await delay(LOOK_MS, undefined, { signal: p.signal }).catch(() => undefined);
      }
    },
  };
}

export type DisconnectPlan = Awaited<ReturnType<ReturnType<typeof createJobs>['planDisconnect']>>;
