import { StoreUnavailableError } from '@postern/elicitation';

/**
 * - `refused`: Redis, or the way to it, is in a condition in which nothing was executed.
 * - `ambiguous`: no answer came; the command may have been executed.
 * - `unconfirmed`: the command was executed, but too few replicas are known to have what it rests on.
 * - `misuse`: Redis cannot make sense of what this package sent. A fault of ours.
 */
export type FaultKind = 'refused' | 'ambiguous' | 'unconfirmed' | 'misuse';

/**
 * What went wrong with a command, as a code. ioredis errors carry the command's arguments, and some replies quote them, so
 * neither the error nor its text leaves this file.
 */
export class RedisFault extends Error {
  override name = 'RedisFault';
  readonly kind: FaultKind;
  readonly code: string;

  constructor(kind: FaultKind, code: string) {
    super(`Redis: ${code}`);
    this.kind = kind;
    this.code = code;
  }
}

/** Error replies that speak of the condition of Redis rather than of the command. */
const CONDITIONS: ReadonlySet<string> = new Set([
  'ASK',
  'BUSY',
  'CLUSTERDOWN',
  'LOADING',
  'MASTERDOWN',
  'MISCONF',
  'MOVED',
  'NOAUTH',
  'NOPERM',
  'NOREPLICAS',
  'NOSCRIPT',
  'OOM',
  'READONLY',
  'TRYAGAIN',
  'UNBLOCKED',
  'UNKILLABLE',
  'WRONGPASS',
]);

/** Texts of ioredis for commands that it did not write to a socket. */
const NOT_SENT = /enableOfflineQueue options is false|^Cluster is ended|^None of startup nodes/;
/** Nor is a master known that they could go to; what a Sentinel refused is quoted in it. */
const NO_SENTINEL = /^All sentinels are unreachable/;
/** Of OpenSSL and Node.js, for a far side that is not who it should be, and for one that does not take our certificate. */
const TLS_CODES = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO)/;
const REDIRECTED_TOO_OFTEN = /^Too many Cluster redirections/;

export function faultOf(error: unknown): RedisFault {
  if (error instanceof RedisFault) return error;
  if (!(error instanceof Error)) return new RedisFault('ambiguous', 'unknown');
  // Of a cluster of which no node could be asked where the slots are.
  if ('lastNodeError' in error && error.lastNodeError instanceof Error) return faultOf(error.lastNodeError);
  if (error.name === 'ReplyError') {
    const code = /^[A-Z]+\b/.exec(error.message)?.[0] ?? 'ERR';
    return new RedisFault(CONDITIONS.has(code) ? 'refused' : 'misuse', code);
  }
  if (NOT_SENT.test(error.message)) return new RedisFault('refused', 'not_connected');
  if (NO_SENTINEL.test(error.message)) {
    return new RedisFault('refused', /\b(NOAUTH|WRONGPASS|NOPERM)\b/.exec(error.message)?.[0] ?? 'no_sentinel');
  }
  if ('code' in error && typeof error.code === 'string' && TLS_CODES.test(error.code))
    return new RedisFault('refused', 'tls');
  if (REDIRECTED_TOO_OFTEN.test(error.message)) return new RedisFault('refused', 'redirected_too_often');
  if (error.message === 'Command timed out') return new RedisFault('ambiguous', 'timeout');
  // Lost connections have many names (closed, reset, retries used up, socket timeout). Whatever else there may be,
  // assuming that the command was executed is the safe side.
  return new RedisFault('ambiguous', 'connection_lost');
}

/** The one place where a fault becomes what callers of the ports see. */
export function storeErrorOf(fault: RedisFault): Error {
  return fault.kind === 'misuse' ? fault : new StoreUnavailableError({ cause: fault });
}
