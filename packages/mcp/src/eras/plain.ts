import type { ElicitationBody } from '@postern/api';
import { type Ask, aboutOf } from '../ask.ts';
import { CapabilityMissingError } from '../errors.ts';
import type { Run } from '../run.ts';
import { Suspension } from '../suspension.ts';
import type { UrlElicitation } from '../tool-call.ts';
import { ELICITATION_META_KEY, type PlainToolResult, plainToolResult } from '../tool-result.ts';

/**
 * The answer that works with every MCP client: a result with the link and the match code. What the call has asked is remembered
 * (see `RecentCalls`), so that the called-again tool learns how it ended.
 */
export function plainSuspension(run: Run, ask: Ask, elicitation: ElicitationBody): Suspension {
  return new Suspension({ type: 'plain', result: unfinishedResult(run, ask, elicitation) });
}

/**
 * −32042 (revision 2025-11-25). Remembered too: the retried call carries nothing of ours.
 */
export function urlRequiredSuspension(run: Run, ask: Ask, elicitation: ElicitationBody): Suspension {
  return new Suspension({
    type: 'url_elicitation_required',
    elicitation: urlElicitation(run, ask, elicitation),
    expiresAt: elicitation.expiresAt,
    fallback: unfinishedResult(run, ask, elicitation),
  });
}

export function urlElicitation(run: Run, ask: Ask, elicitation: ElicitationBody): UrlElicitation {
  const { elicitationId, url, matchCode } = elicitation;
  return {
    elicitationId,
    url,
    message: run.environment.text({ kind: 'ask', about: aboutOf(ask, elicitation), matchCode }),
  };
}

function unfinishedResult(run: Run, ask: Ask, elicitation: ElicitationBody): PlainToolResult {
  const { url, matchCode, expiresAt } = elicitation;
  const text = run.environment.text({
    kind: 'unfinished',
    about: aboutOf(ask, elicitation),
    matchCode,
    url,
    expiresAt,
  });
  // The hint holds nothing that the text does not say; it saves a host from parsing prose.
  return plainToolResult(text, { [ELICITATION_META_KEY]: { url, matchCode, expiresAt } });
}

/** For MCP clients without URL mode: a link in a text, or a refusal where the MCP server prefers that. */
export function incapable(run: Run, ask: Ask, elicitation: ElicitationBody): Suspension | CapabilityMissingError {
  if (run.environment.missingCapability === 'plain') return plainSuspension(run, ask, elicitation);
  return new CapabilityMissingError(
    run.environment.text({ kind: 'client_incapable', about: aboutOf(ask, elicitation) }),
  );
}
