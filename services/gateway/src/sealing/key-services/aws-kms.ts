import { OutboundError } from '@postern/authorization';
import { type KeyEncryptionService, KeyServiceError, type KeyServiceFault } from '@postern/vault';
import { z } from 'zod';
import { withOptionalPackages } from '../../platform/optional-packages.ts';
import { connectionFault } from './connection-fault.ts';

type Sdk = typeof import('@aws-sdk/client-kms');

const encrypted = z.object({ CiphertextBlob: z.instanceof(Uint8Array) });
const decrypted = z.object({ Plaintext: z.instanceof(Uint8Array) });

/** Why AWS KMS refuses a request, by the name of the exception. Source: the API reference of AWS KMS, "Common Errors" included. */
const byName: Readonly<Record<string, KeyServiceFault>> = {
  AccessDeniedException: 'permission_denied',
  ExpiredTokenException: 'permission_denied',
  IncompleteSignature: 'permission_denied',
  InvalidClientTokenId: 'permission_denied',
  InvalidSignatureException: 'permission_denied',
  MissingAuthenticationToken: 'permission_denied',
  OptInRequired: 'permission_denied',
  UnrecognizedClientException: 'permission_denied',
  CredentialsProviderError: 'no_credentials',
  TokenProviderError: 'no_credentials',
  DisabledException: 'key_unusable',
  InvalidGrantTokenException: 'key_unusable',
  InvalidKeyUsageException: 'key_unusable',
  KeyUnavailableException: 'key_unusable',
  KMSInvalidStateException: 'key_unusable',
  ValidationException: 'key_unusable',
  LimitExceededException: 'throttled',
  ThrottlingException: 'throttled',
  DependencyTimeoutException: 'failed',
  InternalFailure: 'failed',
  KMSInternalException: 'failed',
  ServiceUnavailable: 'failed',
  AbortError: 'timeout',
  TimeoutError: 'timeout',
  SyntaxError: 'unusable_response',
};

export interface AwsKms extends Disposable {
  readonly service: KeyEncryptionService;
}

/**
 * A symmetric key of AWS KMS, by its ARN, which names the region. The official client finds credentials and endpoint in its default
 * order. The context of the value is the encryption context.
 * @param load replaces the optional dependency, in tests
 * @throws StartError if the client is not installed
 */
export async function createAwsKms(
  { key }: { readonly key: string },
  load: () => Promise<Sdk> = () => import('@aws-sdk/client-kms'),
): Promise<AwsKms> {
  const { KMSClient, EncryptCommand, DecryptCommand } = await withOptionalPackages('AWS KMS', load);
  const [, , , region = ''] = key.split(':');
  // The gateway limits and repeats requests itself.
  const client = new KMSClient({ region, maxAttempts: 1 });
  const named = (context: string) => ({ KeyId: key, EncryptionContext: { 'postern-context': context } });

  return {
    service: {
      async wrap(_kid, contentKey, context, { signal }) {
        const command = new EncryptCommand({ ...named(context), Plaintext: contentKey });
        const answer = await client.send(command, { abortSignal: signal }).catch((error: unknown) => error);
        const { data } = encrypted.safeParse(answer);
        if (data !== undefined) return { result: 'wrapped', wrapped: data.CiphertextBlob };
        if (nameOf(answer) === 'NotFoundException') return { result: 'unknown_key' };
        throw new KeyServiceError(faultOf(answer));
      },
      async unwrap(_kid, wrapped, context, { signal }) {
        const command = new DecryptCommand({ ...named(context), CiphertextBlob: wrapped });
        const answer = await client.send(command, { abortSignal: signal }).catch((error: unknown) => error);
        const { data } = decrypted.safeParse(answer);
        if (data !== undefined) return { result: 'unwrapped', contentKey: data.Plaintext };
        const name = nameOf(answer);
        if (name === 'NotFoundException') return { result: 'unknown_key' };
        if (name === 'InvalidCiphertextException' || name === 'IncorrectKeyException')
          return { result: 'not_authentic' };
        throw new KeyServiceError(faultOf(answer));
      },
    },
    [Symbol.dispose]: () => client.destroy(),
  };
}

const nameOf = (answer: unknown): string | undefined => (answer instanceof Error ? answer.name : undefined);

const failedRequest = z.object({
  code: z.string().optional().catch(undefined),
  $metadata: z.object({ httpStatusCode: z.number().optional() }).optional().catch(undefined),
});

/** Keeps nothing of the error, whose message may quote the request. An answer that is no error has an unexpected form. */
function faultOf(answer: unknown): KeyServiceFault {
  if (!(answer instanceof Error)) return 'unusable_response';
  const { code, $metadata } = failedRequest.parse(answer);
  // The client calls a broken connection a TimeoutError too.
  const isBroken = code === 'ECONNRESET' || code === 'EPIPE';
  const known = !isBroken && Object.hasOwn(byName, answer.name) ? byName[answer.name] : undefined;
  if (known !== undefined) return known;
  const status = $metadata?.httpStatusCode;
  if (status !== undefined) return status >= 500 ? 'failed' : status === 429 ? 'throttled' : 'unusable_response';
  return code === undefined ? 'failed' : connectionFault(new OutboundError('outbound_unreachable', '', code));
}
