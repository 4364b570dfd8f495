import {
  type Elicitation,
  type ElicitationRequest,
  isCharging,
  type NewElicitation,
  newElicitationId,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import { kindSamples } from '@postern/testkit/contract';
import { describe, expect, test } from 'vitest';
import { decodeElicitation, encodeElicitation } from './elicitation-record.ts';

const subject = { issuer: 'https://id.example.com', subject: 'alice' };
const elicitationId = newElicitationId(shardOf(subject), systemEntropy);
const fields = { elicitationId, status: 'pending', version: 1, createdAt: 1_000, expiresAt: 2_000 };
const common = { layout: 1, elicitationId, version: 1, createdAt: 1_000, expiresAt: 2_000, subject };
const asking = { mcpServerId: 'issue-tracker', identityMode: 'login' } as const;
const connectionId = `cn_7f${'A'.repeat(43)}` as const;
const { requests, approval, chargeAt } = kindSamples;

const newElicitation = (request: ElicitationRequest): NewElicitation => ({
  ...{ ...asking, elicitationId, subject, request },
});

/** As the release before wrote it. */
const flat =
  '{"layout":1,"mcpServerId":"issue-tracker","identityMode":"login","message":"Hello","returnUrl":"https://t.example/","issuer":' +
  '"https://id.example.com","subject":"alice","kind":"authorization","provider":"github","scopes":["repo"],"resource":' +
  '"https://api.example.com","expectedAccount":"583231","mcpClient":"Example","tool":"create_issue"';
const authorization: NewElicitation = {
  ...newElicitation({
    kind: 'authorization',
    provider: 'github',
    scopes: ['repo'],
    resource: 'https://api.example.com',
    expectedAccount: '583231',
  }),
  message: 'Hello',
  requestedBy: { mcpClient: 'Example', tool: 'create_issue' },
  returnUrl: 'https://t.example/',
};

describe('authorizations', () => {
  test('are written as ever', () => {
    expect(encodeElicitation(authorization, { status: 'pending' }, 1)).toBe(`${flat}}`);
  });

  test('keep where in a trace they were issued, across every move', () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const traced = decodeElicitation(
      encodeElicitation({ ...authorization, traceparent }, { status: 'pending' }, 1),
      fields,
    );
    expect(traced.traceparent).toBe(traceparent);
    const json = encodeElicitation(traced, { status: 'active', attempt: 'a' }, 1);
    expect(decodeElicitation(json, { ...fields, status: 'active' }).traceparent).toBe(traceparent);
  });

  test.each([
    {
      status: 'pending',
      rest: ',"trouble":"fewer_scopes","missing":["repo"]}',
      brings: { trouble: 'fewer_scopes', missing: ['repo'] },
    },
    { status: 'active', rest: ',"attempt":"a"}', brings: { attempt: 'a' } },
    { status: 'verifying', rest: ',"attempt":"v"}', brings: { attempt: 'v' } },
    {
      status: 'completed',
      rest: `,"outcome":{"kind":"authorization","connectionId":"${connectionId}","provider":"github","scopes":["repo"]}}`,
      brings: {
        endedAt: 1_500,
        outcome: { kind: 'authorization', connectionId, provider: 'github', scopes: ['repo'] },
      },
    },
    { status: 'failed', rest: ',"failure":"wrong_person"}', brings: { endedAt: 1_500, failure: 'wrong_person' } },
    { status: 'expired', rest: '}', brings: { endedAt: 1_500 } },
  ])('of the release before are read as they were: $status', ({ status, rest, brings }) => {
    const endedAt = 'endedAt' in brings ? { endedAt: 1_500 } : {};
    const { elicitationId: _, ...kept } = authorization;
    expect(decodeElicitation(`${flat}${rest}`, { ...fields, ...endedAt, status })).toEqual({
      ...{ ...common, ...kept, status, ...brings },
    });
  });
});

const samples = Object.entries(requests) as [string, Exclude<ElicitationRequest, { kind: 'authorization' }>][];

describe.each(samples)('%s', (_, request) => {
  const pending = decodeElicitation(encodeElicitation(newElicitation(request), { status: 'pending' }, 1), fields);

  test('is read as it was asked', () => {
    expect(pending).toEqual({ ...common, ...asking, request, status: 'pending' });
  });

  test('is read as it was answered', () => {
    // What a processor takes is answered while it is charging.
    const isTaken = request.kind === 'payment' && request.processor !== 'none';
    const answered: Elicitation = isTaken ? { ...pending, status: 'active', attempt: 'a', approval } : pending;
    const { next } = kindSamples.answer(answered);
    const json = encodeElicitation(pending, next, 1);
    const read = decodeElicitation(json, { ...fields, status: 'completed', endedAt: 1_500, redeemedAt: 1_600 });
    expect(read).toEqual({ ...common, ...asking, request, ...next, endedAt: 1_500, redeemedAt: 1_600 });
    expect(json).not.toContain('sealed-');
  });

  test.each(Object.keys(request))('without its %s it is refused', member => {
    const optional = member === 'title' && request.kind === 'form';
    const { [member as 'kind']: _, ...others } = request;
    const read = () =>
      decodeElicitation(encodeElicitation(newElicitation(others as never), { status: 'pending' }, 1), fields);
    if (optional) expect(read().request).not.toHaveProperty('title');
    else expect(read).toThrowError(expect.objectContaining({ code: 'unknown_record_layout' }));
  });
});

