/** Splits a stream of the Redis protocol (RESP2 and RESP3) into whole messages, however the network has cut it. */
export interface RespFrames {
  /** Messages that are complete with this chunk. */
  take(chunk: Buffer): Buffer[];
  /** What has come of the next one. */
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

/** Where the message that begins at `at` ends; undefined while it is not all there. */
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
      // Attributes stand before the value that they are about.
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

/** The words of a command. Binary ones lose what is no UTF-8. */
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
