import { createRespFrames, wordsOf } from './resp-frames.ts';

/** What becomes of an answer: its connection breaks, or stays open and never carries anything back again. */
export type Loss = 'disconnect' | 'stall';

/**
 * In the life of a request: it has come here and not gone on; it has gone on; its answer has come here and not gone on; its answer
 * has gone on.
 */
export type Moment = 'request_arrives' | 'request_passed' | 'answer_arrives' | 'answer_passed';

/** `cut`: neither it nor anything after it gets through, and the connection breaks. `stall`: the same, and it stays open. */
export type Fate = 'cut' | 'stall' | undefined;

export interface PassingRequest {
  readonly data: Buffer;
  /** The words of a Redis command; of anything else none. */
  readonly words: readonly string[];
}

export interface WatchOrder {
  readonly moment: Moment;
  readonly matches: (request: PassingRequest) => boolean;
  /** The how-manyth of them. Default the first. */
  readonly nth?: number;
  /** Called at that very moment, before anything else happens on this connection. */
  readonly act: (request: PassingRequest) => Fate;
}

/** Follows the requests of one connection to their answers. */
export interface RequestWatch {
  sent(data: Buffer, pass: (part: Buffer) => void): void;
  answered(data: Buffer, pass: (part: Buffer) => void): void;
}

export interface RequestWatchOptions {
  /** In the order in which they were given. Those that are done take themselves out. */
  readonly orders: readonly WatchOrder[];
  readonly onAnswered: (request: PassingRequest) => void;
  readonly cut: () => void;
}

export function createRequestWatch(protocol: 'chunks' | 'resp', options: RequestWatchOptions): RequestWatch {
  const { orders, onAnswered, cut } = options;
  const open: PassingRequest[] = [];
  const commands = createRespFrames();
  const answers = createRespFrames();
  let isOver = false;
  /** From a subscription on, what comes back answers nothing. */
  let isSubscribed = false;

  function meets(moment: Moment, request: PassingRequest): void {
    for (const order of [...orders]) {
      if (isOver || order.moment !== moment || !order.matches(request)) continue;
      const fate = order.act(request);
      if (fate === undefined) continue;
      isOver = true;
      if (fate === 'cut') cut();
    }
  }

  function send(data: Buffer, words: readonly string[], pass: (part: Buffer) => void): void {
    const request = { data, words };
    meets('request_arrives', request);
    if (isOver) return;
    if (/^p?subscribe$/i.test(words[0] ?? '')) isSubscribed = true;
    open.push(request);
    pass(data);
    meets('request_passed', request);
  }

  /** A request can come in several chunks; all there are by now belong to the answer. */
  function nextOpen(): PassingRequest | undefined {
    if (protocol === 'resp' || open.length < 2) return open.shift();
    return { data: Buffer.concat(open.splice(0).map(request => request.data)), words: [] };
  }

  function answer(data: Buffer, pass: (part: Buffer) => void): void {
    const request = isSubscribed || (protocol === 'resp' && isPush(data)) ? undefined : nextOpen();
    if (request === undefined) {
      pass(data);
      return;
    }
    // Asked to send the script along: the answer comes to the next command.
    const isAnswer = protocol === 'chunks' || !data.subarray(0, 9).equals(NO_SCRIPT);
    if (isAnswer) meets('answer_arrives', request);
    if (isOver) return;
    pass(data);
    if (!isAnswer) return;
    onAnswered(request);
    meets('answer_passed', request);
  }

  return {
    sent(data, pass) {
      if (isOver) return;
      if (protocol === 'chunks') return send(data, [], pass);
      for (const command of commands.take(data)) if (!isOver) send(command, wordsOf(command), pass);
    },
    answered(data, pass) {
      if (isOver) return;
      if (protocol === 'chunks') return answer(data, pass);
      for (const reply of answers.take(data)) if (!isOver) answer(reply, pass);
    },
  };
}

const NO_SCRIPT = Buffer.from('-NOSCRIPT');
const isPush = (data: Buffer) => data[0] === 62;
