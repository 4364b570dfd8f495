/** What comes on a stream of server-sent events (HTML, section 9.2.6), as far as this package needs it. */
export interface EventHandlers {
  readonly onData: (data: string) => void;
  /** Where to go on after the stream has broken. Comes with and without data. */
  readonly onId: (id: string) => void;
  /** Milliseconds to wait before coming back. */
  readonly onRetry: (retryMs: number) => void;
}

/** Characters. The gateway's frames have some three hundred. */
const MAX_FRAME = 64 * 1024;
const RETRY = /^\d{1,9}$/;
/** An id goes into the header `Last-Event-ID`, which takes no other characters. Those of the gateway have at most 31. */
const ID = /^[\x21-\x7e]{1,256}$/;

/**
 * Takes a stream apart, however it is cut into pieces. Written here because the library at hand does not tell an id that comes
 * without data, by which the gateway says how far what the filter left out has come.
 *
 * @returns takes the next piece; throws RangeError at a frame that never ends
 */
export function createEventReader({ onData, onId, onRetry }: EventHandlers): (piece: string) => void {
  const rest: string[] = [];
  let restLength = 0;
  let data: string | undefined;
  let id: string | undefined;

  function dispatch(): void {
    // First the data: an id says that what came up to here has been seen.
    if (data !== undefined) onData(data);
    if (id !== undefined) onId(id);
    data = undefined;
    id = undefined;
  }

  function take(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line.startsWith(' ', colon + 1) ? colon + 2 : colon + 1);
    if (name === 'data') data = data === undefined ? value : `${data}\n${value}`;
    else if (name === 'id' && ID.test(value)) id = value;
    else if (name === 'retry' && RETRY.test(value)) onRetry(Number(value));
  }

  return piece => {
    let from = 0;
    // Only the new piece is searched, and a line is joined once: one that comes in single characters takes linear time.
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
      const whole = [...rest.splice(0), piece.slice(from, end)].join('');
      const line = whole.endsWith('\r') ? whole.slice(0, -1) : whole;
      restLength = 0;
      if (line === '') dispatch();
      else take(line);
      from = end + 1;
    }
    if (from < piece.length) rest.push(piece.slice(from));
    restLength += piece.length - from;
    if (restLength + (data?.length ?? 0) > MAX_FRAME) throw new RangeError('a frame that does not end');
  };
}
