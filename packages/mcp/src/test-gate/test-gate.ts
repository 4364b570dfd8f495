import { AsyncLocalStorage } from 'node:async_hooks';
import { causesOf, invalidOptions, PosternUsageError } from '../errors.ts';
import { createGate } from '../gate/create-gate.ts';
import { createEnvironment } from '../gate/environment.ts';
import type { ErrorAnswer, GatedHandler, GenericGate, SdkAdapter, SdkTypes } from '../gate/gate.ts';
import { isMistake } from '../mistakes.ts';
import {
  type ClientAnswer,
  ELICITATION_ERROR_CODE,
  ELICITATION_META_KEY,
  type ToolCall,
  textIn,
} from '../run/tool-call.ts';
import { type Asked, assertScript, type Revision, type TestScript } from './script.ts';
import { ScriptedClient } from './scripted-client.ts';

/** Stands in for the gate of an SDK. */
export interface TestGate<Sdk extends SdkTypes> extends GenericGate<Sdk> {
  /** What the handlers have asked, in order. */
  readonly asks: readonly Asked[];
  /** Calls a wrapped tool or prompt as the SDK does, with an empty context, until it has a result. */
  call<Args, Return>(
    wrapped: GatedHandler<Args, Sdk['context'], Return>,
    args?: Args,
  ): Promise<Exclude<Return, Sdk['inputRequired']>>;
}

/** Nothing listens there, and nothing asks: every call of the gateway goes to the scripted client. */
const NO_GATEWAY = { url: 'http://127.0.0.1:9', apiKey: 'test-gate-without-a-gateway', check: false } as const;

/** How a run of a handler follows the one before: with its state, or as a repeated call without one. */
interface Step {
  readonly requestState?: string;
  readonly clientAnswer?: ClientAnswer;
}
const STEP = Symbol('step');

/** A run that has asked. Its state, if it has one, continues the call. */
interface Asking {
  readonly requestState?: string;
}

/** More runs than any call may need: it asks 32 times at most. */
const MAX_RUNS = 64;

/** @throws {PosternUsageError} `invalid_options` */
export function createTestGate<Sdk extends SdkTypes>(script: TestScript, newest: Revision): TestGate<Sdk> {
  assertScript(script);
  const client = new ScriptedClient(script);
  const {
    fetch = noNetwork,
    opensLinks = true,
    subject = { issuer: 'http://localhost', subject: 'test-user' },
    revision = newest,
  } = script;
  const mistakes: Error[] = [];
  const effects = new AsyncLocalStorage<string[]>();
  const options = { ...NO_GATEWAY, subject, holdMs: 0 };
  const environment = {
    ...createEnvironment(options),
    client,
    assumeUrlCapability: opensLinks,
    // A test gets the error itself, also one that the handler catches.
    reportMistake: (thrown: unknown) => void mistakes.push(...[...causesOf(thrown)].filter(isMistake)),
    fetch: watched(fetch, effect => effects.getStore()?.push(effect)),
  };
  const asking = new WeakMap<object, Asking>();
  const adapter: SdkAdapter<Sdk> = {
    toToolCall: (args, ctx, toolName) => toToolCall({ args, toolName, opensLinks, revision }, stepOf(ctx)),
    // Part of the results of both SDKs.
    toToolResult(result) {
      if (isUnfinished(result)) asking.set(result, {});
      return result as object as Sdk['tool'];
    },
    toInputRequired(answer) {
      asking.set(answer, answer);
      return answer as object as Sdk['inputRequired'];
    },
    toError(answer) {
      const error = toError(answer);
      if (!(answer instanceof Error) && answer.type !== 'capability_missing') {
        if (isUnfinished(answer.type === 'plain' ? answer.result : answer.fallback)) asking.set(error, {});
      }
      return error;
    },
    failTool(error) {
      throw error;
    },
  };

  /** Runs a handler as an MCP client makes it run: from its start after each answer of the user. */
  async function story<Return>(run: (step: Step) => Promise<Return>): Promise<Return> {
    let step: Step = {};
    for (let runs = 1; runs <= MAX_RUNS; runs += 1) {
      const sent: string[] = [];
      let ended: { readonly value: Return } | { readonly error: unknown };
      try {
        ended = { value: await effects.run(sent, () => run(step)) };
      } catch (error) {
        ended = { error };
      }
      const [mistake] = mistakes.splice(0);
      if (mistake !== undefined) throw mistake;
      const last = 'value' in ended ? ended.value : ended.error;
      const asked = typeof last === 'object' && last !== null ? asking.get(last) : undefined;
      if (asked !== undefined && sent[0] !== undefined) throw effectBeforeAsk(sent[0]);
      if (asked === undefined || (!client.decide() && asked.requestState === undefined)) {
        if ('error' in ended) throw ended.error;
        return ended.value;
      }
      const { requestState } = asked;
      step = requestState === undefined ? {} : { requestState, clientAnswer: { action: 'accept', content: undefined } };
    }
    throw new PosternUsageError('too_many_steps', `testGate: the handler has run ${MAX_RUNS} times and asks again.`);
  }

  const wrapping = (gate: GenericGate<Sdk>): GenericGate<Sdk> => {
    /** Wraps the handler, which is the last argument, and the one that the SDK gets. */
    const repeated =
      (wrap: (...given: never[]) => (...parameters: never[]) => Promise<unknown>) =>
      (...given: never[]) => {
        const wrapped = wrap(...given);
        return (...parameters: object[]) => {
          const ctx = parameters.pop();
          return story(step => wrapped(...([...parameters, { ...ctx, [STEP]: step }] as never[])));
        };
      };
    return {
      ...gate,
      tool: repeated(gate.tool as never) as never,
      prompt: repeated(gate.prompt as never) as never,
      resource: repeated(gate.resource as never) as never,
      attach: server => wrapping(gate.attach(server)),
    };
  };
  return {
    ...wrapping(createGate<Sdk>(options, adapter, environment)),
    asks: client.asks,
    async call<Args, Return>(wrapped: GatedHandler<Args, Sdk['context'], Return>, args?: Args) {
      const result = await wrapped(args as Args, {} as Sdk['context']);
      return result as Exclude<Return, Sdk['inputRequired']>;
    },
  };
}

