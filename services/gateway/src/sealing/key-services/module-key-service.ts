import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { KeyEncryptionService } from '@postern/vault';
import { z } from 'zod';
import { StartError } from '../../platform/start-error.ts';

const bytes = z.instanceof(Uint8Array);
const wrapResult = z.discriminatedUnion('result', [
  z.object({ result: z.literal('wrapped'), wrapped: bytes }),
  z.object({ result: z.literal('unknown_key') }),
]);
const unwrapResult = z.discriminatedUnion('result', [
  z.object({ result: z.literal('unwrapped'), contentKey: bytes }),
  z.object({ result: z.literal('not_authentic') }),
  z.object({ result: z.literal('unknown_key') }),
]);

type Method = (...args: readonly unknown[]) => unknown;
const method = z.custom<Method>(value => typeof value === 'function');
const moduleSchema = z.object({ createKeyService: method });
const serviceSchema = z.looseObject({ wrap: method, unwrap: method });

/**
 * Loads the adapter of an operator: a module that exports `createKeyService({ key })`, which returns a `KeyEncryptionService`.
 * @throws StartError
 */
export async function loadKeyService(p: {
  readonly module: string;
  readonly key: string;
}): Promise<KeyEncryptionService> {
  const fault = (message: string) => new StartError(`The key service module ${p.module} ${message}`);
  const loaded = moduleSchema.safeParse(
    await import(pathToFileURL(resolve(p.module)).href).catch((error: unknown) => {
      // The error of the module may quote its configuration.
      throw fault(`does not load (${error instanceof Error ? error.name : typeof error}).`);
    }),
  ).data;
  if (loaded === undefined) throw fault('does not export a function createKeyService.');
  const service = serviceSchema.safeParse(await loaded.createKeyService({ key: p.key })).data;
  if (service === undefined) throw fault('returns no object with the functions wrap and unwrap.');
  return {
    wrap: async (...args) => wrapResult.parse(await service.wrap(...args)),
    unwrap: async (...args) => unwrapResult.parse(await service.unwrap(...args)),
  };
}
