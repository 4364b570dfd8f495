import type { ProviderFault } from '@postern/testkit/providers';
import { startFaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { startTraffic, type TrafficOptions } from '../../traffic.ts';

/** Random faults of the provider while users connect accounts at two gateways. */
async function withBadMoments(
  run: FaultRun,
  p: {
    readonly begin: (world: Awaited<ReturnType<typeof startFaultWorld>>, round: number) => void;
    readonly end: (world: Awaited<ReturnType<typeof startFaultWorld>>) => void;
    readonly kinds: NonNullable<TrafficOptions['kinds']>;
  },
): Promise<void> {
  // Some faults hang; this limit ends their requests.
  const world = await startFaultWorld(run, { config: { outbound: { timeoutSeconds: 2 } } });
  for (const name of ['a', 'b']) await world.startGateway(name);
  const traffic = await startTraffic(run, { world, kinds: p.kinds, concurrency: 6 });
  await traffic.more(6);
  const rounds = run.isLong ? 12 : 4;
  for (let round = 0; round < rounds; round += 1) {
    p.begin(world, round);
    run.history.record({ who: 'harness', what: 'fault', fault: 'bad moment', target: 'provider' });
    await traffic.more(6);
    p.end(world);
    await traffic.more(4);
  }
  await traffic.settle();
  run.measure('completed', traffic.completed, '');
  if (traffic.completed === 0) throw new Error('no elicitation completed');
}

const tokenFaults: readonly Omit<ProviderFault, 'endpoint'>[] = [
  { status: 500 },
  { status: 502 },
  { status: 503, headers: { 'retry-after': '1' } },
  { status: 429, headers: { 'retry-after': '120' } },
  { drop: 'before' },
  { status: 200, body: '{"access_token":"x"', headers: { 'content-type': 'application/json' } },
];
const lostAnswers: readonly Omit<ProviderFault, 'endpoint'>[] = [
  { drop: 'after' },
  { hang: true, when: 'after' },
  { status: 502, when: 'after' },
];

const atTokenEndpoint = (faults: readonly Omit<ProviderFault, 'endpoint'>[]) => (run: FaultRun) => {
  const random = run.random.fork('provider');
  return withBadMoments(run, {
    kinds: ['authorization'],
    begin: ({ world }) => world.provider.fault({ endpoint: 'token', ...random.pick(faults) }),
    end: ({ world }) => world.provider.clearFaults(),
  });
};

export const failingProviders: readonly Scenario[] = [
  {
    item: 'N1',
    name: 'the token endpoint fails at random while users connect accounts at two gateways',
    run: atTokenEndpoint(tokenFaults),
  },
  {
    item: 'N2',
    name: 'responses of the token endpoint are lost after it has issued tokens, while users connect accounts at two gateways',
    run: atTokenEndpoint(lostAnswers),
  },
  {
    item: 'N12',
    name: 'the identity provider fails at random while users decide at two gateways',
    run(run) {
      const random = run.random.fork('identity provider');
      const endpoints = ['metadata', 'authorization', 'token', 'jwks'] as const;
      return withBadMoments(run, {
        kinds: ['confirmation', 'authorization', 'form'],
        begin: ({ world }) => {
          for (const endpoint of endpoints)
            if (random.chance(0.7)) world.identityProvider.fault({ endpoint, status: random.pick([500, 502, 503]) });
        },
        end: ({ world }) => world.identityProvider.clearFaults(),
      });
    },
  },
];
