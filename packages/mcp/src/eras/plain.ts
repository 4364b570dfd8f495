import type { ElicitationBody } from '@postern/api';
import { type Ask, naming } from '../ask.ts';
import { type Run, rememberAsk } from '../run.ts';
import { Suspension } from '../suspension.ts';
import type { UrlElicitation } from '../tool-call.ts';
import { ELICITATION_META_KEY, type PlainToolResult, plainToolResult } from '../tool-result.ts';

/**
 * The answer that works with every MCP client: a result with the link and the match code. The elicitation is remembered,
 * so that the called-again tool learns how it ended.
 */
export async function plainSuspension(run: Run, ask: Ask, elicitation: ElicitationBody): Promise<Suspension> {
  await rememberAsk(run, ask, elicitation);
  return new Suspension({ type: 'plain', result: unfinishedResult(run, ask, elicitation) });
}

/**
 * −32042 (revision 2025-11-25). Remembered too: the retried call carries nothing of ours.
 */
export async function urlRequiredSuspension(run: Run, ask: Ask, elicitation: ElicitationBody): Promise<Suspension> {
  await rememberAsk(run, ask, elicitation);
  return new Suspension({
    type: 'url_elicitation_required',
    elicitation: urlElicitation(run, ask, elicitation),
    expiresAt: elicitation.expiresAt,
    fallback: unfinishedResult(run, ask, elicitation),
  });
}

export function urlElicitation(run: Run, ask: Ask, elicitation: ElicitationBody): UrlElicitation {
  const { elicitationId, url, matchCode } = elicitation;
  return { elicitationId, url, message: run.environment.text({ kind: 'ask', ...naming(ask, elicitation), matchCode }) };
}

function unfinishedResult(run: Run, ask: Ask, elicitation: ElicitationBody): PlainToolResult {
  const { url, matchCode, expiresAt } = elicitation;
  const text = run.environment.text({ kind: 'unfinished', ...naming(ask, elicitation), matchCode, url, expiresAt });
  // The hint holds nothing that the text does not say; it saves a host from parsing prose.
  return plainToolResult(text, { [ELICITATION_META_KEY]: { url, matchCode, expiresAt } });
}

/** For MCP clients without URL mode when the MCP server prefers a refusal to a link in a text. */
export function incapableSuspension(run: Run, ask: Ask, elicitation: ElicitationBody): Suspension {
  const text = run.environment.text({ kind: 'client_incapable', ...naming(ask, elicitation) });
  return new Suspension(
    run.call.era === 'modern'
      ? { type: 'capability_missing', message: text }
      : // Revision 2025-11-25 has no error code for this.
        { type: 'plain', result: plainToolResult(text) },
  );
}
