import { credentialIdOf, newRevocationId, SHARDS, type Shard, sealedKinds, systemEntropy } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { describe, expect, test } from 'vitest';
import { createKeys } from './keys.ts';

const keys = createKeys('postern');
const { ask, browserSessionIdOf, connectionIdFor, somebody } = samples;

/** Pinned, because the Redis of every deployment contains these names. */
test('key names', () => {
  const shard = '7f' as Shard;
  const secret = 'A'.repeat(43);
  const subject = { issuer: 'https://id.example.com', subject: 'alice' };
  expect([
    keys.wake,
    keys.elicitation(`el_${shard}${secret}`),
    keys.open(shard),
    keys.due(shard),
    keys.openOf(shard, 'issue-tracker', subject),
    keys.endedOf(shard, subject, undefined),
    keys.mutedBy(shard, subject),
    keys.ended(shard),
    keys.connected(shard),
    keys.saved(shard),
    keys.counts('issue-tracker', '2026-11-23'),
    keys.refreshes('forge', '2026-11-23'),
    keys.events(shard),
    keys.held(shard),
    keys.result(`el_${shard}${secret}`),
    keys.payments(`el_${shard}${secret}`),
    keys.paidBy(shard, subject, undefined),
    keys.chargeChecks(shard),
    keys.connection(`cn_${shard}${secret}`),
    keys.connectionsOf(shard, subject),
    keys.credential(`cr_${shard}${secret}`),
    keys.credentialsOf(shard, subject),
    keys.passkeysOf(shard, subject),
    keys.passkeyFactsOf(shard, subject),
    keys.revocation(`rv_${shard}${secret}`),
    keys.dueRevocations(shard),
    keys.subjectLimit(shard, 'issue-tracker', subject),
    keys.oneTime(shard, 'digest'),
    keys.claim('digest'),
    keys.idempotency(shard, 'digest'),
    keys.browserSession(`bs_${shard}${secret}`),
    keys.browserSessionsOf(shard, subject),
    keys.ofOperators.browserSession(`bs_${shard}${secret}`),
    keys.ofOperators.browserSessionsOf(shard, subject),
    keys.ledger(shard, 'issue-tracker'),
    keys.cursor(shard),
    keys.feed('issue-tracker'),
    keys.feedFacts('issue-tracker'),
    keys.audit,
    keys.operatorAudit,
    keys.apiKey('ak_Vn3'),
    keys.apiKeys,
    keys.keyAges,
    keys.job('jb_Vn3'),
    keys.adminCredentials,
    keys.unfinishedJobs,
    keys.endedJobs,
    keys.replicas,
    keys.probe(shard),
    keys.none(shard),
  ]).toMatchInlineSnapshot(`
    [
      "postern:wake",
      "postern:{7f}:el:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      "postern:{7f}:open",
      "postern:{7f}:due",
      "postern:{7f}:opens:L4JyuWIZJx0g1Mxv78jXfW",
      "postern:{7f}:ends:CyZuEIazKSAWnoj0t_pVAh",
      "postern:{7f}:muted:CyZuEIazKSAWnoj0t_pVAhE8nD23mcB-c7XwJDtxj10",
      "postern:{7f}:ended",
      "postern:{7f}:connected",
      "postern:{7f}:saved",
      "postern:{82}:counts:issue-tracker:2026-11-23",
      "postern:{6a}:refreshes:forge:2026-11-23",
      "postern:{7f}:events",
      "postern:{7f}:held",
      "postern:{7f}:res:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      "postern:{7f}:paid:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      "postern:{7f}:pays:CyZuEIazKSAWnoj0t_pVAh",
      "postern:{7f}:charges",
      "postern:{7f}:cn:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      "postern:{7f}:cns:CyZuEIazKSAWnoj0t_pVAhE8nD23mcB-c7XwJDtxj10",
      "postern:{7f}:cr:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      "postern:{7f}:crs:CyZuEIazKSAWnoj0t_pVAhE8nD23mcB-c7XwJDtxj10",
      "postern:{7f}:pks:CyZuEIazKSAWnoj0t_pVAhE8nD23mcB-c7XwJDtxj10",
      "postern:{7f}:pkf:CyZuEIazKSAWnoj0t_pVAhE8nD23mcB-c7XwJDtxj10",
      "postern:{7f}:rv:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      "postern:{7f}:rvs",
      "postern:{7f}:limit:L4JyuWIZJx0g1Mxv78jXfW",
      "postern:{7f}:once:digest",
      "postern:{0b}:claim:digest",
      "postern:{7f}:idem:digest",
      "postern:{7f}:bs:NwXMGzUdDw5AKu04lrHBkupJowFfjCZcz5yr8UBSHaI",
      "postern:{7f}:bss:CyZuEIazKSAWnoj0t_pVAh",
      "postern:{7f}:os:NwXMGzUdDw5AKu04lrHBkupJowFfjCZcz5yr8UBSHaI",
      "postern:{7f}:oss:CyZuEIazKSAWnoj0t_pVAh",
      "postern:{7f}:quota:issue-tracker",
      "postern:{7f}:cursor",
      "postern:{82}:feed:issue-tracker",
      "postern:{82}:fed:issue-tracker",
      "postern:{3d}:audit",
      "postern:{3d}:oaudit",
      "postern:{f7}:ak:ak_Vn3",
      "postern:{f7}:aks",
      "postern:{7e}:ages",
      "postern:{76}:jb:jb_Vn3",
      "postern:{4d}:adm",
      "postern:{76}:jbs",
      "postern:{76}:jbe",
      "postern:{f5}:rps",
      "postern:{7f}:probe",
      "postern:{7f}:none",
    ]
  `);
});

