import { describe, expect, it } from 'vitest';
import { check } from './checker.ts';
import { canaryOf, openHistory } from './history.ts';
import { type Observation, parseHistory } from './history-entry.ts';

const EL = 'el_one';
const MCP = 'mcp:tracker';
const REPLICAS = ['http://a', 'http://b'];

/** Builds a history. The order of the calls is the order in time. */
function story() {
  let at = 0;
  const history = openHistory({ now: () => at });
  const record = (observation: Observation) => {
    at += 1;
    history.record(observation);
  };
  const self = {
    history,
    record,
    call(
      facts: Omit<Extract<Observation, { what: 'request' }>, 'what' | 'call' | 'to'>,
      answer: Omit<Extract<Observation, { what: 'response' }>, 'what' | 'call' | 'who'> | undefined,
    ) {
      const call = history.nextCall();
      record({ what: 'request', call, to: 'http://a', ...facts });
      if (answer !== undefined) record({ what: 'response', call, who: facts.who, ...answer });
      return self;
    },
    issue(elicitationId: string | undefined, p: { http?: number; key?: string; who?: string; subject?: string } = {}) {
      const { http = 201, key = `key of ${elicitationId}`, who = MCP, subject = 'alice' } = p;
      const facts = { who, op: 'issue', idempotencyKey: key, kind: 'confirmation', subject } as const;
      return self.call(facts, elicitationId === undefined ? undefined : { http, elicitationId, status: 'pending' });
    },
    read(status: string, outcome?: string) {
      const shown = { http: 200, elicitationId: EL, status, outcome };
      return self.call({ who: MCP, op: 'read', elicitationId: EL }, shown);
    },
    event(status: string, p: { eventId?: string; elicitationId?: string; mcpServerId?: string } = {}) {
      const { eventId = `ev_${status}`, elicitationId = EL, mcpServerId = 'tracker' } = p;
      const announcement = { eventId, elicitationId, mcpServerId, status, kind: 'confirmation' };
      record({ who: `mcp:${mcpServerId}`, what: 'event', position: `${at}-0`, ...announcement });
      return self;
    },
    finals(status: string, p: { elicitationId?: string; http?: number } = {}) {
      const { elicitationId = EL, http = 200 } = p;
      for (const replica of REPLICAS)
        record({ who: 'harness', what: 'final', replica, mcpServerId: 'tracker', elicitationId, http, status });
      return self;
    },
    channel(channel = 'events') {
      record({ who: 'harness', what: 'channel', mcpServerId: 'tracker', channel });
      return self;
    },
    found: () => check(history.entries).map(({ invariant }) => invariant),
  };
  return self;
}

/** An elicitation from issue to completion. */
const good = () =>
  story().channel().issue(EL).event('pending').read('active').event('completed').read('completed', 'x');

describe('histories without a violation', () => {
  it('an issued, completed and announced elicitation passes', () => {
    expect(good().finals('completed').found()).toEqual([]);
  });

  it('repeats of the issue, of announcements and of a redemption under the same name pass', () => {
    const { record, ...rest } = good();
    rest.issue(EL).event('completed').event('completed');
    for (let n = 0; n < 2; n += 1) {
      record({ who: MCP, what: 'effect', elicitationId: EL, effect: 'once' });
      record({ who: MCP, what: 'approval', elicitationId: EL, approval: 'one' });
    }
    expect(rest.finals('completed').found()).toEqual([]);
  });

  it('a stale read that began before the end was observed passes', () => {
    const own = good();
    const call = own.history.nextCall();
    const late = story().channel().issue(EL);
    late.record({ who: MCP, what: 'request', call, op: 'read', to: 'http://b', elicitationId: EL });
    late.read('completed').event('completed');
    late.record({ who: MCP, what: 'response', call, http: 200, elicitationId: EL, status: 'active' });
    expect(late.finals('completed').found()).toEqual([]);
  });

  it('stale events and an announced issue whose response was lost pass', () => {
    const own = good().event('pending').finals('completed').issue(undefined, { key: 'lost' });
    expect(own.event('expired', { elicitationId: 'el_lost', eventId: 'ev_lost' }).found()).toEqual([]);
  });

  it('refusals of unauthorized callers, of overload and of unavailable dependencies pass', () => {
    const own = good().finals('completed');
    own.call({ who: 'mcp:files', op: 'read', elicitationId: EL }, { http: 404, code: 'not_found' });
    own.call({ who: 'person:bob', op: 'open', elicitationId: EL }, { http: 403, shown: false });
    own.call({ who: MCP, op: 'read', elicitationId: EL }, { http: 503, code: 'unavailable' });
    expect(own.found()).toEqual([]);
  });
});

