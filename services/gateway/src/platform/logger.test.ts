import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Elicitation } from '@postern/elicitation';
import { VaultError } from '@postern/vault';
import { describe, expect, it } from 'vitest';
import { recordLog } from '../testing/record-log.ts';
import { samplePseudonyms as pseudonym, sampleConfig } from '../testing/sample-config.ts';
import type { AuditRecord } from './audit/audit-events.ts';
import { createAuditLog, createPseudonyms, elicitationAudit, pseudonymsOf } from './audit/audit-log.ts';
import { parseConfig } from './config/load-config.ts';
import { runInRequest } from './http/request-context.ts';
import { instance } from './logger.ts';

/** Like an error of openid-client, which contains the provider's response and the parameters of the callback. */
function errorOfLibrary(): Error {
  const error = new Error('code=SECRET-code', {
    cause: { parameters: new URLSearchParams('code=SECRET&state=SECRET') },
  });
  return Object.assign(error, {
    code: 'OAUTH_RESPONSE_BODY_ERROR',
    error_description: 'SECRET',
    response: { SECRET: 1 },
  });
}

describe('S53: a logged error', () => {
  it.each(['error', 'err'])('a logged error has only name, code and stack positions as member %s', member => {
    const { logger, lines, text } = recordLog('debug');
    logger.error({ event: 'x', [member]: errorOfLibrary() }, 'failed');
    expect(text()).not.toContain('SECRET');
    expect(lines()).toMatchObject([{ event: 'x', [member]: { name: 'Error', code: 'OAUTH_RESPONSE_BODY_ERROR' } }]);
    expect(lines()[0]?.[member]).toHaveProperty(['at', 0], expect.stringMatching(/^at /));
  });

  it('S51: names the lost key', () => {
    const { logger, lines } = recordLog('debug');
    logger.error({ event: 'x', error: new VaultError('unknown_key', 'No such key.', { kid: '2025-11' }) }, 'failed');
    expect(lines()).toMatchObject([{ error: { name: 'VaultError', code: 'unknown_key', kid: '2025-11' } }]);
  });

  it('contains no line of a message that looks like a stack position', () => {
    const { logger, text } = recordLog('debug');
    logger.error({ error: new Error('x\n    at SECRET (file.ts:1:1)\n    at SECRET') }, 'failed');
    expect(text()).not.toContain('SECRET');
  });

  it.each(['SECRET', { SECRET: 1 }, undefined, null, 7])(
    'a logged error has only a type if the thrown value is %j',
    thrown => {
      const { logger, text } = recordLog('debug');
      logger.error({ error: thrown }, 'failed');
      expect(text()).not.toContain('SECRET');
    },
  );

  it('omits a code that is not a string', () => {
    const { logger, text } = recordLog('debug');
    logger.error({ error: Object.assign(new Error('x'), { code: { SECRET: 1 } }) }, 'failed');
    expect(text()).not.toContain('SECRET');
  });
});

