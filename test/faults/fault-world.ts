import type { GatewayConfigInput } from '@postern/gateway';
import { type FaultProxy, startFaultProxy } from '@postern/testkit/fault-proxy';
import { type GatewayProcess, type GatewayProcessOptions, startGatewayProcess } from '../support/gateway-process.ts';
import { freePort, keyOf, startWorld, type World, type WorldOptions } from '../support/world.ts';
import { canaryOf } from './history.ts';
import type { FaultRun } from './scenario.ts';
import { startRecordedReceiver } from './traffic/recorded-receiver.ts';

export interface FaultGatewayOptions extends Omit<GatewayProcessOptions, 'onLine'> {
  /** Changes the configuration of this gateway. */
  readonly config?: (config: GatewayConfigInput) => GatewayConfigInput;
  /** Maximum start attempts. Default 10: on a busy machine Redis may not respond to a start in time. */
  readonly startAttempts?: number;
  /** Puts a fault proxy between this gateway and Redis, which then needs a URL. */
  readonly hasRedisLink?: boolean;
}

/** A gateway process of a run. The harness searches its output for secrets. */
export interface FaultGateway extends GatewayProcess {
  readonly name: string;
  /** All lines that it has printed, restarts included. */
  readonly lines: readonly string[];
  /** @throws TypeError without `hasRedisLink` */
  readonly redisLink: FaultProxy;
  /** Kills the process at once and does not wait for its exit: for a moment that must not pass. */
  strike(why: string): void;
  /** Resolves when the process has exited after `strike`. */
  untilDead(): Promise<void>;
}

/** Redis, providers, webhook receivers, and the gateways that a scenario starts. */
export interface FaultWorld {
  readonly world: World;
  readonly publicUrl: string;
  /** Configuration of the gateways. */
  readonly config: GatewayConfigInput;
  readonly mcpServerIds: readonly string[];
  readonly people: readonly string[];
  readonly gateways: readonly FaultGateway[];
  /** Starts a gateway, which stops with the run. */
  startGateway(name: string, options?: FaultGatewayOptions): Promise<FaultGateway>;
}

export interface FaultWorldOptions extends Pick<WorldOptions, 'provider'> {
  /** A Redis that the scenario runs itself. Default: a single Redis with an append-only file, which stops with the run. */
  readonly redis?: GatewayConfigInput['redis'];
  /** Overrides of the gateway configuration. */
  readonly config?: Partial<GatewayConfigInput>;
  /** Number of people. Default 24. */
  readonly people?: number;
  /** Share of webhook deliveries that first get a 500. Default 0.01. */
  readonly receiverFailureRate?: number;
  /** Default true. */
  readonly hasWebhooks?: boolean;
}

const PLENTY = 1_000_000;

