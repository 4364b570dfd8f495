import type { Checks } from '../checks.ts';
import { type IdsOf, type ServerTarget, serverScenario } from '../scenario.ts';
import { openLegacySession } from '../wire/legacy-session.ts';
import type { Message } from '../wire/messages.ts';
import { modernCall } from '../wire/modern-call.ts';
import {
  elicitationsOf,
  type OpenAsk,
  openAsk,
  requestStateOf,
  retryOf,
  URL_AND_FORM,
  urlRequestsOf,
} from './open-ask.ts';
import { checkUrl, claimsOf, credentialsOf, foundIn } from './url-rules.ts';

const url = [
  'sep-1036-url-valid',
  'sep-1036-url-https',
  'sep-1036-url-without-user-data',
  'sep-1036-url-not-pre-authenticated',
] as const;

const ids: IdsOf = {
  '2025-11-25': [
    'sep-1036-url-mode-asked',
    'sep-1036-mode-declared-only',
    'sep-1036-required-error-shape',
    'sep-1036-create-shape',
    'sep-1036-elicitation-id-unique',
    ...url,
    'sep-1036-url-without-session-id',
    'sep-1036-client-refusal-handled',
  ],
  '2026-07-28': [
    'sep-1036-url-mode-asked',
    'sep-1036-mode-declared-only',
    'sep-2322-no-required-error',
    'sep-2322-missing-capability-error',
    'sep-2322-input-required-shape',
    'sep-1036-create-shape',
    ...url,
    'sep-2322-state-without-user-data',
    'sep-1036-client-refusal-handled',
    'sep-2322-missing-response',
    'sep-2322-unknown-response',
    'sep-2322-malformed-response',
  ],
};

/** An empty object declares form mode only. */
const withoutUrl = [{ form: {} }, {}, null] as const;

export const asking = serverScenario({
  name: 'url-elicitation-asking',
  description:
    'The tool asks a client that declares url mode, in the shape and with a URL that the specification demands, and no other client. Needs no person.',
  ids,
  play: (target, checks) => (target.revision === '2025-11-25' ? legacy(target, checks) : modern(target, checks)),
});

const text = (value: unknown) => typeof value === 'string' && value !== '';

function shapeFaults(params: Readonly<Record<string, unknown>>, names: readonly string[]): string[] {
  const wrong = params['mode'] === 'url' ? [] : ['mode is not url'];
  return [...wrong, ...names.filter(name => !text(params[name])).map(name => `${name} is missing`)];
}

const dataOf = (target: ServerTarget) => [...target.userData, ...claimsOf(target.endpoint)];

const signalOf = ({ limitMs }: ServerTarget) => AbortSignal.timeout(limitMs);

async function legacy(target: ServerTarget, checks: Checks): Promise<string> {
  const undeclared: string[] = [];
  for (const elicitation of withoutUrl) {
    await using session = await openLegacySession(target.endpoint, { elicitation }, signalOf(target));
    const answer = await session.call(target.tool, target.args).answer;
    const declared = JSON.stringify(elicitation ?? undefined);
    if (answer.error?.code === -32042) undeclared.push(`-32042 to a client that declared ${declared}`);
    if (session.received.some(({ method, params }) => method === 'elicitation/create' && params?.['mode'] === 'url'))
      undeclared.push(`elicitation/create in url mode to a client that declared ${declared}`);
  }
  checks.verdict('sep-1036-mode-declared-only', undeclared);

  await using ask = await openAsk(target, 'cancel');
  const { style, asked, session } = ask;
  checks.verdict('sep-1036-url-mode-asked', style === 'none' ? ['the call was answered without asking'] : [], {
    asked,
  });
  if (style === 'none') return 'the tool did not ask';

  const listed = elicitationsOf(asked);
  if (style === 'error') {
    checks.skip('sep-1036-create-shape', 'this MCP server asks with -32042');
    const names = ['elicitationId', 'url', 'message'];
    checks.verdict(
      'sep-1036-required-error-shape',
      listed.flatMap(each => shapeFaults(each, names)),
    );
  } else {
    checks.skip('sep-1036-required-error-shape', 'this MCP server asks with elicitation/create');
    checks.verdict('sep-1036-create-shape', shapeFaults(asked.params ?? {}, ['elicitationId', 'url', 'message']));
  }
  await checkIds(target, checks, ask);
  const rules = { userData: dataOf(target), credentials: credentialsOf(target.endpoint), sessionId: session?.id };
  checkUrl(checks, { ...rules, url: ask.url });
  if (session?.id === undefined) checks.skip('sep-1036-url-without-session-id', 'this MCP server has no sessions');
  await checkPushRefusals(target, checks, style === 'push');
  return 'the URL is not valid';
}

/** One id for two URLs, or for two users, would mix up their interactions. */
async function checkIds(target: ServerTarget, checks: Checks, ask: OpenAsk): Promise<void> {
  const seen = new Map<unknown, unknown>();
  const faults: string[] = [];
  const add = (id: unknown, page: unknown) => {
    if (seen.has(id) && seen.get(id) !== page) faults.push(`the id ${String(id)} stands for two URLs`);
    seen.set(id, page);
  };
  const listed = elicitationsOf(ask.asked);
  if (listed.length > new Set(listed.map(each => each['elicitationId'])).size) faults.push('-32042 lists one id twice');
  add(ask.elicitationId, ask.url);
  {
    await using again = await openAsk(target, 'cancel');
    add(again.elicitationId, again.url);
  }
  if (target.otherEndpoint !== undefined) {
    await using other = await openAsk({ ...target, endpoint: target.otherEndpoint }, 'cancel');
    if (other.elicitationId === ask.elicitationId) faults.push('two users got the same id');
  }
  checks.verdict('sep-1036-elicitation-id-unique', faults);
}

