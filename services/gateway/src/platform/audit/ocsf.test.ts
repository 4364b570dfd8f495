import { describe, expect, it } from 'vitest';
import { ocsfSchema } from '../../testing/ocsf-schema.ts';
import { auditEvents } from './audit-events.ts';
import { ocsfEvent } from './ocsf.ts';

const position = '1767312000000-0';
const time = '2026-01-02T00:00:00.000Z';
const minimal = { level: 'warn', instance: 'gate-1:7', time, audit: true, message: 'happened' };
/** Every member that a line may have beside its own. */
const full = {
  ...minimal,
  requestId: 'rq_1',
  source: '192.0.2.7',
  subject: 'pseudonym-of-user',
  visitor: 'pseudonym-of-visitor',
  mcpServerId: 'tracker',
  elicitationId: 'el_1',
  connectionId: 'cn_1',
  provider: 'forge',
  reason: 'ticket 7',
  code: 'some_code',
  door: 'console',
  jobId: 'jb_1',
  tookMs: 7,
  apiKeyId: 'ak_1',
};
const ocsfOf = (event: string, line: object) =>
  ocsfSchema.parse(ocsfEvent({ position, time, event, line: { ...line, event } }));

describe('S177: an audit event as OCSF', () => {
  it.each(Object.keys(auditEvents))('%s has the required attributes of its class, and no others', event => {
    for (const line of [
      minimal,
      full,
      { ...full, by: 'person' },
      { ...full, by: 'mcp_server' },
      { ...full, by: 'operator', operator: 'olga' },
    ]) {
      const { class_uid, metadata, unmapped = {} } = ocsfOf(event, line);
      expect(class_uid).toBe(auditEvents[event as keyof typeof auditEvents].classUid);
      expect(metadata.event_code).toBe(event);
      for (const [name, value] of Object.entries(unmapped)) expect({ ...line, event }).toHaveProperty(name, value);
    }
  });

  it('of a later release is a Base Event with all members', () => {
    expect(ocsfOf('later.event', full)).toMatchObject({
      class_uid: 0,
      type_uid: 0,
      status_id: 0,
      unmapped: { source: '192.0.2.7', subject: 'pseudonym-of-user', connectionId: 'cn_1' },
    });
  });

  it.each(['constructor', '__proto__', 'toString'])('an event named %s is a Base Event as well', event => {
    expect(ocsfOf(event, { ...minimal, level: event })).toMatchObject({ class_uid: 0, severity_id: 0 });
  });

  it('names operators as they are recorded, and users by their pseudonym only', () => {
    const line = { ...full, by: 'operator', operator: 'olga' };
    expect(ocsfOf('admin.person_exported', line)).toMatchObject({
      class_uid: 3004,
      activity_id: 2,
      status_id: 0,
      comment: 'ticket 7',
      actor: { user: { name: 'olga', type_id: 2 } },
      entity: { type: 'User', type_id: 2, uid: 'pseudonym-of-user' },
      src_endpoint: { ip: '192.0.2.7' },
      unmapped: { door: 'console' },
    });
  });

  it('does not take the user of an elicitation for an unknown visitor', () => {
    const { visitor: _, ...line } = full;
    expect(ocsfOf('elicitation.wrong_person', line)).toMatchObject({ actor: { app_name: 'Postern' }, status_id: 2 });
    expect(ocsfOf('elicitation.wrong_person', full)).toMatchObject({
      actor: { user: { uid: 'pseudonym-of-visitor' } },
    });
  });

  it.each([
    ['browser.signed_in', {}, { type_uid: 300201, status_id: 1, severity_id: 3, user: { uid: 'pseudonym-of-user' } }],
    [
      'console.refused',
      { operator: 'mallory', subject: undefined },
      { type_uid: 300201, status_id: 2, user: { name: 'mallory' } },
    ],
    ['passkey.added', {}, { type_uid: 300110, actor: { user: { uid: 'pseudonym-of-user' } } }],
    [
      'connection.token_read',
      {},
      {
        type_uid: 300402,
        entity: { uid: 'cn_1' },
        actor: { app_uid: 'tracker', session: { credential_uid: 'ak_1' } },
      },
    ],
    ['caller.refused', { subject: undefined }, { status_id: 2, actor: { session: { credential_uid: 'ak_1' } } }],
    ['api_key.revoked', { operator: 'olga' }, { actor: { user: { name: 'olga' } }, entity: { uid: 'ak_1' } }],
    ['revocation.ended', { outcome: 'abandoned' }, { type_uid: 300404, status_id: 2 }],
    [
      'admin.job_ended',
      { operator: 'olga', status: 'failed', level: 'info' },
      { type_uid: 300403, status_id: 2, severity_id: 1 },
    ],
    ['mcp_server.muted', { outcome: 'unknown' }, { type_uid: 300409, status_id: 0 }],
    ['mcp_server.reported', {}, { type_uid: 300499, activity_name: 'mcp_server.reported' }],
    ['redis.rolled_back', { level: 'error' }, { type_uid: 600801, severity_id: 4, time: Date.parse(time) }],
  ])('%s keeps its meaning', (event, more, expected) => {
    expect(ocsfOf(event, { ...full, ...more })).toMatchObject(expected);
  });
});
