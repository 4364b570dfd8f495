import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IssueElicitation } from '@postern/api';
import { ProblemError } from '../http/problem-error.ts';
import type { RegisteredNames } from './registered-names.ts';

/** Characters examined in one turn of the event loop, about: every text of an ask may be written to take long (S66). */
const PER_TURN = 2_000;

/** Names and titles, which people read as a name. Everything else is prose. */
const NAMES: ReadonlySet<string> = new Set([
  'body.requestedBy.mcpClient',
  'body.requestedBy.tool',
  'body.payment.payee.name',
  'body.credential.title',
  'body.confirmation.title',
  'body.form.title',
]);

/** @throws ProblemError `confusable_name` */
export function assertHonestName(names: RegisteredNames, mcpServerId: string, path: string, text: string): void {
  if (names.isMisleadingName(text, mcpServerId)) throw confusable(path);
}

/** Examines every text of an ask, whatever member it is in. @throws ProblemError `confusable_name` */
export async function assertHonestNames(
  names: RegisteredNames,
  mcpServerId: string,
  { subject: _, ...request }: IssueElicitation,
): Promise<void> {
  let examined = 0;
  for (const { path, text } of textsIn(request, 'body')) {
    if (NAMES.has(path)) assertHonestName(names, mcpServerId, path, text);
    else if (names.isMisleadingProse(text, mcpServerId)) throw confusable(path);
    examined += text.length;
    if (examined < PER_TURN) continue;
    examined = 0;
    await nextTurn();
  }
}

function* textsIn(value: unknown, path: string): Generator<{ path: string; text: string }> {
  if (typeof value === 'string') yield { path, text: value };
  else if (Array.isArray(value)) for (const [at, member] of value.entries()) yield* textsIn(member, `${path}.${at}`);
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) yield* textsIn(member, `${path}.${name}`);
}

/** Whose name it looks like is not said: another MCP server may be unknown to this one (S42). */
function confusable(path: string): ProblemError {
  const message = 'looks like the name of somebody else, and is spelled differently';
  return new ProblemError('confusable_name', { errors: [{ path, message }] });
}
