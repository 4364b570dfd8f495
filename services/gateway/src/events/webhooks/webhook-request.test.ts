import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { hmacSigner } from '../../platform/config/webhook-signer.ts';
import { type WebhookEvent, webhookRequest } from './webhook-request.ts';

const event: WebhookEvent = {
  eventId: 'ev_00abc.4',
  elicitationId: 'el_00abc',
  mcpServerId: 'tracker',
  kind: 'payment',
  status: 'completed',
  occurredAt: Date.UTC(2026, 0, 1, 12),
};
const secrets = ['old', 'new'].map(() => `whsec_${randomBytes(32).toString('base64')}`);
const [oldSecret = '', newSecret = ''] = secrets;

it('the body contains only type, time, ids, kind and status', () => {
  const { body } = webhookRequest(event, [hmacSigner(newSecret)], Date.now());
  expect(JSON.parse(body)).toEqual({
    type: 'elicitation.completed',
    timestamp: '2026-01-01T12:00:00.000Z',
    data: {
      eventId: 'ev_00abc.4',
      elicitationId: 'el_00abc',
      kind: 'payment',
      status: 'completed',
      mcpServerId: 'tracker',
    },
  });
});

it('the body omits unknown members of the event', () => {
  const more: object = { subject: 'canary' };
  const { body } = webhookRequest({ ...event, ...more }, [hmacSigner(newSecret)], Date.now());
  expect(body).not.toContain('canary');
});

it('retries have the same id and body, and a new time and signature', () => {
  const [first, second] = [0, 60_000].map(ms => webhookRequest(event, [hmacSigner(newSecret)], event.occurredAt + ms));
  expect(second?.body).toBe(first?.body);
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  expect(second?.headers['webhook-timestamp']).not.toBe(first?.headers['webhook-timestamp']);
  expect(second?.headers['webhook-signature']).not.toBe(first?.headers['webhook-signature']);
});

it('the reference library verifies a webhook with either secret during a rotation', () => {
  const { headers, body } = webhookRequest(event, secrets.map(hmacSigner), Date.now());
  for (const secret of secrets) expect(() => new Webhook(secret).verify(body, { ...headers })).not.toThrow();
  const alone = webhookRequest(event, [hmacSigner(newSecret)], Date.now());
  expect(() => new Webhook(oldSecret).verify(alone.body, { ...alone.headers })).toThrow();
});

it('the reference library rejects an altered or old webhook', () => {
  const webhook = new Webhook(newSecret);
  const { headers, body } = webhookRequest(event, [hmacSigner(newSecret)], Date.now());
  expect(() => webhook.verify(`${body} `, { ...headers })).toThrow();
  expect(() => webhook.verify(body, { ...headers, 'webhook-id': 'ev_other' })).toThrow();
  const old = webhookRequest(event, [hmacSigner(newSecret)], Date.now() - 6 * 60_000);
  expect(() => webhook.verify(old.body, { ...old.headers })).toThrow();
});

it('webhookRequest throws without a signer', () => {
  expect(() => webhookRequest(event, [], Date.now())).toThrow(TypeError);
});
