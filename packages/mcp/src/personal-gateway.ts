import { type Joined, joinedSchema, LocalError } from '@postern/api/local';
import { GatewayError, PosternUsageError } from './errors.ts';
import type { GateCheck } from './gate-check.ts';
import type { GatewayClient } from './gateway-client.ts';
import type { GatewayLauncher } from './gateway-launcher.ts';
import { missingGateway } from './no-gateway.ts';
import { isLoopback } from './secure-url.ts';
import type { TraceContext } from './tool-call.ts';

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

const METHODS: Readonly<Record<keyof GatewayClient, true>> = {
  issue: true,
  read: true,
  cancel: true,
  redeem: true,
  refund: true,
  accessToken: true,
  connections: true,
  credentials: true,
  readCredential: true,
  removeCredential: true,
};

function lazyClient(call: (use: (client: GatewayClient) => Promise<unknown>) => Promise<unknown>): GatewayClient {
  type Method = (...args: readonly unknown[]) => Promise<unknown>;
  const lazy =
    (name: string): Method =>
    (...args) =>
      call(client => (client[name as keyof GatewayClient] as Method)(...args));
  // Each method has the type of the one that it calls.
  return Object.fromEntries(Object.keys(METHODS).map(name => [name, lazy(name)])) as unknown as GatewayClient;
}
