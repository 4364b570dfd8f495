import { randomUUID } from 'node:crypto';
import { z } from 'zod/v4';
import { confirm, pay, refund } from '../ask/approvals.ts';
import { parseTerms } from '../ask/ask.ts';
import { authorizationSpec, authorize } from '../ask/authorize.ts';
import { credential } from '../ask/credential.ts';
import { createFormVerb } from '../ask/form.ts';
import type {
  AskOptions,
  AuthorizationAccepted,
  AuthorizeOptions,
  ConfirmationTerms,
  ConfirmOptions,
  CredentialRequest,
  CredentialVerb,
  GateContext,
  PaymentTerms,
  RefundOptions,
  Verbs,
} from '../ask/verbs.ts';
import { InvalidRequestStateError, invalidOptions, PosternUsageError, parseStrictly } from '../errors.ts';
import { admitted } from '../http/admission.ts';
import { forHandler, runTool, type ToolOutcome } from '../run/handler.ts';
import type { Environment, ToolRun } from '../run/run.ts';
import {
  handlerId,
  type Principal,
  type RequestKind,
  resolvePrincipal,
  type SubjectOption,
  type ToolCall,
} from '../run/tool-call.ts';
import { createEnvironment, type PosternOptions } from './environment.ts';
import type {
  AccountRequests,
  Gated,
  GenericGate,
  Handler,
  HandlerOptions,
  ResourceHandler,
  ResourceVariables,
  SdkAdapter,
  SdkTypes,
} from './gate.ts';

/**
 * @param environment replaced for tests
 * @throws {PosternUsageError} `invalid_options`
 */
export function createGate<Sdk extends SdkTypes>(
  options: PosternOptions<Sdk['context']>,
  adapter: SdkAdapter<Sdk>,
  environment: Environment = createEnvironment(options),
): GenericGate<Sdk> {
  const calls = new Calls(options.subject, adapter, environment);
  if (options.check !== false) calls.personal.gateCheck.begin();
  return gateFor(calls, undefined);
}

/** @param server the instance that was given to `attach()` */
function gateFor<Sdk extends SdkTypes>(calls: Calls<Sdk>, server: Sdk['mcpServer'] | undefined): GenericGate<Sdk> {
  const { adapter, environment, personal } = calls;
  return {
    tool<Args, Requests extends AccountRequests>(
      ...given: Given<HandlerOptions<Requests>, Handler<Sdk, Args, Requests, Sdk['tool']>>
    ) {
      const { wrap, handler } = unpack(personal, 'gate.tool', given);
      const callOf = calls.of('tool', () => wrapped, wrap.name, server);
      const wrapped = async (...parameters: [Sdk['context']] | [Args, Sdk['context']]) => {
        const [args, ctx] = withArguments(parameters);
        return await calls.answerTool(callOf(args, ctx), ctx, async gate =>
          handler(args, { ...ctx, ...(await gated<Requests>(gate, wrap)) }),
        );
      };
      return wrapped;
    },
    prompt<Args, Requests extends AccountRequests>(
      ...given: Given<HandlerOptions<Requests>, Handler<Sdk, Args, Requests, Sdk['prompt']>>
    ) {
      const { wrap, handler } = unpack(personal, 'gate.prompt', given);
      const callOf = calls.of('prompt', () => wrapped, wrap.name, server);
      const wrapped = async (...parameters: [Sdk['context']] | [Args, Sdk['context']]) => {
        const [args, ctx] = withArguments(parameters);
        return await calls.answerOrFail(callOf(args, ctx), ctx, async gate =>
          handler(args, { ...ctx, ...(await gated<Requests>(gate, wrap)) }),
        );
      };
      return wrapped;
    },
    resource<Requests extends AccountRequests>(
      ...given: Given<HandlerOptions<Requests>, ResourceHandler<Sdk, Requests>>
    ) {
      const { wrap, handler } = unpack(personal, 'gate.resource', given);
      const callOf = calls.of('resource', () => wrapped, wrap.name, server);
      const wrapped = async (...parameters: [URL, Sdk['context']] | [URL, ResourceVariables, Sdk['context']]) => {
        const [uri, variables, ctx] = parameters.length === 2 ? [parameters[0], {}, parameters[1]] : parameters;
        return await calls.answerOrFail(callOf(undefined, ctx, uri.href), ctx, async gate =>
          handler(uri, variables, { ...ctx, ...(await gated<Requests>(gate, wrap)) }),
        );
      };
      return wrapped;
    },
    attach(instance) {
      adapter.checkServer?.(instance);
      return gateFor(calls, instance);
    },
    verifyRequestState: (requestState, ctx) => calls.verifyRequestState(requestState, ctx, server),
    async resume() {
      const session = server && adapter.sessionOf?.(server);
      if (session === undefined || environment.sessionReplica === undefined)
        throw invalidOptions('resume(): needs attach() and the option sessions.');
      await environment.sessionReplica.resume(session);
    },
    check: signal => personal.gateCheck.run(signal),
    close() {
      environment.gateCheck.close();
      for (const { completionNotices } of new Set([environment, personal])) completionNotices.close();
    },
  };
}

