import type { ProblemCode } from '@postern/api';
import { limitDetail } from '../platform/http/problems.ts';
import type { RegisteredMcpServer } from './registered-mcp-server.ts';

/** Maximum number of listed names. `GET /v1/me` has all of them. */
const MAX_NAMES = 20;
const MIB = 1024 * 1024;

/** A sentence for the `detail` of a problem: "Allowed kinds: form, payment." */
export function allowed(noun: string, names: readonly string[]): string {
  if (names.length === 0) return `Allowed ${noun}: none.`;
  const shown = names.slice(0, MAX_NAMES).join(', ');
  return `Allowed ${noun}: ${shown}${names.length > MAX_NAMES ? ', …' : ''}.`;
}

/** Tells a caller what its own registration allows. Never names what only other MCP servers may request. */
const details: Partial<Record<ProblemCode, (caller: RegisteredMcpServer) => string>> = {
  kind_not_allowed: ({ kinds }) => allowed('kinds', kinds),
  provider_not_allowed: ({ providers }) => allowed('providers', providers),
  issuer_not_allowed: ({ issuers }) => allowed('issuers (mcpServers[].issuers, or --issuer of postern dev)', issuers),
  return_url_not_registered: ({ returnUrls }) => allowed('return URLs', returnUrls),
  processor_not_allowed: ({ payment }) => allowed('processors', payment?.processors ?? []),
  currency_not_allowed: ({ payment }) => allowed('currencies', Object.keys(payment?.maxMinorUnits ?? {})),
  amount_over_limit: ({ payment }) =>
    allowed(
      'amounts in minor units (mcpServers[].payment.maxAmount)',
      Object.entries(payment?.maxMinorUnits ?? {}).map(([currency, max]) => `${currency} up to ${max}`),
    ),
  too_many_elicitations: ({ limits: { subjectMax, subjectWindowMs } }) =>
    limitDetail(
      `${subjectMax} new elicitations per user in ${subjectWindowMs / 1000} seconds`,
      'mcpServers[].limits.elicitationsPerSubject',
    ),
  too_many_open_elicitations: ({ limits: { openMax }, identityMode }) =>
    limitDetail(`${openMax} open elicitations per user`, 'mcpServers[].limits.openElicitationsPerSubject') +
    (identityMode === 'loopback' ? ' The page /me of the gateway declines all of them.' : ''),
  quota_exceeded: ({ limits: { quota } }) =>
    limitDetail(
      `${quota.records} records and ${Math.floor(quota.bytes / MIB)} MiB without events`,
      'limits.storedRecords and limits.storedMegabytes',
    ),
  identity_mode_mismatch: ({ identityMode }) => `This MCP server has the identity mode "${identityMode}".`,
};

/** The `detail` of a refusal that the registration of the caller explains. */
export function allowedToCaller(code: ProblemCode, callerOf: () => RegisteredMcpServer): string | undefined {
  return details[code]?.(callerOf());
}
