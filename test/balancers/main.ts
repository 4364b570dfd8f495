/**
 * `node test/balancers/main.ts`: replaces two replicas in turn, twice, behind each set-up, and prints how many requests
 * were lost. The numbers in docs/rolling-restarts.md are its output. Needs root and takes about ten minutes.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { whyNoDebianFolders } from '../machines/debian-folder.ts';
import { endOnSignals } from '../support/end-with-us.ts';
import { startBalancedWorld } from './balanced-world.ts';
import {
  type BalancerMachine,
  type BalancerName,
  makeBalancerMachine,
  startDebianBalancer,
} from './debian-balancers.ts';
import { startMixedLoad } from './mixed-load.ts';
import { rollThrough } from './rolling-restart.ts';

interface SetUp {
  readonly title: string;
  readonly balancer: BalancerName;
  /** Pause between the readiness of a replica and the stop of the next one. */
  readonly pauseSeconds: number;
  readonly change?: (config: string) => string;
}

/** nginx with only the replicas configured. */
function onlyProxyPass(shipped: string): string {
  const servers = [...shipped.matchAll(/server (127\.0\.0\.1:\d+) /g)].map(([, address]) => `server ${address};`);
  const kept = shipped.match(/^ *(?:listen|ssl_certificate\w*) .*;/gm) ?? [];
  return `upstream postern { ${servers.join(' ')} }
server { ${kept.join('\n')}
  location / { proxy_pass http://postern; proxy_set_header Host $http_host; } }`;
}

const setUps: readonly SetUp[] = [
  { title: 'nginx, only `proxy_pass`', balancer: 'nginx', pauseSeconds: 2, change: onlyProxyPass },
  { title: 'nginx, only `proxy_pass`', balancer: 'nginx', pauseSeconds: 15, change: onlyProxyPass },
  { title: 'nginx as shipped', balancer: 'nginx', pauseSeconds: 2 },
  { title: 'nginx as shipped', balancer: 'nginx', pauseSeconds: 15 },
  { title: 'HAProxy as shipped', balancer: 'haproxy', pauseSeconds: 2 },
  { title: 'HAProxy as shipped', balancer: 'haproxy', pauseSeconds: 15 },
];

async function measure(machine: BalancerMachine, { balancer, pauseSeconds, change }: SetUp) {
  await using stack = new AsyncDisposableStack();
  const { world, port, replicas } = stack.use(await startBalancedWorld(2));
  const addresses = replicas.map(({ address }) => address);
  const { origin } = stack.use(
    await startDebianBalancer(balancer, machine, addresses, { port, ...(change && { change }) }),
  );
  const { issuer } = world.identityProvider;
  const load = stack.use(startMixedLoad({ origin, certificate: machine.certificate, issuer }));
  await rollThrough({ replicas: [...replicas, ...replicas], load, between: () => delay(pauseSeconds * 1000) });
  return load.finish();
}

async function main(): Promise<number> {
  const reason = whyNoDebianFolders();
  if (reason !== undefined) {
    console.error(reason);
    return 1;
  }
  const work = await mkdtemp(join(tmpdir(), 'postern-balancers-'));
  try {
    const machine = await makeBalancerMachine(join(work, 'debian'));
    console.log('| set-up | seconds between ready and the next `SIGTERM` | requests | lost |\n|---|---|---|---|');
    for (const setUp of setUps) {
      const { requests, lost } = await measure(machine, setUp);
      console.log(`| ${setUp.title} | ${setUp.pauseSeconds} | ${requests} | ${lost.length} |`);
      if (lost.length > 0)
        console.error(
          lost
            .slice(0, 5)
            .map(({ result }) => result)
            .join('\n'),
        );
    }
    return 0;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

endOnSignals();
process.exit(await main());
