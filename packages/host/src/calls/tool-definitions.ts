import { unlessAborted } from '../clock.ts';
import { HostError } from '../errors.ts';
import { type CompileSchema, outputCheck } from './output-check.ts';

/** The members of a tool, and of its result, that an output schema concerns. */
interface ToolWithOutput {
  readonly name: string;
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
}
interface ToolOutput {
  readonly isError?: boolean | undefined;
  readonly structuredContent?: unknown;
}

/** JSON-RPC: the MCP server does not list its tools. */
const METHOD_NOT_FOUND = -32601;

/** Caches the tools of an MCP server, and the checks of their output schemas. */
export class ToolDefinitions<Tool extends ToolWithOutput> {
  readonly #compile: CompileSchema;
  readonly #checks = new WeakMap<object, (content: unknown) => boolean>();
  #load: (isRefresh: boolean) => Promise<readonly Tool[]>;
  #tools: ReadonlyMap<string, Tool> | undefined;
  /** Concurrent calls share one request. So the end of one call must not end it. */
  #listing: Promise<ReadonlyMap<string, Tool>> | undefined;

  constructor(load: (isRefresh: boolean) => Promise<readonly Tool[]>, compile: CompileSchema) {
    this.#load = load;
    this.#compile = compile;
  }

  /** Finds a tool. Lists the tools again if the name is unknown. */
  async find(name: string, signal: AbortSignal): Promise<Tool | undefined> {
    return this.#tools?.get(name) ?? (await this.list(this.#tools !== undefined, signal)).get(name);
  }

  async list(isRefresh: boolean, signal: AbortSignal): Promise<ReadonlyMap<string, Tool>> {
    this.#listing ??= this.#listed(isRefresh).finally(() => {
      this.#listing = undefined;
    });
    return await unlessAborted(this.#listing, signal);
  }

  async #listed(isRefresh: boolean): Promise<ReadonlyMap<string, Tool>> {
    const tools = await this.#load(isRefresh).catch((error: { code?: unknown }) => {
      if (error.code !== METHOD_NOT_FOUND) throw error;
      this.#load = async () => [];
      return [];
    });
    this.#tools = new Map(tools.map(tool => [tool.name, tool]));
    return this.#tools;
  }

  check({ outputSchema }: Tool): (content: unknown) => boolean {
    if (outputSchema === undefined) return () => true;
    const known = this.#checks.get(outputSchema) ?? outputCheck(outputSchema, this.#compile);
    this.#checks.set(outputSchema, known);
    return content => content !== undefined && known(content);
  }
}

/** The definition of a tool during one call. Its time belongs to the call, so each method takes the signal of the call. */
export class CalledTool<Tool extends ToolWithOutput> {
  readonly #tools: ToolDefinitions<Tool>;
  readonly #name: string;
  readonly #isGiven: boolean;
  #known: { readonly tool: Tool | undefined } | undefined;

  /** `given` is the definition of the caller, if it has one. */
  constructor(tools: ToolDefinitions<Tool>, name: string, given?: Tool) {
    this.#tools = tools;
    this.#name = name;
    this.#isGiven = given !== undefined;
    if (given !== undefined) this.#known = { tool: given };
  }

  /** @throws {HostError} `invalid_result` if its output schema is unusable, which must fail before the tool has any effect */
  async definition(signal: AbortSignal): Promise<Tool | undefined> {
    this.#known ??= { tool: await this.#tools.find(this.#name, signal) };
    const { tool } = this.#known;
    if (tool !== undefined) this.#tools.check(tool);
    return tool;
  }

  /** Lists the tools again. Returns whether the definition has changed. */
  async renew(signal: AbortSignal): Promise<boolean> {
    if (this.#isGiven) return false;
    const before = this.#known?.tool;
    const tool = (await this.#tools.list(true, signal)).get(this.#name);
    this.#known = { tool };
    return tool !== undefined && JSON.stringify(tool) !== JSON.stringify(before);
  }

  /** @throws {HostError} `invalid_result` */
  async verify(result: ToolOutput, signal: AbortSignal): Promise<void> {
    if (result.isError === true || this.#fits(result)) return;
    if ((await this.renew(signal)) && this.#fits(result)) return;
    throw new HostError('invalid_result', `the structured content of ${this.#name} violates its output schema`);
  }

  #fits({ structuredContent }: ToolOutput): boolean {
    const tool = this.#known?.tool;
    return tool === undefined || this.#tools.check(tool)(structuredContent);
  }
}
