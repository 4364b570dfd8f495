import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  backgroundOptions,
  claimFolder,
  findLocalGateway,
  type Joined,
  joinedSchema,
  LITTLE_MEMORY,
  LocalError,
  type LocalGateway,
  LocalRefusal,
  personalFiles,
  personalFolder,
  readLink,
  type System,
  serverNameSchema,
  stoppedSchema,
  thisSystem,
} from '@postern/api/local';
import { z } from 'zod/v4';
import { GatewayError, jsonOf, PosternUsageError } from '../errors.ts';
import { isLoopback } from '../safe-http.ts';
import { type GatewayClient, lazyClient, type TraceContext } from './client.ts';
import type { GateCheck } from './gate-check.ts';
import { missingGateway } from './local-gateway.ts';

/** A gateway may end between two steps of joining it. */
const JOIN_TRIES = 3;

const EDIT =
  'Your personal gateway reads its configuration from the file that `npx @postern/gateway status` prints: ' +
  'add the provider to `providers` there, and to the `providers` of this MCP server.';
/** The MCP client, which shows it to its model, gets no path of this machine. */
export const personalAdvice = { provider_not_allowed: EDIT, unknown_provider: EDIT };

/** What an address and a key make. */
export interface GatewayParts {
  readonly client: GatewayClient;
  readonly tracedClient: (trace: TraceContext) => GatewayClient;
  readonly gateCheck: GateCheck;
}

type Connect = (joined: Pick<Joined, 'url' | 'apiKey'>) => GatewayParts;

interface Connection {
  readonly parts: GatewayParts;
  /** Resolves when the gateway ends. */
  readonly ended: Promise<void>;
}

/**
 * The gateway of the person who runs this process, for a stdio server that names none: it is found, or else started in the background,
 * when the first ask needs it, and again when it has ended meanwhile.
 */
