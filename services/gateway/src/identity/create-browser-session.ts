import {
  type BrowserSession,
  type Entropy,
  type NewBrowserSession,
  newBrowserSessionId,
  type StorageQuota,
  type Stores,
  shardOf,
} from '@postern/elicitation';
import type { AuditLog } from '../platform/audit/audit-events.ts';

/** The section of the configuration about browser sessions. */
interface SessionConfig {
  readonly browserSession: { readonly absoluteHours: number; readonly idleMinutes: number };
}

/** The longest time that a browser session can last, in milliseconds. */
export function longestSessionMs({
  browserSession,
}: {
  readonly browserSession: Pick<SessionConfig['browserSession'], 'absoluteHours'>;
}): number {
  return browserSession.absoluteHours * 3_600_000;
}

/**
 * Creates a browser session under a new id and records the sign-in.
 * @param p.signedInAt name of the identity provider or application, for the audit log
 * @param p.quota of the MCP server whose application vouched for the user
 * @throws QuotaExceededError
 */
export async function createBrowserSession(
  deps: {
    config: SessionConfig;
    auditLog: AuditLog;
    stores: Pick<Stores, 'browserSessions'>;
    entropy: Entropy;
  },
  p: { readonly session: Omit<NewBrowserSession, 'id'>; readonly signedInAt: string; readonly quota?: StorageQuota },
): Promise<BrowserSession> {
  const { subject } = p.session;
  const { idleMinutes } = deps.config.browserSession;
  const browserSession = await deps.stores.browserSessions.create(
    { id: newBrowserSessionId(shardOf(subject), deps.entropy), ...p.session },
    { idleMs: idleMinutes * 60_000, absoluteMs: longestSessionMs(deps.config) },
    p.quota,
  );
  deps.auditLog.record('browser.signed_in', { subject, origin: p.signedInAt });
  return browserSession;
}
