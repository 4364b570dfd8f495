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
import { type Message, RpcError, refuseRepeatedNames } from './message.ts';
import type { Person } from './person.ts';
import type { Decision, Rules } from './rules.ts';
import type { ListedTool, ToolList } from './tool-list.ts';

export interface GuardOptions {
  /** The name of the upstream, which the person reads. */
  readonly upstream: string;
  readonly rules: Rules;
  readonly tools: ToolList;
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

  constructor(p: GuardOptions) {
    this.#p = p;
  }

  async close(): Promise<void> {
    (await this.#person)?.close();
  }

  /** Logs which tool falls where, for the operator. Nothing waits for it. */
  announce(): void {
    const { rules, tools, log } = this.#p;
    if (rules.trustsAnnotations) log('trusts what the server says of its tools: those that only read pass');
    tools.known(undefined).then(
      listed => {
        const byAction = Object.groupBy(listed.values(), tool => rules.decide(tool, undefined).action);
        for (const [action, names] of Object.entries(byAction))
          log(action, { tools: names.map(({ name }) => name).join(', ') });
      },
      (error: unknown) => log('cannot read the tools of the server', { error: textOf(error) }),
    );
  }

  /** Whether a call passes, where this can be told at once. */
  isPassed(message: Message): boolean {
    const { rules, tools } = this.#p;
    const name = stringOf(message.params, 'name');
    if (name === undefined || rules.needsArguments) return false;
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
        throw new RpcError(-32602, `Unknown tool: ${name}`);
      case 'deny':
        this.#p.log('call denied', { tool: name, rule: String(decision.by) });
        return (await this.#loaded()).refusal(
          `The rules of this proxy do not allow ${JSON.stringify(name)}. Nothing was done.`,
        );
      case 'confirm':
        return await this.#confirmed(name, decision, incoming);
    }
  }

  /** A call that a person decides about. */
  async #confirmed(name: string, decision: Decision, incoming: IncomingCall): Promise<Answer> {
    const argumentsText = clearArguments(incoming.message);
    const person = await this.#loaded();
    person.assertShowable(name);
    // Anew for every call: what the person says yes to is what the upstream says now.
    const tool = await this.#listed(name, incoming, 'read');
    const call = { ...incoming, upstream: this.#p.upstream, tool, decision, argumentsText };
    try {
      const continued = await person.sent.continued(call.message, bindingOf(call));
      if (continued !== undefined) return await this.#send(call, continued);
      // Goes on with `#afterYes`, once for a yes.
      return await person.ask(call);
    } catch (error) {
      return this.#failed(call, error, person);
    }
  }

  /** The person may have taken minutes, so the tool is looked at once more. Then the call goes to the upstream. */
  async #afterYes(call: GuardedCall): Promise<Answer> {
    const { digest } = await this.#listed(call.tool.name, call, 'read');
    call.signal.throwIfAborted();
    if (digest !== call.tool.digest)
      throw new NotSentError('The server changed what it says of this tool while the user was asked.');
    return await this.#send(call, withoutRound(call.message));
  }

  async #send(call: GuardedCall, bytes: Buffer): Promise<Answer> {
    const response = await call.send(bytes);
    return { type: 'response', bytes: await (await this.#loaded()).sent.wrapped(response, bindingOf(call)) };
  }

  #failed({ tool: { name }, signal }: GuardedCall, error: unknown, person: Person): Answer {
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
  async #listed(name: string, { ownMeta }: IncomingCall, how: 'known' | 'read'): Promise<ListedTool> {
    try {
      return (await this.#p.tools[how](ownMeta)).get(name) ?? unlisted(name);
    } catch (error) {
      this.#p.log('cannot read the tools of the server', { error: textOf(error) });
      return unlisted(name);
    }
  }

  #decide(tool: ListedTool, message: Message): Decision {
    const { rules } = this.#p;
    if (!rules.needsArguments) return rules.decide(tool, undefined);
    const node = memberOf(message.params, 'arguments');
    if (node !== undefined) refuseRepeatedNames(node);
    return rules.decide(tool, message.valueOf(node) ?? {});
  }

  /** What asks a person takes 40 MB, and many servers never ask. */
  #loaded(): Promise<Person> {
    this.#person ??= import('./person.ts').then(({ Person }) => new Person(this.#p.gate, call => this.#afterYes(call)));
    return this.#person;
  }
}

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

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
