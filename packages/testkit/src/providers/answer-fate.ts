import type { ServerResponse } from 'node:http';
import type { AnswerFate } from './token-ledger.ts';

const replaced = new WeakSet<ServerResponse>();

/** Settles once it is known whether the real answer went out. */
export function settleWhenAnswered(response: ServerResponse, settle: (fate: AnswerFate) => void): void {
  if (response.closed) {
    settle('lost');
    return;
  }
  let isSent = false;
  response.once('finish', () => {
    isSent = !replaced.has(response);
    settle(isSent ? 'sent' : 'lost');
  });
  response.once('close', () => {
    if (!isSent) settle('lost');
  });
}

/** A fault answers in place of the real answer. */
export function replaceAnswer(response: ServerResponse): void {
  replaced.add(response);
}