const stepOf = (ctx: object): Step => (ctx as { readonly [STEP]?: Step })[STEP] ?? {};

const isUnfinished = ({ _meta = {} }: { readonly _meta?: object | undefined }) => ELICITATION_META_KEY in _meta;

function toToolCall(
  p: {
    readonly args: unknown;
    readonly toolName: string | undefined;
    readonly opensLinks: boolean;
    readonly revision: Revision;
  },
  step: Step,
): ToolCall {
  const { args, toolName, opensLinks, revision } = p;
  const common = {
    toolName,
    args,
    signal: new AbortController().signal,
    authInfo: undefined,
    mcpClientName: undefined,
    reportProgress: undefined,
  };
  if (revision === '2025-11-25') return { ...common, era: 'legacy-stateless' };
  const { requestState, clientAnswer } = step;
  return { ...common, era: 'modern', declaresUrl: opensLinks, declaresForm: false, requestState, clientAnswer };
}

/** As the MCP client gets it. */
function toError(answer: ErrorAnswer | Error): Error {
  if (answer instanceof Error) return answer;
  if (answer.type === 'capability_missing') return new Error(answer.message);
  const [result, code] = answer.type === 'plain' ? [answer.result, ELICITATION_ERROR_CODE] : [answer.fallback, -32_042];
  return Object.assign(new Error(textIn(result)), { code, data: result._meta });
}

/** Requests that change something, unless they carry a key that makes them one effect. */
function watched(send: typeof fetch, sent: (effect: string) => void): typeof fetch {
  return async (input, init) => {
    const { method, url, headers } = new Request(input, init);
    if (!/^(?:GET|HEAD|OPTIONS)$/.test(method) && !headers.has('idempotency-key')) {
      const { origin, pathname } = new URL(url);
      sent(`${method} ${origin}${pathname} ${callerFrame()}`);
    }
    return await send(input, init);
  };
}

/** The first line of the stack outside of this package. */
function callerFrame(): string {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 50;
  const { stack = '' } = new Error('of a request');
  Error.stackTraceLimit = stackTraceLimit;
  const own = new URL('..', import.meta.url).href;
  const frames = stack.split('\n').slice(1);
  return frames.find(frame => frame.includes('file:') && !frame.includes(own))?.trim() ?? '';
}

function effectBeforeAsk(effect: string): PosternUsageError {
  const text = `testGate: ${effect} is sent again by every run: put it after the last ask, or give it an idempotency-key.`;
  return new PosternUsageError('effect_before_ask', text);
}

async function noNetwork(): Promise<never> {
  throw invalidOptions('testGate: script `fetch` to answer requests to an API.');
}
