import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ExternalApplication, startExternalApplication } from '../support/external-application.ts';
import { connectAccount, declineOnPage } from '../support/person-at-gateway.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

interface AuditLine {
  readonly event: string;
  readonly time: string;
  readonly audit: true;
  readonly elicitationId?: string;
  readonly mcpServerId?: string;
  readonly subject?: string;
  readonly apiKeyId?: string;
}

let application: ExternalApplication;
let world: World;
let offset = 0;
beforeEach(async () => {
  application = await startExternalApplication();
  world = await startWorld({
    config: { audit: { stream: true } },
    otherMcpServers: [{ id: 'app', identity: { mode: 'external', verifyUrl: application.verifyUrl } }],
  });
  offset = 0;
  application.connect(world, 'app');
});
afterEach(async () => {
  await world?.[Symbol.asyncDispose]();
  await application?.[Symbol.asyncDispose]();
});

/** Audit events since the last call. Every line of the log is one JSON object, or this throws. */
function audited(): AuditLine[] {
  const text = world.log();
  const lines = text.slice(offset).trimEnd().split('\n');
  offset = text.length;
  return lines
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as AuditLine & { audit?: boolean })
    .filter((line): line is AuditLine => line.audit === true);
}
/** The audit events in the log stream. */
async function streamed(): Promise<AuditLine[]> {
  const read = await world.gateways[0]?.deps.stores.audits.read({ limit: 1000 });
  return (read ?? []).map(({ line }) => JSON.parse(line) as AuditLine);
}
const names = () => audited().map(({ event }) => event);

