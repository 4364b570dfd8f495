import { memberOf, stringOf, withMembers } from '@postern/api/json';
import type { PosternOptions } from '@postern/mcp/adapter';
import { LRUCache } from 'lru-cache';
import {
  type Answer,
  type GuardedCall,
  type IncomingCall,
  NotSentError,
  OutcomeUnknownError,
  roundBindingOf,
} from './call.ts';
import { filled, HeaderValueError, type Injection, refuseGiven, type Secret } from './injections.ts';
import { folded, type Message, RpcError, refuseLookalikes, refuseRepeatedNames, textOf } from './message.ts';
import type { Person, Yes } from './person.ts';
import { type Decision, matches, type Rules } from './rules.ts';
import type { ListedTool, ToolList } from './tool-list.ts';

export interface GuardOptions {
  /** The name of the upstream, which the person reads. */
  readonly upstream: string;
  /** What tells this upstream from others of its name: a yes for one is none for another. */
  readonly instance: string;
  readonly rules: Rules;
  readonly gate: PosternOptions<GuardedCall>;
  readonly log: (event: string, details?: Readonly<Record<string, string>>) => void;
}

/** Members of a call that belong to one round of it, and not to the call. */
const OF_ROUND = { requestState: undefined, inputResponses: undefined };
/** Of the name of a tool. */
const MAX_NAME = 256;
/** How long a person is reminded of a call without an answer, in ms. */
const MAY_HAVE_RUN_MS = 24 * 60 * 60_000;
/** Of a tool error that is compared with patterns. */
const MAX_ERROR = 10_000;

/** The way of a call, from the MCP client to the upstream. */
export class Guard {
  readonly #p: GuardOptions;
  #person: Promise<Person> | undefined;
  #hasSaid = false;
  /** When calls ended without an answer, by what they were bound to. The next equal question says so. */
  readonly #mayHaveRun = new LRUCache<string, string>({ max: 1_000, ttl: MAY_HAVE_RUN_MS });

  constructor(p: GuardOptions) {
    this.#p = p;
  }

  /** Loads what asks a person, so that a gateway that cannot be used fails now. @throws {PosternUsageError} `invalid_options` */
  async prepare(): Promise<void> {
    await this.#loaded();
  }

