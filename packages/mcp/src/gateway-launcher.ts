import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import {
  backgroundOptions,
  claimFolder,
  findLocalGateway,
  LITTLE_MEMORY,
  LocalError,
  type LocalGateway,
  LocalRefusal,
  personalFiles,
  personalFolder,
  readLink,
  type System,
  stoppedSchema,
  thisSystem,
} from '@postern/api/local';
import { PosternUsageError } from './errors.ts';
import { GATEWAY_PACKAGE, type Installed, installedGateway, nameOfServer } from './installed-gateway.ts';
import { missingGateway } from './no-gateway.ts';
import { isNewer } from './versions.ts';

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
}

/** Finds the gateway of the person who runs this process, or starts the one that is installed beside the running program. */
export class GatewayLauncher {
  readonly #onError: (error: Error) => void;
  readonly #script: string | undefined;
  readonly #system: System;
  readonly #installed: () => Installed | undefined;
  /** A newer release takes over once: the one that it starts is not looked at again. */
  #hasCompared = false;
  readonly #said = new Set<string>();

  constructor({ onError, script = process.argv[1], system = thisSystem() }: GatewayLauncherOptions) {
    this.#onError = onError;
    this.#script = script;
    this.#system = system;
    this.#installed = once(() => installedGateway(script, system));
  }

  get serverName(): string {
    return nameOfServer(this.#script, this.#system);
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