describe('I1: an acknowledged elicitation ends exactly once', () => {
  it('the checker reports an elicitation without a final read', () => expect(good().found()).toEqual(['I1']));
  it('the checker reports an elicitation that is still pending at the end', () => {
    expect(story().channel().issue(EL).finals('pending').found()).toEqual(['I1', 'I1']);
  });
  it('the checker reports an elicitation that is missing at the end', () => {
    const own = story().issue(EL);
    for (const replica of REPLICAS)
      own.record({
        who: 'harness',
        what: 'final',
        replica,
        mcpServerId: 'tracker',
        elicitationId: EL,
        http: 404,
      });
    expect(own.found()).toEqual(['I1']);
  });
  it('the checker reports an acknowledged elicitation that is temporarily missing', () => {
    const own = good().call({ who: MCP, op: 'read', elicitationId: EL }, { http: 404, code: 'not_found' });
    expect(own.finals('completed').found()).toEqual(['I1']);
  });
  it('the checker reports an elicitation that one replica did not read at the end', () => {
    const own = good()
      .finals('completed')
      .issue('el_two')
      .event('expired', { elicitationId: 'el_two', eventId: 'ev_2' });
    const [replica = ''] = REPLICAS;
    const final = {
      who: 'harness',
      what: 'final',
      replica,
      mcpServerId: 'tracker',
      http: 200,
      status: 'expired',
    } as const;
    own.record({ ...final, elicitationId: 'el_two' });
    expect(own.found()).toEqual(['I1']);
  });
  it('the checker reports one Idempotency-Key that led to two elicitations', () => {
    const own = good()
      .finals('completed')
      .issue('el_two', { key: `key of ${EL}` });
    own.event('expired', { elicitationId: 'el_two', eventId: 'ev_2' }).finals('expired', { elicitationId: 'el_two' });
    expect(own.found()).toEqual(['I1']);
  });
});

describe('I2: a terminal status never changes', () => {
  it('the checker reports a second terminal status', () =>
    expect(good().read('declined').finals('completed').found()).toContain('I2'));
  it('the checker reports an active status after the end', () =>
    expect(good().read('active').finals('completed').found()).toEqual(['I2']));
  it('the checker reports a pending read after a terminal event', () => {
    const own = story().channel().issue(EL).event('declined').read('pending');
    expect(own.finals('declined').found()).toEqual(['I2']);
  });
  it('the checker reports an active read after the page showed the end', () => {
    const own = story().channel().issue(EL).event('completed');
    own.call({ who: 'person:alice', op: 'open', elicitationId: EL }, { http: 200, status: 'completed', shown: true });
    expect(own.read('active').finals('completed').found()).toEqual(['I2']);
  });
  it('the checker reports a changed outcome', () =>
    expect(good().read('completed', 'y').finals('completed').found()).toEqual(['I2']));
  it('the checker reports replicas that disagree at the end', () => {
    const own = good();
    for (const [nth, replica] of REPLICAS.entries())
      own.record({
        who: 'harness',
        what: 'final',
        replica,
        mcpServerId: 'tracker',
        elicitationId: EL,
        http: 200,
        status: 'completed',
        outcome: `${nth}`,
      });
    expect(own.found()).toContain('I2');
  });
});