  async close(): Promise<void> {
    // Without a gateway that can be used there is nothing to close.
    (await this.#person?.catch(() => undefined))?.close();
  }

  /** Reads the tools, so that the operator learns at the start which of them falls where. Nothing waits for it. */
  announce(tools: ToolList): void {
    tools.known(undefined).then(
      listed => this.#say(listed),
      (error: unknown) => this.#p.log('cannot read the tools of the server', { error: textOf(error) }),
    );
  }

  /** Logs which tool falls where, once. */
  #say(listed: ReadonlyMap<string, ListedTool>): void {
    const { rules, log } = this.#p;
    if (this.#hasSaid) return;
    this.#hasSaid = true;
    if (rules.trustsAnnotations) log('trusts what the server says of its tools: those that only read pass');
    const byAction = Object.groupBy(listed.values(), tool => rules.decide(tool, undefined).action);
    for (const [action, names] of Object.entries(byAction))
      log(action, { tools: names.map(({ name }) => name).join(', ') });
  }

  /** Whether a call passes, where this can be told at once. */
  isPassed(message: Message, tools: ToolList): boolean {
    const { rules } = this.#p;
    const name = stringOf(message.params, 'name');
    if (name === undefined || name.length > MAX_NAME || rules.needsArguments) return false;
    const tool = rules.needsHints ? tools.knownNow?.get(name) : unlisted(name);
    if (tool === undefined) return false;
    const { action, injections } = rules.decide(tool, undefined);
    return action === 'pass' && injections.length === 0;
  }

  /**
   * A batch (2025-03-26). Its answers would come together, so none of its calls can wait for a person.
   *
   * @throws {RpcError} if a rule is about one of its messages
   */
  refuseBatch(messages: readonly Message[], tools: ToolList): void {
    const isFree = messages.every(
      one =>
        (one.method !== 'tools/call' || this.isPassed(one, tools)) &&
        !(this.#p.rules.changesLists && one.method === 'tools/list'),
    );
    if (!isFree) throw new RpcError(-32600, 'a batch with a call that needs a decision');
  }

  /**
   * Undefined: the call passes as it came.
   *
   * @throws {RpcError} for a call that readers could take for different calls
   */
  async answer(incoming: IncomingCall): Promise<Answer | undefined> {
    const name = nameOf(incoming.message);
    const tool = this.#p.rules.needsHints ? await this.#listed(name, incoming, 'known') : unlisted(name);
    const decision = this.#decide(tool, incoming.message);
    if (decision.action === 'hide' || decision.action === 'deny') return await this.#refused(name, decision);
    if (decision.action === 'confirm' || decision.injections.length > 0)
      return await this.#asked(name, incoming, decision.action === 'confirm');
    refuseGiven(incoming.message, this.#p.rules.injectionsOf(tool));
    return undefined;
  }

  /** A call for which a person may be asked. */
  async #asked(name: string, incoming: IncomingCall, isConfirmed: boolean): Promise<Answer> {
    const { upstream, instance } = this.#p;
    const argumentsText = clearArguments(incoming.message);
    const person = await this.#loaded();
    person.assertShowable(name);
    try {
      // Anew for every call: what the person says yes to is what the upstream says now.
      const tool = await this.#listed(name, incoming, isConfirmed ? 'read' : 'known');
      const decision = this.#decide(tool, incoming.message);
      if (decision.action === 'hide' || decision.action === 'deny') return await this.#refused(name, decision);
      const { injections } = decision;
      refuseGiven(incoming.message, this.#p.rules.injectionsOf(tool));
      const unknown = injections.find(({ as }) => 'argument' in as && !tool.argumentNames.includes(as.argument));
      if (unknown !== undefined) return this.#notListed(name, unknown);
      // Goes on with `#afterYes`, once for a yes.
      const action = isConfirmed ? 'confirm' : decision.action;
      const shown = { upstream, instance, tool, decision: { ...decision, action }, argumentsText };
      const call = { ...incoming, ...shown, mayHaveRunAt: undefined };
      return await person.ask({ ...call, mayHaveRunAt: this.#mayHaveRun.get(roundBindingOf(call)) });
    } catch (error) {
      return this.#failed(name, incoming.signal, error, person);
    }
  }

  /** An upstream could show an argument that its tool does not know, or do anything else with it. */
  #notListed(name: string, { name: of, as }: Injection): Answer {
    const argument = 'argument' in as ? as.argument : '';
    this.#p.log('the tool does not list the argument of a rule', { tool: name, of, argument });
    const text = `The server lists no argument ${JSON.stringify(argument)} for ${JSON.stringify(name)}, so it did not get ${of}.`;
    return failure(`${text} Nothing was done. Tell the user that the rules of this proxy need a change.`);
  }

  /** Sends the call, and again with other secrets if the upstream did not accept those that it got. */
  async #afterYes(yes: Yes): Promise<Answer> {
    const first = await this.#send(yes, []);
    if (first.rejected.length === 0) return await this.#answered(yes, first);
    try {
      return await this.#answered(yes, await this.#send(yes, first.rejected));
    } catch (error) {
      // It was not sent again, so the answer of the upstream stands.
      const isUnsent = error instanceof NotSentError || (await this.#loaded()).codeOf(error) !== undefined;
      if (isUnsent && 'response' in first) return await this.#answered(yes, first);
      throw error;
    }
  }

  async #answered({ call }: Yes, sent: Sent): Promise<Answer> {
    if ('refused' in sent) throw sent.refused;
    this.#mayHaveRun.delete(roundBindingOf(call));
    return { type: 'response', bytes: await (await this.#loaded()).sent.wrapped(sent.response, roundBindingOf(call)) };
  }

  /**
   * Sends the call once, if the tool is still the one that the person was asked about, minutes ago perhaps.
   *
   * @returns the response, and the injections that the upstream rejected
   */
  async #send({ call, access, round }: Yes, rejected: readonly Injection[]): Promise<Sent> {
    const secrets = await access.read(rejected);
    if (round === undefined) {
      const tool = await this.#listed(call.tool.name, call, call.decision.action === 'confirm' ? 'read' : 'known');
      if (tool.digest !== call.tool.digest)
        throw new NotSentError('The server changed what it says of this tool while the user was asked.');
    }
    call.signal.throwIfAborted();
    const { bytes, headers } = filled(round ?? withoutRound(call.message), secrets);
    const ends: (() => void)[] = [];
    try {
      for (const { injection, value } of secrets) ends.push(call.client.secrets.hide(injection.name, value));
      const response = await call.send(bytes, headers);
      return { response, rejected: rejectedBy(response, secrets) };
    } catch (error) {
      if (error instanceof OutcomeUnknownError)
        this.#mayHaveRun.set(roundBindingOf(call), new Date().toISOString().replace(/\.\d+/, ''));
      if (!(error instanceof NotSentError) || error.status !== 401) throw error;
      const inHeaders = secrets.filter(({ injection }) => 'header' in injection.as);
      return {
        refused: error,
        rejected: (inHeaders.length > 0 ? inHeaders : secrets).map(({ injection }) => injection),
      };
    } finally {
      for (const end of ends) end();
    }
  }

  async #refused(name: string, { action, by }: Decision): Promise<Answer> {
    if (action === 'hide') throw new RpcError(-32602, `Unknown tool: ${name}`);
    this.#p.log('call denied', { tool: name, rule: String(by) });
    const text = `The rules of this proxy do not allow ${JSON.stringify(name)}. Nothing was done.`;
    return (await this.#loaded()).refusal(text);
  }

  #failed(name: string, signal: AbortSignal, error: unknown, person: Person): Answer {
    if (error instanceof OutcomeUnknownError) {
      this.#p.log('outcome of a confirmed call unknown', { tool: name });
      return failure(
        `The connection to the server ended before ${JSON.stringify(name)} answered, so it is unknown whether it ran. ` +
          'It is not sent again by itself. Tell the user, and call it again only after they have checked.',
      );
    }
    if (error instanceof RpcError || signal.aborted) throw error;
    if (error instanceof NotSentError)
      return failure(`${error.message} Nothing was done. Call the tool again to ask the user anew.`);
    if (error instanceof HeaderValueError) return failure(`${error.message} Nothing was done.`);
    const code = person.codeOf(error);
    if (code === undefined) throw error;
    if (code === 'not_found' || code === 'already_redeemed')
      return failure('What the user agreed to has ended meanwhile. Nothing was done. Call the tool again to ask anew.');
    this.#p.log('cannot ask the person', { tool: name, code });
    return failure(`${textOf(error)} Nothing was done.`);
  }

  /** The tool as the upstream lists it: now, or as it is known. */
  async #listed(name: string, { ownMeta, client }: IncomingCall, how: 'known' | 'read'): Promise<ListedTool> {
    try {
      const tools = await client.tools[how](ownMeta);
      this.#say(tools);
      return tools.get(name) ?? unlisted(name);
    } catch (error) {
      this.#p.log('cannot read the tools of the server', { error: textOf(error) });
      // The upstream may be busy. The person must not be asked about a tool whose description is unknown.
      if (how === 'read' && error instanceof NotSentError) throw error;
      return unlisted(name);
    }
  }

  #decide(tool: ListedTool, message: Message): Decision {
    const { rules } = this.#p;
    if (!rules.needsArguments) return rules.decide(tool, undefined);
    const node = memberOf(message.params, 'arguments');
    if (node !== undefined) {
      refuseRepeatedNames(node);
      refuseLookalikes(node, rules.argumentNames);
    }
    return rules.decide(tool, message.valueOf(node) ?? {});
  }

  /** What asks a person takes 40 MB, and many servers never ask. */
  #loaded(): Promise<Person> {
    this.#person ??= import('./person.ts').then(({ Person }) => new Person(this.#p.gate, yes => this.#afterYes(yes)));
    return this.#person;
  }
}