export class PersonalGateway implements GatewayParts {
  readonly client = lazyClient(use => this.#call(({ client }) => use(client)));
  readonly tracedClient = (trace: TraceContext) =>
    lazyClient(use => this.#call(({ tracedClient }) => use(tracedClient(trace))));
  readonly gateCheck: GateCheck = {
    run: signal => this.#check(signal),
    // Nothing starts before something needs it.
    begin() {},
    expect: () => {
      const why = this.#launcher.whyNone();
      if (why !== undefined) throw this.#launcher.toldClient(why);
    },
    close() {},
  };
  readonly #launcher: GatewayLauncher;
  readonly #connect: Connect;
  #current: Promise<GatewayParts> | undefined;

  constructor({ launcher, connect }: { readonly launcher: GatewayLauncher; readonly connect: Connect }) {
    this.#launcher = launcher;
    this.#connect = connect;
  }

  async #call<T>(use: (from: GatewayParts) => Promise<T>): Promise<T> {
    const mine = this.#parts();
    try {
      return await use(await mine);
    } catch (error) {
      if (!isGone(error)) throw error;
      if (this.#current === mine) this.#current = undefined;
      return await use(await this.#parts());
    }
  }

  #parts(): Promise<GatewayParts> {
    if (this.#current !== undefined) return this.#current;
    const joining = this.#join();
    const mine = joining.then(({ parts }) => parts);
    this.#current = mine;
    const forget = () => {
      if (this.#current === mine) this.#current = undefined;
    };
    joining.then(({ ended }) => ended.then(forget), forget);
    return mine;
  }

  async #join(): Promise<Connection> {
    for (let tries = 1; ; tries += 1) {
      try {
        const gateway = await this.#launcher.launch();
        const joined = await gateway.ask({ operation: 'join', name: this.#launcher.serverName }, joinedSchema);
        if (!isLoopback(new URL(joined.url))) throw missingGateway('Your personal gateway is not on this machine.');
        gateway.unref();
        return { parts: this.#connect(joined), ended: gateway.ended() };
      } catch (error) {
        if (error instanceof LocalError && error.code === 'closed' && tries < JOIN_TRIES) continue;
        throw this.#launcher.toldClient(error);
      }
    }
  }

  /** For the author, who may read paths of this machine. */
  async #check(signal: AbortSignal | undefined): ReturnType<GateCheck['run']> {
    try {
      const why = this.#launcher.whyNone();
      if (why !== undefined) throw why;
      using found = await this.#launcher.find();
      if (found === undefined) return { faults: [], caller: undefined };
    } catch (error) {
      if (!(error instanceof LocalError || error instanceof PosternUsageError)) throw error;
      return { faults: [{ code: 'no_gateway', message: error.message }], caller: undefined };
    }
    return await this.#call(({ gateCheck }) => gateCheck.run(signal));
  }
}

/** It has ended, or been killed. What the failed request did is found by its repeat: open asks of the same kind are one. */
const isGone = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === 'network_error' && error.httpStatus === undefined;

const START_MS = 15_000;
const LOOK_EVERY_MS = 50;
/** A gateway that could not start may have met another one that has not listened yet. */
const LOOK_ON_MS = 1_000;

export interface GatewayLauncherOptions {
  /** Receives what only the author may read. */
  readonly onError: (error: Error) => void;
  /** Path of the running program. Replaced for tests, as is the system. */
  readonly script?: string | undefined;
  readonly system?: System;
  /** Default: that of the package of the running program. */
  readonly serverName?: string | undefined;
}

/** Finds the gateway of the person who runs this process, or starts the one that is installed beside the running program. */
export class GatewayLauncher {
  readonly #onError: (error: Error) => void;
  readonly #script: string | undefined;
  readonly #system: System;
  readonly #serverName: string | undefined;
  readonly #installed: () => Installed | undefined;
  /** A newer release takes over once: the one that it starts is not looked at again. */
  #hasCompared = false;
  readonly #said = new Set<string>();

  constructor({ onError, script = process.argv[1], system = thisSystem(), serverName }: GatewayLauncherOptions) {
    this.#onError = onError;
    this.#serverName = serverName;
    this.#script = script;
    this.#system = system;
    this.#installed = once(() => installedGateway(script, system));
  }

  get serverName(): string {
    return this.#serverName ?? nameOfServer(this.#script, this.#system);
  }

  /** The gateway that runs. @throws LocalError */
  async find(): Promise<LocalGateway | undefined> {
    return await findLocalGateway(this.#files.store, this.#system);
  }

  /** The gateway that runs or that this starts. @throws LocalError, PosternUsageError */
  async launch(): Promise<LocalGateway> {
    return (await this.#running()) ?? (await this.#start());
  }

  /** Undefined if one runs, or can be started. */
  whyNone(): LocalError | PosternUsageError | undefined {
    try {
      return (this.#installed() ?? readLink(this.#files.store, this.#system)) ? undefined : missingGateway();
    } catch (error) {
      if (error instanceof LocalError) return error;
      throw error;
    }
  }

  /** As an MCP client, which shows it to its model, may have it: without a path of this machine. */
  toldClient(error: unknown): unknown {
    if (error instanceof LocalRefusal) return missingGateway(error.message);
    if (!(error instanceof LocalError)) return error;
    if (error.code !== 'not_private') return missingGateway(error.message);
    return this.#withDetail('Your personal gateway cannot be used.', error.message);
  }

  get #files() {
    return personalFiles(personalFolder(this.#system));
  }

  /** The gateway that runs, unless this process has a newer one and that one is idle. */
  async #running(): Promise<LocalGateway | undefined> {
    const gateway = await this.find();
    const own = this.#installed();
    if (gateway === undefined || own === undefined || this.#hasCompared || !isNewer(own.version, gateway.version))
      return gateway;
    this.#hasCompared = true;
    const { stopped } = await gateway.ask({ operation: 'stop', ifIdle: true }, stoppedSchema);
    if (!stopped) {
      const text = `Your personal gateway has version ${gateway.version}, and version ${own.version} is installed. It is in use; postern stop ends it.`;
      this.#onError(new PosternUsageError('gateway_in_use', text));
    }
    if (!stopped) gateway[Symbol.dispose]();
    else await gateway.ended();
    return await this.find();
  }

  /** Two processes may do so at once: then one of their gateways finds the other, and ends. */
  async #start(): Promise<LocalGateway> {
    const own = this.#installed();
    if (own === undefined) throw missingGateway();
    if (isNewer(own.needs, process.versions.node.replace(/-.*/, '')))
      throw missingGateway(
        `Your personal gateway needs Node.js ${own.needs} or later; this is ${process.versions.node}.`,
      );
    claimFolder(this.#files.folder, this.#system);
    let child: ChildProcess | undefined = this.#spawned(own);
    let hasRepeated = false;
    for (let until = performance.now() + START_MS; performance.now() < until; ) {
      await delay(LOOK_EVERY_MS);
      const gateway = await this.find();
      if (gateway !== undefined) return gateway;
      if (child === undefined) continue;
      if (child.signalCode !== null && !hasRepeated) {
        hasRepeated = true;
        child = this.#spawned(own);
      } else if (hasFailed(child)) {
        until = Math.min(until, performance.now() + LOOK_ON_MS);
        child = undefined;
      }
    }
    throw this.#withDetail('Your personal gateway did not start.', `Its log is ${this.#files.log}.`);
  }

  #spawned(own: Installed): ChildProcess {
    const options = backgroundOptions(this.#files.folder, this.#system);
    const child = spawn(process.execPath, [...LITTLE_MEMORY, own.program, 'local'], options);
    // It has an exit code then, as any other that could not start.
    child.on('error', () => {});
    child.unref();
    return child;
  }

  /** An error for the MCP client, whose detail only the author gets, once. */
  #withDetail(text: string, detail: string): PosternUsageError {
    if (!this.#said.has(detail)) this.#onError(missingGateway(`${text} ${detail}`));
    this.#said.add(detail);
    return missingGateway(`${text} Run \`npx ${GATEWAY_PACKAGE} local\` to see why.`);
  }
}

/** Another gateway that runs already is no failure. */
const hasFailed = ({ exitCode, signalCode }: ChildProcess): boolean =>
  signalCode !== null || (exitCode !== null && exitCode !== 0);

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

const GATEWAY_PACKAGE = '@postern/gateway';

const manifestSchema = z.object({
  version: z.string(),
  bin: z.object({ postern: z.string() }),
  engines: z.object({ node: z.string() }).optional(),
});

export interface Installed {
  readonly version: string;
  readonly program: string;
  /** Version of Node.js. */
  readonly needs: string;
}

/**
 * The gateway that is installed beside the running program. Never one beside the working directory, which MCP clients set to whatever
 * folder the user has opened: its code would run.
 */
function installedGateway(script: string | undefined, system: System): Installed | undefined {
  if (script === undefined) return undefined;
  const isTrusted = (path: string) => isOurs(path, system);
  const places = createRequire(realPathOf(script)).resolve.paths(GATEWAY_PACKAGE) ?? [];
  for (const place of places) {
    if (![place, dirname(join(place, GATEWAY_PACKAGE)), join(place, GATEWAY_PACKAGE)].every(isTrusted)) continue;
    const folder = realpathSync(join(place, GATEWAY_PACKAGE));
    const { data } = manifestSchema.safeParse(manifestIn(folder, system));
    if (data === undefined || ![folder, join(folder, data.bin.postern)].every(isTrusted)) continue;
    const [needs = '0'] = /\d+(?:\.\d+)*/.exec(data.engines?.node ?? '') ?? [];
    return { version: data.version, program: join(folder, data.bin.postern), needs };
  }
  return undefined;
}

/**
 * Whether something is of this user, or of root. A folder above, such as /tmp, may have been filled by another user. Package managers link
 * packages, so both ends of a link count.
 */
function isOurs(path: string, { uid }: System): boolean {
  try {
    const ends = [lstatSync(path), statSync(path)];
    return ends.every(stats => uid === undefined || stats.uid === uid || stats.uid === 0);
  } catch {
    // Nothing is there, or this user may not look.
    return false;
  }
}

const MAX_MANIFEST_BYTES = 1024 * 1024;

/** The package.json of a folder. Undefined for one of another user, and for what is none. */
function manifestIn(folder: string, system: System): unknown {
  const path = join(folder, 'package.json');
  if (!isOurs(path, system)) return undefined;
  const stats = statSync(path);
  return stats.isFile() && stats.size <= MAX_MANIFEST_BYTES ? jsonOf(readFileSync(path, 'utf8')) : undefined;
}

/** Package managers link the program. */
function realPathOf(script: string): string {
  try {
    return realpathSync(script);
  } catch {
    return script;
  }
}

const namedSchema = z.object({ name: serverNameSchema });

/** The name of the package of the running program, or else of the program with a digest of its path: many are `server.js`. @internal */
export function nameOfServer(script: string | undefined, system: System): string {
  if (script === undefined) return 'mcp-server';
  const path = realPathOf(script);
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const { data } = namedSchema.safeParse(manifestIn(folder, system));
    if (data !== undefined) return data.name;
  }
  const digest = createHash('sha256').update(path).digest('hex').slice(0, 8);
  const name = basename(path, extname(path))
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .slice(0, 55);
  return `${name}-${digest}`;
}

interface Version {
  readonly numbers: readonly number[];
  /** Identifiers of a pre-release. */
  readonly before: readonly string[];
}

/** Whether a version has precedence over another one (Semantic Versioning 2.0.0, section 11). A number that is left out is 0. @internal */
export function isNewer(version: string, than: string): boolean {
  const [a, b] = [parsed(version), parsed(than)];
  const byNumbers = firstDifference(a.numbers, b.numbers, (one, other) => one - other);
  if (byNumbers !== 0) return byNumbers > 0;
  // A pre-release comes before its release.
  if (a.before.length === 0 || b.before.length === 0) return a.before.length < b.before.length;
  return (firstDifference(a.before, b.before, compareIdentifiers) || a.before.length - b.before.length) > 0;
}

function parsed(text: string): Version {
  const [, numbers = '', before = ''] = /^(\d+(?:\.\d+)*)(?:-([0-9A-Za-z.-]+))?/.exec(text) ?? [];
  return {
    numbers: [...numbers.split('.').map(Number), 0, 0, 0].slice(0, 3),
    before: before === '' ? [] : before.split('.'),
  };
}

/** Numbers come before words, and have no leading zeros: of two, the longer is the greater. */
function compareIdentifiers(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [a, b].map(each => /^\d+$/.test(each));
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  if (isNumber && a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

function firstDifference<T>(a: readonly T[], b: readonly T[], compare: (one: T, other: T) => number): number {
  for (const [index, one] of a.slice(0, b.length).entries()) {
    const difference = compare(one, b[index] as T);
    if (difference !== 0) return difference;
  }
  return 0;
}
