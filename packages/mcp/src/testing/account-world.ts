import type { AuthorizationAccepted, GateContext } from '../ask/verbs.ts';
import { runGated } from '../gate/create-gate.ts';
import type { PosternOptions } from '../gate/environment.ts';
import { createEnvironment } from '../gate/environment.ts';
import type { ClientAnswer } from '../run/tool-call.ts';
import { API_KEY, ContractGateway } from './contract-gateway.ts';
import { ProviderApi } from './provider-api.ts';

const alice = { issuer: 'https://idp.example.com', subject: 'alice' };

/**
 * A connected account: a gateway, an API that accepts the current token of the connection, and runs of a tool.
 *
 * @param args of the calls; with others than none they are no repetition of the call that connected the account
 */
export async function accountWorld(options: Partial<PosternOptions<object>> = {}, args: object = {}) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await ContractGateway.start());
  const { connections } = gateway;
  const api = stack.use(await new ProviderApi(token => connections.isCurrent(token)).listen());
  const environment = createEnvironment({ url: gateway.url, apiKey: API_KEY, ...options });
  const abort = new AbortController();

  const common = {
    toolName: 'create_issue',
    args,
    signal: abort.signal,
    authInfo: undefined,
    mcpClientName: undefined,
    reportProgress: undefined,
  };
  const principal = async () => ({ ...alice, input: alice });

  function run<T>(handler: (gate: GateContext) => Promise<T>) {
    return runGated(environment, { ...common, era: 'legacy-stateless' }, principal, handler);
  }

  /** The same as a retry of revision 2026-07-28, or its first request. */
  function runModern<T>(
    handler: (gate: GateContext) => Promise<T>,
    requestState?: string,
    declaresForm = false,
    action: ClientAnswer['action'] = 'accept',
  ) {
    const clientAnswer = requestState === undefined ? undefined : { action, content: undefined };
    const declared = { declaresUrl: true, declaresForm };
    return runGated(
      environment,
      { ...common, ...declared, era: 'modern', requestState, clientAnswer },
      principal,
      handler,
    );
  }

  /** Runs a handler that uses the account and returns its result. Undefined if it was suspended. */
  async function use<T>(handler: (account: AuthorizationAccepted) => Promise<T>): Promise<T | undefined> {
    const outcome = await run(async gate => {
      const github = await gate.try.authorize('github');
      if (github.action !== 'accept') throw new Error(github.reason);
      return await handler(github);
    });
    return outcome.type === 'result' ? outcome.result : undefined;
  }

  const setUp = { ...common, args: {}, era: 'legacy-stateless' as const };
  await runGated(environment, setUp, principal, gate => gate.try.authorize('github'));
  gateway.end('completed');
  return { gateway, connections, api, abort, run, runModern, use, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