describe('I3: every end is announced under one event id, and only issued elicitations are announced', () => {
  it('the checker reports an end that is never announced', () => {
    expect(story().channel().issue(EL).read('declined').finals('declined').found()).toEqual(['I3']);
  });
  it('the checker reports an end that is missing on one channel', () => {
    expect(good().channel('receiver:tracker').finals('completed').found()).toEqual(['I3']);
  });
  it('the checker reports an end that the receiver only refused', () => {
    const own = good().channel('receiver:tracker').finals('completed');
    const announcement = { mcpServerId: 'tracker', eventId: 'ev_completed', elicitationId: EL, kind: 'confirmation' };
    own.record({ who: 'receiver:tracker', what: 'delivery', answered: 500, status: 'completed', ...announcement });
    expect(own.found()).toEqual(['I3']);
  });
  it('the checker reports an end under two event ids', () => {
    expect(good().event('completed', { eventId: 'ev_other' }).finals('completed').found()).toEqual(['I3']);
  });
  it('the checker reports one event id for two elicitations', () => {
    const own = good().finals('completed').issue('el_two').finals('expired', { elicitationId: 'el_two' });
    expect(own.event('expired', { elicitationId: 'el_two', eventId: 'ev_completed' }).found()).toEqual(['I3']);
  });
  it('the checker reports an event of an elicitation that was never issued', () => {
    expect(good().event('pending', { elicitationId: 'el_x', eventId: 'ev_x' }).finals('completed').found()).toEqual([
      'I3',
    ]);
  });
  it('the checker reports more announced elicitations than issue requests', () => {
    const own = good().finals('completed').issue(undefined, { key: 'lost' });
    for (const n of [1, 2]) own.event('pending', { elicitationId: `el_x${n}`, eventId: `ev_x${n}` });
    expect(own.found()).toEqual(['I3']);
  });
});

describe('I4: one approval, charge, redemption, token set and connection', () => {
  const set = (grantId: string, connectionId = 'conn_1', account = 'alice'): Observation => ({
    who: MCP,
    what: 'token_set',
    elicitationId: EL,
    connectionId,
    grantId,
    exchange: grantId,
    account,
    expectedAccount: 'alice',
  });
  const issued = (grantId: string): Observation => ({
    who: 'provider',
    what: 'token_issued',
    grantId,
    account: 'alice',
  });

  it.each<{ how: string; entries: Observation[] }>([
    {
      how: 'two approvals',
      entries: ['one', 'two'].map(approval => ({ who: MCP, what: 'approval', elicitationId: EL, approval })),
    },
    {
      how: 'two charges',
      entries: ['pi_1', 'pi_2'].map(charge => ({ who: 'processor', what: 'charge', elicitationId: EL, charge })),
    },
    {
      how: 'two redemptions',
      entries: ['key', 'other'].map(effect => ({ who: MCP, what: 'effect', elicitationId: EL, effect })),
    },
    { how: 'two token sets', entries: [issued('g1'), issued('g2'), set('g1'), set('g2')] },
    { how: 'two connections of one elicitation', entries: [issued('g1'), set('g1'), set('g1', 'conn_2')] },
    { how: 'a token set that the provider did not issue', entries: [set('g1')] },
    {
      how: 'two connections of one subject',
      entries: [
        {
          who: 'harness',
          what: 'connections',
          mcpServerId: 'tracker',
          subject: 'alice',
          list: ['conn_1', 'conn_2'].map(connectionId => ({ connectionId, provider: 'forge' })),
        },
      ],
    },
  ])('the checker reports $how', ({ entries }) => {
    const own = good().finals('completed');
    for (const entry of entries) own.record(entry);
    expect(own.found()).toEqual(['I4']);
  });

  it('issued tokens that were never stored pass', () => {
    const own = good().finals('completed');
    for (const entry of [issued('g1'), issued('g2'), set('g2'), set('g2')]) own.record(entry);
    expect(own.found()).toEqual([]);
  });

  it('I6: the checker reports tokens of another account', () => {
    const own = good().finals('completed');
    own.record(issued('g1'));
    own.record(set('g1', 'conn_1', 'bob'));
    expect(own.found()).toEqual(['I6']);
  });
});

