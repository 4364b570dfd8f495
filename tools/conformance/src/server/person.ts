import type { Checks } from '../checks.ts';
import type { Person } from '../person.ts';
import type { RequirementId } from '../requirements.ts';
import type { Revision } from '../revision.ts';
import { type ServerTarget, serverScenario } from '../scenario.ts';
import { type LegacySession, openLegacySession } from '../wire/legacy-session.ts';
import type { Message } from '../wire/messages.ts';
import { modernCall } from '../wire/modern-call.ts';
import { describe } from './asking.ts';
import { type OpenAsk, openAsk, type Progress, requestStateOf, retryOf, URL_AND_FORM } from './open-ask.ts';

const steps = [
  'sep-1036-accept-is-consent',
  'sep-1036-get-completes-nothing',
  'sep-1036-anonymous-completes-nothing',
  'sep-1036-same-user',
  'sep-1036-completes',
] as const;
const notices = [
  'sep-1036-completion-truthful',
  'sep-1036-completion-known-id',
  'sep-1036-completion-initiator-only',
  'sep-1036-completion-once',
] as const;

const ids: Readonly<Record<Revision, readonly RequirementId[]>> = {
  '2025-11-25': [...steps, 'sep-1036-required-error-justified', ...notices],
  '2026-07-28': [...steps, 'sep-2322-replayed-state'],
};

const NOTICE = 'notifications/elicitation/complete';
const noticesOf = (messages: readonly Message[]) => messages.filter(({ method }) => method === NOTICE);

export const person = serverScenario({
  name: 'url-elicitation-person',
  description:
    'Only the user who made the call can complete the interaction; then the call succeeds, and completion notifications are right. Needs a person: --open, or a terminal.',
  ids,
  play,
});

async function play(target: ServerTarget, checks: Checks): Promise<string> {
  await using stack = new AsyncDisposableStack();
  // Other sessions of both users, who made no call in them.
  const bystanders: LegacySession[] = [];
  if (target.revision === '2025-11-25')
    for (const endpoint of [target.endpoint, ...(target.otherEndpoint === undefined ? [] : [target.otherEndpoint])])
      bystanders.push(stack.use(await openBystander(endpoint)));

  const ask = stack.use(await openAsk(target));
  const { url } = ask;
  if (ask.style === 'none' || typeof url !== 'string' || !URL.canParse(url)) return 'the tool did not ask for a URL';

  let known = 0;
  const early = async (id: RequirementId, doWhat: string, settleMs = 0) => {
    const reported = () => noticesOf(ask.session?.received ?? []).length;
    const progress = await ask.progress(target.settleMs);
    if (progress === 'waiting' && settleMs > 0 && reported() === known)
      await ask.session?.until(() => reported() > known, settleMs);
    const faults = progress === 'done' ? [`the call succeeded after ${doWhat}`] : [];
    checks.verdict(
      id,
      reported() > known ? [...faults, `the interaction was reported as completed after ${doWhat}`] : faults,
    );
    known = reported();
    return progress !== 'waiting';
  };
  if (await early('sep-1036-accept-is-consent', 'consent alone')) return 'the call was over before the URL was opened';
  await knock(url, target.limitMs);
  if (await early('sep-1036-get-completes-nothing', 'a GET request')) return 'the call was over after a GET request';
  const { openAs } = target;
  if (openAs === undefined) {
    for (const id of ids[target.revision]) checks.skip(id, 'no person: see --open');
    return '';
  }
  const visitors: readonly (readonly [RequirementId, Person])[] = [
    ['sep-1036-anonymous-completes-nothing', 'anonymous'],
    ['sep-1036-same-user', 'stranger'],
  ];
  for (const [id, who] of visitors) {
    if ((await openAs(who, url)) === 'unable') checks.skip(id, `no command or person opens the URL as ${who}`);
    else if (await early(id, `the visit of ${who}`, target.settleMs))
      return `the call was over after the visit of ${who}`;
  }
  if (ask.session !== undefined) {
    const premature = noticesOf([...ask.session.received, ...bystanders.flatMap(each => each.received)]);
    const faults =
      premature.length === 0 ? [] : ['the interaction was reported as completed before the user completed it'];
    checks.verdict('sep-1036-completion-truthful', faults);
  }

  if ((await openAs('owner', url)) === 'unable') {
    for (const id of ids[target.revision]) checks.skip(id, 'no command or person opens the URL as owner');
    return '';
  }
  const progress = await untilOver(target, ask);
  const last = ask.last();
  const isRepeated = ask.style === 'error' && last?.error?.code === -32042;
  checks.verdict('sep-1036-completes', progress === 'done' ? [] : [`the call is ${progress}`], { last });
  if (target.revision === '2025-11-25') {
    if (ask.style === 'error')
      checks.verdict(
        'sep-1036-required-error-justified',
        isRepeated ? ['-32042 after the user completed everything that it listed'] : [],
      );
    else checks.skip('sep-1036-required-error-justified', 'this MCP server asks with elicitation/create');
    await checkNotices(target, checks, ask, bystanders);
  } else if (progress === 'done') await checkReplay(target, checks, ask);
  return 'the call did not succeed';
}

