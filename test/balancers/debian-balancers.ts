import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '@postern/testkit/processes';
import { generate } from 'selfsigned';
import { endGroup, type Inside, runInside, spawnInside } from '../machines/inside.ts';
import { repository } from '../machines/repository.ts';
import { makeBalancerImage } from '../machines/stand-ins.ts';

export type BalancerName = 'nginx' | 'haproxy';

/** Debian's nginx and HAProxy in a folder, with a throw-away certificate at the path in the shipped files. */
export interface BalancerMachine {
  readonly inside: Inside;
  /** PEM of the certificate, for `localhost`. */
  readonly certificate: string;
}

export interface DebianBalancer extends AsyncDisposable {
  readonly origin: string;
  /** Resolves when this replica gets requests again, as the load balancer itself reports. nginx needs traffic for that. */
  untilServing(address: string): Promise<void>;
  /** Everything that it has logged so far. */
  log(): Promise<string>;
}

interface Kind {
  readonly shipped: string;
  readonly target: string;
  /** The address in the shipped file at which the load balancer listens. */
  readonly listen: readonly [shipped: string, own: (port: number) => string];
  readonly check: readonly string[];
  readonly run: readonly string[];
  /** Log files. Everything else is on standard output. */
  readonly logs: readonly string[];
  untilServing(folder: string, address: string, nth: number): Promise<void>;
}

const POLL_MS = 100;
const ACCESS_LOG = 'var/log/nginx/postern.log';

const kinds: Readonly<Record<BalancerName, Kind>> = {
  nginx: {
    shipped: 'infra/nginx/postern.conf',
    target: 'etc/nginx/conf.d/postern.conf',
    listen: ['listen 443 ssl;', port => `listen 127.0.0.1:${port} ssl;`],
    check: ['nginx', '-t'],
    run: ['nginx', '-g', 'daemon off;'],
    logs: [ACCESS_LOG, 'var/log/nginx/error.log', 'var/log/nginx/access.log'],
    async untilServing(folder, address) {
      const answered = new RegExp(`upstream=(?:\\S+, )*${new URL(address).host} `);
      const log = async () => (await readFile(join(folder, ACCESS_LOG), 'utf8')).split('\n');
      const { length } = await log();
      while (!(await log()).slice(length).some(line => answered.test(line))) await delay(POLL_MS);
    },
  },
  haproxy: {
    shipped: 'infra/haproxy/postern.cfg',
    target: 'etc/haproxy/haproxy.cfg',
    listen: ['bind :443 ssl', port => `bind 127.0.0.1:${port} ssl`],
    check: ['haproxy', '-c', '-f', '/etc/haproxy/haproxy.cfg'],
    run: ['haproxy', '-db', '-f', '/etc/haproxy/haproxy.cfg'],
    logs: [],
    async untilServing(folder, _address, nth) {
      // Column 4 is the name, column 6 the operational state: 2 is running.
      const isUp = new RegExp(`^\\d+ replicas \\d+ replica-${nth + 1} \\S+ 2 `, 'm');
      const servers = () => {
        const socket = connect(join(folder, 'run/haproxy/admin.sock'));
        socket.end('show servers state replicas\n');
        return text(socket);
      };
      while (!isUp.test(await servers())) await delay(POLL_MS);
    },
  },
};

export async function makeBalancerMachine(folder: string): Promise<BalancerMachine> {
  await makeBalancerImage(folder);
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  });
  await mkdir(join(folder, 'run/haproxy'), { recursive: true });
  await rm(join(folder, 'etc/nginx/sites-enabled/default'));
  const files = {
    'etc/ssl/certs/postern.pem': cert,
    'etc/ssl/private/postern.key': key,
    'etc/haproxy/postern.pem': `${cert}\n${key}`,
  };
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content, { mode: 0o600 });
  }
  return { inside: { folder, env: {} }, certificate: cert };
}

/** The replicas in the shipped files. */
const SHIPPED_REPLICAS = [1, 2, 3].map(n => `10.0.0.1${n}:8080`);

/** The shipped file of a load balancer with values filled in. @throws if the file lacks a value */
async function filledIn(kind: Kind, port: number, replicas: readonly string[]): Promise<string> {
  const [listen, own] = kind.listen;
  const values = [[listen, own(port)], ...replicas.map((address, n) => [SHIPPED_REPLICAS[n], new URL(address).host])];
  let filled = await readFile(join(repository, kind.shipped), 'utf8');
  for (const [shipped = '', value = ''] of values) {
    if (filled.split(shipped).length !== 2) throw new Error(`${kind.shipped} does not have ${shipped} exactly once`);
    filled = filled.replace(shipped, value);
  }
  const isUnused = (line: string) => SHIPPED_REPLICAS.some(shipped => line.includes(shipped));
  return filled
    .split('\n')
    .filter(line => !isUnused(line))
    .join('\n');
}

export interface StartBalancerOptions {
  /** Listening port. Default: a free port. */
  readonly port?: number;
  /** Changes the configuration for a measurement. Default: exactly the shipped file with its values filled in. */
  readonly change?: (config: string) => string;
}

/** Starts a load balancer in front of replicas, at most three. Resolves when it listens. */
export async function startDebianBalancer(
  name: BalancerName,
  { inside }: BalancerMachine,
  replicas: readonly string[],
  options: StartBalancerOptions = {},
): Promise<DebianBalancer> {
  const kind = kinds[name];
  const { port = await freePort(), change = config => config } = options;
  await writeFile(join(inside.folder, kind.target), change(await filledIn(kind, port, replicas)));
  await runInside(inside, kind.check);
  for (const path of kind.logs) await rm(join(inside.folder, path), { force: true });
  const child = spawnInside(inside, kind.run);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', chunk => {
      output += chunk;
    });
  const end = () => endGroup(child);
  process.on('exit', end);
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()));
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}:\n${output}`);
    await delay(POLL_MS);
  }
  return {
    origin: `https://localhost:${port}`,
    untilServing: address => kind.untilServing(inside.folder, address, replicas.indexOf(address)),
    async log() {
      const files = kind.logs.map(path => readFile(join(inside.folder, path), 'utf8').catch(() => ''));
      return [output, ...(await Promise.all(files))].join('');
    },
    async [Symbol.asyncDispose]() {
      end();
      await ended;
      process.off('exit', end);
      await rm(join(inside.folder, kind.target));
    },
  };
}

function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise<boolean>(resolve => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  }).finally(() => socket.destroy());
}
