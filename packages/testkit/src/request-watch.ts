import { createRespFrames, wordsOf } from './resp-frames.ts';

/** How a response is lost: the connection breaks, or stays open without sending anything. */
export type Loss = 'disconnect' | 'stall';

/**
 * A moment of a request: the proxy received it; forwarded it; received its response; forwarded its response. At the first and the
 * third moment, the proxy has not forwarded the data yet.
 */
export type Moment = 'request_arrives' | 'request_passed' | 'answer_arrives' | 'answer_passed';

/** `cut` drops this data and all later data, and breaks the connection. `stall` drops the same data and keeps the connection open. */
export type Fate = 'cut' | 'stall' | undefined;

export interface PassingRequest {
  readonly data: Buffer;
  /** The words of a Redis command; empty for other data. */
  readonly words: readonly string[];
}

export interface WatchOrder {
  readonly moment: Moment;
  readonly matches: (request: PassingRequest) => boolean;
  /** Which of the matching requests, counted from 1. Default 1. */
  readonly nth?: number;
  /** Called at that moment, before the connection handles more data. */
  readonly act: (request: PassingRequest) => Fate;
}

/** Matches the requests of one connection with their responses. */
export interface RequestWatch {
  sent(data: Buffer, pass: (part: Buffer) => void): void;
  answered(data: Buffer, pass: (part: Buffer) => void): void;
}

export interface RequestWatchOptions {
  /** In the order of registration. Completed orders remove themselves. */
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
  /** After a subscription, incoming data is not a response. */
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

  /** A request can arrive in several chunks. The response belongs to all of them. */
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
    // NOSCRIPT: the client sends the script, and the next response counts.
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