export async function startFaultWorld(run: FaultRun, options: FaultWorldOptions = {}): Promise<FaultWorld> {
  const { history, stack } = run;
  const people = Array.from({ length: options.people ?? 24 }, (_, n) => `person-${n}`);
  const users = people.map(sub => ({ sub, name: `${sub} Example`, email: `${sub}@example.com` }));
  const mcpServerIds = ['tracker', 'files'] as const;
  const limits = { requestsPerMinute: PLENTY, elicitationsPerSubject: PLENTY };
  const payment = { processors: ['none'], maxAmount: { EUR: 100_000 } };
  const receivers = new Map<string, Awaited<ReturnType<typeof startRecordedReceiver>>>();
  if (options.hasWebhooks ?? true)
    for (const id of mcpServerIds)
      receivers.set(
        id,
        stack.use(
          await startRecordedReceiver(run, { mcpServerId: id, failureRate: options.receiverFailureRate ?? 0.01 }),
        ),
      );
  const webhooksOf = (id: string) => {
    const receiver = receivers.get(id);
    if (receiver === undefined) return [];
    return [{ id: `${id}-hook`, url: receiver.url, secrets: [receiver.secret], ratePerSecond: 1000 }];
  };
  const { redis } = options;
  const world = stack.use(
    await startWorld({
      replicas: 0,
      publicUrl: `http://localhost:${await freePort()}`,
      // The checker of the history searches for secrets itself.
      plantsLeaks: true,
      // A placeholder that is never contacted where the scenario has another Redis.
      ...(redis === undefined ? {} : { redisUrl: redis.url ?? 'redis://127.0.0.1:1' }),
      identityProvider: { users },
      provider: { users, ...options.provider },
      mcpServer: { limits, payment, webhooks: webhooksOf('tracker') },
      otherMcpServers: [{ id: 'files', name: 'File Store', limits, payment, webhooks: webhooksOf('files') }],
      config: () => ({
        limits: { pageRequestsPerMinute: PLENTY },
        ...(redis && { redis }),
        ...options.config,
      }),
    }),
  );
  for (const id of mcpServerIds) history.secret('API key', keyOf(id));
  history.secret('client secret', 'forge-client-secret');
  for (const { key } of world.config.vault.keys) history.secret('vault key', key);
  for (const receiver of receivers.values()) history.secret('webhook secret', receiver.secret);

  const gateways: FaultGateway[] = [];
  async function startGateway(
    name: string,
    { config, hasRedisLink, startAttempts = 10, ...started }: FaultGatewayOptions = {},
  ) {
    let own = config?.(world.config) ?? world.config;
    const redisLink = hasRedisLink === true ? stack.use(await startRedisLink(run, own)) : undefined;
    if (redisLink !== undefined) own = { ...own, redis: { ...own.redis, url: urlThrough(redisLink, own) } };
    const lines: string[] = [];
    const onLine = (line: string) => {
      lines.push(line);
      history.log(name, line);
    };
    const note = (fault: string) => history.record({ who: 'harness', what: 'fault', fault, target: name });
    const gateway = stack.use(
      await supervised(() => startGatewayProcess(own, { ...started, onLine }), {
        name,
        lines,
        note,
        attempts: startAttempts,
      }),
    );
    const faulty: FaultGateway = {
      name,
      lines,
      address: gateway.address,
      configPath: gateway.configPath,
      audited: gateway.audited,
      get pid() {
        return gateway.pid;
      },
      get redisLink() {
        if (redisLink === undefined) throw new TypeError('started without a link that can be broken');
        return redisLink;
      },
      ended: () => gateway.ended(),
      configure: next => gateway.configure(next),
      signal: name => gateway.signal(name),
      strike(why) {
        // Kill first: recording takes time.
        gateway.signal('SIGKILL');
        note(`killed: ${why}`);
      },
      async untilDead() {
        await gateway.ended();
      },
      async kill() {
        note('killed');
        await gateway.kill();
      },
      async restart() {
        await supervised(() => gateway.restart(), { name, lines, note, attempts: startAttempts });
        note('restarted');
      },
      suspend() {
        note('suspended');
        gateway.suspend();
      },
      resume() {
        gateway.resume();
        note('resumed');
      },
      [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
    };
    gateways.push(faulty);
    return faulty;
  }
  return {
    world,
    publicUrl: world.publicUrl,
    config: world.config,
    mcpServerIds,
    people,
    gateways,
    startGateway,
  };
}

/** Restarts the process until it listens, as a supervisor does when Redis does not respond in time. @throws with its last output */
async function supervised<T>(
  start: () => Promise<T>,
  p: {
    readonly name: string;
    readonly lines: readonly string[];
    readonly note: (fault: string) => void;
    readonly attempts: number;
  },
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (cause) {
      const words = p.lines.slice(-1).join('');
      p.note(`did not start: ${words.slice(0, 120)}`);
      if (attempt === p.attempts) throw new Error(`${p.name} did not start: ${words}`, { cause });
    }
  }
}

function urlOf({ redis }: GatewayConfigInput): URL {
  if (redis?.url === undefined) throw new TypeError('a link to Redis needs the URL of one');
  return new URL(redis.url);
}

async function startRedisLink(run: FaultRun, config: GatewayConfigInput): Promise<FaultProxy> {
  const { hostname, port } = urlOf(config);
  return startFaultProxy(Number(port), { targetHost: hostname, protocol: 'resp', seed: run.seed });
}

function urlThrough(link: FaultProxy, config: GatewayConfigInput): string {
  const url = urlOf(config);
  url.hostname = '127.0.0.1';
  url.port = String(link.port);
  return url.href;
}

/** Returns a secret to type during a run, which must not be found anywhere else. */
export function plantedSecret(run: FaultRun, name: string): string {
  const value = canaryOf(run.seed, name);
  run.history.secret('typed value', value);
  return value;
}
