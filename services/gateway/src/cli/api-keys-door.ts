import { problemSchema } from '@postern/api';
import { z } from 'zod';
import type { ReasonedActor } from '../admin/admin-audit.ts';
import { type ApiKeyItem, apiKeyItem, TooManyApiKeysError } from '../admin/api-keys.ts';
import type { DryRun } from '../admin/changes.ts';
import * as responses from '../admin-api/admin-responses.ts';
import { isLoopbackUrl } from '../platform/config/addresses.ts';
import { documentAt } from '../platform/config/load-config.ts';
import { originHere } from '../platform/start-error.ts';
import { CliError, type CliIo, jsonOf, UsageError } from './cli-io.ts';
import type { Invocation } from './command.ts';
import { openAdmin } from './open-admin.ts';

type Added = z.infer<typeof responses.addedApiKey>;
type Revoked = { readonly result?: 'revoked' | 'already'; readonly apiKey: ApiKeyItem };

/** The API keys of a deployment. Undefined stands for an unknown MCP server or key. */
interface ApiKeyDoor extends AsyncDisposable {
  list(): Promise<readonly ApiKeyItem[]>;
  idOf(key: string): Promise<string | undefined>;
  add(actor: ReasonedActor, of: DryRun & { mcpServerId: string; name: string }): Promise<Added | undefined>;
  revoke(actor: ReasonedActor, of: DryRun & { apiKeyId: string }): Promise<Revoked | undefined>;
}

/**
 * Opens the API keys: through the admin API of the running gateway if the environment has a credential for it, otherwise in the store,
 * for which the command needs Redis and the vault keys.
 * @throws CliError, UsageError, and as openAdmin
 */
export function openApiKeys({ configPath, values }: Invocation, io: CliIo): Promise<ApiKeyDoor> {
  const token = io.env['POSTERN_ADMIN_TOKEN'] ?? '';
  if (token === '') return openStored(configPath, io);
  // An option without effect is a mistake.
  if (values.by !== undefined)
    throw new UsageError('--by has no effect: the credential of POSTERN_ADMIN_TOKEN says who.');
  return Promise.resolve(throughGateway(adminUrl(configPath, io.env['POSTERN_ADMIN_URL']), token));
}

async function openStored(configPath: string, io: CliIo): Promise<ApiKeyDoor> {
  const opened = await openAdmin(configPath, io);
  const { admin } = opened;
  return {
    list: async () => (await admin.apiKeys()).map(apiKeyItem),
    idOf: key => admin.apiKeyIdOf(key),
    async add(actor, of) {
      try {
        return await admin.addApiKey(actor, of);
      } catch (error) {
        throw error instanceof TooManyApiKeysError ? new CliError(error.message) : error;
      }
    },
    async revoke(actor, of) {
      const revoked = await admin.revokeApiKey(actor, of);
      return revoked && { ...revoked, apiKey: apiKeyItem(revoked.apiKey) };
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

const TIMEOUT_MS = 60_000;
/** What a header can hold. */
const REASON = /^[\x20-\x7e]*$/;

const withKey = responses.addedApiKey.refine(({ key }) => key !== undefined);

function throughGateway(url: URL, token: string): ApiKeyDoor {
  async function call<T>(
    schema: z.ZodType<T>,
    path: string,
    actor?: ReasonedActor,
    body?: object,
  ): Promise<T | undefined> {
    const { reason = '' } = actor ?? {};
    if (!REASON.test(reason))
      throw new UsageError('--reason must be printable ASCII: it is a header of the admin API.');
    let response: Response;
    let text: string;
    try {
      response = await fetch(new URL(`/admin/v1${path}`, url), {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          ...(reason !== '' && { 'postern-reason': reason }),
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      text = await response.text();
    } catch {
      throw new CliError(`The admin API at ${url.origin} does not respond.`);
    }
    if (response.status === 404) return undefined;
    const answer: unknown = jsonOf(text);
    const { data: expected } = schema.safeParse(answer);
    if (response.ok && expected !== undefined) return expected;
    const { data: problem } = problemSchema.safeParse(answer);
    throw new CliError(
      `The admin API at ${url.origin} refused (${problem?.code ?? `HTTP status ${response.status}`}). ${problem?.detail ?? problem?.title ?? ''}`.trimEnd(),
    );
  }

  return {
    list: async () => (await call(responses.listOf(responses.apiKey), '/api-keys'))?.items ?? [],
    idOf: () => Promise.reject(new UsageError('--key-file needs the store. Name the id: postern find prints it.')),
    add: (actor, of) => call(of.dryRun ? responses.addedApiKey : withKey, '/api-keys', actor, of),
    revoke: (actor, { apiKeyId, dryRun }) =>
      call(responses.revokedApiKey, `/api-keys/${encodeURIComponent(apiKeyId)}/revoke`, actor, { dryRun }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const listenerSchema = z.looseObject({
  adminApi: z.looseObject({ host: z.string().default('127.0.0.1'), port: z.int().min(1) }),
});

/**
 * The named address, or that of the configuration, of which nothing else is read: its secrets may be out of reach.
 * @throws CliError
 */
function adminUrl(configPath: string, named: string | undefined): URL {
  const { data } = named === undefined ? listenerSchema.safeParse(documentAt(configPath)) : {};
  const url = URL.parse(named ?? (data === undefined ? '' : originHere(data.adminApi.host, data.adminApi.port)));
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new CliError(
      `Set POSTERN_ADMIN_URL, such as http://127.0.0.1:8091: ${configPath} names no adminApi with a port.`,
    );
  // The credential, and the key in the response, are secrets.
  if (url.protocol !== 'https:' && !isLoopbackUrl(url.href))
    throw new CliError(`${url.origin} must be https, except on a loopback address. See docs/admin-api.md.`);
  return url;
}
