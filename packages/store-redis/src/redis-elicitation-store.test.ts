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
import {
  decodeElicitation,
  encodeElicitation,
  joinedRecord,
  RECORD_FIELDS,
  recordFields,
} from './redis-elicitation-store.ts';

const subject = { issuer: 'https://id.example.com', subject: 'alice' };
const elicitationId = newElicitationId(shardOf(subject), systemEntropy);
const fields = { elicitationId, status: 'pending', version: 1, createdAt: 1_000, expiresAt: 2_000 };
const common = { elicitationId, version: 1, createdAt: 1_000, expiresAt: 2_000, subject };
const asking = { mcpServerId: 'issue-tracker', identityMode: 'login' } as const;
const connectionId = `cn_7f${'A'.repeat(43)}` as const;
const { requests, approval, chargeAt } = kindSamples;

const newElicitation = (request: ElicitationRequest): NewElicitation => ({
  ...asking,
  elicitationId,
  subject,
  request,
});

const stored =
  '{"layout":1,"s":"issue-tracker","t":"Hello","b":"https://t.example/","i":"https://id.example.com","u":"alice","p":"github",' +
  '"o":["repo"],"r":"https://api.example.com","a":"583231","h":"Example","f":"create_issue"';
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
  test('authorizations are written with one-letter names and without default values', () => {
    expect(encodeElicitation(authorization, { status: 'pending' })).toBe(`${stored}}`);
  });

  test('authorizations keep their trace context across every transition', () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const traced = decodeElicitation(
      encodeElicitation({ ...authorization, traceparent }, { status: 'pending' }),
      fields,
    );
    expect(traced.traceparent).toBe(traceparent);
    const json = encodeElicitation(traced, { status: 'active', attempt: 'a' });
    expect(decodeElicitation(json, { ...fields, status: 'active' }).traceparent).toBe(traceparent);
  });

  test.each([
    {
      status: 'pending',
      rest: ',"retryReason":"fewer_scopes","missing":["repo"]}',
      brings: { retryReason: 'fewer_scopes', missing: ['repo'] },
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
  ])('are read as they were written: $status', ({ status, rest, brings }) => {
    const endedAt = 'endedAt' in brings ? { endedAt: 1_500 } : {};
    const { elicitationId: _, ...kept } = authorization;
    expect(decodeElicitation(`${stored}${rest}`, { ...fields, ...endedAt, status })).toEqual({
      ...common,
      ...kept,
      status,
      ...brings,
    });
  });
});

const samples = Object.entries(requests) as [string, Exclude<ElicitationRequest, { kind: 'authorization' }>][];

describe.each(samples)('%s', (_, request) => {
  const pending = decodeElicitation(encodeElicitation(newElicitation(request), { status: 'pending' }), fields);

  test('the request is read as it was written', () => {
    expect(pending).toEqual({ ...common, ...asking, request, status: 'pending' });
  });

  test('the outcome is read as it was written', () => {
    // An answer that a processor charges is stored while charging.
    const isTaken = request.kind === 'payment' && request.processor !== 'none';
    const answered: Elicitation = isTaken ? { ...pending, status: 'active', attempt: 'a', approval } : pending;
    const { next } = kindSamples.answer(answered);
    const json = encodeElicitation(pending, next);
    const read = decodeElicitation(json, { ...fields, status: 'completed', endedAt: 1_500, redeemedAt: 1_600 });
    expect(read).toEqual({ ...common, ...asking, request, ...next, endedAt: 1_500, redeemedAt: 1_600 });
    expect(json).not.toContain('sealed-');
  });

  test.each(Object.keys(request))('a record without its %s is rejected', member => {
    const optional = member === 'title' && request.kind === 'form';
    const { [member as 'kind']: _, ...others } = request;
    const read = () =>
      decodeElicitation(encodeElicitation(newElicitation(others as never), { status: 'pending' }), fields);
    if (optional) expect(read().request).not.toHaveProperty('title');
    else expect(read).toThrowError(expect.objectContaining({ code: 'unknown_record_layout' }));
  });
});

