import { setTimeout as delay } from 'node:timers/promises';
import { type OperationInput, type OperationOutput, problemSchema, REASON, requestOf } from '@postern/api';
import { type AdminOperation, type AdminOperationId, adminOperations } from '@postern/api/admin';
import { z } from 'zod';
import type { Actor } from '../admin/admin-audit.ts';
import { TooManyJobsError } from '../admin/jobs.ts';
import { type AdminContext, adminHandlers } from '../admin-api/admin-handlers.ts';
import { isLoopbackUrl } from '../platform/config/config-values.ts';
import { documentAt } from '../platform/config/load-config.ts';
import type { AnyHandler } from '../platform/http/mount-operations.ts';
import { originHere } from '../platform/start-error.ts';
import { CliError, type CliIo, createProgress, type ExitCode, exitCodes, jsonOf, UsageError } from './cli-io.ts';
import type { Invocation } from './command.ts';
import { type OpenAdmin, openAdmin } from './open-store.ts';

type Operations = typeof adminOperations;
export type AdminInput<Id extends AdminOperationId> = Omit<OperationInput<Operations[Id]>, 'reason'>;
export type AdminOutput<Id extends AdminOperationId> = OperationOutput<Operations[Id]>;

type Members = Readonly<Record<string, unknown>>;

/** Where a command runs the operations of the admin API: in its own process, or through a running gateway. */
export interface AdminDoor extends AsyncDisposable {
  /** Undefined: not found. @throws CliError, UsageError, and locally the errors of the operation */
  call<Id extends AdminOperationId>(id: Id, input: AdminInput<Id>): Promise<AdminOutput<Id> | undefined>;
  /** As `call`, with members that are checked where the operation runs: each goes to its place in the request. */
  callWith<Id extends AdminOperationId>(id: Id, members: Members): Promise<AdminOutput<Id> | undefined>;
  /** The stores and the service behind them. Undefined through a gateway. */
  readonly local: OpenAdmin | undefined;
}

/** The option that sends a command through a gateway. */
export const throughUrl = {
  url: 'through the admin API there, with the credential in $POSTERN_ADMIN_TOKEN',
} as const;

/**
 * Opens the admin API at `--url`, or else the stores of the configuration, for which the command needs Redis and the vault keys.
 * @param p.isTokenEnough go through the gateway also without `--url`, if the environment has a credential
 * @throws CliError, UsageError, and as openAdmin
 */
export async function openDoor(
  { configPath, values }: Invocation,
  io: CliIo,
  { actor, isTokenEnough = false }: { readonly actor: Actor; readonly isTokenEnough?: boolean },
): Promise<AdminDoor> {
  const token = io.env['POSTERN_ADMIN_TOKEN'] ?? '';
  if (values.url === undefined && (token === '' || !isTokenEnough)) return localDoor(configPath, io, actor);
  if (token === '') throw new UsageError('--url needs a credential of the admin API in POSTERN_ADMIN_TOKEN.');
  // An option without effect is a mistake.
  if (values.by !== undefined)
    throw new UsageError('--by has no effect: the credential of POSTERN_ADMIN_TOKEN says who.');
  return remoteDoor(adminUrl(configPath, values.url ?? io.env['POSTERN_ADMIN_URL']), token, actor);
}

interface Input {
  readonly parameters?: Members;
  readonly query?: Members;
  readonly body?: Members;
}

/** The names of the members of an input. */
export const membersIn = (schema: z.ZodType | undefined): readonly string[] =>
  schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];

function placed({ parameters, query, body }: AdminOperation, members: Members): Input {
  const of = (schema: z.ZodType | undefined) => {
    const names = membersIn(schema).filter(name => members[name] !== undefined);
    return Object.fromEntries(names.map(name => [name, members[name]]));
  };
  return { parameters: of(parameters), query: of(query), ...(body && { body: of(body) }) };
}

/** Keeps the order of the members, as a parsed copy would not. */
const isOutputOf = <Of extends AdminOperation>(operation: Of, value: unknown): value is OperationOutput<Of> =>
  operation.output.safeParse(value).success;

/** @throws CliError */
function inputOf(schema: z.ZodType | undefined, value: unknown): unknown {
  const { data, error } = schema?.safeParse(value ?? {}) ?? {};
  const [issue] = error?.issues ?? [];
  if (issue === undefined) return data;
  throw new CliError(`${issue.path.join('.')}: ${issue.message}`);
}

async function localDoor(configPath: string, io: CliIo, actor: Actor): Promise<AdminDoor> {
  const local = await openAdmin(configPath, io);
  const handlers: Readonly<Record<AdminOperationId, AnyHandler<AdminContext>>> = adminHandlers;

  async function send<Id extends AdminOperationId>(id: Id, { parameters, query, body }: Input) {
    const operation: Operations[Id] & AdminOperation = adminOperations[id];
    const input = {
      parameters: inputOf(operation.parameters, parameters),
      query: inputOf(operation.query, query),
      body: inputOf(operation.body, body),
      idempotencyKey: undefined,
    };
    const answer = await handlers[id]({ admin: local.admin, actor, ...input });
    if (answer === undefined || isOutputOf<Operations[Id]>(operation, answer)) return answer;
    throw new CliError(`The operation ${id} returned something else than it describes.`);
  }

  return {
    local,
    call: send,
    callWith: (id, members) => send(id, placed(adminOperations[id], members)),
    [Symbol.asyncDispose]: () => local[Symbol.asyncDispose](),
  };
}

