/** Splits a stream of the Redis protocol (RESP2 and RESP3) into messages, regardless of chunk boundaries. */
export interface RespFrames {
  /** Returns the messages that this chunk completes. */
  take(chunk: Buffer): Buffer[];
  /** The received part of the next message. */
  readonly rest: Buffer;
}

export function createRespFrames(): RespFrames {
  let rest: Buffer = Buffer.alloc(0);
  return {
    get rest() {
      return rest;
    },
    take(chunk) {
      const data = rest.byteLength === 0 ? chunk : Buffer.concat([rest, chunk]);
      const frames: Buffer[] = [];
      let at = 0;
      for (let end = endOf(data, at); end !== undefined; end = endOf(data, at)) {
        frames.push(data.subarray(at, end));
        at = end;
      }
      rest = data.subarray(at);
      return frames;
    },
  };
}

const CR = 13;
const LINE_END = 2;

/** Returns the end of the message that starts at `at`, or undefined while it is incomplete. */
function endOf(data: Buffer, at: number): number | undefined {
  const lineEnd = data.indexOf(CR, at);
  if (lineEnd === -1 || lineEnd + LINE_END > data.byteLength) return undefined;
  const next = lineEnd + LINE_END;
  const type = String.fromCharCode(data[at] ?? 0);
  const size = () => Number(data.toString('latin1', at + 1, lineEnd));
  switch (type) {
    case '$':
    case '=':
    case '!': {
      const end = size() < 0 ? next : next + size() + LINE_END;
      return end <= data.byteLength ? end : undefined;
    }
    case '*':
    case '~':
    case '>':
      return endOfMany(data, next, size());
    case '%':
      return endOfMany(data, next, size() * 2);
    case '|':
      // Attributes precede the value that they describe.
      return endOfMany(data, next, size() * 2 + 1);
    default:
      return next;
  }
}

function endOfMany(data: Buffer, begin: number, count: number): number | undefined {
  let at = begin;
  for (let n = 0; n < count; n += 1) {
    if (at >= data.byteLength) return undefined;
    const end = endOf(data, at);
    if (end === undefined) return undefined;
    at = end;
  }
  return at;
}

/** Returns the words of a command, decoded as UTF-8. Invalid bytes are replaced. */
export function wordsOf(command: Buffer): string[] {
  if (command[0] !== 42) return command.toString('utf8').trim().split(' ');
  const words: string[] = [];
  let at = command.indexOf(CR) + LINE_END;
  while (at < command.byteLength) {
    const lineEnd = command.indexOf(CR, at);
    const size = Number(command.toString('latin1', at + 1, lineEnd));
    const begin = lineEnd + LINE_END;
    words.push(command.toString('utf8', begin, begin + size));
    at = begin + size + LINE_END;
  }
  return words;
}