describe('everything about one user', () => {
  test('S167: the payments of a person are apart from those that an application vouched for', () => {
    const [person, shard] = [somebody(), '7f' as Shard];
    const names = [undefined, 'calendar', 'wiki'].map(voucher => keys.paidBy(shard, person, voucher));
    expect(new Set(names).size).toBe(3);
  });

  test('every key of one user is in one slot', () => {
    const subject = somebody();
    const request = ask(subject);
    const { elicitationId } = request.elicitation;
    const shard = elicitationId.slice(3, 5) as Shard;
    const names = [
      keys.elicitation(elicitationId),
      keys.open(shard),
      keys.due(shard),
      keys.openOf(shard, 'issue-tracker', subject),
      keys.endedOf(shard, subject, undefined),
      keys.paidBy(shard, subject, undefined),
      keys.mutedBy(shard, subject),
      keys.events(shard),
      keys.held(shard),
      keys.result(elicitationId),
      keys.chargeChecks(shard),
      keys.connection(connectionIdFor(subject)),
      keys.connectionsOf(shard, subject),
      keys.credential(credentialIdOf({ owner: 'issue-tracker', subject, name: 'acme-api' })),
      keys.credentialsOf(shard, subject),
      keys.passkeysOf(shard, subject),
      keys.passkeyFactsOf(shard, subject),
      keys.revocation(newRevocationId(shard, systemEntropy)),
      keys.dueRevocations(shard),
      keys.subjectLimit(shard, 'issue-tracker', subject),
      keys.oneTime(shard, 'digest'),
      keys.idempotency(shard, 'digest'),
      keys.browserSession(browserSessionIdOf(subject)),
      keys.browserSessionsOf(shard, subject),
      keys.browserSessionNamed(shard, 'digest'),
      keys.ofOperators.browserSession(browserSessionIdOf(subject)),
      keys.ofOperators.browserSessionsOf(shard, subject),
      keys.ofOperators.browserSessionNamed(shard, 'digest'),
      keys.none(shard),
    ];
    for (const name of names) expect(name.startsWith(`postern:{${shard}}:`)).toBe(true);
  });
});

test('spreads records without a subject over the shards', () => {
  const names = Array.from({ length: 2_000 }, (_, n) => keys.claim(`digest-${n}`));
  const tags = new Set(names.map(name => /\{(..)\}/.exec(name)?.[1]));
  expect(tags.size).toBe(SHARDS.length);
});

test.each(['', '{x}', 'a{b}', 'a:b', 'A', 'a b', 'a'.repeat(33)])('rejects the prefix %j', prefix => {
  expect(() => createKeys(prefix)).toThrow(TypeError);
});

test.each(['', '7', '7F', 'zz', '7f}x', ['7f']])('rejects the shard %j', shard => {
  expect(() => keys.due(shard as Shard)).toThrow(TypeError);
});

test('recognizes the keys of sealed records, and no others', () => {
  const ids = {
    connection: `cn_7f${'A'.repeat(43)}`,
    revocation: `rv_7f${'-'.repeat(43)}`,
    credential: `cr_7f${'B'.repeat(43)}`,
    result: `el_7f${'_'.repeat(43)}`,
    registration: 'digest',
    apiKey: 'ak_Vn3',
  } as const;
  for (const kind of sealedKinds) {
    expect(keys.parseSealedRecord(keys.sealedRecord(kind, ids[kind]))).toEqual({ kind, id: ids[kind] });
  }
  expect(keys.sealedRecord('connection', ids.connection)).toBe(keys.connection(ids.connection));
  expect(keys.sealedRecord('revocation', ids.revocation)).toBe(keys.revocation(ids.revocation));
  expect(keys.sealedRecord('credential', ids.credential)).toBe(keys.credential(ids.credential));
  expect(keys.sealedRecord('result', ids.result)).toBe(keys.result(ids.result));
  expect(keys.sealedRecord('registration', ids.registration)).toBe(keys.clientRegistration(ids.registration));
  expect(keys.sealedRecord('apiKey', ids.apiKey)).toBe(keys.apiKey(ids.apiKey));
  for (const name of [
    'postern:{7f}:cv:A',
    'postern:{7f}:aks',
    'postern:{7f}:rvs',
    'postern:{7f}:cns:A',
    'postern:{7f}:crs:A',
    'postern:{7f}:el:A',
    'other:{7f}:cn:A',
    'postern:{7F}:cn:A',
    'postern:wake',
  ])
    expect(keys.parseSealedRecord(name)).toBeUndefined();
});

test('the name of a lease determines its shard', () => {
  expect(keys.lease('rewrap')).toMatch(/^postern:\{[0-9a-f]{2}\}:lease:rewrap$/);
});
