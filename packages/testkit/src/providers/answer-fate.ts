import type { ServerResponse } from 'node:http';
import type { AnswerFate } from './token-ledger.ts';

const replaced = new WeakSet<ServerResponse>();

/** Settles with `sent` or `lost`, once the real response was sent or dropped. */
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

/** Marks the real response as lost: a fault replaces it. */
export function replaceAnswer(response: ServerResponse): void {
  replaced.add(response);
}
