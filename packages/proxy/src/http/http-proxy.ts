import { hkdfSync, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  Admission,
  type AdmissionOptions,
  createEnvironment,
  type PosternOptions,
  type RequestInputs,
  toNodeHandler,
} from '@postern/mcp/adapter';
import type { GuardedCall } from '../call.ts';
import { textOf } from '../message.ts';
import type { Rules } from '../rules.ts';
import type { UpstreamCommand } from '../upstream-process.ts';
import { HttpUpstream, type HttpUpstreamOptions } from './http-upstream.ts';
import { ServedChildren } from './served-children.ts';
import { ServedUpstream } from './served-upstream.ts';
import { SessionIds } from './session-ids.ts';

const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** How long calls that the upstream has may take when the proxy stops, in ms. */
const GRACE_MS = 20_000;
const IDLE_LOOK_MS = 50;

export interface HttpProxyOptions {
  /** Upstreams by name. Each is at the path with its name. */
  readonly upstreams: Readonly<Record<string, (HttpUpstreamOptions | UpstreamCommand) & { readonly rules: Rules }>>;
  readonly gate: PosternOptions<GuardedCall>;
  readonly admission: AdmissionOptions;
  readonly log: (upstream: string) => (event: string, details?: Readonly<Record<string, string>>) => void;
}

/** MCP over HTTP in front of several upstreams, for one person of this machine or for everybody with an access token. */
export class HttpProxy {
  readonly #upstreams: ReadonlyMap<string, ServedUpstream | ServedChildren>;
  readonly #admission: Admission<GuardedCall>;
  readonly #server: Server;
  #isClosing = false;

  /** @throws {PosternUsageError} `invalid_options` */
  constructor({ upstreams, gate, admission, log }: HttpProxyOptions) {
    const environment = createEnvironment(gate);
    this.#admission = new Admission({ environment, subject: gate.subject, reporter: environment }, admission);
    const sessionIds = new SessionIds(sessionKey(gate.apiKey));
    this.#upstreams = new Map(
      Object.entries(upstreams).map(([name, { rules, ...target }]) => {
        const instance = 'url' in target ? target.url.href : JSON.stringify([target.command, target.args, target.cwd]);
        const common = {
          upstream: name,
          instance,
          rules,
          gate: { ...gate, serverName: name, check: false as const },
          maxBodyBytes: MAX_BODY_BYTES,
          log: log(name),
        };
        const served =
          'url' in target
            ? new ServedUpstream({ ...common, target: new HttpUpstream(target), sessionIds })
            : new ServedChildren({ ...common, command: target });
        return [`/${name}`, served];
      }),
    );
    const handle = toNodeHandler(
      (request, inputs) => this.fetch(request, inputs),
      error => log('http')('a request failed', { error: textOf(error) }),
    );
    this.#server = createServer((request, response) => {
      // For load balancers, which have no token. It says nothing but that this process answers.
      if (request.url === '/health') response.writeHead(this.#isClosing ? 503 : 200).end();
      else void handle(request, response);
    });
    // An answer may take as long as the tool does. A request may not.
    this.#server.requestTimeout = 60_000;
  }

  fetch(request: Request, inputs: RequestInputs): Promise<Response> {
    return this.#admission.admit(request, inputs, async authInfo => {
      const served = this.#upstreams.get(new URL(request.url).pathname.replace(/\/$/, ''));
      return (await served?.answer(request, authInfo)) ?? new Response(null, { status: 404 });
    });
  }

  /** @throws {PosternUsageError} `invalid_options` if the gateway of the options cannot be used */
  async prepare(): Promise<void> {
    for (const served of this.#upstreams.values()) await served.prepare();
  }

  /** Resolves with the port. @throws the error of the listener */
  async listen(port: number, host: string): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.listen(port, host, resolve);
    await promise;
    this.#server.off('error', reject);
    return (this.#server.address() as AddressInfo).port;
  }

  /** Takes no more requests, ends those that wait for a person, and lets those that the upstream has end. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const closed = new Promise(resolve => this.#server.close(resolve));
    for (const served of this.#upstreams.values()) await served.drain();
    // A connection whose answer has ended would wait for its next request.
    const idle = setInterval(() => this.#server.closeIdleConnections(), IDLE_LOOK_MS);
    await Promise.race([closed, delay(GRACE_MS, undefined, { ref: false })]);
    clearInterval(idle);
    for (const served of this.#upstreams.values()) await served.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** Replicas with the same key of the gateway open each other's session ids. A proxy of one person has a key of its own. */
function sessionKey(apiKey: string | undefined): Uint8Array {
  if (apiKey === undefined) return randomBytes(32);
  return new Uint8Array(hkdfSync('sha256', apiKey, '', 'postern-proxy session ids', 32));
}