describe('I5: secrets stay inside', () => {
  const secret = canaryOf(1, 'typed');

  it.each<{ how: string; leak: (own: ReturnType<typeof story>) => unknown }>([
    { how: 'a secret in a log line', leak: own => own.history.scan('log', `{"msg":"typed ${secret}"}`) },
    { how: 'a secret inside a longer word', leak: own => own.history.scan('page', `value=x${secret}y`) },
    {
      how: 'a secret in a response',
      leak: own => own.call({ who: MCP, op: 'read', elicitationId: EL }, { code: secret }),
    },
    { how: 'a secret used as an id', leak: own => own.event('pending', { eventId: secret }) },
  ])('the checker reports $how', ({ leak }) => {
    const own = good().finals('completed');
    own.history.secret('typed value', secret);
    leak(own);
    expect(own.found()).toContain('I5');
    expect(JSON.stringify(own.history.entries)).not.toContain(secret);
  });

  it('the checker reports a token, which carries no mark', () => {
    const own = good().finals('completed');
    own.history.secret('access token', 'k3jx0DGlWQa_7-Zpq81');
    own.history.scan('log', '"authorization":"Bearer k3jx0DGlWQa_7-Zpq81"');
    expect(own.found()).toEqual(['I5']);
  });
});

describe('I6: no access to records of others', () => {
  it('the checker reports a read by another MCP server', () => {
    const own = good().finals('completed');
    own.call(
      { who: 'mcp:files', op: 'read', elicitationId: EL },
      { http: 200, elicitationId: EL, status: 'completed' },
    );
    expect(own.found()).toEqual(['I6']);
  });
  it('the checker reports a cancel by another MCP server', () => {
    const own = good().finals('completed');
    own.call({ who: 'mcp:files', op: 'cancel', elicitationId: EL }, { http: 200 });
    expect(own.found()).toEqual(['I6']);
  });
  it('the checker reports an event in the feed of another MCP server', () => {
    expect(good().event('completed', { mcpServerId: 'files' }).finals('completed').found()).toContain('I6');
  });
  it('the checker reports a webhook to another MCP server', () => {
    const own = good().finals('completed');
    const announcement = { mcpServerId: 'files', eventId: 'ev_completed', elicitationId: EL, kind: 'confirmation' };
    own.record({ who: 'receiver:files', what: 'delivery', answered: 204, status: 'completed', ...announcement });
    expect(own.found()).toContain('I6');
  });
  it.each(['open', 'accept', 'decline'] as const)('the checker reports that another person can %s', op => {
    const own = good().finals('completed');
    own.call({ who: 'person:bob', op, elicitationId: EL }, { http: op === 'open' ? 200 : 303, shown: true });
    expect(own.found()).toEqual(['I6']);
  });
});

describe('contract, documented losses and parsing', () => {
  it('the checker reports a response with HTTP 500', () => {
    const own = good().finals('completed');
    expect(own.call({ who: MCP, op: 'read', elicitationId: EL }, { http: 500 }).found()).toEqual(['contract']);
  });
  it('the checker marks documented losses as tolerated', () => {
    const own = good();
    own.history.tolerate(['I1'], 'no append-only file');
    expect(check(own.history.entries)).toMatchObject([{ invariant: 'I1', tolerated: true }]);
  });
  it('a parsed history equals the recorded one', () => {
    const { entries } = good().finals('completed').history;
    expect(parseHistory(entries.map(entry => JSON.stringify(entry)).join('\n'))).toEqual(entries);
  });
});
