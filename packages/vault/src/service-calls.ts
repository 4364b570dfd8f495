import {
  type KeyEncryptionService,
  KeyServiceError,
  type KeyServiceOptions,
  keyServiceFaultOf,
} from './key-encryption-service.ts';
import { notAuthentic, VaultError } from './vault-error.ts';

export const CONTENT_KEY_BYTES = 32;
/** Maximum size of a wrapped key. Common services return some hundred bytes. */
const MAX_WRAPPED_BYTES = 8_192;

interface ServiceCall {
  readonly kid: string;
  readonly service: KeyEncryptionService;
  readonly context: string;
  readonly timeoutMs: number;
}

const unavailable = (kid: string, { fault, message }: KeyServiceError) =>
  new VaultError('key_service_unavailable', `Key "${kid}": ${message}`, { kid, fault });
// The name may be wrong, or the key may come back from a backup, so its values are not lost.
const missing = (kid: string) => unavailable(kid, new KeyServiceError('key_unusable'));
/** The service responds, but not with what this key must give. */
export const wrongResponse = (kid: string) => unavailable(kid, new KeyServiceError('unusable_response'));

/** @throws VaultError `key_service_unavailable` */
export async function wrapByService(call: ServiceCall, contentKey: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const answer = await inTime(call, options => call.service.wrap(call.kid, contentKey, call.context, options));
  if (answer.result === 'unknown_key') throw missing(call.kid);
  const { byteLength } = answer.wrapped;
  if (byteLength === 0 || byteLength > MAX_WRAPPED_BYTES) throw wrongResponse(call.kid);
  return answer.wrapped;
}

/** @throws VaultError `not_authentic`, `key_service_unavailable` */
export async function unwrapByService(call: ServiceCall, wrapped: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const answer = await inTime(call, options => call.service.unwrap(call.kid, wrapped, call.context, options));
  if (answer.result === 'unknown_key') throw missing(call.kid);
  if (answer.result === 'not_authentic') throw notAuthentic();
  if (answer.contentKey.byteLength !== CONTENT_KEY_BYTES) throw wrongResponse(call.kid);
  return answer.contentKey;
}

/** Enforces the timeout even if the service ignores the signal. */
async function inTime<T>(call: ServiceCall, ask: (options: KeyServiceOptions) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    controller.abort();
    reject(new KeyServiceError('timeout'));
  }, call.timeoutMs);
  try {
    return await Promise.race([ask({ signal: controller.signal }), timedOut]);
  } catch (error) {
    // Drop an error of the service's own: it may quote the request.
    throw unavailable(call.kid, new KeyServiceError(keyServiceFaultOf(error)));
  } finally {
    clearTimeout(timer);
  }
}
