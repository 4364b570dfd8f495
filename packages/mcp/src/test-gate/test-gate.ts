import { createGate } from '../create-gate.ts';
import { createEnvironment } from '../environment.ts';
import { PosternUsageError } from '../errors.ts';
import type { ErrorAnswer, GatedHandler, GenericGate, SdkAdapter, SdkTypes } from '../gate.ts';
import { ELICITATION_ERROR_CODE, textIn } from '../tool-call.ts';
import { type Asked, assertScript, type TestScript } from './script.ts';
import { ScriptedClient } from './scripted-client.ts';

/** Stands in for the gate of an SDK. */
export interface TestGate<Sdk extends SdkTypes> extends GenericGate<Sdk> {
  /** What the handlers have asked, in order. */
  readonly asks: readonly Asked[];
  /** Calls a wrapped tool or prompt as the SDK does, with an empty context. */
  call<Args, Return>(
    wrapped: GatedHandler<Args, Sdk['context'], Return>,
    args?: Args,
  ): Promise<Exclude<Return, Sdk['inputRequired']>>;
}

/** Nothing listens there, and nothing asks: every call of the gateway goes to the scripted client. */
const NO_GATEWAY = { url: 'http://127.0.0.1:9', apiKey: 'test-gate-without-a-gateway', check: false } as const;

/** @throws {PosternUsageError} `invalid_options` */
export function createTestGate<Sdk extends SdkTypes>(script: TestScript = {}): TestGate<Sdk> {
  assertScript(script);
  const client = new ScriptedClient(script);
  const {
    fetch = noNetwork,
    opensLinks = false,
    subject = { issuer: 'http://localhost', subject: 'test-user' },
  } = script;
  const options = { ...NO_GATEWAY, subject };
  const environment = { ...createEnvironment(options), client, fetch, assumeUrlCapability: opensLinks };
  const adapter: SdkAdapter<Sdk> = {
    toToolCall: (args, _ctx, toolName) => ({
      ...{ era: 'legacy-stateless', toolName, args, signal: new AbortController().signal },
      ...{ authInfo: undefined, mcpClientName: undefined, reportProgress: undefined },
    }),
    // Part of the results of both SDKs.
    toToolResult: result => result as object as Sdk['tool'],
    toInputRequired: unreachable,
    toError,
    failTool: unreachable,
  };
  const gate = createGate<Sdk>(options, adapter, environment);
  return {
    ...gate,
    asks: client.asks,
    async call<Args, Return>(wrapped: GatedHandler<Args, Sdk['context'], Return>, args?: Args) {
      const result = await wrapped(args as Args, {} as Sdk['context']);
      return result as Exclude<Return, Sdk['inputRequired']>;
    },
  };
}

/** As the MCP client gets it. */
function toError(answer: ErrorAnswer | Error): Error {
  if (answer instanceof Error) return answer;
  if (answer.type === 'capability_missing') return new Error(answer.message);
  const [result, code] = answer.type === 'plain' ? [answer.result, ELICITATION_ERROR_CODE] : [answer.fallback, -32_042];
  return Object.assign(new Error(textIn(result)), { code, data: result._meta });
}

/** Calls of a test gate carry no `requestState`. */
function unreachable(): never {
  throw new TypeError('a test gate has no requestState');
}

async function noNetwork(): Promise<never> {
  throw new PosternUsageError('invalid_options', 'testGate: script `fetch` to answer requests to an API.');
}