test('a charging payment is read as charging', () => {
  const next = { status: 'active', attempt: 'a', approval, charge: chargeAt } as const;
  const charging = decodeElicitation(encodeElicitation(newElicitation(requests.payment), next), {
    ...fields,
    ...next,
  });
  expect(charging).toEqual({ ...common, ...asking, request: requests.payment, ...next });
  expect(isCharging(charging)).toBe(true);
});

test('a schema is kept unchanged, whatever the names of its properties', () => {
  const requestedSchema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"request":{"type":"number"}}}',
  );
  const request = { ...requests.form, requestedSchema };
  const json = encodeElicitation(newElicitation(request), { status: 'pending' });
  const { request: read } = decodeElicitation(json, fields);
  expect(read.kind === 'form' && JSON.stringify(read.requestedSchema)).toBe(JSON.stringify(requestedSchema));
});

describe('a contradictory record is rejected', () => {
  const read = (request: ElicitationRequest, next: object, status: string) => () =>
    decodeElicitation(encodeElicitation(newElicitation(request), { status, ...next } as never), {
      ...fields,
      status,
      endedAt: 1_500,
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

test.each(['external', 'loopback'] as const)('a record contains the identity mode %s', identityMode => {
  const json = encodeElicitation({ ...authorization, identityMode }, { status: 'pending' });
  expect(decodeElicitation(json, fields).identityMode).toBe(identityMode);
});

test('a record without a required member is rejected', () => {
  expect(() => decodeElicitation(`${stored.replace('"s":"issue-tracker",', '')}}`, fields)).toThrowError(
    expect.objectContaining({ code: 'unknown_record_layout', layout: 1 }),
  );
});

test.each([
  [`${stored.replace('1', '2')}}`, 2],
  ['{"layout":2,"s":"cut off', 2],
  [`${stored.replace('1', '"1"')}}`, undefined],
  ['{}', undefined],
  ['', undefined],
  ['null', undefined],
])('an unknown layout is rejected, and named if the record names it: %s', (json, layout) => {
  expect(() => decodeElicitation(json, fields)).toThrowError(
    expect.objectContaining({ code: 'unknown_record_layout', layout }),
  );
});

/** In the format of HMGET: null for an absent field. */
function read(fields: readonly string[]): readonly (string | null)[] {
  return RECORD_FIELDS.map(name => {
    const at = fields.indexOf(name);
    return at === -1 ? null : (fields[at + 1] ?? null);
  });
}

const valuesOf = (fields: readonly string[]) => fields.filter((_, at) => at % 2 === 1);

describe('a record in several fields', () => {
  test.each([
    ['', []],
    ['x'.repeat(64), [64]],
    ['x'.repeat(65), [64, 1]],
    ['x'.repeat(512), [64, 64, 64, 64, 64, 64, 64, 64]],
    ['x'.repeat(513), [513]],
    // Split between characters: 21 characters of 3 bytes fit.
    ['語'.repeat(22), [63, 3]],
    // Needs a ninth field.
    ['語'.repeat(170), [510]],
  ])('is cut into pieces and joined again: %s', (record, lengths) => {
    const fields = recordFields(record);
    expect(valuesOf(fields).map(value => Buffer.byteLength(value))).toEqual(lengths);
    expect(joinedRecord(read(fields))).toBe(record);
  });

  test.each(['aé', 'a語', 'a👩‍👩‍👧'])(
    'no piece is longer than 64 bytes, and none ends within a character: %s',
    unit => {
      for (let pad = 0; pad < 64; pad += 1) {
        const record = `${'.'.repeat(pad)}${unit.repeat(12)}`;
        const fields = recordFields(record);
        expect(joinedRecord(read(fields))).toBe(record);
        for (const value of valuesOf(fields)) {
          expect(Buffer.byteLength(value)).toBeLessThanOrEqual(64);
          expect(value.isWellFormed()).toBe(true);
        }
      }
    },
  );
});