/** Sends the retry of the completed round again, and once in the name of the other user. */
async function checkReplay(target: ServerTarget, checks: Checks, { asked }: OpenAsk): Promise<void> {
  if (requestStateOf(asked) === undefined)
    return checks.skip('sep-2322-replayed-state', 'this MCP server sends no requestState');
  const retry = { tool: target.tool, args: target.args, elicitation: URL_AND_FORM, ...retryOf(asked) };
  const replay = async (endpoint: ServerTarget['endpoint']) =>
    (await modernCall(endpoint, retry, AbortSignal.timeout(target.limitMs))).answer;
  const again = await replay(target.endpoint);
  const faults = again.error?.code === -32603 ? ['-32603 to a replay'] : [];
  if (target.otherEndpoint !== undefined) {
    const stolen = await replay(target.otherEndpoint);
    if (stolen.error === undefined) faults.push(`another user got ${describe(stolen)}`);
  }
  checks.verdict('sep-2322-replayed-state', faults, { again });
}

const openBystander = (endpoint: ServerTarget['endpoint']) =>
  openLegacySession(endpoint, { elicitation: URL_AND_FORM }, new AbortController().signal);

/** Requests the URL as a link preview does. How the server answers is its own business. */
async function knock(url: string, limitMs: number): Promise<void> {
  for (const method of ['HEAD', 'GET'])
    await fetch(url, { method, redirect: 'manual', signal: AbortSignal.timeout(limitMs) })
      .then(response => response.body?.cancel())
      .catch(() => undefined);
}

const PAUSE_MS = 200;

async function untilOver(target: ServerTarget, ask: OpenAsk): Promise<Progress> {
  const end = performance.now() + target.limitMs;
  let progress = await ask.progress(target.limitMs);
  while (progress === 'waiting' && performance.now() < end) {
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
    progress = await ask.progress(Math.max(0, end - performance.now()));
  }
  return progress;
}

async function checkNotices(
  target: ServerTarget,
  checks: Checks,
  { session, elicitationId }: OpenAsk,
  bystanders: readonly LegacySession[],
): Promise<void> {
  const first = await session?.until(({ method }) => method === NOTICE, target.settleMs);
  const misdirected = noticesOf(bystanders.flatMap(each => each.received));
  const own = noticesOf(session?.received ?? []);
  if (first === undefined && misdirected.length === 0)
    for (const id of notices) checks.skip(id, 'this MCP server sends no completion notification');
  const named = own.map(({ params }) => params?.['elicitationId']);
  const unknown = named.filter(id => id !== elicitationId).map(id => `unknown id ${String(id)}`);
  checks.verdict('sep-1036-completion-known-id', unknown);
  const wrong = misdirected.length === 0 ? [] : [`${misdirected.length} notifications to other sessions`];
  checks.verdict('sep-1036-completion-initiator-only', wrong);
  const times = named.filter(id => id === elicitationId).length;
  checks.verdict('sep-1036-completion-once', times > 1 ? [`reported ${times} times`] : []);
}
