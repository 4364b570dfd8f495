import { GatewayError, PosternUsageError } from './errors.ts';
import type { Run } from './run.ts';
import type { SealedFor } from './sealed-delivery.ts';

/**
 * What the user typed, opened where it is sealed. With a key to open it, nothing is taken that came unsealed: something in
 * between that strips the request's wish must not get away with it.
 */
export async function typedOf(run: Run, owner: SealedFor, body: object | undefined): Promise<unknown> {
  const { sealedOpener } = run.environment;
  const sealed = sealedIn(body);
  if (sealed !== undefined) {
    if (sealedOpener !== undefined) return await sealedOpener.typed(sealed, owner);
    throw new PosternUsageError('invalid_options', 'The gateway seals what users type: set decryptionKey.');
  }
  if (sealedOpener !== undefined) throw new GatewayError('invalid_response', 'What the user typed came unsealed.');
  if (body !== undefined && 'values' in body) return body.values;
  return body !== undefined && 'content' in body ? body.content : undefined;
}

function sealedIn(body: object | undefined): string | undefined {
  if (body !== undefined && 'sealedValues' in body) return String(body.sealedValues);
  return body !== undefined && 'sealedResult' in body ? String(body.sealedResult) : undefined;
}
