import type { ElicitationBody } from '@postern/api';
import { CapabilityMissingError } from '../errors.ts';
import { type Ask, type AskSpec, aboutOf, denialMeta, type ToolRun, urlElicitation } from '../run/run.ts';
import { ELICITATION_META_KEY, type PlainToolResult, plainToolResult, Suspension } from '../run/tool-call.ts';

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
