import { AsyncLocalStorage } from 'node:async_hooks';
import { randomFillSync } from 'node:crypto';

/** What a request holds of the limits of this process. See `RequestPermit`. */
export interface Permit extends Disposable {
  readonly holder: string;
  readonly isWaiting: boolean;
  enterShare(mcpServerId: string, share: number): boolean;
  enter(): void;
  waitFor<T>(work: () => Promise<T>): Promise<T>;
}

/** The request that the current code works for. Undefined in background work. */
export interface RequestContext {
  readonly requestId: string;
  /** Address of the client, behind the proxies that `trustProxy` names. */
  readonly source: string;
  /** Id of the API key that the request has, also of one that is refused. */
  apiKeyId?: string;
  /** Language of the page on which the user decides (BCP 47). */
  language?: string;
  /** True after an outbound request failed in a way that only an operator can fix. */
  needsOperator?: boolean;
  /** Set once the request is admitted. */
  permit?: Permit;
}

/** What the current code works for. */
interface Scope {
  readonly request?: RequestContext | undefined;
  /** The current operation at a third party, which only the log of failures reads. */
  readonly operation?: object;
  /** The bulkheads that stop no request now. */
  readonly urgent?: readonly object[];
}

/** The only store of the gateway that follows its asynchronous work; spans have one of their own while they are configured. */
const scopes = new AsyncLocalStorage<Scope>();

export const scope = (): Scope => scopes.getStore() ?? {};

/** Does work for the same request, and for what is added. */
export const runInScope = <T>(added: Scope, work: () => T): T => scopes.run({ ...scopes.getStore(), ...added }, work);

export const requestContext = (): RequestContext | undefined => scopes.getStore()?.request;

export const runInRequest = (request: RequestContext, work: () => void): void => runInScope({ request }, work);

/** Starts work that outlives the current request and serves others too, so that its log lines name none of them. */
export const outsideRequests = <T>(work: () => T): T => runInScope({ request: undefined }, work);

/** Members of the request that every log line and audit record carries. */
export function requestFields(): Partial<Pick<RequestContext, 'requestId' | 'source' | 'apiKeyId'>> {
  const context = requestContext();
  if (context === undefined) return {};
  const { requestId, source, apiKeyId } = context;
  return apiKeyId === undefined ? { requestId, source } : { requestId, source, apiKeyId };
}

/** Names the API key of the request by its id. */
export function nameApiKey(apiKeyId: string): void {
  const context = requestContext();
  if (context !== undefined) context.apiKeyId = apiKeyId;
}

const ID_BYTES = 12;
/** Random bytes for many ids at once, because each call of `randomFillSync` costs more than the bytes it fills. */
const pool = Buffer.alloc(ID_BYTES * 256);
let used = pool.length;

/** Always creates a new id: an id from a request header would let the caller write into the log. */
export function newRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return `rq_${pool.toString('base64url', used - ID_BYTES, used)}`;
}