test('a charging payment is read as such', () => {
  const next = { status: 'active', attempt: 'a', approval, charge: chargeAt } as const;
  const charging = decodeElicitation(encodeElicitation(newElicitation(requests.payment), next, 1), {
    ...fields,
    ...next,
  });
  expect(charging).toEqual({ ...common, ...asking, request: requests.payment, ...next });
  expect(isCharging(charging)).toBe(true);
});

test('a schema is kept to the letter, whatever its properties are called', () => {
  const requestedSchema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"request":{"type":"number"}}}',
  );
  const request = { ...requests.form, requestedSchema };
  const json = encodeElicitation(newElicitation(request), { status: 'pending' }, 1);
  const { request: read } = decodeElicitation(json, fields);
  expect(read.kind === 'form' && JSON.stringify(read.requestedSchema)).toBe(JSON.stringify(requestedSchema));
});

describe('what contradicts itself is refused', () => {
  const read = (request: ElicitationRequest, next: object, status: string) => () =>
    decodeElicitation(encodeElicitation(newElicitation(request), { status, ...next } as never, 1), {
      ...{ ...fields, status, endedAt: 1_500 },
    });

  test.each([
    {
      what: 'an outcome of another kind',
      of: read(requests.form, { outcome: { kind: 'credential', name: 'x' } }, 'completed'),
    },
    { what: 'a form that is approved', of: read(requests.form, { attempt: 'a', approval }, 'active') },
    { what: 'an unknown kind', of: read({ ...requests.form, kind: 'survey' } as never, {}, 'pending') },
    { what: 'an unknown kind of fact', of: read(withFact({ type: 'image', label: 'x', value: 'y' }), {}, 'pending') },
    { what: 'a fraction of a minor unit', of: read(withAmount(10.5), {}, 'pending') },
    { what: 'a schema that is a list', of: read({ ...requests.form, requestedSchema: [] } as never, {}, 'pending') },
    { what: 'an end without its outcome', of: read(requests.form, {}, 'completed') },
  ])('$what', ({ of }) => {
    expect(of).toThrowError(expect.objectContaining({ code: 'unknown_record_layout' }));
  });

  function withFact(fact: object): ElicitationRequest {
    const { confirmation } = requests;
    return { ...confirmation, terms: { ...confirmation.terms, facts: [fact as never] } };
  }

  function withAmount(minorUnits: number): ElicitationRequest {
    const { payment } = requests;
    return { ...payment, terms: { ...payment.terms, amount: { currency: 'EUR', minorUnits } } };
  }
});

describe('layout 2', () => {
  const short =
    '{"layout":2,"s":"issue-tracker","t":"Hello","b":"https://t.example/","i":"https://id.example.com","u":"alice","p":"github",' +
    '"o":["repo"],"r":"https://api.example.com","a":"583231","h":"Example","f":"create_issue"}';

  test('an authorization is written in letters, without what most of them have', () => {
    expect(encodeElicitation(authorization, { status: 'pending' }, 2)).toBe(short);
    expect(decodeElicitation(short, fields)).toEqual({ ...decodeElicitation(`${flat}}`, fields), layout: 2 });
  });

  test.each(['external', 'loopback'] as const)('identity mode %s is written', identityMode => {
    const json = encodeElicitation({ ...authorization, identityMode }, { status: 'pending' }, 2);
    expect(decodeElicitation(json, fields).identityMode).toBe(identityMode);
  });

  test.each(samples)('%s is read as in layout 1, asked and answered', (_, request) => {
    const both = (next: Parameters<typeof encodeElicitation>[1], status: string) =>
      ([1, 2] as const).map(layout => {
        const json = encodeElicitation(newElicitation(request), next, layout);
        const { layout: read, ...rest } = decodeElicitation(json, { ...fields, status, endedAt: 1_500 });
        expect(read).toBe(layout);
        return rest;
      });
    const [asked, askedShort] = both({ status: 'pending' }, 'pending');
    expect(askedShort).toEqual(asked);
    const pending = decodeElicitation(encodeElicitation(newElicitation(request), { status: 'pending' }, 1), fields);
    const isTaken = request.kind === 'payment' && request.processor !== 'none';
    const { next } = kindSamples.answer(isTaken ? { ...pending, status: 'active', attempt: 'a', approval } : pending);
    const [answered, answeredShort] = both(next, 'completed');
    expect(answeredShort).toEqual(answered);
  });

  test('what one letter stands for is one thing', () => {
    expect(() => decodeElicitation(short.replace('"s":', '"mcpServerId":1,"s":'), fields)).not.toThrow();
    expect(() => decodeElicitation(short.replace('"s":"issue-tracker",', ''), fields)).toThrowError(
      expect.objectContaining({ code: 'unknown_record_layout', layout: 2 }),
    );
  });
});

test.each([
  ['{"layout":3,"s":"x"}', 3],
  ['{"layout":3,"s":"cut off', 3],
  ['{"layout":"2"}', undefined],
  ['{}', undefined],
  ['', undefined],
  ['null', undefined],
])('an unknown layout is named where it names itself: %s', (json, layout) => {
  expect(() => decodeElicitation(json, fields)).toThrowError(
    expect.objectContaining({ code: 'unknown_record_layout', layout }),
  );
});