/** Runs the calls of wrapped handlers, and answers them in the types of an SDK. */
class Calls<Sdk extends SdkTypes> {
  readonly adapter: SdkAdapter<Sdk>;
  readonly environment: Environment;
  /** A personal gateway serves the person of this process, so never a request that another person may have sent. */
  readonly personal: Environment;
  readonly #subject: SubjectOption<Sdk['context']> | undefined;

  constructor(subject: SubjectOption<Sdk['context']> | undefined, adapter: SdkAdapter<Sdk>, environment: Environment) {
    this.#subject = subject;
    this.adapter = adapter;
    this.environment = environment;
    this.personal = environment.personal ?? environment;
  }

  /** Returns the calls of one wrapped handler, which share no answers with those of another. */
  of(
    request: RequestKind,
    wrapped: () => object,
    givenName: string | undefined,
    server: Sdk['mcpServer'] | undefined,
  ): (args: unknown, ctx: Sdk['context'], uri?: string) => ToolCall {
    const { adapter } = this;
    // For a handler whose name is unknown.
    const id = randomUUID();
    return (args, ctx, uri) => {
      const instance = server ?? adapter.serverOf?.(ctx);
      const { registered } = adapter;
      const found = registered?.find(wrapped(), instance);
      const name = uri ?? adapter.requested?.(ctx, instance)?.name ?? found?.name ?? givenName;
      const call = {
        ...adapter.toToolCall(args, ctx, request === 'tool' ? name : undefined, instance),
        handler: handlerId(request, name ?? id),
      };
      if (request !== 'tool') return { ...call, request };
      return registered === undefined ? call : { ...call, hasOutputSchema: found?.hasOutputSchema ?? true };
    };
  }

  async answerTool(
    call: ToolCall,
    ctx: Sdk['context'],
    handler: (gate: GateContext) => Promise<Sdk['tool']>,
  ): Promise<Sdk['tool'] | Sdk['inputRequired']> {
    const { adapter } = this;
    try {
      const outcome = await this.#run(call, ctx, handler);
      switch (outcome.type) {
        case 'result':
          return outcome.result;
        case 'plain':
          return adapter.toToolResult(outcome.result);
        case 'input_required':
          return adapter.toInputRequired(outcome);
        case 'capability_missing':
          return adapter.failTool(adapter.toError(outcome));
        case 'url_elicitation_required':
          throw adapter.toError(outcome);
      }
    } catch (error) {
      if (error instanceof InvalidRequestStateError) return adapter.failTool(adapter.toError(error));
      throw error;
    }
  }

