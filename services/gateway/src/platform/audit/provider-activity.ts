import type { AuditSink } from './audit-trail.ts';

/** What this replica has seen of one provider since its start. */
export interface ProviderSeen {
  readonly provider: string;
  readonly refreshed: number;
  /** Refreshes that failed and are tried again. */
  readonly postponed: number;
  /** Connections whose provider refused to refresh them. */
  readonly lost: number;
  /** Code of the last failed refresh. Absent after a refresh that worked. */
  readonly failing?: string;
}

export interface ProviderActivity {
  readonly sink: AuditSink;
  read(): readonly ProviderSeen[];
}

/** More names than a configuration has. */
const MAX_PROVIDERS = 1_000;

/** Counts refreshes by provider, in memory, from the audit events of this process. */
export function createProviderActivity(): ProviderActivity {
  const seen = new Map<string, ProviderSeen>();
  return {
    sink({ event, provider, code }) {
      if (typeof provider !== 'string' || (!seen.has(provider) && seen.size >= MAX_PROVIDERS)) return;
      const { failing, ...before } = seen.get(provider) ?? { provider, refreshed: 0, postponed: 0, lost: 0 };
      if (event === 'connection.refreshed') seen.set(provider, { ...before, refreshed: before.refreshed + 1 });
      if (event === 'connection.refresh_postponed')
        seen.set(provider, { ...before, postponed: before.postponed + 1, failing: String(code) });
      if (event === 'connection.lost')
        seen.set(provider, { ...before, ...(failing === undefined ? {} : { failing }), lost: before.lost + 1 });
    },
    read: () => [...seen.values()],
  };
}
