import { type Checks, type ConformanceCheck, createChecks } from '../checks.ts';
import type { RequirementId } from '../requirements.ts';
import { type Revision, revisions } from '../revision.ts';
import { type IdsOf, reasonOf } from '../scenario.ts';
import type { Caller, Reply } from './mock-server.ts';
import { type ClientTarget, type Observed, observe, type Script } from './observe.ts';
import type { Consent } from './run-client.ts';

/** A scenario for MCP clients. The suite acts as the MCP server. */
export interface ClientScenario {
  readonly name: string;
  readonly description: string;
  readonly revisions: readonly Revision[];
  /** Never throws: what prevents a check fails it. */
  run(target: ClientTarget): Promise<ClientResult>;
}

export interface ClientResult {
  readonly checks: readonly ConformanceCheck[];
  readonly stdout: string;
  readonly stderr: string;
}

const said = (text: string, isError = false): Reply => ({
  result: { resultType: 'complete', content: [{ type: 'text', text }], isError },
});

const declaresUrl = ({ elicitation }: Caller) =>
  typeof elicitation === 'object' && elicitation !== null && 'url' in elicitation;

const MESSAGE = 'Open this page to continue.';

/** Asks in the call; in revision 2026-07-28, waits for one more round after consent. */
const ask: Script = async ({ caller, round, asked, responses }) => {
  const { page: url, elicitationId, key, states } = asked;
  const request = { mode: 'url', message: MESSAGE, url };
  if (!caller.isModern) {
    const response = await caller.push('elicitation/create', { ...request, elicitationId });
    responses.push(response);
    const isAccepted = response.result?.['action'] === 'accept';
    return said(isAccepted ? 'done' : 'refused', !isAccepted);
  }
  if (!declaresUrl(caller)) {
    const data = { requiredCapabilities: { elicitation: { url: {} } } };
    return { error: { code: -32021, message: 'Missing required client capability', data } };
  }
  const inputRequests = { [key]: { method: 'elicitation/create', params: request } };
  if (round === 0) return { result: { resultType: 'input_required', inputRequests, requestState: states[0] } };
  if (round === 1 && actionOf(caller, key) === 'accept')
    return { result: { resultType: 'input_required', requestState: states[1] } };
  return round === 1 ? said('refused', true) : said('done');
};

const requireUrl: Script = ({ round, asked }) => {
  const elicitation = { mode: 'url', message: MESSAGE, url: asked.page, elicitationId: asked.elicitationId };
  if (round > 0) return said('done');
  return { error: { code: -32042, message: MESSAGE, data: { elicitations: [elicitation] } } };
};

function responseOf({ params }: Caller, key: string): Readonly<Record<string, unknown>> | undefined {
  const responses = params['inputResponses'];
  if (typeof responses !== 'object' || responses === null) return undefined;
  return (responses as Record<string, Record<string, unknown> | undefined>)[key];
}

const actionOf = (caller: Caller, key: string): unknown => responseOf(caller, key)?.['action'];

/** What every client that declares url mode must keep to. @returns why nothing else can be tested */
function judgeUrl(
  checks: Checks,
  { asked, calls, pageRequests, opened, stdout, stderr }: Observed,
): string | undefined {
  const [first] = calls;
  if (first === undefined) return 'the client did not call the tool';
  checks.verdict('sep-1036-client-no-prefetch', pageRequests, { page: asked.page });
  if (opened.length > 0) {
    const isShown = `${stdout}${stderr}`.includes(asked.page);
    checks.verdict('sep-1036-client-shows-url', isShown ? [] : ['the client opened the URL, and printed it nowhere']);
    const others = opened.filter(url => url !== asked.page).map(url => `opened ${url}`);
    checks.verdict('sep-1036-client-opens-exact-url', others);
  } else {
    const isShown = `${stdout}${stderr}`.includes(asked.page);
    const faults = isShown ? [] : ['the client neither opened nor printed the URL'];
    checks.verdict('sep-1036-client-shows-url', faults);
    checks.skip('sep-1036-client-opens-exact-url', 'the client opened no URL');
  }
  return undefined;
}

const actions = ['accept', 'decline', 'cancel'];

function judgeAnswer(checks: Checks, observed: Observed, expected: readonly string[]): void {
  const { responses, calls, asked } = observed;
  const [pushed] = responses;
  const retry = calls[1];
  const response = pushed?.result ?? (retry === undefined ? undefined : responseOf(retry, asked.key));
  if (response === undefined) {
    // In revision 2026-07-28, a client may give up instead of sending a refusal.
    if (pushed !== undefined || expected.includes('accept')) return;
    checks.skip('sep-1036-client-response-shape', 'the client sent no refusal');
    checks.skip('sep-1036-client-action', 'the client sent no refusal');
    return;
  }
  const action = String(response['action']);
  checks.verdict('sep-1036-client-response-shape', [
    ...(actions.includes(action) ? [] : [`action ${action}`]),
    ...('content' in response ? ['content in a response to url mode'] : []),
  ]);
  checks.verdict('sep-1036-client-action', expected.includes(action) ? [] : [`${action} instead of ${expected[0]}`]);
}