const unlisted = (name: string): ListedTool => ({ name, hints: {}, digest: 'unlisted', argumentNames: [] });

/** @throws {RpcError} */
function nameOf({ params }: Message): string {
  const name = stringOf(params, 'name');
  if (name === undefined || name.length > MAX_NAME)
    throw new RpcError(-32602, `a tool has a name of at most ${MAX_NAME} characters`);
  return name;
}

/**
 * The arguments of a call that a person will read, as JSON text.
 *
 * @throws {RpcError} if the person could read other arguments than the upstream
 */
function clearArguments(message: Message): string {
  const node = memberOf(message.params, 'arguments');
  if (node === undefined) return '{}';
  if (node.type !== 'object') throw new RpcError(-32602, 'arguments are an object');
  refuseRepeatedNames(node);
  return message.text.slice(node.start, node.end);
}

function withoutRound({ bytes, text, params }: Message): Buffer {
  if (params?.type !== 'object') return bytes;
  const without = withMembers(text, params, OF_ROUND);
  return without === text ? bytes : Buffer.from(without);
}

const failure = (text: string): Answer => ({
  type: 'result',
  result: { content: [{ type: 'text', text }], isError: true },
});

type Sent =
  | { readonly response: Message; readonly rejected: readonly Injection[] }
  | { readonly refused: NotSentError; readonly rejected: readonly Injection[] };

/** Injections whose secret a tool error rejects. */
function rejectedBy(response: Message, secrets: readonly Secret[]): readonly Injection[] {
  const injections = secrets.map(({ injection }) => injection).filter(({ rejected }) => rejected.length > 0);
  const result = memberOf(response.root, 'result');
  const content = memberOf(result, 'content');
  if (injections.length === 0 || content?.type !== 'array' || response.textOf(memberOf(result, 'isError')) !== 'true')
    return [];
  const text = folded(
    content.elements
      .map(part => stringOf(part, 'text') ?? '')
      .join('\n')
      .slice(0, MAX_ERROR),
  );
  return injections.filter(({ rejected }) => rejected.some(pattern => matches(text, folded(pattern))));
}
