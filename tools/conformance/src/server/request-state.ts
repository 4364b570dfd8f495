import type { Checks } from '../checks.ts';
import type { RequirementId } from '../requirements.ts';
import { type ServerTarget, serverScenario } from '../scenario.ts';
import type { Endpoint } from '../wire/endpoint.ts';
import type { Message } from '../wire/messages.ts';
import { modernCall } from '../wire/modern-call.ts';
import { describe } from './asking.ts';
import { openAsk, requestStateOf, retryOf, URL_AND_FORM } from './open-ask.ts';

const ids = [
  'sep-2322-tampered-state',
  'sep-2322-state-of-other-user',
  'sep-2322-state-of-other-request',
] as const satisfies readonly RequirementId[];

export const requestState = serverScenario({
  name: 'url-elicitation-request-state',
  description:
    'A requestState that was changed, issued to another user, or issued for another request, is rejected. Needs --other-bearer-file and --other-arguments for all checks.',
  ids: { '2026-07-28': ids },
  play,
});

/** Changes one character in each part, and both ends. */
function tampered(state: string): readonly string[] {
  const places = [0, Math.floor(state.length / 3), Math.floor(state.length / 2), Math.floor((2 * state.length) / 3)];
  const changed = places.map(at => `${state.slice(0, at)}${state[at] === 'A' ? 'B' : 'A'}${state.slice(at + 1)}`);
  return [...new Set([...changed, `${state}A`, state.slice(0, -4), `A${state}`])].filter(each => each !== state);
}

async function play(target: ServerTarget, checks: Checks): Promise<string> {
  await using ask = await openAsk(target);
  const state = requestStateOf(ask.asked);
  if (ask.style === 'none' || typeof ask.url !== 'string') return 'the tool did not ask for a URL';
  if (state === undefined) {
    for (const id of ids) checks.skip(id, 'this MCP server sends no requestState');
    return '';
  }
  const honest = { tool: target.tool, args: target.args, elicitation: URL_AND_FORM, ...retryOf(ask.asked) };
  const send = async (endpoint: Endpoint, changes: object): Promise<Message | undefined> => {
    // A held call was not refused.
    const signal = AbortSignal.timeout(target.limitMs);
    const sent = modernCall(endpoint, { ...honest, ...changes }, signal).then(({ answer }) => answer);
    return await sent.catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
  };
  const acceptance = (answer: Message | undefined) =>
    answer === undefined ? ['held instead of refused'] : answer.error === undefined ? [describe(answer)] : [];

  const faults: string[] = [];
  for (const requestState of tampered(state)) faults.push(...acceptance(await send(target.endpoint, { requestState })));
  checks.verdict('sep-2322-tampered-state', [...new Set(faults)]);

  const { otherEndpoint, otherArgs } = target;
  if (otherEndpoint === undefined)
    checks.skip('sep-2322-state-of-other-user', 'no other user: see --other-bearer-file');
  else checks.verdict('sep-2322-state-of-other-user', acceptance(await send(otherEndpoint, {})));
  if (otherArgs === undefined)
    checks.skip('sep-2322-state-of-other-request', 'no other arguments: see --other-arguments');
  else checks.verdict('sep-2322-state-of-other-request', acceptance(await send(target.endpoint, { args: otherArgs })));

  return '';
}