function judgeRounds(checks: Checks, { calls, asked }: Observed): void {
  const [first, second, third] = calls;
  if (first === undefined || second === undefined || third === undefined) return;
  const ids = calls.map(({ id }) => id);
  checks.verdict('sep-2322-client-new-id', new Set(ids).size === ids.length ? [] : ['an id was used twice']);
  const states = [second, third].map(({ params }) => params['requestState']);
  const changed = asked.states.filter((state, at) => states[at] !== state);
  const early = 'requestState' in first.params ? ['the first call had a requestState'] : [];
  checks.verdict('sep-2322-client-state-exact', [...early, ...changed.map(() => 'another requestState came back')]);
  const keys = [second, third].map(({ params }) => Object.keys((params['inputResponses'] as object | undefined) ?? {}));
  const wrong = keys[0]?.join() === asked.key ? [] : [`the keys of the first retry are ${keys[0]?.join(', ')}`];
  const left = keys[1]?.length === 0 ? [] : ['the retry after a round without requests has responses'];
  checks.verdict('sep-2322-client-response-key', [...wrong, ...left]);
}

/** A client without url mode has only to refuse it. In revision 2026-07-28 it is not asked at all. */
function judgeUndeclared(checks: Checks, { responses }: Observed, ids: readonly RequirementId[]): undefined {
  const code = responses[0]?.error?.code;
  if (responses.length > 0 && ids.includes('sep-1036-client-undeclared-mode'))
    checks.verdict('sep-1036-client-undeclared-mode', code === -32602 ? [] : [`error ${code} instead of -32602`]);
  for (const id of ids) checks.skip(id, 'the client does not declare url mode');
}

interface Definition {
  readonly name: string;
  readonly description: string;
  readonly consent: Consent;
  readonly ids: IdsOf;
  readonly script: Script;
  readonly judge: (checks: Checks, observed: Observed) => string | undefined;
}

const url = ['sep-1036-client-no-prefetch', 'sep-1036-client-shows-url', 'sep-1036-client-opens-exact-url'] as const;
const answer = ['sep-1036-client-response-shape', 'sep-1036-client-action'] as const;
const rounds = ['sep-2322-client-new-id', 'sep-2322-client-state-exact', 'sep-2322-client-response-key'] as const;

const definitions: readonly Definition[] = [
  {
    name: 'url-elicitation-client-accept',
    description:
      'The user consents: the client shows and opens the URL, answers accept, and ends its call with the result.',
    consent: 'accept',
    script: ask,
    ids: {
      '2025-11-25': ['sep-1036-client-undeclared-mode', ...url, ...answer],
      '2026-07-28': [...url, ...answer, ...rounds],
    },
    judge(checks, observed) {
      if (observed.responses.length > 0) checks.skip('sep-1036-client-undeclared-mode', 'the client declares url mode');
      const reason = judgeUrl(checks, observed);
      judgeAnswer(checks, observed, ['accept']);
      if (observed.calls[0]?.isModern === true) judgeRounds(checks, observed);
      return reason;
    },
  },
  {
    name: 'url-elicitation-client-decline',
    description: 'The user declines: the client opens nothing, and reports decline or cancel.',
    consent: 'decline',
    script: ask,
    ids: {
      '2025-11-25': ['sep-1036-client-consent', 'sep-1036-client-no-prefetch', ...answer],
      '2026-07-28': ['sep-1036-client-consent', 'sep-1036-client-no-prefetch', ...answer],
    },
    judge(checks, observed) {
      if (observed.calls.length === 0) return 'the client did not call the tool';
      checks.verdict(
        'sep-1036-client-consent',
        observed.opened.map(page => `opened ${page}`),
      );
      checks.verdict('sep-1036-client-no-prefetch', observed.pageRequests);
      judgeAnswer(checks, observed, ['decline', 'cancel']);
      return undefined;
    },
  },
  {
    name: 'url-elicitation-client-required-error',
    description:
      'The call gets -32042. The user consents: the client opens the URL, ignores unknown and repeated completion notifications, and may retry.',
    consent: 'accept',
    script: requireUrl,
    ids: { '2025-11-25': [...url, 'sep-1036-client-unknown-completion', 'sep-1036-client-retries'] },
    judge(checks, observed) {
      const reason = judgeUrl(checks, observed);
      const retries = observed.calls.length - 1;
      if (retries === 0) checks.skip('sep-1036-client-retries', 'the client does not retry by itself');
      else checks.verdict('sep-1036-client-retries', []);
      if (!observed.isNotified) checks.skip('sep-1036-client-unknown-completion', 'the client has no stream for it');
      else {
        const faults = retries > 1 ? [`${retries} retries after one completion`] : [];
        checks.verdict('sep-1036-client-unknown-completion', faults);
      }
      return reason;
    },
  },
];

export const clientScenarios: readonly ClientScenario[] = definitions.map(definition => ({
  name: definition.name,
  description: definition.description,
  revisions: revisions.filter(revision => definition.ids[revision] !== undefined),
  async run(target) {
    const ids = definition.ids[target.revision] ?? [];
    const checks = createChecks(ids, target.revision);
    try {
      const observed = await observe(target, definition);
      const { calls, timedOut, stdout, stderr } = observed;
      const output = { stdout, stderr };
      if (timedOut)
        return { checks: checks.finish(`the client did not exit within ${target.timeoutMs} ms`), ...output };
      const isUndeclared = calls.length > 0 && !calls.some(declaresUrl);
      const judged = isUndeclared ? judgeUndeclared(checks, observed, ids) : definition.judge(checks, observed);
      return { checks: checks.finish(judged ?? 'the client did not go on'), ...output };
    } catch (error) {
      return { checks: checks.finish(reasonOf(error)), stdout: '', stderr: '' };
    }
  },
}));