  /** A prompt or resource has no result for anything but success. */
  async answerOrFail<Result>(
    call: ToolCall,
    ctx: Sdk['context'],
    handler: (gate: GateContext) => Promise<Result>,
  ): Promise<Result | Sdk['inputRequired']> {
    const { adapter } = this;
    const outcome = await this.#run(call, ctx, handler).catch((error: unknown) => {
      throw error instanceof InvalidRequestStateError ? adapter.toError(error) : error;
    });
    if (outcome.type === 'result') return outcome.result;
    if (outcome.type === 'input_required') return adapter.toInputRequired(outcome);
    throw adapter.toError(outcome);
  }

  async verifyRequestState(
    requestState: string,
    ctx: Sdk['context'],
    server: Sdk['mcpServer'] | undefined,
  ): Promise<OwnRequestState | undefined> {
    const { adapter, environment } = this;
    try {
      const { tool } = await environment.codec.open(requestState);
      const requested = adapter.requested?.(ctx, server ?? adapter.serverOf?.(ctx));
      const isItsOwn = requested === undefined || tool === handlerId(requested.request, requested.name);
      return isItsOwn ? new OwnRequestState(requestState) : undefined;
    } catch (error) {
      if (error instanceof InvalidRequestStateError) return undefined;
      throw error;
    }
  }

  #run<Result>(
    call: ToolCall,
    ctx: Sdk['context'],
    handler: (gate: GateContext) => Promise<Result>,
  ): Promise<ToolOutcome<Result>> {
    const own = isOverHttp(call) ? this.environment : this.personal;
    return runGated(own, call, () => this.#principalOf(own, call, ctx), handler);
  }

  async #principalOf({ defaultPrincipal }: Environment, call: ToolCall, ctx: Sdk['context']): Promise<Principal> {
    // Only a request of this machine can be from its person.
    const mayBeOurs = !call.isUncheckedHttp && admitted.getStore() !== 'allowed_hosts';
    const namesNone = this.#subject === undefined && call.authInfo === undefined && mayBeOurs;
    return (namesNone ? defaultPrincipal : undefined) ?? (await resolvePrincipal(this.#subject, call, ctx));
  }
}

/**
 * An authentic state, for the `requestState.verify` hook of the MCP server. The SDK hands what the hook returns to every handler of the
 * server; only wrapped ones can take the state out.
 */
export class OwnRequestState {
  readonly #sealed: string;

  constructor(sealed: string) {
    this.#sealed = sealed;
  }

  /** Returns the sealed state of a call. Undefined for a state that the MCP server's own hook has decoded. */
  static sealedIn(given: unknown): string | undefined {
    if (typeof given === 'object' && given !== null && #sealed in given) return given.#sealed;
    return typeof given === 'string' ? given : undefined;
  }
}

/** Runs a handler with the gate of this call. @internal */
export function runGated<Result>(
  environment: Environment,
  call: ToolCall,
  resolvePrincipal: () => Promise<Principal>,
  handler: (gate: GateContext) => Result | Promise<Result>,
): Promise<ToolOutcome<Result>> {
  return runTool(environment, call, resolvePrincipal, run => handler(createGateContext(run)));
}

const isOverHttp = ({ authInfo, isUncheckedHttp }: ToolCall): boolean =>
  authInfo !== undefined || isUncheckedHttp === true || admitted.getStore() !== undefined;

/** Checks that a server is an instance of the SDK that this package imports. */
export function sameCopy<McpServer>(name: string, McpServer: abstract new (...args: never) => McpServer) {
  return (server: McpServer): void => {
    if (server instanceof McpServer) return;
    const isServer = typeof server === 'object' && server !== null;
    const found = isServer
      ? `one of another SDK or another copy. Import @postern/mcp/v1 for @modelcontextprotocol/sdk, and install one copy: npm ls ${name}`
      : `${server === undefined ? 'nothing; does the function return it?' : `a ${typeof server}`}`;
    const text = `needs an McpServer of the ${name} that @postern/mcp imports, not ${found}`;
    throw new PosternUsageError('other_sdk_copy', text);
  };
}

type Given<Options, Wrapped> = [handler: Wrapped] | [options: Options, handler: Wrapped];

const handlerOptionsSchema = z.strictObject({
  // `authorizationSpec` parses the options of each account.
  accounts: z
    .record(
      z.string(),
      z.custom<AuthorizeOptions>(
        value => typeof value === 'object' && value !== null,
        'Must be options of authorize, or {}',
      ),
    )
    .optional(),
  name: z.string().optional(),
});

/** @throws {PosternUsageError} `invalid_options`, or `invalid_ask` for an account */
function unpack<Wrapped>(
  { gateCheck }: Environment,
  where: string,
  given: Given<unknown, Wrapped>,
): { readonly wrap: z.infer<typeof handlerOptionsSchema>; readonly handler: Wrapped } {
  const [options, handler] = given.length === 1 ? [{}, given[0]] : given;
  const wrap = parseStrictly('invalid_options', where, handlerOptionsSchema, options);
  if (typeof handler !== 'function')
    throw invalidOptions(`${where}: the last argument must be the handler, a function.`);
  for (const [provider, request] of Object.entries(wrap.accounts ?? {})) {
    authorizationSpec(provider, request);
    gateCheck.expect('authorization', provider);
  }
  return { wrap, handler };
}

/** The SDKs omit the arguments of a tool or prompt without a schema. */
function withArguments<Args, Context>(parameters: [Context] | [Args, Context]): [Args, Context] {
  return parameters.length === 1 ? [undefined as Args, parameters[0]] : parameters;
}

/**
 * Asks for the accounts one after another: the next link is issued, and its time begins, when the user has finished the one before.
 *
 * @throws {Suspension}
 */
async function gated<Requests extends AccountRequests>(
  gate: GateContext,
  { accounts = {} }: z.infer<typeof handlerOptionsSchema>,
): Promise<Gated<Requests>> {
  const connected: [string, AuthorizationAccepted][] = [];
  for (const [provider, request] of Object.entries(accounts))
    connected.push([provider, await gate.authorize(provider, request)]);
  // The names are those of the requests.
  return { gate, accounts: Object.fromEntries(connected) as Gated<Requests>['accounts'] };
}

function createGateContext(run: ToolRun): GateContext {
  const { call, environment, log } = run;
  // A refusal throws in this run, so every answer is an accepted one.
  const verbs = createVerbs(run) as unknown as Verbs<'ends-call'>;
  return {
    authorize: verbs.authorize,
    pay: verbs.pay,
    confirm: verbs.confirm,
    credential: verbs.credential,
    get form() {
      return verbs.form;
    },
    get try() {
      return createVerbs({ ...run, returnsRefusals: true });
    },
    id: name => log.id(parseTerms('id', nameSchema, name)),
    now: () => log.now(),
    refund: forHandler(run, (elicitationId: string, options: RefundOptions) => refund(run, elicitationId, options)),
    client:
      call.era === 'legacy-stateless'
        ? { form: false, url: environment.assumeUrlCapability }
        : { form: call.declaresForm, url: call.declaresUrl },
  };
}

const nameSchema = z.string().min(1);

function createVerbs(run: ToolRun): Verbs<'returned'> {
  return {
    authorize: forHandler(run, (provider: string, options?: AuthorizeOptions) => authorize(run, provider, options)),
    pay: forHandler(run, (terms: PaymentTerms, options?: AskOptions) => pay(run, terms, options)),
    confirm: forHandler(run, (terms: ConfirmationTerms, options?: ConfirmOptions) => confirm(run, terms, options)),
    // One implementation for both overloads; the result type follows from `retention`.
    credential: forHandler(run, (request: CredentialRequest, options?: AskOptions) =>
      credential(run, request, options),
    ) as CredentialVerb,
    get form() {
      return createFormVerb(run);
    },
  };
}