const TIMEOUT_MS = 60_000;
const openApiSchema = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

function remoteDoor(url: URL, token: string, { reason = '' }: Actor): AdminDoor {
  if (reason !== '' && !REASON.test(reason))
    throw new UsageError('--reason must be printable ASCII: it is a header of the admin API.');

  /** The status and the text of a response. @throws CliError */
  async function ask(path: string, init: RequestInit): Promise<{ readonly status: number; readonly text: string }> {
    try {
      const response = await fetch(new URL(path, url), {
        ...init,
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return { status: response.status, text: await response.text() };
    } catch {
      const mayBeDone =
        init.method === 'GET' ? '' : ' It may have done what was asked: look before you repeat the command.';
      throw new CliError(`The admin API at ${url.origin} does not respond.${mayBeDone}`);
    }
  }

  /** Whether the OpenAPI document there, which needs no credential, has the operation. */
  async function offers({ method, path }: AdminOperation): Promise<boolean> {
    const { text } = await ask('/admin/v1/openapi.json', { method: 'GET' });
    const { data } = openApiSchema.safeParse(jsonOf(text));
    return data?.paths[path]?.[method.toLowerCase()] !== undefined;
  }

  async function send<Id extends AdminOperationId>(id: Id, input: Input) {
    const operation: Operations[Id] & AdminOperation = adminOperations[id];
    const of: AdminOperation = operation;
    const { method, path, headers, body } = requestOf(of, { ...input, ...(reason !== '' && { reason }) });
    const { status, text } = await ask(path, {
      method,
      headers: {
        ...headers,
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (status === 404) {
      // A path that it does not know gets the same answer as a record that it does not have.
      if (await offers(of)) return undefined;
      throw new CliError(
        `${url.origin} is no admin API with ${method} ${of.path}: another address, or an older gateway.`,
      );
    }
    const answer = jsonOf(text);
    if (status >= 200 && status < 300 && isOutputOf<Operations[Id]>(operation, answer)) return answer;
    const { data: problem } = problemSchema.safeParse(answer);
    throw new CliError(
      `The admin API at ${url.origin} refused (${problem?.code ?? `HTTP status ${status}`}). ${problem?.detail ?? problem?.title ?? ''}`.trimEnd(),
    );
  }

  return {
    local: undefined,
    call: send,
    callWith: (id, members) => send(id, placed(adminOperations[id], members)),
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
      named === undefined
        ? `Set POSTERN_ADMIN_URL, such as http://127.0.0.1:8091: ${configPath} names no adminApi with a port.`
        : 'The URL of the admin API must be http or https, such as http://127.0.0.1:8091.',
    );
  // The credential, and the key in the response, are secrets.
  if (url.protocol !== 'https:' && !isLoopbackUrl(url.href))
    throw new CliError(`${url.origin} must be https, except on a loopback address. See docs/admin-api.md.`);
  return url;
}

type Job = AdminOutput<'getJob'>;

/** Pause between two looks at a job that a gateway works on, in ms. */
const LOOK_MS = 300;

/** Starts a job, and works on it unless a gateway is faster. An interrupted command leaves it to the gateway. */
export async function completed(
  door: AdminDoor,
  start: () => Promise<Job | undefined>,
  { io, unknown }: { readonly io: CliIo; readonly unknown: string },
): Promise<{ readonly job: Job; readonly code: ExitCode }> {
  const started = await start().catch((error: unknown) => {
    if (error instanceof TooManyJobsError)
      throw new CliError('100 jobs are unfinished. Is a gateway running? See postern jobs list.');
    throw error;
  });
  if (started === undefined) throw new CliError(unknown);
  const { jobId } = started;
  const progress = createProgress(io);
  const onProgress = ({ found, done }: Pick<Job, 'found' | 'done'>) =>
    progress.count(`${found} found, ${done} done`, found);
  const job = await (door.local === undefined
    ? watched(door, jobId, { signal: io.signal, onProgress })
    : door.local.admin.completeJob(jobId, { signal: io.signal, onProgress }));
  progress.end();
  if (job === undefined) throw new CliError(`Job ${jobId} is gone from Redis.`);
  if (job.endedAt === undefined) {
    io.err(`Interrupted: a running gateway completes the job. To stop it: postern jobs cancel ${jobId}\n`);
    return { job, code: exitCodes.interrupted };
  }
  if (job.status !== 'done') io.err(`Job ${jobId}: ${stateOf(job)}\n`);
  return { job, code: job.status === 'done' ? exitCodes.ok : exitCodes.failure };
}

/** Looks at a job until it has ended, or `signal` is aborted. */
async function watched(
  door: AdminDoor,
  jobId: string,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (job: Job) => void },
): Promise<Job | undefined> {
  for (;;) {
    const job = await door.call('getJob', { parameters: { jobId } });
    if (job === undefined || job.endedAt !== undefined || signal.aborted) return job;
    onProgress(job);
    await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** The status of a job, with the code of its failure. */
export const stateOf = ({ status, error }: Job) => (error === undefined ? status : `${status} (${error})`);