async function checkPushRefusals(target: ServerTarget, checks: Checks, isPushed: boolean): Promise<void> {
  if (!isPushed)
    return checks.skip(
      'sep-1036-client-refusal-handled',
      'after -32042 there is no request that the client could refuse',
    );
  const faults: string[] = [];
  for (const action of ['decline', 'cancel'] as const) {
    await using refused = await openAsk(target, action);
    await refused.progress(target.limitMs);
    const last = refused.last();
    if (last === undefined) faults.push(`no answer after ${action}`);
    else faults.push(...refusalFaults(last, action));
  }
  checks.verdict('sep-1036-client-refusal-handled', faults);
}

function refusalFaults({ error, result }: Message, action: string): string[] {
  if (error?.code === -32603) return [`-32603 after ${action}`];
  return result?.['resultType'] === 'input_required' ? [`asked again after ${action}`] : [];
}

async function modern(target: ServerTarget, checks: Checks): Promise<string> {
  const { tool, args, endpoint } = target;
  const call = { tool, args, elicitation: URL_AND_FORM };
  const undeclared: string[] = [];
  const refusals: string[] = [];
  let emitted = false;
  let refused = false;
  for (const elicitation of withoutUrl) {
    const declared = JSON.stringify(elicitation ?? undefined);
    const { status, answer } = await modernCall(endpoint, { ...call, elicitation }, signalOf(target));
    if (urlRequestsOf(answer).length > 0) undeclared.push(`url mode for a client that declared ${declared}`);
    emitted ||= answer.error?.code === -32042;
    if (answer.error === undefined) continue;
    refused = true;
    if (answer.error.code !== -32021) refusals.push(`error ${answer.error.code} instead of -32021`);
    else if (status !== 400) refusals.push(`HTTP status ${status} instead of 400`);
    if (!JSON.stringify(answer.error.data ?? null).includes('"requiredCapabilities"'))
      refusals.push('data.requiredCapabilities is missing');
  }
  checks.verdict('sep-1036-mode-declared-only', undeclared);
  if (refused) checks.verdict('sep-2322-missing-capability-error', [...new Set(refusals)]);
  else checks.skip('sep-2322-missing-capability-error', 'this MCP server answers with a result');

  const { answer: asked } = await modernCall(endpoint, call, signalOf(target));
  emitted ||= asked.error?.code === -32042;
  checks.verdict('sep-2322-no-required-error', emitted ? ['-32042'] : []);
  const requests = urlRequestsOf(asked);
  const [request] = requests;
  checks.verdict('sep-1036-url-mode-asked', request === undefined ? ['the call did not ask'] : [], { asked });
  if (request === undefined) return 'the tool did not ask';
  const state = requestStateOf(asked);
  const isState = state !== undefined || asked.result?.['requestState'] === undefined;
  checks.verdict('sep-2322-input-required-shape', isState ? [] : ['requestState is not a string']);
  checks.verdict(
    'sep-1036-create-shape',
    requests.flatMap(each => shapeFaults(each.params, ['url', 'message'])),
  );
  const rules = { userData: dataOf(target), credentials: credentialsOf(endpoint), sessionId: undefined };
  checkUrl(checks, { ...rules, url: request.params['url'] });
  if (state === undefined) checks.skip('sep-2322-state-without-user-data', 'no requestState');
  else {
    const found = foundIn(state, [...rules.userData, ...rules.credentials]);
    checks.verdict('sep-2322-state-without-user-data', found.length === 0 ? [] : ['the requestState shows user data']);
  }
  await checkResponses(target, checks, asked);
  return 'the URL is not valid';
}

/** The retries that do not wait for a person. */
async function checkResponses(target: ServerTarget, checks: Checks, asked: Message): Promise<void> {
  const call = { tool: target.tool, args: target.args, elicitation: URL_AND_FORM };
  const retry = retryOf(asked);
  const state = retry.requestState === undefined ? {} : { requestState: retry.requestState };
  const send = async (inputResponses: unknown) =>
    (await modernCall(target.endpoint, { ...call, ...state, inputResponses }, signalOf(target))).answer;

  const missing = await send({});
  const isAskedAgain = missing.result?.['resultType'] === 'input_required';
  checks.verdict('sep-2322-missing-response', isAskedAgain ? [] : [describe(missing)]);
  const unknown = await send({ 'not asked for': { action: 'accept' } });
  const isIgnored = unknown.result?.['resultType'] === 'input_required';
  checks.verdict('sep-2322-unknown-response', isIgnored ? [] : [describe(unknown)]);
  const malformed = await send('not an object');
  const isRefused = malformed.error !== undefined || malformed.result?.['resultType'] === 'input_required';
  checks.verdict('sep-2322-malformed-response', isRefused ? [] : [describe(malformed)]);
  const faults: string[] = [];
  for (const action of ['decline', 'cancel'] as const)
    faults.push(...refusalFaults(await send(retryOf(asked, action).inputResponses), action));
  checks.verdict('sep-1036-client-refusal-handled', faults);
}

export function describe({ error, result }: Message): string {
  return error === undefined
    ? `a result of type ${String(result?.['resultType'] ?? 'complete')}`
    : `error ${error.code}`;
}
