import { StoreUnavailableError } from '@postern/elicitation';

/**
 * - `refused`: Redis executed nothing, because of its state or because it was unreachable.
 * - `ambiguous`: no reply arrived; Redis may have executed the command.
 * - `unconfirmed`: Redis executed the command, but too few replicas are known to have its data.
 * - `misuse`: Redis does not understand what this package sent. This is a bug of ours.
 */
export type FaultKind = 'refused' | 'ambiguous' | 'unconfirmed' | 'misuse';

/**
 * The failure of a command, as a code. ioredis errors carry the command's arguments, and some replies quote them, so neither the
 * error nor its text leaves this file.
 */
export class RedisFault extends Error {
  override name = 'RedisFault';
  readonly kind: FaultKind;
  readonly code: string;
  /** The command for which the user lacks the permission, if Redis names one. */
  readonly command: string | undefined;

  constructor(kind: FaultKind, code: string, command?: string) {
    super(`Redis: ${code}`);
    this.kind = kind;
    this.code = code;
    this.command = command;
  }
}

/** Error replies about the state of Redis, not about the command. */
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

/** Error messages of ioredis for commands that it did not write to a socket. */
const NOT_SENT = /enableOfflineQueue options is false|^Cluster is ended|^None of startup nodes/;
/** No master is known. The message may quote the refusal of a Sentinel. */
const NO_SENTINEL = /^All sentinels are unreachable/;
/** Codes of OpenSSL and Node.js for a peer whose certificate is invalid, or that rejects ours. */
const TLS_CODES = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO)/;
const REDIRECTED_TOO_OFTEN = /^Too many Cluster redirections/;

export function faultOf(error: unknown): RedisFault {
  if (error instanceof RedisFault) return error;
  if (!(error instanceof Error)) return new RedisFault('ambiguous', 'unknown');
  // No node of a cluster returned the slot map.
  if ('lastNodeError' in error && error.lastNodeError instanceof Error) return faultOf(error.lastNodeError);
  if (error.name === 'ReplyError') {
    const code = /^[A-Z]+\b/.exec(error.message)?.[0] ?? 'ERR';
    const command = code === 'NOPERM' ? /'([a-z|-]{1,40})' command/.exec(error.message)?.[1] : undefined;
    return new RedisFault(CONDITIONS.has(code) ? 'refused' : 'misuse', code, command);
  }
  if (NOT_SENT.test(error.message)) return new RedisFault('refused', 'not_connected');
  if (NO_SENTINEL.test(error.message)) {
    return new RedisFault('refused', /\b(NOAUTH|WRONGPASS|NOPERM)\b/.exec(error.message)?.[0] ?? 'no_sentinel');
  }
  if ('code' in error && typeof error.code === 'string' && TLS_CODES.test(error.code))
    return new RedisFault('refused', 'tls');
  if (REDIRECTED_TOO_OFTEN.test(error.message)) return new RedisFault('refused', 'redirected_too_often');
  if (error.message === 'Command timed out') return new RedisFault('ambiguous', 'timeout');
  // Lost connections have many names (closed, reset, retries used up, socket timeout). For any other error too, the safe
  // assumption is that Redis executed the command.
  return new RedisFault('ambiguous', 'connection_lost');
}

/** Converts a fault to the error that callers of the ports get. */
export function storeErrorOf(fault: RedisFault): Error {
  return fault.kind === 'misuse' ? fault : new StoreUnavailableError({ cause: fault });
}

/** Whether the store refused the command because Redis has lost data or is another Redis. */
export function isDataLost(error: unknown): boolean {
  return (
    error instanceof StoreUnavailableError && error.cause instanceof RedisFault && error.cause.code === 'data_lost'
  );
}