describe('S54: every transition writes one audit event', () => {
  it('S181: connecting and reading the token, with the user as a pseudonym and the API key by its id', async () => {
    const apiKeyId = `ak_file_${createHash('sha256').update(keyOf('tracker')).digest('hex').slice(0, 16)}`;
    const subject = world.subject();
    const { elicitationId } = await world.ask(subject);
    await connectAccount(world.raw(), elicitationId, subject);
    const { body } = await world.api.read(elicitationId);
    await world.api.accessToken(body.outcome?.connectionId ?? '');
    await world.api.accessToken(`cn_00${'a'.repeat(43)}`);
    const lines = audited();
    expect(lines.map(({ event }) => event)).toEqual([
      'elicitation.issued',
      'browser.signed_in',
      'elicitation.accepted',
      'elicitation.completed',
      'connection.token_read',
    ]);
    expect(new Set(lines.map(line => line.subject)).size).toBe(1);
    await expect.poll(async () => (await streamed()).length).toBe(lines.length);
    const untimed = ({ time: _, ...line }: AuditLine) => line;
    expect((await streamed()).map(untimed)).toEqual(lines.map(untimed));
    for (const line of lines) {
      expect(line.subject).toMatch(/^[A-Za-z0-9_-]{16}$/);
      expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(JSON.stringify(line)).not.toContain(subject);
      // Both requests of the MCP server, and none of the browser.
      const isOfCaller = ['elicitation.issued', 'connection.token_read'].includes(line.event);
      expect(line.apiKeyId).toBe(isOfCaller ? apiKeyId : undefined);
      if (line.event.startsWith('elicitation.')) expect(line).toMatchObject({ elicitationId, mcpServerId: 'tracker' });
    }
  });

  it('declining and cancelling write one event each, even if repeated', async () => {
    const subject = world.subject();
    const declined = await world.ask(subject);
    const browser = world.raw();
    await declineOnPage(browser, declined.elicitationId, subject);
    const cancelled = await world.ask(subject);
    for (let n = 0; n < 3; n += 1) await world.api.cancel(cancelled.elicitationId);
    await Promise.all(Array.from({ length: 5 }, () => world.api.cancel(cancelled.elicitationId)));
    expect(names()).toEqual([
      'elicitation.issued',
      'browser.signed_in',
      'elicitation.declined',
      'elicitation.issued',
      'elicitation.cancelled',
    ]);
  });

  it('requests that change nothing write none, except for a wrong person and a refused credential', async () => {
    const { elicitationId } = await world.ask(world.subject());
    audited();
    await world.api.read(elicitationId);
    await world.raw().get(`/e/${elicitationId}`);
    expect(names()).toEqual([]);
    await world.apiOf({ apiKey: 'wrong' }).read(elicitationId);
    expect(names()).toEqual(['caller.refused']);
    const other = world.raw();
    await other.signIn(elicitationId, 'bob');
    const page = await other.get(`/e/${elicitationId}`);
    expect(page.status).toBe(403);
    const lines = audited();
    expect(lines.map(({ event }) => event)).toEqual(['browser.signed_in', 'elicitation.wrong_person']);
    expect(lines[1]).toMatchObject({ elicitationId, visitor: lines[0]?.subject });
  });

  it('a refusal at the provider, and a callback in a foreign browser', async () => {
    const subject = world.subject();
    const { elicitationId } = await world.ask(subject);
    const browser = world.raw();
    await browser.signIn(elicitationId, subject);
    audited();
    const denied = await browser.decideAtProvider(await browser.accept(elicitationId), 'alice', { decision: 'deny' });
    await browser.get(denied);
    expect(names()).toEqual(['elicitation.accepted', 'callback.refused', 'elicitation.returned']);
    const answer = await browser.decideAtProvider(await browser.accept(elicitationId), 'alice');
    audited();
    await world.raw().get(answer);
    const [refused] = audited();
    expect(refused).toMatchObject({ event: 'callback.refused', reason: 'foreign_browser', elicitationId });
  });

  it('expiry', async () => {
    const { elicitationId } = await world.ask(world.subject(), { ttlSeconds: 10 });
    audited();
    const ended = await world.api.read(elicitationId, 30);
    expect(ended.body.status).toBe('expired');
    expect(names()).toEqual(['elicitation.expired']);
  });

  it('a verification by an application, for the right and the wrong person', async () => {
    const subject = world.subject();
    const api = world.apiOf({ apiKey: keyOf('app') });
    const { body } = await api.issue(askFor(world, subject));
    const browser = world.raw();
    const opened = new URL((await browser.get(`/login?e=${body.elicitationId}`)).location ?? '');
    const verificationId = opened.searchParams.get('verificationId') ?? '';
    await application.verify({ elicitationId: body.elicitationId, verificationId, subject: 'bob' });
    const right = await application.verify({ elicitationId: body.elicitationId, verificationId, subject });
    await browser.get(new URL(right.body.continueUrl ?? ''));
    const answer = await browser.get(await browser.decideAtProvider(await browser.accept(body.elicitationId), 'alice'));
    const held = new URL(answer.location ?? '').searchParams.get('verificationId') ?? '';
    await application.verify({ elicitationId: body.elicitationId, verificationId: held, subject: 'bob' });
    expect((await api.read(body.elicitationId)).body).toMatchObject({
      status: 'failed',
      failure: { code: 'wrong_person' },
    });
    expect(names()).toEqual([
      'elicitation.issued',
      'elicitation.wrong_person',
      'browser.signed_in',
      'elicitation.accepted',
      'elicitation.held',
      'elicitation.wrong_person',
      'elicitation.failed',
    ]);
  });

  it('hostile text in a request stays on one line', async () => {
    const hostile = 'x\r\n{"audit":true,"event":"elicitation.completed"}\u001b[2J';
    await world.raw().get(`/callback/tracker/forge?state=${encodeURIComponent(hostile)}`);
    await world.raw().get(`/callback/${encodeURIComponent(hostile)}/${encodeURIComponent(hostile)}?state=x`);
    await world.api.call('GET', `/v1/elicitations/${encodeURIComponent(hostile)}`);
    expect(names()).toEqual(['callback.refused', 'callback.refused']);
    expect(world.log()).not.toContain('elicitation.completed');
    expect(world.log()).not.toContain('\u001b');
  });
});
