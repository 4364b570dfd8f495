export { type DeliveryAnswer, type DeliveryOutcome, deliveryOutcome, type NoAnswer } from './delivery-outcome.ts';
export { FAILING_LIMIT_MS, isToBeDisabled } from './endpoint-health.ts';
export { DELIVERY_ATTEMPTS, MAX_RETRY_AFTER_MS, retryDelayMs } from './retry-schedule.ts';
export { ed25519Signer, hmacSigner, publicKeyOf, WebhookKeyError, type WebhookSigner } from './signer.ts';
export type { WebhookEvent } from './webhook-event.ts';
export { type WebhookRequest, webhookRequest } from './webhook-request.ts';