describe('S54: audit events', () => {
  const subject = { issuer: 'https://id.example', subject: 'alice@example.com' };
  const about = { elicitationId: 'el_1', mcpServerId: 'tracker', subject } as const;
  const pending: Elicitation = {
    version: 1,
    status: 'pending',
    identityMode: 'login',
    ...about,
    request: { kind: 'authorization', provider: 'forge', scopes: [] },
    createdAt: 1_000,
    expiresAt: 61_000,
  };

  it('name a user by a stable pseudonym that is unique to the subject', () => {
    const { logger, lines, text } = recordLog('debug');
    const auditLog = createAuditLog(logger, pseudonym);
    elicitationAudit(auditLog)({ type: 'issued', ...about }, pending);
    elicitationAudit(auditLog)({ type: 'wrong_person', ...about, visitor: { ...subject, subject: 'bob' } }, pending);
    auditLog.record('connection.token_read', { connectionId: 'cn_1', mcpServerId: 'tracker', subject });
    expect(text()).not.toMatch(/alice|bob|id\.example/);
    const [issued, wrong, read] = lines();
    expect(issued).toMatchObject({ event: 'elicitation.issued', audit: true, subject: pseudonym(subject) });
    expect(read?.['subject']).toBe(issued?.['subject']);
    expect(wrong?.['visitor']).not.toBe(wrong?.['subject']);
    expect(pseudonym({ issuer: 'https://id.example/a', subject: 'b' })).not.toBe(
      pseudonym({ issuer: 'https://id.example/', subject: 'ab' }),
    );
    expect(pseudonym(subject)).toMatch(/^[\w-]{16}$/);
  });

  it('S67: derive pseudonyms with a key, so only its holder can match them to users', () => {
    const [one, other] = [randomBytes(32), randomBytes(32)];
    expect(createPseudonyms(one)({ ...subject })).toBe(createPseudonyms(one)({ ...subject }));
    expect(createPseudonyms(one)(subject)).not.toBe(createPseudonyms(other)(subject));
    const keys = [one, other].map((key, at) => ({ kid: `k${at}`, key: key.toString('base64') }));
    const [first, last] = keys;
    if (first === undefined || last === undefined) throw new Error('no keys');
    const nameWith = (vault: typeof keys, pseudonymKey?: string) =>
      pseudonymsOf(
        parseConfig(sampleConfig({ vault: { keys: vault }, ...(pseudonymKey && { audit: { pseudonymKey } }) })),
      )(subject);
    expect(nameWith(keys)).toBe(nameWith([last]));
    expect(nameWith(keys)).not.toBe(nameWith([first]));
    expect(nameWith(keys)).not.toBe(createPseudonyms(other)(subject));
    expect(nameWith(keys, first.key)).toBe(nameWith([first], first.key));
  });

  it('contain outcome and time only if the elicitation has ended', () => {
    const { logger, lines } = recordLog('debug');
    const auditLog = createAuditLog(logger, pseudonym);
    elicitationAudit(auditLog)({ type: 'expired', ...about }, { ...pending, status: 'expired', endedAt: 63_500 });
    elicitationAudit(auditLog)(
      { type: 'approved', ...about, method: 'button' },
      { ...pending, status: 'active', attempt: 'x' },
    );
    elicitationAudit(auditLog)({ type: 'wrong_person', ...about }, { ...pending, status: 'expired', endedAt: 63_500 });
    const [expired, approved, wrong] = lines();
    expect(expired).toMatchObject({ kind: 'authorization', ended: 'expired', afterMs: 62_500, lateMs: 2_500 });
    expect(approved).not.toHaveProperty('ended');
    expect(wrong).not.toHaveProperty('ended');
  });

  it('go to every sink with the same members as in the log', () => {
    const { logger, lines } = recordLog('debug');
    const heard: AuditRecord[] = [];
    createAuditLog(logger, pseudonym, [record => heard.push(record)]).record('browser.sign_in_failed', {
      code: 'access_denied',
    });
    expect(heard).toEqual([{ event: 'browser.sign_in_failed', code: 'access_denied' }]);
    expect(lines()[0]).toMatchObject(heard[0] ?? {});
  });

  it('contain their time in UTC', () => {
    const { logger, lines } = recordLog('debug');
    createAuditLog(logger, pseudonym).record('caller.refused', {});
    expect(lines()[0]?.['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it.each([
    'a\r\n{"event":"elicitation.completed"}',
    '\u001b[2J\u001b]0;x\u0007',
    '\u2028{"event":"x"}\u2029',
    '"},{"event":"x"',
    '\0\u0008',
  ])('are one line of JSON with a hostile field: %j', hostile => {
    const { logger, lines, text } = recordLog('debug');
    createAuditLog(logger, pseudonym).record('callback.refused', {
      reason: hostile,
      mcpServerId: hostile,
      provider: hostile,
    });
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toMatchObject({ event: 'callback.refused', reason: hostile });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this test searches for control characters
    expect(text().slice(0, -1)).not.toMatch(/[\u0000-\u001f]/);
  });
});

describe('S79: a log line', () => {
  it('names its process, its request and the source of the request', () => {
    const { logger, lines } = recordLog('debug');
    const records: AuditRecord[] = [];
    const auditLog = createAuditLog(logger, pseudonym, [record => records.push(record)]);
    logger.info('outside');
    runInRequest({ requestId: 'rq_1', source: '203.0.113.9' }, () => {
      logger.info('inside');
      auditLog.record('caller.refused', {});
    });
    const belongs = { requestId: 'rq_1', source: '203.0.113.9' };
    expect(lines()).toMatchObject([{ instance }, { instance, ...belongs }, { instance, ...belongs, audit: true }]);
    expect(lines()[0]).not.toHaveProperty('requestId');
    expect(records).toEqual([{ event: 'caller.refused', ...belongs }]);
    expect(instance).toMatch(new RegExp(`.:${process.pid}$`));
  });
});

it('keeps every logged line when the process is killed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postern-log-'));
  const path = join(folder, 'log');
  const script = `
    const { createLogger } = await import(${JSON.stringify(new URL('logger.ts', import.meta.url).href)});
    const logger = createLogger({ level: 'info' });
    for (let number = 1; number <= 1_000; number += 1) logger.info({ number }, 'logged');
    process.kill(process.pid, 'SIGKILL');
  `;
  try {
    const log = await open(path, 'w');
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', log.fd, 'inherit'],
    });
    const [, signal] = await once(child, 'close');
    await log.close();
    expect(signal).toBe('SIGKILL');
    expect((await readFile(path, 'utf8')).trimEnd().split('\n')).toHaveLength(1_000);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
