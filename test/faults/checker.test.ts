import { describe, expect, it } from 'vitest';
import { check } from './checker.ts';
import { canaryOf, openHistory } from './history.ts';
import { type Observation, parseHistory } from './history-entry.ts';

const EL = 'el_one';
const MCP = 'mcp:tracker';
const REPLICAS = ['http://a', 'http://b'];

/** A history that something is added to. Times are the order. */
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
      const shown = { http: 200, elicitationId: EL, status, ...(outcome === undefined ? {} : { outcome }) };
      return self.call({ who: MCP, op: 'read', elicitationId: EL }, shown);
    },
    event(status: string, p: { eventId?: string; elicitationId?: string; mcpServerId?: string } = {}) {
      const { eventId = `ev_${status}`, elicitationId = EL, mcpServerId = 'tracker' } = p;
      const told = { eventId, elicitationId, mcpServerId, status, kind: 'confirmation' };
      record({ who: `mcp:${mcpServerId}`, what: 'event', position: `${at}-0`, ...told });
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

/** One elicitation from its issue to its end. */
const good = () =>
  story().channel().issue(EL).event('pending').read('active').event('completed').read('completed', 'x');

describe('what holds', () => {
  it('accepts an elicitation that was issued, completed and announced', () => {
    expect(good().finals('completed').found()).toEqual([]);
  });

  it('accepts repeats: of the issue, of announcements, of a redemption under its own name', () => {
    const { record, ...rest } = good();
    rest.issue(EL).event('completed').event('completed');
    for (let n = 0; n < 2; n += 1) {
      record({ who: MCP, what: 'effect', elicitationId: EL, effect: 'once' });
      record({ who: MCP, what: 'approval', elicitationId: EL, approval: 'one' });
    }
    expect(rest.finals('completed').found()).toEqual([]);
  });

  it('accepts a reading that began before the end was told', () => {
    const own = good();
    const call = own.history.nextCall();
    const late = story().channel().issue(EL);
    late.record({ who: MCP, what: 'request', call, op: 'read', to: 'http://b', elicitationId: EL });
    late.read('completed').event('completed');
    late.record({ who: MCP, what: 'response', call, http: 200, elicitationId: EL, status: 'active' });
    expect(late.finals('completed').found()).toEqual([]);
  });

  it('accepts old news, and an issue whose answer was lost and that is announced', () => {
    const own = good().event('pending').finals('completed').issue(undefined, { key: 'lost' });
    expect(own.event('expired', { elicitationId: 'el_lost', eventId: 'ev_lost' }).found()).toEqual([]);
  });

  it('accepts refusals: of strangers, of overload, of what is away', () => {
    const own = good().finals('completed');
    own.call({ who: 'mcp:files', op: 'read', elicitationId: EL }, { http: 404, code: 'not_found' });
    own.call({ who: 'person:bob', op: 'open', elicitationId: EL }, { http: 403, shown: false });
    own.call({ who: MCP, op: 'read', elicitationId: EL }, { http: 503, code: 'unavailable' });
    expect(own.found()).toEqual([]);
  });
});

describe('I1: what was acknowledged reaches one end', () => {
  it('nobody looked', () => expect(good().found()).toEqual(['I1']));
  it('not over', () => {
    expect(story().channel().issue(EL).finals('pending').found()).toEqual(['I1', 'I1']);
  });
  it('gone in the end', () => {
    const own = story().issue(EL);
    for (const replica of REPLICAS)
      own.record({
        ...{ who: 'harness', what: 'final', replica, mcpServerId: 'tracker' },
        elicitationId: EL,
        http: 404,
      });
    expect(own.found()).toEqual(['I1']);
  });
  it('gone meanwhile', () => {
    const own = good().call({ who: MCP, op: 'read', elicitationId: EL }, { http: 404, code: 'not_found' });
    expect(own.finals('completed').found()).toEqual(['I1']);
  });
  it('not read at one of the replicas', () => {
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
  it('one Idempotency-Key, two elicitations', () => {
    const own = good()
      .finals('completed')
      .issue('el_two', { key: `key of ${EL}` });
    own.event('expired', { elicitationId: 'el_two', eventId: 'ev_2' }).finals('expired', { elicitationId: 'el_two' });
    expect(own.found()).toEqual(['I1']);
  });
});

describe('I2: an end never changes', () => {
  it('another end', () => expect(good().read('declined').finals('completed').found()).toContain('I2'));
  it('open again', () => expect(good().read('active').finals('completed').found()).toEqual(['I2']));
  it('told as an event, and read as open', () => {
    const own = story().channel().issue(EL).event('declined').read('pending');
    expect(own.finals('declined').found()).toEqual(['I2']);
  });
  it('shown to the person, and read as open', () => {
    const own = story().channel().issue(EL).event('completed');
    own.call({ who: 'person:alice', op: 'open', elicitationId: EL }, { http: 200, status: 'completed', shown: true });
    expect(own.read('active').finals('completed').found()).toEqual(['I2']);
  });
  it('another outcome', () => expect(good().read('completed', 'y').finals('completed').found()).toEqual(['I2']));
  it('replicas disagree', () => {
    const own = good();
    for (const [nth, replica] of REPLICAS.entries())
      own.record({
        ...{ who: 'harness', what: 'final', replica, mcpServerId: 'tracker', elicitationId: EL, http: 200 },
        ...{ status: 'completed', outcome: `${nth}` },
      });
    expect(own.found()).toContain('I2');
  });
});

describe('I3: every end is announced, under one id, and nothing else', () => {
  it('never', () => {
    expect(story().channel().issue(EL).read('declined').finals('declined').found()).toEqual(['I3']);
  });
  it('on one channel only', () => {
    expect(good().channel('receiver:tracker').finals('completed').found()).toEqual(['I3']);
  });
  it('to a receiver that refused it', () => {
    const own = good().channel('receiver:tracker').finals('completed');
    const told = { mcpServerId: 'tracker', eventId: 'ev_completed', elicitationId: EL, kind: 'confirmation' };
    own.record({ who: 'receiver:tracker', what: 'delivery', answered: 500, status: 'completed', ...told });
    expect(own.found()).toEqual(['I3']);
  });
  it('under two ids', () => {
    expect(good().event('completed', { eventId: 'ev_other' }).finals('completed').found()).toEqual(['I3']);
  });
  it('one id for two things', () => {
    const own = good().finals('completed').issue('el_two').finals('expired', { elicitationId: 'el_two' });
    expect(own.event('expired', { elicitationId: 'el_two', eventId: 'ev_completed' }).found()).toEqual(['I3']);
  });
  it('of something never issued', () => {
    expect(good().event('pending', { elicitationId: 'el_x', eventId: 'ev_x' }).finals('completed').found()).toEqual([
      'I3',
    ]);
  });
  it('of more than may have been issued', () => {
    const own = good().finals('completed').issue(undefined, { key: 'lost' });
    for (const n of [1, 2]) own.event('pending', { elicitationId: `el_x${n}`, eventId: `ev_x${n}` });
    expect(own.found()).toEqual(['I3']);
  });
});

describe('I4: once', () => {
  const set = (grantId: string, connectionId = 'conn_1', account = 'alice'): Observation => ({
    ...{ who: MCP, what: 'token_set', elicitationId: EL, connectionId, grantId },
    exchange: grantId,
    ...{ account, expectedAccount: 'alice' },
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
    { how: 'a token that nobody issued', entries: [set('g1')] },
    {
      how: 'two connections of one person',
      entries: [
        {
          ...{ who: 'harness', what: 'connections', mcpServerId: 'tracker', subject: 'alice' },
          list: ['conn_1', 'conn_2'].map(connectionId => ({ connectionId, provider: 'forge' })),
        },
      ],
    },
  ])('$how', ({ entries }) => {
    const own = good().finals('completed');
    for (const entry of entries) own.record(entry);
    expect(own.found()).toEqual(['I4']);
  });

  it('accepts tokens that were issued and never stored', () => {
    const own = good().finals('completed');
    for (const entry of [issued('g1'), issued('g2'), set('g2'), set('g2')]) own.record(entry);
    expect(own.found()).toEqual([]);
  });

  it('I6: the tokens of another account', () => {
    const own = good().finals('completed');
    own.record(issued('g1'));
    own.record(set('g1', 'conn_1', 'bob'));
    expect(own.found()).toEqual(['I6']);
  });
});

describe('I5: no secret anywhere', () => {
  const secret = canaryOf(1, 'typed');

  it.each<{ how: string; leak: (own: ReturnType<typeof story>) => unknown }>([
    { how: 'in a log line', leak: own => own.history.scan('log', `{"msg":"typed ${secret}"}`) },
    { how: 'inside a longer word', leak: own => own.history.scan('page', `value=x${secret}y`) },
    {
      how: 'in what was answered',
      leak: own => own.call({ who: MCP, op: 'read', elicitationId: EL }, { code: secret }),
    },
    { how: 'as an id', leak: own => own.event('pending', { eventId: secret }) },
  ])('$how', ({ leak }) => {
    const own = good().finals('completed');
    own.history.secret('typed value', secret);
    leak(own);
    expect(own.found()).toContain('I5');
    expect(JSON.stringify(own.history.entries)).not.toContain(secret);
  });

  it('a token, which carries no mark', () => {
    const own = good().finals('completed');
    own.history.secret('access token', 'k3jx0DGlWQa_7-Zpq81');
    own.history.scan('log', '"authorization":"Bearer k3jx0DGlWQa_7-Zpq81"');
    expect(own.found()).toEqual(['I5']);
  });
});

describe('I6: everybody among themselves', () => {
  it('another MCP server reads', () => {
    const own = good().finals('completed');
    own.call(
      { who: 'mcp:files', op: 'read', elicitationId: EL },
      { http: 200, elicitationId: EL, status: 'completed' },
    );
    expect(own.found()).toEqual(['I6']);
  });
  it('another MCP server cancels', () => {
    const own = good().finals('completed');
    own.call({ who: 'mcp:files', op: 'cancel', elicitationId: EL }, { http: 200 });
    expect(own.found()).toEqual(['I6']);
  });
  it('another MCP server is told', () => {
    expect(good().event('completed', { mcpServerId: 'files' }).finals('completed').found()).toContain('I6');
  });
  it('another MCP server is called', () => {
    const own = good().finals('completed');
    const told = { mcpServerId: 'files', eventId: 'ev_completed', elicitationId: EL, kind: 'confirmation' };
    own.record({ who: 'receiver:files', what: 'delivery', answered: 204, status: 'completed', ...told });
    expect(own.found()).toContain('I6');
  });
  it.each(['open', 'accept', 'decline'] as const)('another person: %s', op => {
    const own = good().finals('completed');
    own.call({ who: 'person:bob', op, elicitationId: EL }, { http: op === 'open' ? 200 : 303, shown: true });
    expect(own.found()).toEqual(['I6']);
  });
});

describe('the rest', () => {
  it('an internal error is nobody’s answer', () => {
    const own = good().finals('completed');
    expect(own.call({ who: MCP, op: 'read', elicitationId: EL }, { http: 500 }).found()).toEqual(['contract']);
  });
  it('documented losses are found and marked', () => {
    const own = good();
    own.history.tolerate(['I1'], 'no append-only file');
    expect(check(own.history.entries)).toMatchObject([{ invariant: 'I1', tolerated: true }]);
  });
  it('a history reads back as it was written', () => {
    const { entries } = good().finals('completed').history;
    expect(parseHistory(entries.map(entry => JSON.stringify(entry)).join('\n'))).toEqual(entries);
  });
});
