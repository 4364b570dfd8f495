import { SHARDS, type Shard } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { dataLossIn } from './loss-watch.ts';

const own = { deployment: 'dp_own-deployment', epoch: 5, isFounding: false };
const other = { ...own, deployment: 'dp_other-deployment' };
const [first = '00' as Shard, second = '01' as Shard, ...rest] = SHARDS;

/** Every shard is intact except the given ones. */
function judged(p: {
  readonly but?: Readonly<Partial<Record<Shard, typeof own | undefined>>>;
  readonly all?: typeof own | undefined;
  readonly deployment?: string | undefined;
  readonly epoch?: number;
}) {
  const { but = {}, all = own } = p;
  const found = SHARDS.map(shard => [shard, { epoch: shard in but ? but[shard] : all }] as const);
  const epochs = new Map(p.epoch === undefined ? [] : SHARDS.map(shard => [shard, p.epoch ?? 0] as const));
  const loss = dataLossIn(new Map(found), { deployment: 'deployment' in p ? p.deployment : own.deployment, epochs });
  return loss && { missing: loss.missing, foreign: loss.foreign, older: loss.older, deployment: loss.deployment };
}

const none = { missing: [], foreign: [], older: [], deployment: own.deployment };

describe('data is lost', () => {
  test.each([
    ['where a shard has no epoch', { but: { [first]: undefined } }, { ...none, missing: [first] }],
    ['where a shard belongs to another deployment', { but: { [second]: other } }, { ...none, foreign: [second] }],
    ['where every shard belongs to another deployment', { all: other }, { ...none, foreign: SHARDS }],
    [
      'where a shard has an epoch before the known one',
      { epoch: 6, but: { [first]: { ...own, epoch: 7 } } },
      { ...none, older: [second, ...rest] },
    ],
    [
      'where two deployments share a Redis and none is known',
      { deployment: undefined, but: { [first]: other } },
      { ...none, foreign: SHARDS, deployment: undefined },
    ],
  ])('%s', (_, given, loss) => expect(judged(given)).toEqual(loss));
});

describe('data is intact', () => {
  test.each([
    ['where all shards are those of the known deployment', {}],
    ['where none is known and all shards belong to one', { deployment: undefined, all: other }],
    ['where an operator began a later epoch', { epoch: 4, but: { [first]: { ...own, epoch: 9 } } }],
  ])('%s', (_, given) => expect(judged(given)).toBeUndefined());
});
