import type { ElicitationBody } from '@postern/api';
import { CapabilityMissingError } from '../errors.ts';
import { isPaymentUnderWay } from '../gateway/client.ts';
import { type Ask, type AskSpec, aboutOf, type ToolRun } from '../run/run.ts';
import {
  AUTHORIZATION_META_KEY,
  ELICITATION_META_KEY,
  type PlainToolResult,
  plainToolResult,
  type Remediation,
  Suspension,
  type UrlElicitation,
} from '../run/tool-call.ts';

/**
 * The answer for every MCP client: a result with the link and the match code. `RecentCalls` remembers the asks of the call, so the
 * tool learns how they ended when it is called again.
 */
export function plainSuspension(run: ToolRun, spec: AskSpec, elicitation: ElicitationBody): Suspension {
  return new Suspension({ type: 'plain', result: unfinishedResult(run, spec, elicitation) });
}

/**
 * −32042 (revision 2025-11-25). `RecentCalls` remembers the asks here as well, because the retried call carries no state.
 */
export function urlRequiredSuspension(run: ToolRun, spec: AskSpec, elicitation: ElicitationBody): Suspension {
  return new Suspension({
    type: 'url_elicitation_required',
    elicitation: urlElicitation(run, spec, elicitation),
    expiresAt: elicitation.expiresAt,
    fallback: unfinishedResult(run, spec, elicitation),
  });
}

export function urlElicitation(run: ToolRun, spec: AskSpec, elicitation: ElicitationBody): UrlElicitation {
  const { elicitationId, url, matchCode } = elicitation;
  return {
    elicitationId,
    url,
    message: run.environment.text({ kind: 'ask', about: aboutOf(spec, elicitation), matchCode }),
  };
}

function unfinishedResult(run: ToolRun, spec: AskSpec, elicitation: ElicitationBody): PlainToolResult {
  const { url, matchCode, expiresAt } = elicitation;
  const text = run.environment.text({
    kind: 'unfinished',
    request: run.call.request ?? 'tool',
    about: aboutOf(spec, elicitation),
    matchCode,
    url,
    expiresAt,
  });
  // The hint repeats the text, so hosts need not parse prose.
  return plainToolResult(text, {
    [ELICITATION_META_KEY]: { url, matchCode, expiresAt },
    ...denialMeta(run, 'undisclosed', elicitation),
  });
}

/**
 * SEP-2643's envelope. It claims that the call was not performed, not even in part. So there is none once the handler may have acted, and
 * none while a payment is under way.
 */
export function denialMeta(
  { log }: ToolRun,
  remediation: Remediation,
  elicitation?: ElicitationBody,
): { [AUTHORIZATION_META_KEY]: object } | undefined {
  if (log.mayHaveActed || (elicitation !== undefined && isPaymentUnderWay(elicitation))) return undefined;
  const hints = remediation === 'available' ? { remediationHints: [{ type: 'url' }] } : {};
  return { [AUTHORIZATION_META_KEY]: { reason: 'insufficient_authorization', remediation, ...hints } };
}

/** For MCP clients without URL mode: a result with the link, or a refusal if `missingCapability` is `error`. */
export function incapable(
  run: ToolRun,
  { spec, missingCapability }: Ask,
  elicitation: ElicitationBody,
): Suspension | CapabilityMissingError {
  if (missingCapability === 'plain') return plainSuspension(run, spec, elicitation);
  return new CapabilityMissingError(
    run.environment.text({ kind: 'client_incapable', about: aboutOf(spec, elicitation) }),
  );
}
