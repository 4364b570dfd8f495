import { memberOf, stringOf, withMembers } from '@postern/api/json';
import type { PosternOptions } from '@postern/mcp/adapter';
import {
  type Answer,
  bindingOf,
  type GuardedCall,
  type IncomingCall,
  NotSentError,
  OutcomeUnknownError,
} from './call.ts';
import { type Message, RpcError, refuseLookalikes, refuseRepeatedNames, textOf } from './message.ts';
import type { Person } from './person.ts';
import type { Decision, Rules } from './rules.ts';
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

/** The way of a call, from the MCP client to the upstream. */
export class Guard {
  readonly #p: GuardOptions;
  #person: Promise<Person> | undefined;
  #hasSaid = false;

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
    return tool !== undefined && rules.decide(tool, undefined).action === 'pass';
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
    switch (decision.action) {
      case 'pass':
        return undefined;
      case 'hide':
      case 'deny':
        return await this.#refused(name, decision);
      case 'confirm':
        return await this.#confirmed(name, incoming);
    }
  }

  /** A call that a person decides about. */
  async #confirmed(name: string, incoming: IncomingCall): Promise<Answer> {
    const { upstream, instance } = this.#p;
    const argumentsText = clearArguments(incoming.message);
    const person = await this.#loaded();
    person.assertShowable(name);
    try {
      // Anew for every call: what the person says yes to is what the upstream says now.
      const tool = await this.#listed(name, incoming, 'read');
      const decision = this.#decide(tool, incoming.message);
      if (decision.action === 'hide' || decision.action === 'deny') return await this.#refused(name, decision);
      const call = { ...incoming, upstream, instance, tool, decision, argumentsText };
      const continued = await person.sent.continued(call.message, ownBindingOf(call));
      if (continued !== undefined) return await this.#send(call, continued);
      // Goes on with `#afterYes`, once for a yes.
      return await person.ask(call);
    } catch (error) {
      return this.#failed(name, incoming.signal, error, person);
    }
  }

  /** Checks that the tool is still the one that the person was asked about, minutes ago perhaps, and sends the call. */
  async #afterYes(call: GuardedCall): Promise<Answer> {
    const tool = await this.#listed(call.tool.name, call, 'read');
    call.signal.throwIfAborted();
    if (tool.digest !== call.tool.digest)
      throw new NotSentError('The server changed what it says of this tool while the user was asked.');
    return await this.#send(call, withoutRound(call.message));
  }

  async #refused(name: string, { action, by }: Decision): Promise<Answer> {
    if (action === 'hide') throw new RpcError(-32602, `Unknown tool: ${name}`);
    this.#p.log('call denied', { tool: name, rule: String(by) });
    const text = `The rules of this proxy do not allow ${JSON.stringify(name)}. Nothing was done.`;
    return (await this.#loaded()).refusal(text);
  }

  async #send(call: GuardedCall, bytes: Buffer): Promise<Answer> {
    const response = await call.send(bytes);
    return { type: 'response', bytes: await (await this.#loaded()).sent.wrapped(response, ownBindingOf(call)) };
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
    const code = person.codeOf(error);
    if (code === undefined) throw error;
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
    this.#person ??= import('./person.ts').then(({ Person }) => new Person(this.#p.gate, call => this.#afterYes(call)));
    return this.#person;
  }
}

/** Of a call that its person has confirmed: the next round of it is no other person's. */
const ownBindingOf = (call: GuardedCall): string => JSON.stringify([call.client.owner, bindingOf(call)]);

const unlisted = (name: string): ListedTool => ({ name, hints: {}, digest: 'unlisted' });

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
